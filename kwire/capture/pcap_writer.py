"""Writes pcap files: packets, and the packets of a TCP connection with its handshake and its end."""

from __future__ import annotations

import ipaddress
import struct
from typing import BinaryIO

from .packets.packet import SECOND
from .packets.tcp_segment import ACK, FIN, SYN
from .tcp.connection import PATIENCE_TO_BEGIN

RAW_IP = 101  # the link type: no link header, IPv4 or IPv6
MAGIC = 0xA1B23C4D  # times are in nanoseconds
SNAPLEN = 1 << 18
PORTION = 60_000  # bytes; an IP packet has room for 65,535
PSH, WINDOW = 8, 65535
End = tuple[str, int]  # an IP address and a port


class PcapWriter:
    """Writes the packets of a pcap file.

    Args:
        stream: the file to write to.
        live: flush after each packet.
    """

    def __init__(self, stream: BinaryIO, *, live: bool = False) -> None:
        self.stream: BinaryIO = stream
        self._live = live
        stream.write(struct.pack("<IHHiIII", MAGIC, 2, 4, 0, 0, SNAPLEN, RAW_IP))

    def packet(self, nanoseconds: int, data: bytes, missing: int = 0) -> None:
        """Write one packet.

        Args:
            nanoseconds: the packet's time since 1970.
            data: the captured part of the packet.
            missing: the number of bytes after `data` that were not captured.
        """
        seconds, ticks = divmod(nanoseconds, SECOND)
        lengths = len(data), min(len(data) + missing, 0xFFFFFFFF)
        self.stream.write(struct.pack("<IIII", seconds & 0xFFFFFFFF, ticks, *lengths) + data)
        if self._live:
            self.stream.flush()


class TcpWriter:
    """One TCP connection in a pcap file.

    Args:
        pcap: the writer of the file.
        client, broker: the endpoints of the connection.
        nanoseconds: the start of the connection, since 1970.
        handshake: whether the capture contains the handshake; without it, the capture starts inside both streams.
        first: the sequence number before the first byte of both directions.

    Attributes:
        handshake: whether the capture contains the handshake.
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
        self._hosts = _pack_hosts(client[0], broker[0])
        self._ports = (client[1], broker[1])
        self._next = [first, first]  # sequence numbers of the client and of the broker
        self._last = nanoseconds
        self._unsettled = not handshake
        if handshake:
            self._write(0, SYN)
            self._write(1, SYN | ACK)
            self._write(0, ACK)

    def send(self, nanoseconds: int, data: bytes, *, by_client: bool) -> None:
        """Write data that one side sent."""
        self._last = nanoseconds
        side = 0 if by_client else 1
        for start in range(0, len(data), PORTION):
            self._write(side, PSH | ACK, data[start : start + PORTION])
            self._settle(side)

    def skip(self, nanoseconds: int, count: int, *, by_client: bool) -> None:
        """Write that one side sent `count` more bytes that were not captured: a packet truncated after its headers."""
        self._last = nanoseconds
        side = 0 if by_client else 1
        self._write(side, ACK, missing=count)
        self._settle(side)

    def close(self) -> None:
        """Close both sides, at the time of the last packet."""
        for side in (0, 1):
            self._write(side, FIN | ACK)

    def _settle(self, side: int) -> None:
        """Acknowledge the first bytes of a connection without a handshake until no reader waits for its SYN.

        Readers wait for PATIENCE_TO_BEGIN packets, because the SYN may have been captured late.
        """
        if self._unsettled:
            self._unsettled = False
            for _ in range(PATIENCE_TO_BEGIN + 1):
                self._write(1 - side, ACK)

    def _write(self, side: int, flags: int, data: bytes = b"", missing: int = 0) -> None:
        ports = (self._ports[side], self._ports[1 - side])
        sequence = self._next[side] & 0xFFFFFFFF
        acknowledged = self._next[1 - side] & 0xFFFFFFFF if flags & ACK else 0
        header = struct.pack(">HHIIBBHHH", *ports, sequence, acknowledged, 5 << 4, flags, WINDOW, 0, 0)
        self._next[side] += len(data) + missing + bool(flags & (SYN | FIN))
        ip = _build_ip_header(self._hosts[side], self._hosts[1 - side], len(header) + len(data) + missing)
        self.pcap.packet(self._last, ip + header + data, missing)


def _pack_hosts(*texts: str) -> tuple[bytes, bytes]:
    """Return two IP addresses of the same version as bytes; raises ValueError if one is invalid."""
    first, second = (ipaddress.ip_address(text.strip("[]").partition("%")[0]).packed for text in texts)
    if len(first) == len(second):
        return first, second
    return _map_to_ipv6(first), _map_to_ipv6(second)


def _map_to_ipv6(host: bytes) -> bytes:
    """Return an address as IPv6; an IPv4 address is mapped (RFC 4291, section 2.5.5.2)."""
    return bytes(10) + b"\xff\xff" + host if len(host) == 4 else host


def _build_ip_header(source: bytes, target: bytes, count: int) -> bytes:
    """Create the IP header of a TCP packet; checksums are 0, as with checksum offload.

    A length that does not fit is 0, as with segmentation offload: the packet's length then determines it.
    """
    if len(source) == 16:
        return struct.pack(">IHBB", 6 << 28, count if count <= 0xFFFF else 0, 6, 64) + source + target
    total = count + 20
    return struct.pack(">BBHHHBBH", 0x45, 0, total if total <= 0xFFFF else 0, 0, 0, 64, 6, 0) + source + target
