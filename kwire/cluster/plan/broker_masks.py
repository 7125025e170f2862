"""Sets of brokers as bit masks of broker indexes."""

from __future__ import annotations

from collections.abc import Iterator


def scattered(one: int, other: int) -> int:
    """Return a deterministic hash of two numbers, used to choose among equal candidates.

    >>> scattered(1, 2), scattered(2, 1)
    (22572, 60412)
    """
    return ((one + 1) * 2654435761 ^ (other + 1) * 2246822519) * 3266489917 >> 16 & 0xFFFF


def bits(mask: int) -> Iterator[int]:
    """Yield the indexes of the bits that are set, in ascending order.

    >>> list(bits(0b1101))
    [0, 2, 3]
    """
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
