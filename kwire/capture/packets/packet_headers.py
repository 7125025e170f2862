"""Parses the headers of packets: link layers, VLAN tags, IPv4 and IPv6, tunnels (VXLAN, GRE, IP in IP), TCP.

Finds addresses, ports and payload, but does not track connections. For a packet without a segment it returns the
reason, so that packets that may belong to a TCP stream can be reported. IP fragments are reported, not reassembled.

Sources: https://www.tcpdump.org/linktypes.html; RFC 791 (IPv4), RFC 8200 (IPv6), RFC 9293 (TCP); RFC 3032 (MPLS), RFC
2516 (PPPoE); RFC 7348 (VXLAN), RFC 2784 and RFC 2890 (GRE), RFC 2003 and RFC 4213 (IP in IP).
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct

from .packet import Packet
from .tcp_segment import Segment

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
# Hop-by-hop options, routing, destination options (RFC 8200, section 4), mobility (RFC 6275), HIP (RFC 7401) and Shim6
# (RFC 5533): the length of each is in units of eight bytes, without the first eight.
_IPV6_EXTENSIONS = frozenset([0, 43, 60, 135, 139, 140])
_FRAGMENT_HEADER = 44  # RFC 8200, section 4.5: always eight bytes
_AUTHENTICATION = 51  # RFC 4302, section 2.2: its length is in units of four bytes, without the first eight
LINK_NAMES = {9: "PPP", 105: "802.11", 127: "radiotap", 189: "USB", 220: "USB", 249: "USB", 252: "exported PDUs"}


def parse_segment(packet: Packet) -> Segment | str:
    """Return the TCP segment of a packet, or the reason why the packet has none."""
    reader = LINKS.get(packet.link)
    return _describe_link_type(packet.link) if reader is None else reader(packet)


def _describe_link_type(link: int) -> str:
    return f"of link type {link}" + (f" ({LINK_NAMES[link]})" if link in LINK_NAMES else "")


def _parse_ethernet(packet: Packet) -> Segment | str:
    return _parse_ethertype(packet, packet.data[12:14], 14)


def _parse_sll(packet: Packet) -> Segment | str:
    return _parse_ethertype(packet, packet.data[14:16], 16)


def _parse_sll2(packet: Packet) -> Segment | str:
    return _parse_ethertype(packet, packet.data[:2], 20)


def _parse_ethertype(packet: Packet, kind: bytes, at: int) -> Segment | str:
    while kind in VLAN_TAGS:
        kind = packet.data[at + 2 : at + 4]
        at += 4
    if kind == IPV4:
        return _parse_ipv4(packet, at)
    if kind == IPV6:
        return _parse_ipv6(packet, at)
    if kind == PPPOE:
        return _parse_ip(packet, at + 8)
    if kind == MPLS:
        return _parse_ip(packet, _skip_mpls_labels(packet.data, at))
    return NOT_TCP if len(kind) == 2 else CUT


def _skip_mpls_labels(data: bytes, at: int) -> int:
    while at + 4 <= len(data) and not data[at + 2] & 1:  # not the bottom of the stack
        at += 4
    return at + 4


def _parse_loopback(packet: Packet) -> Segment | str:
    """Parse BSD loopback. The IP version is used: the address family is equivalent, but in the writer's byte order."""
    return _parse_ip(packet, 4)


def _parse_ip(packet: Packet, at: int = 0) -> Segment | str:
    version = packet.data[at] >> 4 if at < len(packet.data) else 0
    if version == 4:
        return _parse_ipv4(packet, at)
    return _parse_ipv6(packet, at) if version == 6 else NOT_TCP


