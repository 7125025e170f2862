"""Conversations become a pcap: each portion of bytes a packet of its own, numbered and acknowledged as TCP does.

Knows the format; opens no files. https://www.tcpdump.org/manpages/pcap-savefile.5.txt
"""

from __future__ import annotations

import ipaddress
import struct
from typing import BinaryIO

from .addresses import Address

RAW_IP = 101  # the link type: no link header, IPv4 or IPv6
SNAPLEN = 1 << 18
PORTION = 60_000  # bytes; an IP packet has room for 65,535
SYN, ACK, FIN, PSH = 2, 16, 1, 8
WINDOW = 65535


class Recorder:
    """Writes a pcap.

    Args:
        stream: where to; each packet is written at once.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        stream.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, SNAPLEN, RAW_IP))

    def packet(self, time: float, data: bytes) -> None:
        """Write one packet; `time` in seconds since 1970."""
        seconds, micros = divmod(round(time * 1_000_000), 1_000_000)
        self.stream.write(struct.pack("<IIII", seconds, micros, len(data), len(data)) + data)
        self.stream.flush()


class RecordedConnection:
    """One connection in a pcap; begins with a handshake.

    Args:
        recorder: what writes it.
        client, broker: the two ends; hosts as IP addresses.
        time: seconds since 1970.
    """

    def __init__(self, recorder: Recorder, client: Address, broker: Address, time: float) -> None:
        self.recorder = recorder
        self._ends = client, broker
        self._sent = [0, 0]  # by the client, by the broker
        self._write(0, time, SYN)
        self._write(1, time, SYN | ACK)
        self._write(0, time, ACK)

    def sent(self, time: float, data: bytes, *, by_client: bool) -> None:
        """Write what one side sent."""
        for start in range(0, len(data), PORTION):
            self._write(0 if by_client else 1, time, PSH | ACK, data[start : start + PORTION])

    def close(self, time: float) -> None:
        """Write that both sides are done."""
        for side in (0, 1):
            self._write(side, time, FIN | ACK)

    def _write(self, side: int, time: float, flags: int, data: bytes = b"") -> None:
        source, target = self._ends[side], self._ends[1 - side]
        sequence, acknowledged = self._sent[side], self._sent[1 - side] if flags & ACK else 0
        header = struct.pack(
            ">HHIIBBHHH",
            source.port,
            target.port,
            sequence & 0xFFFFFFFF,
            acknowledged & 0xFFFFFFFF,
            5 << 4,
            flags,
            WINDOW,
            0,
            0,
        )
        self._sent[side] += len(data) + bool(flags & (SYN | FIN))
        self.recorder.packet(time, _ip(source.host, target.host, header + data))


def _ip(source: str, target: str, segment: bytes) -> bytes:
    """Put an IP header in front of a TCP segment. Checksums are left 0, as a network card would fill them in."""
    ends = [ipaddress.ip_address(host.partition("%")[0]) for host in (source, target)]
    packed = b"".join(end.packed for end in ends)
    if ends[0].version == 6:
        return struct.pack(">IHBB", 6 << 28, len(segment), 6, 64) + packed + segment
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(segment), 0, 0, 64, 6, 0) + packed + segment
