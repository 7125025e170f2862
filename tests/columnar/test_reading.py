"""Columns against decoded messages: every message, version and array, alike and mixed shapes, hostile bodies."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from functools import cache
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import kwire
from kwire.columnar.plan import Plan, paths_in
from tests.columnar.rows import expected
from tests.conftest import ROOT
from tests.messages_of import released_pairs
from tests.random_values import draw


@cache
def golden() -> dict[tuple[str, int], list[bytes]]:
    found: dict[tuple[str, int], list[bytes]] = defaultdict(list)
    with gzip.open(ROOT / "fixtures" / "golden.jsonl.gz", "rt", encoding="utf-8") as lines:
        for case in map(json.loads, lines):
            found[case["message"], case["version"]].append(bytes.fromhex(case["hex"]))
    return found


def bodies_of(codec: kwire.Codec, seed: int, count: int = 4) -> list[bytes]:
    rng = Random(seed)
    made = [codec.encode(draw(codec.schema, rng)) for _ in range(count)]
    return golden()[codec.name, codec.version][:6] + made


def all_columns(codec: kwire.Codec, path: str) -> list[str]:
    return [name for name, _, _ in Plan([codec.schema], path, None).available()]


def rows_of(columns: Any, bodies: Any) -> list[dict[str, Any]]:
    batches = list(columns.read(bodies))
    assert not any(batch.errors for batch in batches)
    for batch in batches:
        batch.rows.validate(full=True)
        assert batch.rows.schema == columns.schema
    return [row for batch in batches for row in batch.rows.to_pylist()]


@pytest.mark.parametrize("name", sorted({name for name, _ in released_pairs()}))
def test_every_array_of_every_version_has_the_values_of_decoded_messages(name: str) -> None:
    for version in kwire.codec(name, released()[name][0]).spec.versions:
        codec = kwire.codec(name, version)
        bodies = bodies_of(codec, version)
        for path in ["", *paths_in([codec.schema])]:
            names = ["body_index", *all_columns(codec, path)]
            rows = rows_of(kwire.columns(name, version, path, columns=names), bodies)
            assert rows == [{key: row[key] for key in names} for row in expected(codec, path, bodies)], (version, path)


@cache
def released() -> dict[str, list[int]]:
    versions: dict[str, list[int]] = defaultdict(list)
    for name, version in released_pairs():
        versions[name].append(version)
    return versions
