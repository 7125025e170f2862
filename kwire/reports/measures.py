"""Counts that stay small however much is counted: bounded keys, durations by their logarithm, bins in time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

STEPS = 4  # bins of a histogram from one duration to its double
LEAST = 1e-6  # seconds; what is shorter is counted as this
LONGEST = 40 * STEPS


Key = TypeVar("Key", bound=Hashable)


class BoundedCounter(Generic[Key]):
    """Counts keys, and no more than `limit` different ones; what comes for further keys is counted in `others`.

    >>> counter = BoundedCounter(1)
    >>> counter.add("a"), counter.add("b"), counter.add("a"), counter.counts, counter.others
    (None, None, None, {'a': 2}, 1)
    """

    def __init__(self, limit: int) -> None:
        self.limit, self.others = limit, 0
        self.counts: dict[Key, int] = {}

    def add(self, key: Key) -> None:
        """Count a key."""
        if key in self.counts or len(self.counts) < self.limit:
            self.counts[key] = self.counts.get(key, 0) + 1
        else:
            self.others += 1


class Durations:
    """Durations in seconds: how many, the shortest, the longest, and a histogram with four bins to each doubling."""

    def __init__(self) -> None:
        self.count, self.least, self.most = 0, math.inf, 0.0
        self.bins: Counter[int] = Counter()

    def add(self, seconds: float) -> None:
        """Count one."""
        self.count += 1
        self.least, self.most = min(self.least, seconds), max(self.most, seconds)
        place = math.floor(math.log2(max(seconds, LEAST) / LEAST) * STEPS)
        self.bins[min(place, LONGEST)] += 1

    def quantile(self, share: float) -> float:
        """Return a duration that this share of all does not exceed, at most 19 % above the true one.

        >>> durations = Durations()
        >>> for milliseconds in range(1, 101): durations.add(milliseconds / 1000)
        >>> 0.050 <= durations.quantile(0.5) <= 0.0595
        True
        """
        left = share * self.count
        for place, count in sorted(self.bins.items()):
            left -= count
            if left <= 1e-9:
                return max(self.least, min(self.edge(place + 1), self.most))
        return self.most

    @staticmethod
    def edge(place: int) -> float:
        """Return the lower edge of a bin, in seconds."""
        return LEAST * math.pow(2, place / STEPS)


class Timeline:
    """Counts per span of time. Bins start at a millisecond, and double whenever there would be more than `limit`."""

    def __init__(self, limit: int = 120) -> None:
        self.limit, self.width = limit, 0.001
        self.bins: dict[int, Counter[str]] = {}

    def add(self, time: float, kind: str) -> None:
        """Count something of a kind at a time, in seconds since 1970; times may come in any order."""
        place = math.floor(time / self.width)
        first, last = min(self.bins, default=place), max(self.bins, default=place)
        while max(last, place) - min(first, place) >= self.limit:
            first, last, place = first // 2, last // 2, place // 2
            self._widen()
        self.bins.setdefault(place, Counter())[kind] += 1

    def _widen(self) -> None:
        self.width *= 2
        wider: dict[int, Counter[str]] = {}
        for place, counts in self.bins.items():
            wider.setdefault(place // 2, Counter()).update(counts)
        self.bins = wider

    def rows(self) -> Iterator[tuple[float, Counter[str]]]:
        """Yield (start in seconds since 1970, counts) for every bin from first to last, also empty ones."""
        for place in range(min(self.bins, default=0), max(self.bins, default=-1) + 1):
            yield place * self.width, self.bins.get(place, Counter())
