"""Converts packets printed as hex, by tcpdump, tshark or Wireshark, to Kafka frames.

For a few pasted packets, not for captures: packets are read in the order of the text, and their link layer is detected.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import BadFrame
from ...protocol import Frame, FrameDecoder, FrameReader, Request, Source
from ..packets.packet import Packet
from ..packets.packet_headers import parse_segment
from ..packets.tcp_segment import SYN, Segment
from ..tcp.stream_reassembly import MASK, sequence_distance

# link layer -> (its type in captures, the offset of IP in it)
LINKS = {
    "raw IP": (101, 0),
    "Ethernet": (1, 14),
    "Ethernet with a VLAN tag": (1, 18),
    "Linux cooked": (113, 16),
    "Linux cooked v2": (276, 20),
    "loopback": (0, 4),
}


def find_tcp_segment(packet: bytes) -> tuple[str, Segment] | None:
    """Find the TCP segment in a packet with any link layer.

    Args:
        packet: the bytes from the link layer or the IP header on.

    Returns:
        The link layer, and the segment; None without an IPv4 or IPv6 packet with complete TCP headers.
    """
    for name, (link, start) in LINKS.items():
        length = _read_ip_length(packet[start:])
        segment = parse_segment(Packet(None, link, packet, start + length)) if length else ""
        if isinstance(segment, Segment):
            return name, segment
    return None


def _read_ip_length(data: bytes) -> int:
    """Return the length of an IP packet: the length of `data` if the network card sets the field later; 0 for other
    bytes.
    """
    if len(data) < 20:
        return 0
    version = data[0] >> 4
    header_length = (data[0] & 15) * 4
    if version == 4 and _sum_header(data[:header_length]) in (0, 0xFFFF):
        return _read_int16(data, 2) or len(data)
    if version == 6:
        return 40 + (_read_int16(data, 4) or len(data) - 40)
    return 0


def _read_int16(data: bytes, start: int) -> int:
    return int.from_bytes(data[start : start + 2], "big")


def _sum_header(header: bytes) -> int:
    """Return the sum of a header with its checksum (RFC 1071); 0xffff is correct, 0 is left by checksum offloading."""
    if header[10:12] == b"\0\0":
        return 0
    total = sum(_read_int16(header, at) for at in range(0, len(header), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


class PrintedPacketReader:
    """Reassembles the TCP payload of packets per direction, and splits it into frames.

    Args:
        file: the name of the text, for the frames' sources.

    Attributes:
        others: the number of packets without TCP.
        gaps: the number of bytes missing between packets, as far as known.
    """

    def __init__(self, file: str = "") -> None:
        self.file = file
        self.others: int = 0
        self.gaps: int = 0
        self._count = 0
        self._flows: dict[tuple[str, str], _Flow] = {}
        self._ends: dict[tuple[str, str], tuple[str, str]] = {}

    def feed(self, packet: bytes) -> Iterator[Frame]:
        """Add a packet; yield the frames that end in it."""
        link_and_segment = find_tcp_segment(packet)
        if link_and_segment is None:
            self.others += 1
            return
        _, segment = link_and_segment
        ends = segment.source, segment.target
        flow = self._flows.setdefault(ends, _Flow())
        if segment.payload:
            gap, data = flow.next(segment)
            if gap:
                self.gaps += gap
                yield from self._flush(ends, flow)
            yield from self._split_payload(ends, flow, data)

    def finish(self) -> Iterator[Frame]:
        """Yield the bytes outside of complete frames, of each direction."""
        for ends, flow in self._flows.items():
            yield from self._flush(ends, flow)

    def _split_payload(self, ends: tuple[str, str], flow: _Flow, data: bytes) -> Iterator[Frame]:
        try:
            for frame in flow.reader.feed(data):
                yield self._build_frame(ends, frame.data, frame.source.offset)
        except BadFrame:
            yield from self._flush(ends, flow)

    def _flush(self, ends: tuple[str, str], flow: _Flow) -> Iterator[Frame]:
        if flow.reader.rest:
            yield self._build_frame(ends, flow.reader.rest, flow.reader.offset)
        flow.reader = FrameReader()

    def _build_frame(self, ends: tuple[str, str], data: bytes, offset: int | None) -> Frame:
        """Return a frame with client and broker: the broker is the endpoint to which a request goes."""
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
        """Return the number of bytes missing before a segment, and the new bytes in it."""
        start = segment.sequence + bool(segment.flags & SYN)  # a SYN counts as a byte (RFC 9293, section 3.4)
        ahead = 0 if self.expected is None else sequence_distance(start, self.expected)
        data = segment.payload[max(0, -ahead) :]  # bytes before the expected one are retransmitted
        if data:
            self.expected = (start + len(segment.payload)) & MASK
        return max(0, ahead), data
