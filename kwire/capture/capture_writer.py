"""Writes frames as a pcap file that contains their connections and decodes to the same frames."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from ipaddress import ip_address
from math import isfinite
from typing import BinaryIO

from ..protocol import Frame, Source
from ..protocol.frames.stream_faults import BegunBefore, Gap, NotKafka
from .packets.packet import SECOND
from .pcap_writer import End, PcapWriter, TcpWriter

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
        elif source.direction not in DIRECTIONS or (_key_of(source) not in self._open and not names_connection(source)):
            self.left_out["frames that name no connection (--raw writes them)"] += 1
        else:
            self._write(frame, frame.data if data is None else data, self._choose_time(source, nanoseconds))

    def end(self, source: Source) -> None:
        """Record that there are no more frames of this connection."""
        self._close(_key_of(source))

    def close(self) -> None:
        """End all connections, the oldest first."""
        for key in list(self._open):
            self._close(key)

    def _write(self, frame: Frame, data: bytes, now: int) -> None:
        fault = frame.fault
        by_client = frame.source.direction == "request"
        begun_before = isinstance(fault, BegunBefore)
        connection = self._open_connection(frame.source, now, handshake=not begun_before)
        if isinstance(fault, Gap) and (fault.count or 0) > LARGEST_GAP:
            self.left_out["gaps of more than 1 GiB"] += 1
        elif isinstance(fault, Gap):
            connection.skip(now, fault.count or 0, by_client=by_client)
        elif not begun_before:
            connection.send(now, data, by_client=by_client)
        elif connection.handshake:
            self.left_out["streams that begin in the middle of a connection"] += 1

    def _choose_time(self, source: Source, nanoseconds: int | None) -> int:
        """Return the time of a frame; if a pcap file cannot hold it, the time of the previous frame."""
        if nanoseconds is None and source.time is not None:
            # The shortest decimal number equal to this float: microseconds stay exact.
            nanoseconds = round(Decimal(repr(source.time)) * SECOND) if isfinite(source.time) else -1
        if nanoseconds is not None and 0 <= nanoseconds < END_OF_TIME:
            self._now = nanoseconds
        elif nanoseconds is not None:
            self.left_out["times before 1970 or after 2106"] += 1
        return self._now

    def _open_connection(self, source: Source, now: int, *, handshake: bool) -> TcpWriter:
        key = _key_of(source)
        ends = key[2:]
        if key not in self._open:
            self._close(self._keys.get(ends))  # the ports are reused
            self.connections += 1
            first = self.connections * 0x9E3779B1  # differs, so that no connection looks like a retransmission
            client, broker = parse_endpoint(ends[0]), parse_endpoint(ends[1])
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


def _key_of(source: Source) -> Key:
    return source.file, source.connection, source.client or "", source.broker or ""


def names_connection(source: Source) -> bool:
    """Whether a source has both endpoints and the direction of a frame."""
    try:
        parse_endpoint(source.client or "")
        parse_endpoint(source.broker or "")
    except ValueError:
        return False
    return source.direction in DIRECTIONS


def parse_endpoint(text: str) -> End:
    """Parse `10.0.0.1:9092` or `[::1]:9092`; raises ValueError if it is not an IP address with a port.

    >>> parse_endpoint("[::1]:9092")
    ('::1', 9092)
    """
    host, _, port = text.rpartition(":")
    if not 0 <= int(port) <= 0xFFFF:
        raise ValueError(port)
    return str(ip_address(host.strip("[]").partition("%")[0])), int(port)
