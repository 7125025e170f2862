"""Offsets of header fields in pcap records with the usual layout: Ethernet and similar links, IP without options,
TCP.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any, NamedTuple

from .link_layers import IPV4, IPV6
from .pcap import RECORD_HEADER

LEAST_TCP = 20  # bytes of a TCP header
# link type -> (bytes in front of IP, where among them its version is named); without a name
NAMED = {1: (14, 12), 113: (16, 14), 276: (20, 0)}
BARE = {0: 4, 108: 4, 12: 0, 14: 0, 101: 0, 228: 0, 229: 0}


class Layout(NamedTuple):
    """Where things lie in a record of the file, for one link type and IP version.

    `unpack` reads captured and real length as one number, the name of the IP version, the first byte of its header,
    its length, what says that this is TCP and no fragment, the connection's key, sequence, acknowledgement, and
    header length and flags of TCP.
    """

    unpack: Callable[[bytes, int], tuple[Any, ...]]
    name: bytes
    first: int  # so without IPv4's options and IPv6's traffic classes
    mask: int  # of what says that it is TCP
    ip: int  # from where in the record IP counts its length
    tcp: int  # where TCP begins


def link_layout(link: int) -> tuple[int, int] | None:
    """Return how many bytes stand in front of IP, and where among them the protocol is named (-1: nowhere); None for a
    link type whose packets go the general path."""
    if link in NAMED:
        return NAMED[link]
    return (BARE[link], -1) if link in BARE else None


def layouts_for(link: int) -> list[Layout]:
    """Return the layouts of a link type with IPv4 and with IPv6; none for a link type that is not read here."""
    if link in NAMED:
        length, at = NAMED[link]
        prefix, names = f">8xQ{at}x2s{length - at - 2}x", (IPV4, IPV6)
    elif link in BARE:
        length, names = BARE[link], (b"", b"")
        prefix = f">8xQ{length}x0s"
    else:
        return []
    start = RECORD_HEADER + length
    four, six = Struct(prefix + "BxH2xI2x12sIIH"), Struct(prefix + "B3xHBx36sIIH")
    return [
        Layout(four.unpack_from, names[0], 0x45, 0x3FFF00FF, start, start + 20),
        Layout(six.unpack_from, names[1], 0x60, 0xFF, start + 40, start + 40),
    ]
