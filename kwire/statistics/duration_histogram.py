"""Durations in logarithmic bins: quantiles and histograms in bounded memory."""

from __future__ import annotations

import math
from collections import Counter

STEPS = 64  # bins per doubling of a duration: each is 1.1 % wide
DRAWN = 16  # bins in a bar of a histogram, which gives four bars per doubling of a duration
LEAST = 1e-6  # seconds; shorter durations count as this one
LONGEST = 40 * STEPS


class DurationHistogram:
    """Durations in seconds: their count, the shortest, the longest, and the count in each bin of 1.1 %."""

    def __init__(self) -> None:
        self.count: int = 0
        self.least: float = math.inf
        self.most: float = 0.0
        self.bins: Counter[int] = Counter()

    def add(self, *seconds: float) -> None:
        """Add durations, in seconds."""
        if seconds:
            self.count += len(seconds)
            self.least = min(self.least, *seconds)
            self.most = max(self.most, *seconds)
            # In one expression, without calls of min and max for each: they took a third of the time of a report.
            indexes = [math.floor(math.log2(time / LEAST) * STEPS) if time > LEAST else 0 for time in seconds]
            if max(indexes) > LONGEST:
                indexes = [min(index, LONGEST) for index in indexes]
            self.bins.update(indexes)

    def add_counts(self, other: DurationHistogram) -> None:
        """Add the durations of another histogram."""
        self.count += other.count
        self.least, self.most = min(self.least, other.least), max(self.most, other.most)
        self.bins.update(other.bins)

    def quantile(self, share: float) -> float:
        """Return a quantile of the durations, within 0.6 % (above 1 µs).

        Interpolates between two durations, as numpy.percentile and statistics.median do.

        >>> durations = DurationHistogram()
        >>> for milliseconds in range(1, 101): durations.add(milliseconds / 1000)
        >>> f"{durations.quantile(0.5):.2f} {durations.quantile(0.99):.3f} {durations.quantile(1):.3f}"
        '0.05 0.099 0.100'
        """
        position = share * (self.count - 1)
        rank = math.floor(position)
        lower, upper = self._duration_at(rank), self._duration_at(min(rank + 1, self.count - 1))
        return lower + (position - rank) * (upper - lower)

    def _duration_at(self, rank: int) -> float:
        """Return the duration at a rank, which is the number of shorter durations; for a bin, its middle."""
        if rank in (0, self.count - 1):
            return self.most if rank else self.least
        for index, count in sorted(self.bins.items()):
            rank -= count
            if rank < 0:
                return max(self.least, min(self.edge(index + 0.5), self.most))
        return self.most

    def bars(self) -> dict[int, int]:
        """Return the counts of a histogram: bar n begins at `edge(n * DRAWN)`."""
        bars: Counter[int] = Counter()
        for index, count in self.bins.items():
            bars[index // DRAWN] += count
        return bars

    @staticmethod
    def edge(index: float) -> float:
        """Return the lower edge of a bin, in seconds."""
        return LEAST * math.pow(2, index / STEPS)
