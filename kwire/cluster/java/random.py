"""java.util.Random, the 48-bit linear congruential generator of Java's documentation."""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Any, Protocol, TypeVar

from .hash_order import int32

_MULTIPLIER, _ADDEND, _SEED_MASK = 0x5DEECE66D, 0xB, (1 << 48) - 1
T = TypeVar("T")


class Rng(Protocol):
    """The random methods that placement uses: those of Python's `random.Random`, and of `Random` in this module."""

    def randrange(self, stop: int, /) -> int:
        """Return a number from 0 up to `stop`, exclusive."""

    def shuffle(self, x: MutableSequence[Any], /) -> None:
        """Shuffle a list in place."""


class Random:
    """`java.util.Random`: returns the same numbers as Java for a seed.

    >>> random = Random(42)
    >>> random.next_int(), random.randrange(10)
    (-1170105035, 3)
    """

    def __init__(self, seed: int) -> None:
        self._seed = (seed ^ _MULTIPLIER) & _SEED_MASK

    def next_int(self) -> int:
        """Return `nextInt()`: any 32-bit number."""
        return int32(self._next(32))

    def randrange(self, stop: int) -> int:
        """Return `nextInt(stop)`: a number from 0 up to `stop`, exclusive. The name is that of Python's generators.

        Raises:
            ValueError: `stop` is not from 1 to 2**31 - 1.
        """
        if not 0 < stop < 1 << 31:
            raise ValueError(f"stop is {stop}; it must be from 1 to 2147483647")
        drawn = self._next(31)
        if stop & stop - 1 == 0:
            return stop * drawn >> 31
        # Numbers in the last, incomplete range below 2**31 would favour small remainders.
        while drawn - drawn % stop + stop > 1 << 31:
            drawn = self._next(31)
        return drawn % stop

    def shuffle(self, x: MutableSequence[Any]) -> None:
        """Shuffle in place, as `Collections.shuffle` does."""
        for last in range(len(x) - 1, 0, -1):
            other = self.randrange(last + 1)
            x[last], x[other] = x[other], x[last]

    def _next(self, bits: int) -> int:
        self._seed = (self._seed * _MULTIPLIER + _ADDEND) & _SEED_MASK
        return self._seed >> 48 - bits
