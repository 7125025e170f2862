"""Bodies written by Kafka, by message: a column of bytes and one of versions each."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

from tests.golden.test_golden import CORPUS, cases


@cache
def golden_columns() -> dict[str, list[tuple[bytes, int]]]:
    """Return the bodies and versions of each message."""
    found: dict[str, list[tuple[bytes, int]]] = defaultdict(list)
    for case in cases(CORPUS):
        found[case["message"]].append((bytes.fromhex(case["hex"]), case["version"]))
    return found
