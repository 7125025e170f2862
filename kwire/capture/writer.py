"""Writes frames as a pcap file that contains their connections and decodes to the same frames."""

from __future__ import annotations

import ipaddress
import struct
from collections import Counter
from decimal import Decimal
from ipaddress import ip_address
from math import isfinite
from typing import BinaryIO

from ..protocol import Frame, Source
from ..protocol.framing import BegunBefore, Gap, NotKafka
from .link_layers import ACK, FIN, SYN
from .pcap import SECOND
from .tcp_reassembly import PATIENCE_TO_BEGIN

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
        self._hosts, self._ports = _hosts(client[0], broker[0]), (client[1], broker[1])
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
        ports, sequence = (self._ports[side], self._ports[1 - side]), self._next[side] & 0xFFFFFFFF
        acknowledged = self._next[1 - side] & 0xFFFFFFFF if flags & ACK else 0
        header = struct.pack(">HHIIBBHHH", *ports, sequence, acknowledged, 5 << 4, flags, WINDOW, 0, 0)
        self._next[side] += len(data) + missing + bool(flags & (SYN | FIN))
        ip = _ip_header(self._hosts[side], self._hosts[1 - side], len(header) + len(data) + missing)
        self.pcap.packet(self._last, ip + header + data, missing)


def _hosts(*texts: str) -> tuple[bytes, bytes]:
    """Return two IP addresses of the same version as bytes; raises ValueError if one is invalid."""
    one, other = (ipaddress.ip_address(text.strip("[]").partition("%")[0]).packed for text in texts)
    if len(one) != len(other):
        one, other = (bytes(10) + b"\xff\xff" + host if len(host) == 4 else host for host in (one, other))
    return one, other


def _ip_header(source: bytes, target: bytes, count: int) -> bytes:
    """Create the IP header of a TCP packet; checksums are 0, as with checksum offload.

    A length that does not fit is 0, as with segmentation offload: the packet's length then determines it.
    """
    if len(source) == 16:
        return struct.pack(">IHBB", 6 << 28, count if count <= 0xFFFF else 0, 6, 64) + source + target
    total = count + 20
    return struct.pack(">BBHHHBBH", 0x45, 0, total if total <= 0xFFFF else 0, 0, 0, 64, 6, 0) + source + target


END_OF_TIME = SECOND << 32  # seconds have 32 bits
DIRECTIONS = ("request", "response")
LARGEST_GAP = 1 << 30  # bytes; TCP has no larger window (RFC 7323)
Key = tuple[str | None, int | None, str, str]  # file, number, endpoints


class CaptureWriter:
    """Writes frames as a pcap file. Connections keep their endpoints and are numbered in the order of first frames.

    Args:
        stream: the file to write to.

    Attributes:
        connections: the number of connections that were written.
        left_out: the kind of item that could not be written (a plural noun) -> the number of these items.

    >>> import io
    >>> stream, source = io.BytesIO(), Source(client="10.0.0.1:5000", broker="10.0.0.2:9092", direction="request")
    >>> writer = CaptureWriter(stream)
    >>> writer.write(Frame(bytes.fromhex("00000004 00000007"), source))
    >>> writer.close()
    >>> writer.connections, len(stream.getvalue())
    (1, 368)
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.connections: int = 0
        self.left_out: Counter[str] = Counter()
        self._pcap = PcapWriter(stream)
        self._open: dict[Key, TcpWriter] = {}
        self._keys: dict[tuple[str, str], Key] = {}  # by endpoints, which identify an open connection
        self._numbers: dict[tuple[str | None, int], Key] = {}
        self._now = 0

    def write(self, frame: Frame, data: bytes | None = None, nanoseconds: int | None = None) -> None:
        """Write a frame, a fragment or a gap, in the order of the input.

        Args:
            frame: the frame; its source has endpoints, direction and, if known, number and time.
            data: the bytes to write instead of the bytes of the frame.
            nanoseconds: the frame's time since 1970, if known more precisely than in the source.
        """
        source, fault = frame.source, frame.fault
        for number in frame.closed:
            self._close(self._numbers.get((source.file, number)))
        if isinstance(fault, NotKafka):
            self.left_out[f"bytes of {fault.found}"] += fault.count or 0
        elif source.direction not in DIRECTIONS or (_key(source) not in self._open and not names_connection(source)):
            self.left_out["frames that name no connection (--raw writes them)"] += 1
        else:
            self._write(frame, frame.data if data is None else data, self._time(source, nanoseconds))

    def end(self, source: Source) -> None:
        """Record that there are no more frames of this connection."""
        self._close(_key(source))

    def close(self) -> None:
        """End all connections, the oldest first."""
        for key in list(self._open):
            self._close(key)

    def _write(self, frame: Frame, data: bytes, now: int) -> None:
        fault, by_client = frame.fault, frame.source.direction == "request"
        begun_before = isinstance(fault, BegunBefore)
        connection = self._connection(frame.source, now, handshake=not begun_before)
        if isinstance(fault, Gap) and (fault.count or 0) > LARGEST_GAP:
            self.left_out["gaps of more than 1 GiB"] += 1
        elif isinstance(fault, Gap):
            connection.skip(now, fault.count or 0, by_client=by_client)
        elif not begun_before:
            connection.send(now, data, by_client=by_client)
        elif connection.handshake:
            self.left_out["streams that begin in the middle of a connection"] += 1

    def _time(self, source: Source, nanoseconds: int | None) -> int:
        """Return the time of a frame; if a pcap file cannot hold it, the time of the previous frame."""
        if nanoseconds is None and source.time is not None:
            # The shortest decimal number equal to this float: microseconds stay exact.
            nanoseconds = round(Decimal(repr(source.time)) * SECOND) if isfinite(source.time) else -1
        if nanoseconds is not None and 0 <= nanoseconds < END_OF_TIME:
            self._now = nanoseconds
        elif nanoseconds is not None:
            self.left_out["times before 1970 or after 2106"] += 1
        return self._now

    def _connection(self, source: Source, now: int, *, handshake: bool) -> TcpWriter:
        key = _key(source)
        ends = key[2:]
        if key not in self._open:
            self._close(self._keys.get(ends))  # the ports are reused
            self.connections += 1
            first = self.connections * 0x9E3779B1  # differs, so that no connection looks like a retransmission
            client, broker = end_of(ends[0]), end_of(ends[1])
            self._open[key] = TcpWriter(self._pcap, client, broker, now, handshake=handshake, first=first)
            self._keys[ends] = key
            if source.connection is not None:
                self._numbers[source.file, source.connection] = key
        return self._open[key]

    def _close(self, key: Key | None) -> None:
        connection = self._open.pop(key, None) if key is not None else None
        if key is None or connection is None:
            return
        connection.close()
        self._keys.pop(key[2:], None)
        if key[1] is not None:
            self._numbers.pop((key[0], key[1]), None)


def _key(source: Source) -> Key:
    return source.file, source.connection, source.client or "", source.broker or ""


def names_connection(source: Source) -> bool:
    """Whether a source has both endpoints and the direction of a frame."""
    try:
        end_of(source.client or "")
        end_of(source.broker or "")
    except ValueError:
        return False
    return source.direction in DIRECTIONS


def end_of(text: str) -> End:
    """Parse `10.0.0.1:9092` or `[::1]:9092`; raises ValueError if it is not an IP address with a port.

    >>> end_of("[::1]:9092")
    ('::1', 9092)
    """
    host, _, port = text.rpartition(":")
    if not 0 <= int(port) <= 0xFFFF:
        raise ValueError(port)
    return str(ip_address(host.strip("[]").partition("%")[0])), int(port)
