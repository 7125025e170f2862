"""Counts frames per span of time, in a limited number of bins."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping


class FrameTimeline:
    """Counts frames per span of time. Bins are 1 ms wide at first; their width doubles when there are over `limit`."""

    def __init__(self, limit: int = 120) -> None:
        self.limit: int = limit
        self.width: float = 0.001
        self.bins: dict[int, Counter[str]] = {}
        self._ends: list[int] = []  # the first and the last bin

    def add(self, kind: str, *times: float) -> None:
        """Count frames of one kind, given their times in seconds since 1970, in any order."""
        self.add_spans(kind, Counter(math.floor(time / self.width) for time in times), self.width)

    def add_spans(self, kind: str, spans: Mapping[int, int], width: float) -> None:
        """Count frames of one kind.

        Args:
            kind: what is counted.
            spans: the number of frames by span of time; spans are numbered from 1970 on.
            width: the width of a span in seconds: a present or former width of the bins.
        """
        given = width
        if not spans:
            return
        ends = [min(spans), max(spans)]
        while width < self.width or max(ends + self._ends) - min(ends + self._ends) >= self.limit:
            if width == self.width:
                self._widen()
            width *= 2
            ends = [end // 2 for end in ends]
        self._ends = [min(ends + self._ends), max(ends + self._ends)]
        wider = round(math.log2(width / given))
        for span, count in spans.items():
            self.bins.setdefault(span >> wider, Counter())[kind] += count

    def add_counts(self, other: FrameTimeline) -> None:
        """Add the frames of another timeline."""
        while self.width < other.width:
            self._widen()
        for kind in dict.fromkeys(kind for counts in other.bins.values() for kind in counts):
            self.add_spans(
                kind, {span: counts[kind] for span, counts in other.bins.items() if counts[kind]}, other.width
            )

    def _widen(self) -> None:
        self.width *= 2
        wider: dict[int, Counter[str]] = {}
        for index, counts in self.bins.items():
            wider.setdefault(index // 2, Counter()).update(counts)
        self.bins = wider
        self._ends = [index // 2 for index in self._ends]

    def rows(self) -> Iterator[tuple[float, Counter[str]]]:
        """Yield (start in seconds since 1970, counts) for every bin from first to last, including empty ones."""
        for index in range(min(self.bins, default=0), max(self.bins, default=-1) + 1):
            yield index * self.width, self.bins.get(index, Counter())
