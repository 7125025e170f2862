"""Counts that stay small however much is counted: bounded keys, durations by their logarithms, bins in time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

STEPS = 64  # bins from one duration to its double: each is 1.1 % wide
DRAWN = 16  # bins in one bar of a histogram, so that four bars lead from one duration to its double
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
        self.limit: int = limit
        self.others: int = 0
        self.counts: dict[Key, int] = {}

    def add(self, key: Key, count: int = 1) -> None:
        """Count a key, once or more often."""
        if key in self.counts or len(self.counts) < self.limit:
            self.counts[key] = self.counts.get(key, 0) + count
        else:
            self.others += count


class Durations:
    """Durations in seconds: how many, the shortest, the longest, and how many in each bin of 1.1 %."""

    def __init__(self) -> None:
        self.count: int = 0
        self.least: float = math.inf
        self.most: float = 0.0
        self.bins: Counter[int] = Counter()

    def add(self, *seconds: float) -> None:
        """Count some."""
        if seconds:
            self.count += len(seconds)
            self.least, self.most = min(self.least, *seconds), max(self.most, *seconds)
            places = (math.floor(math.log2(max(one, LEAST) / LEAST) * STEPS) for one in seconds)
            self.bins.update(min(place, LONGEST) for place in places)

    def quantile(self, share: float) -> float:
        """Return the duration below which this share of all lies, within 0.6 % (above 1 µs).

        Between two durations it is interpolated, as numpy.percentile and statistics.median do.

        >>> durations = Durations()
        >>> for milliseconds in range(1, 101): durations.add(milliseconds / 1000)
        >>> f"{durations.quantile(0.5):.2f} {durations.quantile(0.99):.3f} {durations.quantile(1):.3f}"
        '0.05 0.099 0.100'
        """
        position = share * (self.count - 1)
        rank = math.floor(position)
        lower, upper = self._at(rank), self._at(min(rank + 1, self.count - 1))
        return lower + (position - rank) * (upper - lower)

    def _at(self, rank: int) -> float:
        """Return the duration that so many are shorter than; of a bin its middle."""
        if rank in (0, self.count - 1):
            return self.most if rank else self.least
        for place, count in sorted(self.bins.items()):
            rank -= count
            if rank < 0:
                return max(self.least, min(self.edge(place + 0.5), self.most))
        return self.most

    def bars(self) -> dict[int, int]:
        """Return the counts of a histogram: bar n begins at `edge(n * DRAWN)`."""
        bars: Counter[int] = Counter()
        for place, count in self.bins.items():
            bars[place // DRAWN] += count
        return bars

    @staticmethod
    def edge(place: float) -> float:
        """Return the lower edge of a bin, in seconds."""
        return LEAST * math.pow(2, place / STEPS)


class Timeline:
    """Counts per span of time. Bins start at a millisecond, and double whenever there would be more than `limit`."""

    def __init__(self, limit: int = 120) -> None:
        self.limit: int = limit
        self.width: float = 0.001
        self.bins: dict[int, Counter[str]] = {}
        self._ends: list[int] = []  # the first and the last bin

    def add(self, kind: str, *times: float) -> None:
        """Count some of a kind, at times in seconds since 1970, which may come in any order."""
        if not times:
            return
        earliest, latest = min(times), max(times)
        while True:
            first, last = math.floor(earliest / self.width), math.floor(latest / self.width)
            if max([last, *self._ends]) - min([first, *self._ends]) < self.limit:
                break
            self._widen()
        self._ends = [min([first, *self._ends]), max([last, *self._ends])]
        for place, count in Counter(math.floor(time / self.width) for time in times).items():
            self.bins.setdefault(place, Counter())[kind] += count

    def _widen(self) -> None:
        self.width *= 2
        wider: dict[int, Counter[str]] = {}
        for place, counts in self.bins.items():
            wider.setdefault(place // 2, Counter()).update(counts)
        self.bins = wider
        self._ends = [place // 2 for place in self._ends]

    def rows(self) -> Iterator[tuple[float, Counter[str]]]:
        """Yield (start in seconds since 1970, counts) for every bin from first to last, also empty ones."""
        for place in range(min(self.bins, default=0), max(self.bins, default=-1) + 1):
            yield place * self.width, self.bins.get(place, Counter())
