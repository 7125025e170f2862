"""Extracts TCP segments from packets: link layers, VLAN tags, IPv4 and IPv6, and tunnels (VXLAN, GRE, IP in IP).

The module finds addresses, ports and payload, but does not track connections. For a packet without a segment it returns
the reason, so that packets that may belong to a TCP stream can be reported. IP fragments are reported, not reassembled.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from ipaddress import IPv6Address
from struct import Struct
from typing import Any, NamedTuple

import msgspec

from .pcap import RECORD_HEADER, SECOND, Interface, Packet

FIN, SYN, RST, ACK = 1, 2, 4, 16
TCP, UDP, GRE = 6, 17, 47
IP_IN_IP = (4, 41)
VXLAN_PORT, BRIDGED = b"\x12\xb5", b"\x65\x58"  # UDP port 4789 (RFC 7348); Ethernet in GRE
DEEPEST = 512  # bytes of headers before a tunnel
IPV4, IPV6 = b"\x08\x00", b"\x86\xdd"
MPLS, PPPOE = b"\x88\x47", b"\x88\x64"
VLAN_TAGS = frozenset([b"\x81\x00", b"\x88\xa8", b"\x91\x00"])  # 802.1Q, 802.1ad, and the predecessor of 802.1ad

# The reasons why a packet has no segment. Packets with one of the last reasons may have been part of a TCP stream.
NOT_TCP = "not TCP"
FRAGMENT = "a fragment of an IP packet"
CUT = "cut before the end of its headers"
DAMAGED = "not possible in its lengths"
LOST = (FRAGMENT, CUT, DAMAGED)

_IPV4 = Struct(">BxHxxHxB").unpack_from  # header length, total length, fragment, protocol
_IPV6 = Struct(">HB").unpack_from  # payload length, next header
_TCP = Struct(">IIH").unpack_from  # sequence, acknowledgement, header length and flags
_IPV6_EXTENSIONS = frozenset([0, 43, 60, 135, 139, 140])  # the length of each is in units of eight bytes
_FRAGMENT_HEADER, _AUTHENTICATION = 44, 51
LINK_NAMES = {9: "PPP", 105: "802.11", 127: "radiotap", 189: "USB", 220: "USB", 249: "USB", 252: "exported PDUs"}


class Segment(msgspec.Struct, frozen=True, gc=False):
    """A TCP segment.

    `key` holds both addresses, then both ports, source first; `payload` is the captured part of the payload, and
    `missing` is the number of payload bytes that were not captured.
    """

    key: bytes
    sequence: int
    acknowledgement: int
    flags: int
    payload: bytes
    missing: int
    nanoseconds: int | None

    @property
    def source(self) -> str:
        """The source as text: `10.0.0.1:9092` or `[::1]:9092`."""
        return end_text(self.key, 0)

    @property
    def target(self) -> str:
        """The target as text, in the format of `source`."""
        return end_text(self.key, 1)


def end_text(key: bytes, index: int) -> str:
    """Format one endpoint of a connection: 0 is the source, 1 the target.

    >>> end_text(bytes([10, 0, 0, 1, 10, 0, 0, 2, 0, 80, 35, 132]), 1)
    '10.0.0.2:9092'
    """
    size = (len(key) - 4) // 2
    address = key[index * size : (index + 1) * size]
    start = 2 * size + 2 * index
    port = int.from_bytes(key[start : start + 2], "big")
    return f"{address_text(address)}:{port}"


@lru_cache(maxsize=4096)
def address_text(address: bytes) -> str:
    """Format an IPv4 or IPv6 address given as bytes.

    >>> address_text(bytes([10, 0, 0, 1])), address_text(bytes(15) + b"\1")
    ('10.0.0.1', '[::1]')
    """
    if len(address) != 4:
        return f"[{IPv6Address(address)}]"
    one, two, three, four = address
    return f"{one}.{two}.{three}.{four}"


def turned(key: bytes) -> bytes:
    """Return the key of the opposite direction."""
    size = (len(key) - 4) // 2
    return key[size : 2 * size] + key[:size] + key[-2:] + key[-4:-2]


def segment_of(packet: Packet) -> Segment | str:
    """Return the TCP segment of a packet, or the reason why the packet has none."""
    reader = LINKS.get(packet.link)
    return _unread(packet.link) if reader is None else reader(packet)


def _unread(link: int) -> str:
    return f"of link type {link}" + (f" ({LINK_NAMES[link]})" if link in LINK_NAMES else "")


def _ethernet(packet: Packet) -> Segment | str:
    return _typed(packet, packet.data[12:14], 14)


def _sll(packet: Packet) -> Segment | str:
    return _typed(packet, packet.data[14:16], 16)


def _sll2(packet: Packet) -> Segment | str:
    return _typed(packet, packet.data[:2], 20)


def _typed(packet: Packet, kind: bytes, at: int) -> Segment | str:
    while kind in VLAN_TAGS:
        kind = packet.data[at + 2 : at + 4]
        at += 4
    if kind == IPV4:
        return _ipv4(packet, at)
    if kind == IPV6:
        return _ipv6(packet, at)
    if kind in (MPLS, PPPOE):
        return _bare_ip(packet, at + 8 if kind == PPPOE else _behind_labels(packet.data, at))
    return NOT_TCP if len(kind) == 2 else CUT


def _behind_labels(data: bytes, at: int) -> int:
    while at + 4 <= len(data) and not data[at + 2] & 1:  # not the bottom of the stack
        at += 4
    return at + 4


def _loopback(packet: Packet) -> Segment | str:
    """Parse BSD loopback. The IP version is used: the address family is equivalent, but in the writer's byte order."""
    return _bare_ip(packet, 4)


