"""Writes TCP connections as a pcap file with times in nanoseconds: each portion of bytes is a packet of its own,
numbered and acknowledged as TCP does. Knows the format; opens no files.

https://www.tcpdump.org/manpages/pcap-savefile.5.txt
"""

from __future__ import annotations

import ipaddress
import struct
from typing import BinaryIO

from .link import ACK, FIN, SYN
from .pcap import SECOND
from .tcp import PATIENCE_TO_BEGIN

RAW_IP = 101  # the link type: no link header, IPv4 or IPv6
MAGIC = 0xA1B23C4D  # times are in nanoseconds
SNAPLEN = 1 << 18
PORTION = 60_000  # bytes; an IP packet has room for 65,535
PSH, WINDOW = 8, 65535
End = tuple[str, int]  # an IP address and a port


class PcapWriter:
    """Writes the packets of a pcap file.

    Args:
        stream: where to.
        live: whether each packet is to be readable at once.
    """

    def __init__(self, stream: BinaryIO, *, live: bool = False) -> None:
        self.stream: BinaryIO = stream
        self._live = live
        stream.write(struct.pack("<IHHiIII", MAGIC, 2, 4, 0, 0, SNAPLEN, RAW_IP))

    def packet(self, nanoseconds: int, data: bytes, missing: int = 0) -> None:
        """Write one packet.

        Args:
            nanoseconds: since 1970.
            data: what was captured of it.
            missing: bytes behind these that were not captured.
        """
        seconds, ticks = divmod(nanoseconds, SECOND)
        lengths = len(data), min(len(data) + missing, 0xFFFFFFFF)
        self.stream.write(struct.pack("<IIII", seconds & 0xFFFFFFFF, ticks, *lengths) + data)
        if self._live:
            self.stream.flush()


class TcpWriter:
    """One TCP connection in a pcap file.

    Args:
        pcap: what writes it.
        client, broker: its endpoints.
        nanoseconds: when it begins.
        handshake: whether it begins in the capture; else the capture begins in the middle of both streams.
        first: the sequence number before the first byte of both sides.

    Attributes:
        handshake: as above.
    """

    def __init__(
        self,
        pcap: PcapWriter,
        client: End,
        broker: End,
        nanoseconds: int,
        *,
        handshake: bool = True,
        first: int = 0,
    ) -> None:
        self.pcap: PcapWriter = pcap
        self.handshake: bool = handshake
        self._hosts, self._ports = _hosts(client[0], broker[0]), (client[1], broker[1])
        self._next = [first, first]  # sequence numbers, of the client and of the broker
        self._last = nanoseconds
        self._unsettled = not handshake
        if handshake:
            self._write(0, SYN)
            self._write(1, SYN | ACK)
            self._write(0, ACK)

    def send(self, nanoseconds: int, data: bytes, *, by_client: bool) -> None:
        """Write what one side sent."""
        self._last = nanoseconds
        side = 0 if by_client else 1
        for start in range(0, len(data), PORTION):
            self._write(side, PSH | ACK, data[start : start + PORTION])
            self._settle(side)

    def skip(self, nanoseconds: int, count: int, *, by_client: bool) -> None:
        """Write that one side sent `count` bytes more that were not captured: a packet cut behind its headers."""
        self._last = nanoseconds
        side = 0 if by_client else 1
        self._write(side, ACK, missing=count)
        self._settle(side)

    def close(self) -> None:
        """Write that both sides are done, at the time of what was written last."""
        for side in (0, 1):
            self._write(side, FIN | ACK)

    def _settle(self, side: int) -> None:
        """Acknowledge the first bytes of a connection without a handshake until no reader waits for its SYN.

        Readers wait for so many packets, as one may have been captured late (`tcp`); what comes after would be read
        before it.
        """
        if self._unsettled:
            self._unsettled = False
            for _ in range(PATIENCE_TO_BEGIN + 1):
                self._write(1 - side, ACK)

    def _write(self, side: int, flags: int, data: bytes = b"", missing: int = 0) -> None:
        ports, sequence = (self._ports[side], self._ports[1 - side]), self._next[side] & 0xFFFFFFFF
        acknowledged = self._next[1 - side] & 0xFFFFFFFF if flags & ACK else 0
        header = struct.pack(">HHIIBBHHH", *ports, sequence, acknowledged, 5 << 4, flags, WINDOW, 0, 0)
        self._next[side] += len(data) + missing + bool(flags & (SYN | FIN))
        ip = _ip_header(self._hosts[side], self._hosts[1 - side], len(header) + len(data) + missing)
        self.pcap.packet(self._last, ip + header + data, missing)


def _hosts(*texts: str) -> tuple[bytes, bytes]:
    """Return two IP addresses as bytes, of the same version; raises ValueError if one is none."""
    one, other = (ipaddress.ip_address(text.strip("[]").partition("%")[0]).packed for text in texts)
    if len(one) != len(other):
        one, other = (bytes(10) + b"\xff\xff" + host if len(host) == 4 else host for host in (one, other))
    return one, other


def _ip_header(source: bytes, target: bytes, count: int) -> bytes:
    """Make the header of a packet with TCP; checksums are left 0, as a network card would fill them in.

    A length that does not fit is 0, as with segmentation offload: then the packet's length says it.
    """
    if len(source) == 16:
        return struct.pack(">IHBB", 6 << 28, count if count <= 0xFFFF else 0, 6, 64) + source + target
    total = count + 20
    return struct.pack(">BBHHHBBH", 0x45, 0, total if total <= 0xFFFF else 0, 0, 0, 64, 6, 0) + source + target
