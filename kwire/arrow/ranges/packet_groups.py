"""Groups the packets in a part of a capture by connection, in bulk.

The native engine reads records and the link, IP and TCP headers, but does not decode payloads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ...capture.packets.header_layouts import link_layout
from ...capture.packets.packet import FIRST_INTERFACES, Interface, Packet
from ...capture.packets.packet_headers import parse_segment
from ...capture.packets.pcap import NEAR, PcapReader
from ...capture.packets.pcapng import PcapngReader
from ...capture.packets.tcp_segment import Segment, reverse_key
from ...codecs.native import ENGINE

if ENGINE == "native":
    from ...codecs.native import PacketGroups


class PacketGroup(NamedTuple):
    """Packets of one connection, in the order of the file.

    Attributes:
        key: the connection: the smaller of the keys of its two directions.
        first, last: the earliest and the latest time, in nanoseconds, without isolated outliers.
        offsets, sizes: the positions of their records in the file, and their sizes, as 64-bit integers.
        packets: the records.
    """

    key: bytes
    first: int
    last: int
    offsets: bytes
    sizes: bytes
    packets: bytes


def connection_key(key: bytes) -> bytes:
    """Return the key that both directions of a connection share."""
    return min(key, reverse_key(key))


def times_in_line(times: Any, before: int | None = None) -> Any:
    """Replace times that decrease, or that jump and return, so that a damaged time does not misplace a packet.

    The packets of a file are in order of time. The first and the last time are replaced by their neighbours, because
    nothing confirms them.

    Args:
        times: the times of consecutive records, in nanoseconds.
        before: the time of the record before them, if known.
    """
    if before is not None:
        known = times_in_line(np.concatenate([[before], np.maximum(times, before)]))
        return known[1:]
    if len(times) < 3:
        return np.full(len(times), min(times))
    earlier, two, three = times[:-2], times[1:-1], times[2:]
    middle = np.maximum(
        np.minimum(earlier, two), np.minimum(np.maximum(earlier, two), three)
    )  # the median of each three
    return np.concatenate([middle[:1], middle, middle[-1:]])


class PacketGrouper:
    """Groups the packets in the memory of a reader by connection. Without the native engine it groups none.

    Args:
        reader: the reader.

    Attributes:
        lost: the number of packets of the last `groups` that are not TCP segments, by reason.
        count: the number of its records; 0 if the reader must read records one by one.
        last: the time of the last record in nanoseconds, unless it is an outlier.
    """

    def __init__(self, reader: PcapReader | PcapngReader) -> None:
        self._reader = reader
        self._described: tuple[str, tuple[Interface, ...]] | None = None  # byte order, interfaces
        self._groups: Any = PacketGroups(NEAR, isinstance(reader, PcapngReader)) if ENGINE == "native" else None
        self.lost: Counter[str] = Counter()
        self.count: int = 0
        self.last: int | None = None

    @property
    def is_bulk(self) -> bool:
        """Whether records are read in bulk, except unusual ones."""
        return self._groups is not None

    def groups(self, stop: int, before: int | None = None) -> Iterator[PacketGroup]:
        """Read the records up to the first one that is unusual or not followed by another record.

        Args:
            stop: the position in the file from which on records are not needed.
            before: the time of the previous record in nanoseconds, if known.

        Yields:
            The packets of each connection.
        """
        reader, groups, cursor = self._reader, self._groups, self._reader.cursor
        self.count, self.last = 0, before
        self.lost.clear()
        if groups is None or reader.is_skipping or not reader.interfaces:
            return
        interfaces = tuple(reader.interfaces[:FIRST_INTERFACES])
        if self._described != (reader.order, interfaces):
            self._described = reader.order, interfaces
            groups.describe(reader.order == ">", [link_layout(interface) for interface in interfaces])
        passed, is_pcap = cursor.offset - cursor.pos, isinstance(reader, PcapReader)
        seconds = reader.state[-1] if is_pcap else None
        self.count = groups.read(cursor.data, cursor.pos, stop - passed, seconds, self._key)
        if not self.count:
            return
        cursor.pos = groups.end
        if isinstance(reader, PcapReader):
            reader.note_time(groups.seconds)
        times = times_in_line(np.frombuffer(groups.times(), np.int64), before)
        self.last = int(times[-1])
        for key, *others in groups.take(times.tobytes(), passed):
            yield PacketGroup(connection_key(key), *others)

    def _key(self, data: bytes, interface: int, length: int) -> bytes | None:
        """Return the key of a packet in an unusual layout; None if it is not a TCP segment."""
        segment = parse_segment(Packet(None, self._reader.interfaces[interface].link, data, length))
        if isinstance(segment, Segment):
            return segment.key
        self.lost[segment] += 1
        return None
