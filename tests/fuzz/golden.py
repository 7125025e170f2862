"""Bytes that Kafka wrote, which targets start from."""

from __future__ import annotations

import gzip
import json
from functools import cache

from tests.conftest import ROOT

MOST = 400  # bytes of a body: mutations of longer ones seldom reach their end


@cache
def golden_bodies() -> dict[tuple[str, int], bytes]:
    """Return the longest body of each message and version that is not too long."""
    found: dict[tuple[str, int], bytes] = {}
    with gzip.open(ROOT / "fixtures/golden.jsonl.gz", "rt", encoding="utf-8") as lines:
        for case in map(json.loads, lines):
            pair, body = (case["message"], case["version"]), bytes.fromhex(case["hex"])
            if len(found.get(pair, b"")) <= len(body) <= MOST:
                found[pair] = body
    return found
