"""Packets that stood in a hex text: the frames that TCP carries are cut out of them. For a paste, not for a capture:
packets are taken in the order of the text.

Knows IPv4, IPv6 and TCP, and where they begin behind the usual link layers; knows nothing of what is in a frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

from ..faults import BadFrame
from ..frames import Frame, FrameDecoder, FrameReader, Request, Source

_TCP = 6
# link layer -> (where IP begins, where its type stands)
LINKS: dict[str, tuple[int, int | None]] = {
    "raw IP": (0, None),
    "Ethernet": (14, 12),
    "Ethernet with a VLAN tag": (18, 16),
    "Linux cooked": (16, 14),
    "Linux cooked v2": (20, 0),
    "loopback": (4, None),
}
_ETHERTYPES = {4: b"\x08\x00", 6: b"\x86\xdd"}
# IPv6 extension headers that may stand before TCP: hop-by-hop, routing, destination options
_EXTENSIONS = (0, 43, 60)


class Segment(NamedTuple):
    """What a packet carries: both ends as `ip:port`, the sequence number of its first byte, its bytes."""

    link: str
    source: str
    target: str
    sequence: int
    data: bytes
    missing: int  # bytes that the packet had and the text has not


def tcp_segment(packet: bytes) -> Segment | None:
    """Find the TCP segment in a packet, whatever link layer is in front of it.

    Args:
        packet: from its link layer or its IP header on.

    Returns:
        The segment; None if there is no IPv4 or IPv6 packet with TCP in it, or not its headers.
    """
    for link, (start, type_at) in LINKS.items():
        version = packet[start] >> 4 if len(packet) > start else 0
        if type_at is not None and packet[type_at : type_at + 2] != _ETHERTYPES.get(version):
            continue
        found = _ipv4(packet[start:]) if version == 4 else _ipv6(packet[start:]) if version == 6 else None
        if found is not None:
            return found._replace(link=link)
    return None


def _ipv4(data: bytes) -> Segment | None:
    header = (data[0] & 15) * 4
    length = _int(data, 2, 2)
    if header < 20 or len(data) < header + 20 or data[9] != _TCP or _checksum(data[:header]) not in (0, 0xFFFF):
        return None
    ends = [str(IPv4Address(data[at : at + 4])) for at in (12, 16)]
    return _tcp(data[header:], length - header if length else None, ends)


def _ipv6(data: bytes) -> Segment | None:
    length, kind, start = _int(data, 4, 2), data[6] if len(data) > 6 else None, 40
    while kind in _EXTENSIONS and len(data) > start + 1:
        kind, start = data[start], start + 8 + 8 * data[start + 1]
    if kind != _TCP or len(data) < start + 20:
        return None
    ends = [f"[{IPv6Address(data[at : at + 16])}]" for at in (8, 24)]
    return _tcp(data[start:], length - (start - 40) if length else None, ends)


def _tcp(data: bytes, length: int | None, ends: list[str]) -> Segment | None:
    """Read the header; `length` is of header and data, None where the network card was to fill it in."""
    header = (data[12] >> 4) * 4
    if length is None:
        length = len(data)
    if header < 20 or length < header:
        return None
    sequence = _int(data, 4, 4) + (data[13] >> 1 & 1)  # a SYN counts as a byte
    source, target = (f"{end}:{_int(data, at, 2)}" for end, at in zip(ends, (0, 2), strict=True))
    payload = data[header:length]
    return Segment("", source, target, sequence & 0xFFFFFFFF, payload, max(length - max(len(data), header), 0))


def _int(data: bytes, start: int, size: int) -> int:
    return int.from_bytes(data[start : start + size], "big")


def _checksum(header: bytes) -> int:
    """Add up a header; 0xffff is right, 0 is what a card that was to fill it in leaves behind."""
    if header[10:12] == b"\0\0":
        return 0
    total = sum(_int(header, at, 2) for at in range(0, len(header), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


class PacketReader:
    """Puts together what the packets of a text carry, each direction for itself, and cuts it into frames.

    Args:
        file: the text's name, for the frames' sources.

    Attributes:
        others: how many packets were no TCP.
        gaps: how many bytes are missing between packets, as far as can be told.
    """

    def __init__(self, file: str = "") -> None:
        self.file = file
        self.others = self.gaps = self._count = 0
        self._flows: dict[tuple[str, str], _Flow] = {}
        self._ends: dict[tuple[str, str], tuple[str, str]] = {}

    def feed(self, packet: bytes) -> Iterator[Frame]:
        """Yield the frames that end in a packet."""
        segment = tcp_segment(packet)
        if segment is None:
            self.others += 1
            return
        ends = segment.source, segment.target
        flow = self._flows.setdefault(ends, _Flow())
        if segment.data:
            gap, data = flow.next(segment)
            if gap:
                self.gaps += gap
                yield from self._rest(ends, flow)
            yield from self._frames(ends, flow, data)

    def finish(self) -> Iterator[Frame]:
        """Yield what is in no whole frame, of each direction."""
        for ends, flow in self._flows.items():
            yield from self._rest(ends, flow)

    def _frames(self, ends: tuple[str, str], flow: _Flow, data: bytes) -> Iterator[Frame]:
        try:
            for frame in flow.reader.feed(data):
                yield self._placed(ends, frame.data, frame.source.offset)
        except BadFrame:
            yield from self._rest(ends, flow)

    def _rest(self, ends: tuple[str, str], flow: _Flow) -> Iterator[Frame]:
        if flow.reader.rest:
            yield self._placed(ends, flow.reader.rest, flow.reader.offset)
        flow.reader = FrameReader()

    def _placed(self, ends: tuple[str, str], data: bytes, offset: int | None) -> Frame:
        """Say which end is the broker: the one that a request goes to."""
        source, target = ends
        if ends not in self._ends:
            asks = isinstance(FrameDecoder().decode(Frame(data)), Request)
            client, broker = (source, target) if asks else (target, source)
            self._ends[source, target] = self._ends[target, source] = client, broker
        self._count += 1
        client, broker = self._ends[ends]
        direction = "request" if source == client else "response"
        return Frame(data, Source(self.file, self._count - 1, offset, None, client, broker, direction=direction))


class _Flow:
    """One direction of a connection."""

    def __init__(self) -> None:
        self.reader = FrameReader()
        self.expected: int | None = None

    def next(self, segment: Segment) -> tuple[int, bytes]:
        """Return how many bytes are missing in front of a segment, and what is new in it."""
        ahead = 0 if self.expected is None else (segment.sequence - self.expected) & 0xFFFFFFFF
        again = 0x100000000 - ahead if ahead >> 31 else 0
        data = segment.data[again:]
        if data:
            self.expected = (segment.sequence + len(segment.data)) & 0xFFFFFFFF
        return (0 if again else ahead), data
