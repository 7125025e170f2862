"""Version ranges as in Kafka's specs: `0-8`, `4+`, `none`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from ..runtime.lazy_patterns import lazy_pattern

HIGHEST_VERSION = 32767  # versions are int16
_RANGE = lazy_pattern(r"([0-9]{1,5})(?:(\+)|-([0-9]{1,5}))?")


@dataclass(frozen=True, slots=True)
class Versions:
    """Closed ranges of version numbers; `4+` ends at 32767.

    >>> 5 in Versions.parse("0-3,5+"), 4 in Versions.parse("0-3,5+")
    (True, False)
    """

    ranges: tuple[tuple[int, int], ...] = ()

    @classmethod
    @lru_cache(maxsize=4096)  # specs repeat few ranges: a start parsed 1,000 of them
    def parse(cls, text: str) -> Versions:
        """Parse `0-8`, `4+`, `3`, `none`, or several of these in ascending order, separated by commas.

        Several ranges are an extension of kwire.

        Adjacent ranges are joined. Raises ValueError with the problem.
        """
        if text.strip() == "none":
            return cls()
        ranges = tuple(_parse_range(part.strip()) for part in text.split(","))
        if any(left[1] >= right[0] for left, right in pairwise(ranges)):
            raise ValueError(f"the ranges of {text!r} do not ascend")
        return cls(_join_ranges(ranges))

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and any(low <= version <= high for low, high in self.ranges)

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __iter__(self) -> Iterator[int]:
        """Iterate over the single versions in ascending order."""
        for low, high in self.ranges:
            yield from range(low, high + 1)

    def __str__(self) -> str:
        return ",".join(_format_range(low, high) for low, high in self.ranges) or "none"

    @property
    def first(self) -> int:
        """The lowest version; raise ValueError if there is none."""
        if not self.ranges:
            raise ValueError("no versions")
        return self.ranges[0][0]

    @property
    def last(self) -> int:
        """The highest version; raise ValueError if there is none."""
        if not self.ranges:
            raise ValueError("no versions")
        return self.ranges[-1][1]

    @property
    def is_open(self) -> bool:
        """Whether the range has no end (`4+`)."""
        return bool(self.ranges) and self.last == HIGHEST_VERSION

    def covers(self, other: Versions) -> bool:
        """Whether these ranges contain every version of `other`."""
        return all(any(low <= a and b <= high for low, high in self.ranges) for a, b in other.ranges)

    def meets(self, other: Versions) -> Versions:
        """Return the versions that are in both ranges."""
        both = (
            (max(low, a), min(high, b))
            for low, high in self.ranges
            for a, b in other.ranges
            if max(low, a) <= min(high, b)
        )
        return Versions(tuple(sorted(both)))

    def joins(self, other: Versions) -> Versions:
        """Return the versions that are in either range."""
        return Versions(_join_ranges((*self.ranges, *other.ranges)))


def _parse_range(text: str) -> tuple[int, int]:
    match = _RANGE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a version range")
    low = int(match[1])
    high = HIGHEST_VERSION if match[2] else int(match[3] or low)
    if low > high or high > HIGHEST_VERSION:
        raise ValueError(f"{text!r} is not a range of versions from 0 to {HIGHEST_VERSION}")
    return low, high


def _join_ranges(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Join adjacent and overlapping ranges."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            low, before = merged.pop()
            high = max(high, before)
        merged.append((low, high))
    return tuple(merged)


def _format_range(low: int, high: int) -> str:
    if high == HIGHEST_VERSION:
        return f"{low}+"
    return str(low) if low == high else f"{low}-{high}"


NONE = Versions()
