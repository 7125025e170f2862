"""Shards of a capture: which process reads which connections, where several processes read the same file."""

from __future__ import annotations

from typing import NamedTuple

from .link_layers import turned


class Share(NamedTuple):
    """One of `parts` shares of all connections. `part` counts from 0; the first also tells what is of the whole."""

    part: int = 0
    parts: int = 1

    @property
    def is_all(self) -> bool:
        """Whether there are no other shares."""
        return self.parts == 1

    @property
    def tells(self) -> bool:
        """Whether what is of no connection is told here."""
        return self.part == 0

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


class Span(NamedTuple):
    """Connections of a pcap file that lie together: those whose first packet is in a range of the file.

    Attributes:
        start, stop: the range, in bytes from the file's start.
        end: behind the last packet of these connections.
        packets: how many packets are before the range.
        others: of connections that began before it and go on, the key of a segment.
        tells: whether what is of no connection is told here.
    """

    start: int
    stop: int
    end: int
    packets: int
    others: tuple[bytes, ...]
    tells: bool


class Newcomers:
    """The share of all connections that a span has, or one of several shares of these, while the file is read from
    `span.start` to `span.end`.

    Args:
        span: the span.
        share: of its connections.

    Attributes:
        may_begin: whether what is read now is in the span's range; who reads says so.
    """

    is_all = False

    def __init__(self, span: Span, share: Share = ALL) -> None:
        self.tells: bool = span.tells and share.tells
        self.may_begin = True
        self._share = share
        self._others = {key for one in span.others for key in (one, turned(one))}
        self._own: set[bytes] = set()

    def has(self, key: bytes) -> bool:
        """Whether a connection belongs to this share, by the key of a segment that comes next."""
        if key not in self._own:
            if not self.may_begin or key in self._others or not self._share.has(key):
                return False
            self._own |= {key, turned(key)}
        return True
