"""Shares of a capture: which process counts which connections, when several read the same file."""

from __future__ import annotations

from typing import NamedTuple


class Share(NamedTuple):
    """One of `parts` shares of all connections. `part` counts from 0; the first also tells what is of the whole."""

    part: int = 0
    parts: int = 1

    def has(self, key: bytes) -> bool:
        """Whether a connection belongs to this share, by the key of a segment of either direction.

        >>> key, other = bytes(8) + b"\\x23\\x84\\xc0\\x02", bytes(8) + b"\\xc0\\x02\\x23\\x84"
        >>> Share(0, 2).has(key), Share(1, 2).has(key), Share(1, 2).has(other), Share().has(key)
        (False, True, True, True)
        """
        ports = int.from_bytes(key[-4:-2], "big") + int.from_bytes(key[-2:], "big")
        # Clients take ports one after the other, often all even: Fibonacci hashing spreads them.
        return (ports * 0x9E3779B1 >> 16 & 0xFFFF) % self.parts == self.part


ALL = Share()
