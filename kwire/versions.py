"""`Versions`: the version ranges of Kafka's specs, such as `0-8`, `4+`, `3` or `none`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from .caches import lazy_pattern

HIGHEST = 32767  # versions are int16
_RANGE = lazy_pattern(r"([0-9]{1,5})(?:(\+)|-([0-9]{1,5}))?")


@dataclass(frozen=True, slots=True)
class Versions:
    """Closed ranges of version numbers; `4+` ends at 32767.

    >>> 5 in Versions.parse("0-3,5+"), 4 in Versions.parse("0-3,5+")
    (True, False)
    """

    ranges: tuple[tuple[int, int], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Versions:
        """Read `0-8`, `4+`, `3`, `none`, or several of them in ascending order with commas (kwire's own).

        Adjacent ranges are joined. Raises ValueError with the problem.
        """
        if text.strip() == "none":
            return cls()
        ranges = tuple(_range(part.strip()) for part in text.split(","))
        if any(left[1] >= right[0] for left, right in pairwise(ranges)):
            raise ValueError(f"the ranges of {text!r} do not ascend")
        return cls(_merged(ranges))

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and any(low <= version <= high for low, high in self.ranges)

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __iter__(self) -> Iterator[int]:
        """Iterate over the single versions, from the lowest on."""
        for low, high in self.ranges:
            yield from range(low, high + 1)

    def __str__(self) -> str:
        return ",".join(_text(low, high) for low, high in self.ranges) or "none"

    @property
    def first(self) -> int:
        """The lowest version; ValueError if there is none."""
        if not self.ranges:
            raise ValueError("no versions")
        return self.ranges[0][0]

    @property
    def last(self) -> int:
        """The highest version; ValueError if there is none."""
        if not self.ranges:
            raise ValueError("no versions")
        return self.ranges[-1][1]

    @property
    def is_open(self) -> bool:
        """Whether the range has no end (`4+`)."""
        return bool(self.ranges) and self.last == HIGHEST

    def covers(self, other: Versions) -> bool:
        """Whether every version of `other` is one of these."""
        return all(any(low <= a and b <= high for low, high in self.ranges) for a, b in other.ranges)

    def meets(self, other: Versions) -> Versions:
        """Return the versions that are in both."""
        both = (
            (max(low, a), min(high, b))
            for low, high in self.ranges
            for a, b in other.ranges
            if max(low, a) <= min(high, b)
        )
        return Versions(tuple(sorted(both)))

    def joins(self, other: Versions) -> Versions:
        """Return the versions that are in either."""
        return Versions(_merged((*self.ranges, *other.ranges)))


def _range(text: str) -> tuple[int, int]:
    match = _RANGE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a version range")
    low = int(match[1])
    high = HIGHEST if match[2] else int(match[3] or low)
    if low > high or high > HIGHEST:
        raise ValueError(f"{text!r} is not a range of versions from 0 to {HIGHEST}")
    return low, high


def _merged(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Join adjacent and overlapping ranges."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            low, before = merged.pop()
            high = max(high, before)
        merged.append((low, high))
    return tuple(merged)


def _text(low: int, high: int) -> str:
    return f"{low}+" if high == HIGHEST else str(low) if low == high else f"{low}-{high}"
