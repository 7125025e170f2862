"""Assigns connections to processes, when several processes read one capture."""

from __future__ import annotations

from typing import NamedTuple

from .link_layers import turned


class Share(NamedTuple):
    """One of `parts` shares of all connections. `part` counts from 0; the first share also reports what belongs to no
    connection."""

    part: int = 0
    parts: int = 1

    @property
    def is_all(self) -> bool:
        """Whether there are no other shares."""
        return self.parts == 1

    @property
    def reports_rest(self) -> bool:
        """Whether this share reports what belongs to no connection."""
        return self.part == 0

    def has(self, key: bytes) -> bool:
        """Whether a connection belongs to this share, by the key of a segment of either direction.

        >>> key, other = bytes(8) + b"\\x23\\x84\\xc0\\x02", bytes(8) + b"\\xc0\\x02\\x23\\x84"
        >>> Share(0, 2).has(key), Share(1, 2).has(key), Share(1, 2).has(other), Share().has(key)
        (False, True, True, True)
        """
        ports = int.from_bytes(key[-4:-2], "big") + int.from_bytes(key[-2:], "big")
        # Clients use consecutive or even ports: Fibonacci hashing distributes them evenly.
        return (ports * 0x9E3779B1 >> 16 & 0xFFFF) % self.parts == self.part


ALL = Share()


class Span(NamedTuple):
    """The connections of a pcap file whose first packet is in a range of the file.

    Attributes:
        start, stop: the range, in bytes from the file's start.
        end: the position after the last packet of these connections.
        packets: how many packets are before the range.
        others: keys of a segment of each connection that began before the range and continues in it.
        tells: whether this range reports what belongs to no connection.
    """

    start: int
    stop: int
    end: int
    packets: int
    others: tuple[bytes, ...]
    reports_rest: bool


class SpanShare:
    """The share of connections that belong to a range, or one of several shares of these, while the file is read from
    `span.start` to `span.end`.

    Args:
        span: the span.
        share: of its connections.

    Attributes:
        may_begin: whether the current packet is in the range; set by the reader.
    """

    is_all = False

    def __init__(self, span: Span, share: Share = ALL) -> None:
        self.reports_rest: bool = span.reports_rest and share.reports_rest
        self.may_begin = True
        self._share = share
        self._others = {key for one in span.others for key in (one, turned(one))}
        self._own: set[bytes] = set()

    def has(self, key: bytes) -> bool:
        """Whether a connection belongs to this share, by the key of its next segment."""
        if key not in self._own:
            if not self.may_begin or key in self._others or not self._share.has(key):
                return False
            self._own |= {key, turned(key)}
        return True