def _parse_ipv4(packet: Packet, at: int) -> Segment | str:
    data = packet.data
    if at + 20 > len(data):
        return CUT
    first, total, fragment, protocol = _IPV4(data, at)
    if protocol != TCP:
        return NOT_TCP if fragment & 0x1FFF else _parse_tunnel(packet, protocol, at + (first & 15) * 4)
    if fragment & 0x3FFF:  # more fragments follow, or this is not the first
        return FRAGMENT
    start = at + (first & 15) * 4
    # With segmentation offload, a length that does not fit its field is written as zero.
    stop = at + total if total else packet.length
    if start == at + 20:
        return _parse_tcp(packet, data[at + 12 : at + 24], start, stop)
    if start < at + 20:
        return DAMAGED
    return _parse_tcp(packet, data[at + 12 : at + 20] + data[start : start + 4], start, stop)


def _parse_ipv6(packet: Packet, at: int) -> Segment | str:
    data = packet.data
    start = at + 40
    if start > len(data):
        return CUT
    length, kind = _IPV6(data, at + 4)
    # A length of zero: a jumbogram (RFC 2675), or segmentation offload.
    stop = start + length if length else packet.length
    if kind == TCP:
        return _parse_tcp(packet, data[at + 8 : at + 44], start, stop)
    while kind in _IPV6_EXTENSIONS or kind in (_FRAGMENT_HEADER, _AUTHENTICATION):
        if start + 8 > len(data):
            return CUT
        if kind == _FRAGMENT_HEADER and (data[start + 2] or data[start + 3] & 0xF9):
            return FRAGMENT if data[start] == TCP else NOT_TCP
        step = _read_extension_length(kind, data[start + 1])
        kind = data[start]
        start += step
    if kind != TCP:
        return _parse_tunnel(packet, kind, start)
    return _parse_tcp(packet, data[at + 8 : at + 40] + data[start : start + 4], start, stop)


def _parse_tunnel(packet: Packet, protocol: int, at: int) -> Segment | str:
    """Parse a tunnelled packet; traffic mirroring in cloud networks uses VXLAN."""
    data = packet.data
    if at > DEEPEST:
        return NOT_TCP
    if protocol in IP_IN_IP:
        return _parse_ip(packet, at)
    if protocol == UDP and data[at + 2 : at + 4] == VXLAN_PORT and at + 16 < len(data):
        return _parse_ethertype(packet, data[at + 28 : at + 30], at + 30)
    if protocol != GRE or at + 4 > len(data):
        return NOT_TCP
    start = at + 4 + sum(4 for bit in (0x80, 0x20, 0x10) if data[at] & bit)  # checksum, key, sequence number
    kind = data[at + 2 : at + 4]
    if kind == BRIDGED:
        return _parse_ethertype(packet, data[start + 12 : start + 14], start + 14)
    return _parse_ethertype(packet, kind, start)


def _read_extension_length(kind: int, field: int) -> int:
    if kind == _FRAGMENT_HEADER:
        return 8
    return (field + 2) * 4 if kind == _AUTHENTICATION else (field + 1) * 8


def _parse_tcp(packet: Packet, key: bytes, at: int, stop: int) -> Segment | str:
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
    window = int.from_bytes(data[at + 14 : at + 16], "big") if at + 16 <= len(data) else None
    missing = stop - start - len(payload)
    return Segment(key, sequence, acknowledgement, flags & 0xFF, payload, missing, packet.nanoseconds, window)


LINKS: dict[int, Callable[[Packet], Segment | str]] = {
    0: _parse_loopback,  # LINKTYPE_NULL: BSD
    108: _parse_loopback,  # LINKTYPE_LOOP: OpenBSD, in network byte order
    1: _parse_ethernet,  # LINKTYPE_ETHERNET
    12: _parse_ip,  # DLT_RAW of some systems, which write it instead of 101
    14: _parse_ip,  # DLT_RAW of OpenBSD
    101: _parse_ip,  # LINKTYPE_RAW
    228: _parse_ip,  # LINKTYPE_IPV4
    229: _parse_ip,  # LINKTYPE_IPV6
    113: _parse_sll,  # LINKTYPE_LINUX_SLL
    276: _parse_sll2,  # LINKTYPE_LINUX_SLL2
}