def _bare_ip(packet: Packet, at: int = 0) -> Segment | str:
    version = packet.data[at] >> 4 if at < len(packet.data) else 0
    if version == 4:
        return _ipv4(packet, at)
    return _ipv6(packet, at) if version == 6 else NOT_TCP


def _ipv4(packet: Packet, at: int) -> Segment | str:
    data = packet.data
    if at + 20 > len(data):
        return CUT
    first, total, fragment, protocol = _IPV4(data, at)
    if protocol != TCP:
        return NOT_TCP if fragment & 0x1FFF else _tunnelled(packet, protocol, at + (first & 15) * 4)
    if fragment & 0x3FFF:  # more fragments follow, or this is not the first
        return FRAGMENT
    start = at + (first & 15) * 4
    # With segmentation offload, a length that does not fit its field is written as zero.
    stop = at + total if total else packet.length
    if start == at + 20:
        return _tcp(packet, data[at + 12 : at + 24], start, stop)
    if start < at + 20:
        return DAMAGED
    return _tcp(packet, data[at + 12 : at + 20] + data[start : start + 4], start, stop)


def _ipv6(packet: Packet, at: int) -> Segment | str:
    data = packet.data
    start = at + 40
    if start > len(data):
        return CUT
    length, kind = _IPV6(data, at + 4)
    # A jumbogram, or segmentation offload.
    stop = start + length if length else packet.length
    if kind == TCP:
        return _tcp(packet, data[at + 8 : at + 44], start, stop)
    while kind in _IPV6_EXTENSIONS or kind in (_FRAGMENT_HEADER, _AUTHENTICATION):
        if start + 8 > len(data):
            return CUT
        if kind == _FRAGMENT_HEADER and (data[start + 2] or data[start + 3] & 0xF9):
            return FRAGMENT if data[start] == TCP else NOT_TCP
        step = _extension_length(kind, data[start + 1])
        kind = data[start]
        start += step
    if kind != TCP:
        return _tunnelled(packet, kind, start)
    return _tcp(packet, data[at + 8 : at + 40] + data[start : start + 4], start, stop)


def _tunnelled(packet: Packet, protocol: int, at: int) -> Segment | str:
    """Parse a tunnelled packet; traffic mirroring in cloud networks uses VXLAN."""
    data = packet.data
    if at > DEEPEST:
        return NOT_TCP
    if protocol in IP_IN_IP:
        return _bare_ip(packet, at)
    if protocol == UDP and data[at + 2 : at + 4] == VXLAN_PORT and at + 16 < len(data):
        return _typed(packet, data[at + 28 : at + 30], at + 30)
    if protocol != GRE or at + 4 > len(data):
        return NOT_TCP
    start = at + 4 + sum(4 for bit in (0x80, 0x20, 0x10) if data[at] & bit)  # checksum, key, sequence number
    kind = data[at + 2 : at + 4]
    return _typed(packet, data[start + 12 : start + 14], start + 14) if kind == BRIDGED else _typed(packet, kind, start)


def _extension_length(kind: int, field: int) -> int:
    if kind == _FRAGMENT_HEADER:
        return 8
    return (field + 2) * 4 if kind == _AUTHENTICATION else (field + 1) * 8


def _tcp(packet: Packet, key: bytes, at: int, stop: int) -> Segment | str:
    data = packet.data
    if at + 14 > len(data):
        return CUT
    sequence, acknowledgement, flags = _TCP(data, at + 4)
    start = at + (flags >> 12) * 4
    if start < at + 20 or stop < start:
        return DAMAGED
    # Bounded by the length of the packet: a larger length in the IP header is damage, and would count as missing bytes.
    stop = max(start, min(stop, max(packet.length, len(data))))
    payload = data[start:stop]
    return Segment(
        key, sequence, acknowledgement, flags & 0xFF, payload, stop - start - len(payload), packet.nanoseconds
    )


LINKS: dict[int, Callable[[Packet], Segment | str]] = {
    0: _loopback,  # BSD
    108: _loopback,  # OpenBSD: in network byte order
    1: _ethernet,
    12: _bare_ip,  # used by some systems instead of 101
    14: _bare_ip,
    101: _bare_ip,
    228: _bare_ip,  # IPv4 only
    229: _bare_ip,  # IPv6 only
    113: _sll,
    276: _sll2,
}


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
    place = NAMED.get(interface.link, (BARE.get(interface.link, -1), -1))
    is_usual = interface.ticks <= SECOND and abs(interface.offset) <= SECOND
    return (*place, interface.ticks, interface.offset) if place[0] >= 0 and is_usual else None


def layouts_for(link: int) -> list[Layout]:
    """Return the layouts of a link type, for IPv4 and IPv6; an empty list for an unsupported link type."""
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
