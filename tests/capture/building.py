"""Builds packets and captures, byte by byte, and conversations as segments. Shares no code with the readers."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import kwire
from kwire.capture.frame_extractor import FrameExtractor
from kwire.capture.packets.tcp_segment import Segment
from kwire.protocol.frames.stream_faults import NoFrame

M: Any = kwire.messages
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
CLIENT, BROKER = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
CLIENT_PORT, BROKER_PORT = 50000, 9092


def tcp(payload: bytes = b"", sequence: int = 1, flags: int = ACK, options: bytes = b"") -> bytes:
    header = struct.pack(">HHIIHHHH", 50000, 9092, sequence, 7, (5 + len(options) // 4) << 12 | flags, 512, 0, 0)
    return header + options + payload


def ipv4(body: bytes, *, options: bytes = b"", total: int | None = None, fragment: int = 0, protocol: int = 6) -> bytes:
    first = 0x40 | 5 + len(options) // 4
    size = 20 + len(options) + len(body) if total is None else total
    return struct.pack(">BBHHHBBH", first, 0, size, 1, fragment, 64, protocol, 0) + CLIENT + BROKER + options + body


def ipv6(
    body: bytes, *, kind: int = 6, length: int | None = None, ends: bytes = bytes(15) + b"\x01" + bytes(15) + b"\x02"
) -> bytes:
    return struct.pack(">IHBB", 6 << 28, len(body) if length is None else length, kind, 64) + ends + body


def ethernet(body: bytes, kind: bytes = b"\x08\x00") -> bytes:
    return bytes(12) + kind + body


def pcap(
    packets: Iterable[tuple[int, bytes] | tuple[int, bytes, int]],
    *,
    order: str = "<",
    nanoseconds: bool = False,
    link: int = 1,
    snap: int = 65535,
) -> bytes:
    """A pcap file of packets: nanoseconds since 1970, data, and how many bytes of it were not captured."""
    tick = 1 if nanoseconds else 1000
    magic = 0xA1B23C4D if nanoseconds else 0xA1B2C3D4
    out = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snap, link)]
    for time, data, *missing in packets:
        cut, length = data[:snap], len(data) + sum(missing)
        out += struct.pack(order + "IIII", time // 10**9, time % 10**9 // tick, len(cut), length), cut
    return b"".join(out)


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    body += bytes(-len(body) % 4)
    size = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + size + body + size


def section(order: str = "<") -> bytes:
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def interface(link: int = 1, order: str = "<", options: bytes = b"", snap: int = 0) -> bytes:
    return block(1, struct.pack(order + "HHI", link, 0, snap) + options, order)


def enhanced(data: bytes, ticks: int = 0, number: int = 0, order: str = "<", length: int | None = None) -> bytes:
    head = struct.pack(order + "IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, len(data), length or len(data))
    return block(6, head + data, order)


def request(number: int, topic: str = "orders", client: str | None = "me") -> bytes:
    topics = [M.MetadataRequest.MetadataRequestTopic(name=topic)]
    return kwire.encode_request(M.MetadataRequest(topics=topics), 1, correlation_id=number, client_id=client)


def response(number: int, controller: int = 3) -> bytes:
    return kwire.encode_response(M.MetadataResponse(controller_id=controller), 1, correlation_id=number)


@dataclass
class Conversation:
    """A conversation, written segment by segment as it happens; no byte of it is lost yet."""

    client_first: int = 1000
    broker_first: int = 5000
    ports: tuple[int, int] = (CLIENT_PORT, BROKER_PORT)
    now: int = 1_700_000_000_000_000_000
    segments: list[Segment] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.next = [self.client_first, self.broker_first]

    def key(self, side: int) -> bytes:
        ends, ports = (CLIENT, BROKER), self.ports
        return ends[side] + ends[1 - side] + struct.pack(">HH", ports[side], ports[1 - side])

    def say(self, side: int, payload: bytes = b"", flags: int = ACK) -> Conversation:
        """One segment: side 0 is the client, 1 the broker."""
        self.now += 1_000_000
        sequence, acknowledged = (number & 0xFFFFFFFF for number in (self.next[side], self.next[1 - side]))
        self.segments.append(
            Segment(self.key(side), sequence, acknowledged, flags, payload, 0, self.now),
        )
        self.next[side] += len(payload) + bool(flags & SYN) + bool(flags & FIN)
        return self

    def open(self) -> Conversation:
        return self.say(0, flags=SYN).say(1, flags=SYN | ACK).say(0)

    def ask(self, number: int, size: int = 1460, answer: bytes | None = None) -> Conversation:
        """A request, its answer, and an acknowledgement; each in segments of at most `size` bytes."""
        for side, data in ((0, request(number)), (1, response(number) if answer is None else answer)):
            for start in range(0, len(data), size):
                self.say(side, data[start : start + size])
        return self.say(0)

    def close(self) -> Conversation:
        return self.say(0, flags=FIN | ACK).say(1, flags=FIN | ACK).say(0)


def changed(segment: Segment, **fields: Any) -> Segment:
    import msgspec

    return msgspec.structs.replace(segment, **fields)


def packet_of(segment: Segment) -> bytes:
    """The Ethernet packet of a segment."""
    head = struct.pack(">IIHHHH", segment.sequence, segment.acknowledgement, 5 << 12 | segment.flags, 512, 0, 0)
    return ethernet(
        struct.pack(">BBHHHBBH", 0x45, 0, 40 + len(segment.payload) + segment.missing, 1, 0, 64, 6, 0)
        + segment.key[:8]
        + segment.key[8:]
        + head
        + segment.payload
    )


def capture(segments: Sequence[Segment]) -> bytes:
    packets = ((segment.nanoseconds or 0, packet_of(segment), segment.missing) for segment in segments)
    return pcap(packets, nanoseconds=True)


def frames_of(segments: Sequence[Segment], **options: Any) -> list[kwire.Frame]:
    """The frames of a capture of these segments, read as packets."""
    from kwire.capture.packets.pcap import PcapReader

    return list(FrameExtractor("x", **options).frames(PcapReader(iter([capture(segments)]))))


def unaccounted(frames: Iterable[kwire.Frame]) -> list[str]:
    """Where frames, gaps and named bytes of a stream do not follow each other without hole or overlap."""
    at: dict[tuple[int, str], int] = {}
    wrong = []
    for frame in frames:
        source = frame.source
        if source.connection is None or source.direction is None or source.offset is None:
            continue
        place = source.connection, source.direction
        if source.offset != at.get(place, 0):
            wrong.append(f"{place}: {source.offset} follows {at.get(place, 0)}")
        fault: Any = frame.fault
        is_frame = not isinstance(fault, NoFrame)
        count = len(frame.data) if is_frame else (fault.count or 0) + getattr(fault, "missing", 0)
        at[place] = source.offset + count
    return wrong
