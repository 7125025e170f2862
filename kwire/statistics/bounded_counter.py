"""Counts a limited number of different keys."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class BoundedCounter(Generic[Key]):
    """Counts up to `limit` distinct keys; all further keys are counted together in `others`.

    >>> counter = BoundedCounter(1)
    >>> counter.add("a"), counter.add("b"), counter.add("a"), counter.counts, counter.others
    (None, None, None, {'a': 2}, 1)
    """

    def __init__(self, limit: int) -> None:
        self.limit: int = limit
        self.others: int = 0
        self.counts: dict[Key, int] = {}

    def add(self, key: Key, count: int = 1) -> None:
        """Add `count` to a key."""
        if key in self.counts or len(self.counts) < self.limit:
            self.counts[key] = self.counts.get(key, 0) + count
        else:
            self.others += count

    def add_counts(self, other: BoundedCounter[Key]) -> None:
        """Add the counts of a counter with the same limit, whose keys were counted after those of this one."""
        for key, count in other.counts.items():
            self.add(key, count)
        self.others += other.others
