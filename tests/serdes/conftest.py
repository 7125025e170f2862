"""Values by schema that confluent-kafka wrote, and the registry that it registered their schemas with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.serdes.registry import Registry, served

GOLDEN: dict[str, Any] = json.loads((ROOT / "tests/data/values_by_schema.json").read_text("utf-8"))
CASES: dict[str, bytes] = {case["case"]: bytes.fromhex(case["data"]) for case in GOLDEN["cases"]}


def golden_registry() -> Registry:
    registry, golden = Registry(), deepcopy(GOLDEN)
    registry.schemas = {int(number): schema for number, schema in golden["schemas"].items()}
    registry.subjects, registry.serialized = golden["subjects"], golden["serialized"]
    return registry


@pytest.fixture
def registry() -> Iterator[Registry]:
    with served(golden_registry()) as served_registry:
        yield served_registry
