"""Rows of packets, which a shuffle groups by connection; with notes about damage and lost packets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from struct import pack, unpack
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from msgspec.msgpack import encode

from ...capture.packets.damage import DamagedBytes
from .byte_ranges import ByteRange
from .concatenated_files import Extent
from .connection_windows import WHOLE, Windows
from .packet_groups import PacketGroup, times_in_line
from .raw_frame_ranges import RangePart

# The kinds of rows, in the order in which they must be read.
VOID, PACKETS, DAMAGE, LOST, BROKEN, FILE, ENTRY, FRAMES, LATE = range(9)
SCHEMA = pa.schema(
    [
        ("capture", pa.string()),
        ("connection", pa.binary()),
        ("kind", pa.int8()),
        ("first", pa.int64()),
        ("last", pa.int64()),
        ("path", pa.string()),
        ("place", pa.int64()),
        ("head", pa.binary()),
        ("offsets", pa.binary()),
        ("packets", pa.binary()),
        ("problem", pa.string()),
    ]
)
GROWN = b"grown "  # begins the key of raw frames of a file that grows
ENDLESS = 1 << 62


class PacketRecord(NamedTuple):
    """The record of a packet: its position, the file header that is needed to read it, its capture time, and its
    bytes.
    """

    offset: int
    head: bytes
    nanoseconds: int | None
    key: bytes
    data: bytes


Item = PacketRecord | DamagedBytes


class PacketRows:
    """Builds the rows of `SCHEMA` for one split.

    Args:
        split: the split.
        windows: the windows of long connections; the rows treat each window as a separate connection.

    Attributes:
        lost: the number of packets that are not TCP segments, by reason, and the number of TCP segments.
        last: the time of the last packet, in nanoseconds.
    """

    def __init__(self, split: ByteRange, windows: Windows = WHOLE) -> None:
        self.split = split
        self.windows = windows
        self.lost: Counter[str] = Counter()
        self.last: int | None = None
        self._rows: list[tuple[Any, ...]] = []
        self._count = 0
        self._own = b"file " + split.path.encode()  # the key of rows without a connection
        self._shift = split.extent.shift if split.extent else 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing was added since the start."""
        return not self._count

    def add_groups(self, groups: Iterable[PacketGroup], head: bytes) -> None:
        """Add the packets of groups."""
        for group in groups:
            if self.windows.has(self.split.capture, group.key):
                self._add_windows(group, head)
            else:
                self._add(group.key, PACKETS, group.first, group.last, head, group.offsets, group.packets)

    def _keys(self, key: bytes, offset: int) -> list[tuple[bytes, int]]:
        """Return the keys of a packet's connection or windows; see `Windows.keys`."""
        return self.windows.keys(self.split.capture, key, self.split.path, offset)

    def _add_windows(self, group: PacketGroup, head: bytes) -> None:
        """Add packets of a connection that is divided into windows."""
        count = len(group.offsets) // 8
        offsets, sizes = (unpack(f"<{count}q", numbers) for numbers in (group.offsets, group.sizes))
        if (keys := self._keys(group.key, offsets[0])) == self._keys(group.key, offsets[-1]):
            for key, _ in keys:
                self._add(key, PACKETS, group.first, group.last, head, group.offsets, group.packets)
            return
        parts: dict[tuple[bytes, int], tuple[list[int], list[bytes]]] = {}
        start = 0
        for offset, size in zip(offsets, sizes, strict=True):
            for part in self._keys(group.key, offset):
                places, records = parts.setdefault(part, ([], []))
                places.append(offset)
                records.append(group.packets[start : start + size])
            start += size
        for (key, _), (places, records) in parts.items():
            self._add(key, PACKETS, group.first, group.last, head, _pack_offsets(*places), b"".join(records))

    def add_items(self, items: Sequence[Item], kind: int = PACKETS) -> None:
        """Add packets that were read one by one, or damage; with the `kind` VOID, revoke packets."""
        groups: dict[tuple[tuple[bytes, int], bytes], list[tuple[PacketRecord, int]]] = {}
        for item, time in zip(items, self._times(items, kind), strict=True):
            if isinstance(item, PacketRecord):
                for part in self._keys(item.key, item.offset):
                    groups.setdefault((part, item.head), []).append((item, time))
            else:
                code = DAMAGE if kind == PACKETS else VOID
                problem = f"{'cut' if item.is_cut else 'damaged'}:{item.problem}"
                self._add(self._own, code, 0, 0, b"", _pack_offsets(item.offset), item.data, problem)
        for ((key, _), head), timed in groups.items():
            records, times = zip(*timed, strict=True)
            data = b"" if kind == VOID else b"".join(record.data for record in records)
            self._add(
                key, kind, min(times), max(times), head, _pack_offsets(*(record.offset for record in records)), data
            )

    def _times(self, items: Sequence[Item], kind: int) -> list[int]:
        """Return the capture times of records; 0 for an item that is not a record or has no time."""
        times = [item.nanoseconds or 0 if isinstance(item, PacketRecord) else 0 for item in items]
        times = [max(-ENDLESS, min(time, ENDLESS)) for time in times]  # pcapng may contain any time
        there = [index for index, time in enumerate(times) if time]
        if kind == PACKETS and there:
            smoothed = times_in_line(np.array([times[position] for position in there]), self.last).tolist()
            for index, time in zip(there, smoothed, strict=True):
                times[index] = time
            self.last = smoothed[-1]
        return times

    def add(self, kind: int, problem: str = "", offset: int = 0) -> None:
        """Add a note about the file."""
        self._add(self._own, kind, 0, 0, b"", _pack_offsets(offset), b"", problem)

    def add_frames(self, part: RangePart) -> None:
        """Add bytes of raw frames, or the entry of a range of raw frames."""
        key = b"frames %s %020d" % (self.split.path.encode(), part.range)
        kind, head = (FRAMES, b"") if part.entry is None else (ENTRY, encode(part.entry))
        self._add(key, kind, 0, 0, head, _pack_offsets(part.place), part.data)

    def add_grown(self, extent: Extent, offset: int, data: bytes) -> None:
        """Add bytes of raw frames of a file that grows; at its end, an ENTRY without bytes."""
        self._add(GROWN + extent.frames, FRAMES if data else ENTRY, 0, 0, b"", _pack_offsets(offset), data)

    def add_lost(self) -> None:
        """Add the counts of packets that could not be read."""
        for reason, count in sorted(self.lost.items()):
            if not count:
                continue
            self._add(self._own, LOST, 0, 0, b"", _pack_offsets(count), b"", reason)

    def _add(
        self,
        key: bytes,
        kind: int,
        first: int,
        last: int,
        head: bytes,
        offsets: bytes,
        packets: bytes,
        problem: str = "",
    ) -> None:
        split = self.split
        self._count += 1
        if self._shift and kind != LOST:
            offsets = (np.frombuffer(offsets, "<i8") + self._shift).tobytes()
        offset = int.from_bytes(offsets[:8], "little", signed=True)
        row = split.capture, key, kind, first, last, split.path, offset, head, offsets, packets, problem
        self._rows.append(row)

    def taken(self) -> Iterator[Any]:
        """Yield a batch of the rows collected so far."""
        rows, self._rows = self._rows, []
        if rows:
            columns = zip(*rows, strict=True)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _pack_offsets(*places: int) -> bytes:
    """Serialise positions for the column `offsets`."""
    return pack(f"<{len(places)}q", *places)
