"""Positions of header fields by link type: the native engine and the packet scan read usual packets by them.

`packet_headers` reads all others.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any, NamedTuple

from .packet import SECOND, Interface
from .packet_headers import IPV4, IPV6
from .pcap import RECORD_HEADER

LEAST_TCP = 20  # bytes of a TCP header
# link type -> (bytes before IP, position of the IP version among them); without a name
NAMED = {1: (14, 12), 113: (16, 14), 276: (20, 0)}
BARE = {0: 4, 108: 4, 12: 0, 14: 0, 101: 0, 228: 0, 229: 0}


class Layout(NamedTuple):
    """Positions of fields in a record of the file, for one link type and IP version.

    `unpack` reads captured and original length as one number, the protocol field of the link layer, the first byte of
    the IP header, the IP length, the bytes that identify unfragmented TCP, the key of the connection, the sequence
    number, the acknowledgement number, and TCP's header length and flags.
    """

    unpack: Callable[[bytes, int], tuple[Any, ...]]
    name: bytes
    first: int  # excludes options of IPv4 and traffic classes of IPv6
    mask: int  # of the bytes that identify TCP
    ip: int  # position in the record from which the IP length counts
    tcp: int  # where the TCP header starts


def link_layout(interface: Interface) -> tuple[int, int, int, int] | None:
    """Return the layout of an interface's packets for the native engine; None if they take the general path.

    The layout is the number of bytes before the IP header, the position of the protocol field in them (-1 for none),
    ticks per second, and seconds that are added to times.
    """
    length, protocol_at = NAMED.get(interface.link, (BARE.get(interface.link, -1), -1))
    is_usual = interface.ticks <= SECOND and abs(interface.offset) <= SECOND
    if length < 0 or not is_usual:
        return None
    return length, protocol_at, interface.ticks, interface.offset


def layouts_for(link: int) -> list[Layout]:
    """Return the layouts of a link type, for IPv4 and IPv6; an empty list for an unsupported link type."""
    if link in NAMED:
        length, at = NAMED[link]
        prefix = f">8xQ{at}x2s{length - at - 2}x"
        names = (IPV4, IPV6)
    elif link in BARE:
        length = BARE[link]
        names = (b"", b"")
        prefix = f">8xQ{length}x0s"
    else:
        return []
    start = RECORD_HEADER + length
    four, six = Struct(prefix + "BxH2xI2x12sIIH"), Struct(prefix + "B3xHBx36sIIH")
    return [
        Layout(four.unpack_from, names[0], 0x45, 0x3FFF00FF, start, start + 20),
        Layout(six.unpack_from, names[1], 0x60, 0xFF, start + 40, start + 40),
    ]
