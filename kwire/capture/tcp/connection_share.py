"""Selects the connections of a capture that one of several processes reads."""

from __future__ import annotations

from typing import NamedTuple


class ConnectionShare(NamedTuple):
    """One of `parts` shares of all connections.

    `part` counts from 0; the first share also reports items that belong to no connection.
    """

    part: int = 0
    parts: int = 1

    @property
    def is_all(self) -> bool:
        """Whether there are no other shares."""
        return self.parts == 1

    @property
    def reports_rest(self) -> bool:
        """Whether this share reports items that belong to no connection."""
        return self.part == 0

    def has(self, key: bytes) -> bool:
        """Whether a connection belongs to this share, by the key of a segment of either direction.

        >>> key, other = bytes(8) + b"\\x23\\x84\\xc0\\x02", bytes(8) + b"\\xc0\\x02\\x23\\x84"
        >>> first, second = ConnectionShare(0, 2), ConnectionShare(1, 2)
        >>> first.has(key), second.has(key), second.has(other), ConnectionShare().has(key)
        (False, True, True, True)
        """
        ports = int.from_bytes(key[-4:-2], "big") + int.from_bytes(key[-2:], "big")
        # Clients use consecutive or even ports: Fibonacci hashing distributes them evenly.
        return (ports * 0x9E3779B1 >> 16 & 0xFFFF) % self.parts == self.part


ALL = ConnectionShare()
