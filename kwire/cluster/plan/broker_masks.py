"""Sets of brokers as bit masks of broker indexes."""

from __future__ import annotations

from collections.abc import Iterator


def scatter(first: int, second: int) -> int:
    """Return a deterministic hash of two numbers, used to choose among equal candidates.

    >>> scatter(1, 2), scatter(2, 1)
    (22572, 60412)
    """
    return ((first + 1) * 2654435761 ^ (second + 1) * 2246822519) * 3266489917 >> 16 & 0xFFFF


def bits(mask: int) -> Iterator[int]:
    """Yield the indexes of the bits that are set, in ascending order.

    >>> list(bits(0b1101))
    [0, 2, 3]
    """
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
