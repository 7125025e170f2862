"""A captured packet, and the interface that captured it: values of both capture formats."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

LONGEST = 1 << 24  # bytes of a packet, or of a block with a packet; no link has longer packets
SECOND = 1_000_000_000
FIRST_INTERFACES = 32  # whose packets the native engine reads: MOST_LINKS in kwire/codecs/native/packet_layouts.pxi


class Packet(msgspec.Struct, frozen=True, gc=False):
    """A captured packet.

    `nanoseconds` since 1970 are exact, or None if the file has no time; `link` is the link type (1 is Ethernet); `data`
    is the captured part of the `length` bytes of the packet.
    """

    nanoseconds: int | None
    link: int
    data: bytes
    length: int

    @property
    def time(self) -> float | None:
        """Seconds since 1970, as the nearest float."""
        return None if self.nanoseconds is None else self.nanoseconds / SECOND


class Interface(NamedTuple):
    """An interface of a capture: its link type, ticks per second, and time offset.

    A pcap file has one interface, a section of pcapng may have many.
    """

    link: int
    ticks: int
    offset: int = 0  # seconds
    snap_length: int = 0

    def nanoseconds(self, ticks: int) -> int:
        """Return nanoseconds since 1970."""
        return ticks * SECOND // self.ticks + self.offset * SECOND
