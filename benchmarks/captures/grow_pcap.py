"""Repeat the connections of a capture on fresh ports, until the capture is as large as wanted.

    .venv/bin/python -m benchmarks.captures.grow_pcap IN.pcap OUT.pcap --megabytes 100

Each round is the whole capture again, later by the capture's own length, with the port of the end that opened the
connection replaced (where no SYN says which that is, the higher port). The bytes of the conversations stay as they are.
The same arguments give the same bytes. Memory is flat: the input is read anew for each round.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from struct import pack
from typing import BinaryIO

from kwire.capture.open_capture import open_packets
from kwire.capture.packets.packet import SECOND, Packet
from kwire.capture.packets.packet_headers import parse_segment
from kwire.capture.packets.pcap import FILE_HEADER
from kwire.capture.packets.tcp_segment import ACK, SYN, Segment, reverse_key

FIRST_PORT, LAST_PORT = 1024, 65535
MAGIC_NANOSECONDS = b"\x4d\x3c\xb2\xa1"


class Openers:
    """Which end of each connection gets a fresh port, and which ports must stay free for the other ends."""

    def __init__(self, packets: Iterator[Packet]) -> None:
        self.opener: dict[bytes, bytes] = {}  # key of either direction -> address and port of the end that opened it
        self.first = self.last = 0
        self.link: int | None = None
        for packet in packets:
            self.link = packet.link if self.link is None else self.link
            if packet.link != self.link:
                raise SystemExit("grow_pcap: packets of several link types cannot stand in one pcap")
            self.first = self.first or packet.nanoseconds or 0
            self.last = max(self.last, packet.nanoseconds or 0)
            segment = parse_segment(packet)
            if isinstance(segment, Segment):
                self.note(segment)
        self.served = {int.from_bytes(end[-2:], "big") for end in map(other_end, self.opener.items())}

    def note(self, segment: Segment) -> None:
        key = segment.key
        if key in self.opener and segment.flags & (SYN | ACK) != SYN:
            return
        higher = key[-4:-2] >= key[-2:]
        source_opened = not segment.flags & ACK if segment.flags & SYN else higher
        self.opener[key] = self.opener[reverse_key(key)] = (
            source_end(key) if source_opened else source_end(reverse_key(key))
        )


def source_end(key: bytes) -> bytes:
    """Return address and port of a key's source."""
    return key[: (len(key) - 4) // 2] + key[-4:-2]


def other_end(item: tuple[bytes, bytes]) -> bytes:
    key, opener = item
    return source_end(reverse_key(key)) if source_end(key) == opener else source_end(key)


class FreshPorts:
    """Gives out ports one after the other, round and round, but for those that are served."""

    def __init__(self, served: set[int]) -> None:
        self.served, self.next = served, FIRST_PORT
        self.of: dict[bytes, bytes] = {}  # end -> its port in this round

    def port(self, end: bytes) -> bytes:
        if end not in self.of:
            while self.next in self.served:
                self.next += 1
            self.of[end] = pack(">H", self.next)
            self.next = self.next + 1 if self.next < LAST_PORT else FIRST_PORT
        return self.of[end]


def replaced(packet: Packet, segment: Segment, opener: bytes, port: bytes) -> bytes:
    """Return the packet's bytes with the opener's port changed, and a right checksum still right."""
    is_source = source_end(segment.key) == opener
    # The ports stand in the packet just before the sequence number, the checksum 16 bytes behind the first port.
    start = packet.data.index(segment.key[-4:] + pack(">I", segment.sequence))
    place = start if is_source else start + 2
    data = bytearray(packet.data)
    old = int.from_bytes(data[place : place + 2], "big")
    data[place : place + 2] = port
    if len(data) >= start + 18:
        # RFC 1624: the sum without the old port and with the new one
        total = (~int.from_bytes(data[start + 16 : start + 18], "big") & 0xFFFF) + (~old & 0xFFFF)
        total += int.from_bytes(port, "big")
        total = (total & 0xFFFF) + (total >> 16)
        total = (total & 0xFFFF) + (total >> 16)
        data[start + 16 : start + 18] = pack(">H", ~total & 0xFFFF)
    return bytes(data)


def grow(source: Path, out: BinaryIO, size: int) -> int:
    """Write rounds of a capture until `size` bytes are reached; the round that reaches them is finished.

    Returns the number of rounds.
    """
    with open_packets(source) as packets:
        openers = Openers(packets)
    ports = FreshPorts(openers.served)
    out.write(MAGIC_NANOSECONDS + pack("<HHiIII", 2, 4, 0, 0, 1 << 18, openers.link or 0))
    written, rounds, step = FILE_HEADER, 0, openers.last - openers.first + SECOND
    while written < size and (rounds == 0 or written > FILE_HEADER):
        ports.of.clear()
        with open_packets(source) as packets:
            for packet in packets:
                data = packet.data
                segment = parse_segment(packet)
                if isinstance(segment, Segment):
                    opener = openers.opener[segment.key]
                    data = replaced(packet, segment, opener, ports.port(opener))
                time = (packet.nanoseconds or 0) + rounds * step
                out.write(pack("<IIII", *divmod(time, SECOND), len(data), packet.length) + data)
                written += 16 + len(data)
        rounds += 1
    return rounds


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--megabytes", type=float, default=100)
    options = parser.parse_args()
    with options.target.open("wb") as out:
        rounds = grow(options.source, out, int(options.megabytes * 1_000_000))
    print(f"{options.target}: {options.target.stat().st_size:,} bytes, {rounds} rounds of {options.source}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
