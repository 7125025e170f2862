"""Captures as a busy machine writes them, and worse: packets lost, late, repeated, overlapping, truncated, tagged."""

from __future__ import annotations

import struct
from collections.abc import Callable
from random import Random

from kwire.capture.packets.packet import SECOND, Packet
from kwire.capture.packets.packet_headers import parse_segment
from kwire.capture.packets.pcap import PcapReader
from kwire.capture.packets.tcp_segment import Segment

MASK = 0xFFFFFFFF


class Raw:
    """A packet whose segment can be changed; `tcp` is the position of its TCP header, -1 if it has none."""

    def __init__(self, data: bytes, length: int, nanoseconds: int, tcp: int) -> None:
        self.data, self.length, self.nanoseconds, self.tcp = data, length, nanoseconds, tcp

    def changed(self, at: int, text: bytes) -> Raw:
        """Return the packet with other bytes at a position of the TCP header."""
        at += self.tcp
        return Raw(self.data[:at] + text + self.data[at + len(text) :], self.length, self.nanoseconds, self.tcp)

    def number(self, at: int) -> int:
        return int.from_bytes(self.data[self.tcp + at : self.tcp + at + 4], "big")

    def moved(self, at: int, step: int) -> Raw:
        """Return the packet with another sequence number (at 4) or acknowledgement number (at 8)."""
        return self.changed(at, struct.pack(">I", self.number(at) + step & MASK))

    @property
    def payload(self) -> int:
        """Where the payload starts."""
        return self.tcp + (self.data[self.tcp + 12] >> 4) * 4


def raw_packets(data: bytes) -> tuple[int, list[Raw]]:
    """Return the link type of a pcap file, and its packets."""
    packets, link = list[Raw](), 1
    for packet in PcapReader(iter([data])):
        assert isinstance(packet, Packet)
        link, segment, tcp = packet.link, parse_segment(packet), -1
        if isinstance(segment, Segment):
            tcp = packet.data.index(segment.key[-4:] + struct.pack(">I", segment.sequence))
        packets.append(Raw(packet.data, packet.length, packet.nanoseconds or 0, tcp))
    return link, packets


def _drop(packet: Raw, rng: Random) -> list[tuple[int, Raw]]:
    return []


def _delay(packet: Raw, rng: Random) -> list[tuple[int, Raw]]:
    return [(rng.choice((1, 1, 1, 2, 5, 40, 300)), packet)]


def _repeat(packet: Raw, rng: Random) -> list[tuple[int, Raw]]:
    return [(0, packet), (rng.choice((0, 1, 5, 100)), packet)]


def _overlap(packet: Raw, rng: Random) -> list[tuple[int, Raw]]:
    """The bytes come again, shifted and with other content."""
    size = len(packet.data) - packet.payload
    other = packet.moved(4, rng.randrange(-size - 2, size + 3))
    other.data = other.data[: packet.payload] + rng.choice((rng.randbytes(size), packet.data[packet.payload :]))
    return [(rng.choice((0, 0, 30)), packet), (rng.choice((0, 2, 20)), other)]


def _cut(packet: Raw, rng: Random) -> list[tuple[int, Raw]]:
    stop = rng.randrange(packet.payload, len(packet.data) + 1) if rng.random() < 0.9 else rng.randrange(1, 60)
    return [(0, Raw(packet.data[:stop], packet.length, packet.nanoseconds, packet.tcp))]


def _flags(packet: Raw, rng: Random) -> list[tuple[int, Raw]]:
    return [(0, packet.changed(13, bytes([rng.choice((1, 2, 4, 16, 17, 18, 20, rng.randrange(256)))])))]


def _sequence(packet: Raw, rng: Random) -> list[tuple[int, Raw]]:
    step = rng.choice((1, -1, 100, -100, 1 << 17, 1 << 25, -(1 << 25), 1 << 31, rng.getrandbits(32)))
    return [(0, packet.moved(rng.choice((4, 8)), step))]


def _tag(packet: Raw, rng: Random) -> list[tuple[int, Raw]]:
    """A VLAN tag, if the link layer is Ethernet."""
    data = packet.data[:12] + b"\x81\0\0\5" + packet.data[12:]
    return [(0, Raw(data, packet.length + 4, packet.nanoseconds, packet.tcp + 4))]


def _content(packet: Raw, rng: Random) -> list[tuple[int, Raw]]:
    size = len(packet.data) - packet.payload
    if size <= 0:
        return [(0, packet)]
    at = packet.payload - packet.tcp + rng.randrange(size)
    return [(0, packet.changed(at, rng.randbytes(min(rng.choice((1, 4)), size))[: len(packet.data) - at]))]


def _time(packet: Raw, rng: Random) -> list[tuple[int, Raw]]:
    step = rng.choice((-1, 1, 11, -11)) * SECOND
    return [(0, Raw(packet.data, packet.length, max(SECOND, packet.nanoseconds + step), packet.tcp))]


KINDS: tuple[Callable[[Raw, Random], list[tuple[int, Raw]]], ...] = (
    _drop, _drop, _drop, _delay, _delay, _repeat, _overlap, _cut, _flags, _sequence, _tag, _content, _time,
)  # fmt: skip


def damaged_capture(data: bytes, rng: Random) -> bytes:
    """Return a pcap file of the packets of another, which are changed at random: one in a thousand, or each third."""
    link, packets = raw_packets(data)
    start = rng.choice((0, 0, rng.randrange(len(packets))))
    packets = packets[start : start + rng.choice((100, 2000, 100_000))]
    rate = rng.choice((0.001, 0.01, 0.05, 0.3))
    kinds = rng.sample(KINDS, rng.choice((1, 3, len(KINDS))))
    shifts = dict[bytes, int]()  # key of a direction -> what is added to its sequence numbers, so that they wrap
    late: list[tuple[int, int, Raw]] = []  # index at which a packet is due, a tie breaker, the packet
    pace = rng.choice((1, 1, 1000))  # the capture takes longer
    first, out = packets[0].nanoseconds, list[Raw]()
    wraps = rng.random() < 0.5
    for index, packet in enumerate(packets):
        packet.nanoseconds = first + (packet.nanoseconds - first) * pace % (80 * SECOND)
        if packet.tcp >= 0 and wraps:
            ports = packet.data[packet.tcp : packet.tcp + 4]
            step = shifts.setdefault(ports, -packet.number(4) - rng.randrange(1, 20_000) & MASK)
            packet = packet.moved(4, step)
            packet = packet.moved(8, shifts.get(ports[2:] + ports[:2], 0))
        changes = [(0, packet)]
        if packet.tcp >= 0 and packet.payload <= len(packet.data) and rng.random() < rate:
            kind = rng.choice(kinds)
            changes = [(0, packet)] if kind is _tag and link != 1 else kind(packet, rng)
        late += [(index + delay, number, changed) for number, (delay, changed) in enumerate(changes)]
        due = sorted((row for row in late if row[0] <= index), key=lambda row: row[:2])
        late = [row for row in late if row[0] > index]
        out += [row[2] for row in due]
    out += [row[2] for row in sorted(late, key=lambda row: row[:2])]
    file = [b"\x4d\x3c\xb2\xa1" + struct.pack("<HHiIII", 2, 4, 0, 0, 1 << 18, link)]
    for packet in out:
        size = max(packet.length, len(packet.data))
        file += [struct.pack("<IIII", *divmod(packet.nanoseconds, SECOND), len(packet.data), size), packet.data]
    return b"".join(file)
