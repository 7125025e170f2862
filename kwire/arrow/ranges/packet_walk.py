"""Reads the records of a capture from a position on: in bulk, and one by one where that is impossible."""

from __future__ import annotations

from collections.abc import Iterator
from struct import unpack_from
from typing import Any

from ...capture.packets.damage import DamagedBytes
from ...capture.packets.packet import Packet
from ...capture.packets.packet_headers import parse_segment
from ...capture.packets.pcap import RECORD_HEADER, PcapReader
from ...capture.packets.tcp_segment import Segment
from ...capture.portions import WINDOW
from .capture_readers import Reader
from .packet_groups import PacketGrouper, connection_key
from .packet_rows import ENDLESS, Item, PacketRecord, PacketRows

SEGMENTS = "TCP segments"  # counted too, to report a file without any
LITTLE = 1 << 16  # packets are read in bulk if more bytes are in memory
STEPS = 256  # packets that are read one by one before bulk reading is tried again


class PacketWalk:
    """Reads the records of a capture from a position on.

    Args:
        reader: a reader at that position.
        rows: receives packets that are not TCP segments.
    """

    def __init__(self, reader: Reader, rows: PacketRows) -> None:
        self.reader: Reader = reader
        self.rows: PacketRows = rows
        self.is_over: bool = False
        self._window = PacketGrouper(reader)

    def begin(self) -> None:
        """Read the header of the file."""
        if isinstance(self.reader, PcapReader):
            self.reader.begin()

    @property
    def place(self) -> int:
        """The position of the next record, after damage that is being yielded."""
        return int(self.reader.state[1])

    def step(self) -> list[Item]:
        """Return the next record; an empty list if it has no TCP segment or there is no record."""
        try:
            packet = next(self.reader)
        except StopIteration:
            self.is_over = True
            return []
        if isinstance(packet, DamagedBytes):
            return [packet]
        segment = parse_segment(packet)
        if isinstance(segment, Segment):
            self.rows.lost[SEGMENTS] += 1
            return [_record(self.reader, packet, segment)]
        self.rows.lost[segment] += 1
        return []

    def read_to(self, stop: int) -> Iterator[Any]:
        """Read all records that begin before a position; yield batches."""
        while not self.is_over and self.place < stop:
            if not self._read_window(stop):
                self._read_steps(stop)
            yield from self.rows.taken()

    def _read_steps(self, stop: int) -> None:
        items, size, left = list[Item](), 0, STEPS if self._window.is_bulk else ENDLESS
        try:
            while left and size < WINDOW and not self.is_over and self.place < stop:
                records = self.step()
                items += records
                size += sum(len(item.data) for item in records)
                left -= 1
        finally:
            self.rows.add_items(items)

    def _read_window(self, stop: int) -> bool:
        """Read the records in memory in bulk; return False if this is impossible."""
        cursor, window, rows = self.reader.cursor, self._window, self.rows
        if cursor.left < LITTLE:
            cursor.fill(cursor.left + 1)
        rows.add_groups(window.groups(stop, rows.last), self.reader.header)
        rows.last = window.last
        rows.lost += window.lost
        rows.lost[SEGMENTS] += window.count - window.lost.total()
        return bool(window.count)


def _record(reader: Reader, packet: Packet, segment: Segment) -> PacketRecord:
    """Return the record of the packet that was just read."""
    data, stop = reader.cursor.data, reader.cursor.pos
    if isinstance(reader, PcapReader):
        size = RECORD_HEADER + len(packet.data)
    else:  # a block ends with its length
        (size,) = unpack_from(reader.order + "I", data, stop - 4)
    head, record = reader.split_off(data[stop - size : stop])
    return PacketRecord(reader.cursor.offset - size, head, packet.nanoseconds, connection_key(segment.key), record)
