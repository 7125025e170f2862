"""Reads packets from pcap: both byte orders, micro- and nanoseconds, any snap length.

https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-04.html. Does not parse packets. Reading continues after damage.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from struct import Struct, pack
from typing import Any

from ...errors import DumpError
from ..portions import Cursor
from .damage import PIECE, ROW, DamagedBytes, Skipper, describe_cut, find_record, skip_to_record
from .packet import LONGEST, SECOND, Interface, Packet

# magic -> byte order, nanoseconds per tick of a record's fraction field
MAGICS = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
FILE_HEADER, RECORD_HEADER = 24, 16
USUAL = 1 << 18  # bytes; the snap length of tcpdump and Wireshark, used even if the file has a smaller one
NEAR = 1 << 25  # seconds (a year) between packets that are credible; a longer interval indicates damage
DAY = 86_400  # seconds; a record this close to the packets before it needs no further evidence
NO_RECORD = "they are not a packet record"


class PcapReader:
    """Reads the packets of a pcap file in order, each as soon as its last byte has been read.

    After a damaged record, reading continues at the next header that other records follow; the skipped bytes are a
    `DamagedBytes`.

    Args:
        portions: the file's bytes, in portions of any size.
        file: its name, for errors.
        passed: bytes of the file between the file header and the first portion.
        looks_ahead: wait for the header after each packet, which confirms the length of the packet. Otherwise, a packet
            is confirmed only if that header is already available, which suits captures that are read while they are
            written.

    Attributes:
        cursor: the position in the file. A faster reader may read packets there itself and advance it. When a growing
            file has more bytes, assign them as its `portions` and iterate again.
        order: the byte order of the file, as in format strings of `struct`.
        tick: nanoseconds per tick of a record's fraction field.
        link: the link type. These three are known after the first packet.
        interfaces: the same values as the only interface.
        may_grow: whether the file may still grow; an incomplete record at the end is then not an error.
        stop: the position in the file from which on no record is read; increase it and iterate again to go on.

    Iterating raises DumpError if the file header is incomplete.
    """

    order: str = ""
    tick: int = 0
    link: int = -1
    interfaces: Sequence[Interface] = ()

    def __init__(
        self, portions: Iterator[bytes], file: str = "", passed: int = 0, *, looks_ahead: bool = False
    ) -> None:
        self.cursor: Cursor = Cursor(portions, passed)
        self.file: str = file
        self.looks_ahead: bool = looks_ahead
        self.may_grow: bool = False
        self.stop: int = sys.maxsize
        self._skipper = Skipper(self.cursor)
        self._time: int | None = None  # seconds of the last packet with a credible time

    def begin(self) -> None:
        """Read the file header, unless it was read already, and set `order`, `tick` and `link` from it."""
        if self.order:
            return
        if not self.cursor.fill(FILE_HEADER):
            if self.may_grow:
                raise StopIteration
            raise cut_error(self.cursor, "the file header", FILE_HEADER, self.file)
        header = self.cursor.take(FILE_HEADER)
        self.order, self.tick = MAGICS[header[:4]]
        self._unpack = Struct(self.order + "IIII").unpack_from
        snap, link = Struct(self.order + "II").unpack_from(header, 16)
        # The upper half of this field has flags and the length of the frame check sequence.
        self.link = link & 0xFFFF
        self.interfaces = (Interface(self.link, SECOND // self.tick),)
        self._most = max(snap if snap <= LONGEST else 0, USUAL)

    @property
    def position(self) -> tuple[Any, ...]:
        """The position between two records, and what the reader knows there; `go_on` continues from it."""
        return self.cursor.offset, self._time

    @classmethod
    def go_on(cls, head: bytes, portions: Iterator[bytes], file: str, position: tuple[Any, ...]) -> PcapReader:
        """Return a reader that continues at the `position` of another one.

        Args:
            head: the first bytes of the file.
            portions: the bytes of the file from the position on.
            file: the name of the file.
            position: the position.
        """
        offset, time = position
        reader = cls(chain([head[:FILE_HEADER]], portions), file, offset - FILE_HEADER, looks_ahead=True)
        reader.begin()
        reader.note_time(time)
        return reader

    def split_off(self, record: bytes) -> tuple[bytes, bytes]:
        """Return the header that must precede a record in a file of its own, and the record."""
        return self.header, record

    @property
    def is_ahead(self) -> bool:
        """Whether the next packet has already been read."""
        cursor = self.cursor
        if cursor.left < RECORD_HEADER:
            return False
        return bool(cursor.left >= RECORD_HEADER + self._unpack(cursor.data, cursor.pos)[2])

    @property
    def is_skipping(self) -> bool:
        """Whether the next bytes are damaged."""
        return self._skipper.is_skipping

    def note_time(self, seconds: int | None) -> None:
        """Record the time of the last packet that was read by moving the cursor; None if there was none."""
        self._time = self._time if seconds is None else seconds

    @property
    def state(self) -> tuple[Any, ...]:
        """The state from which reading continues: two readers of one file with equal states read the same packets."""
        return self.cursor.offset, self._skipper.stop, self._time

    @property
    def header(self) -> bytes:
        """The file header, which makes a complete file when records are appended."""
        magic = next(magic for magic, known in MAGICS.items() if known == (self.order, self.tick))
        return magic + pack(self.order + "HHIIII", 2, 4, 0, 0, self._most, self.link)

    def synchronise(self) -> bool:
        """Move to the next record that is followed by other records; return False if there is none before the end."""
        self.begin()

        def begins(distance: int) -> bool:
            return self._is_row(distance) and self._is_credible(distance)

        return skip_to_record(self.cursor, self._build_pattern(), begins, RECORD_HEADER, LONGEST)

    def __iter__(self) -> PcapReader:
        return self

    def __next__(self) -> Packet | DamagedBytes:
        """Read the next packet."""
        cursor = self.cursor
        self.begin()
        if self._skipper.is_skipping:
            return self._skipper.take()
        if cursor.offset >= self.stop:
            raise StopIteration
        if cursor.left < RECORD_HEADER and not cursor.fill(RECORD_HEADER):
            return self._skip_damage(0, None)
        seconds, ticks, captured, length = self._unpack(cursor.data, cursor.pos)
        size = RECORD_HEADER + captured
        if not self._is_record(seconds, ticks, captured, size):
            if self.may_grow and size > cursor.left and self._is_credible(0):
                raise StopIteration  # still being written: may contain anything, even something that resembles records
            distance = self._search()
            if not self._is_credible(0) or size > (cursor.left if distance is None else distance):
                return self._skip_damage(size, distance)
            if distance is not None:  # this record is complete; the damage is after it
                self._skipper.expect(cursor.offset + distance, NO_RECORD)
        start = cursor.pos + RECORD_HEADER
        cursor.pos = start + captured
        return Packet(seconds * SECOND + ticks * self.tick, self.link, cursor.data[start : cursor.pos], length)

    def _is_record(self, seconds: int, ticks: int, captured: int, size: int) -> bool:
        """Whether the next bytes are a record, according to its header and the next one."""
        cursor = self.cursor
        need = size + RECORD_HEADER
        if captured > LONGEST:
            return False
        if cursor.left < need and not (self.looks_ahead and cursor.fill(need)):
            if cursor.left < size and not cursor.fill(size):
                return False
            if cursor.left < need:
                self._time = seconds if self._is_near(seconds) else self._time
                return (self._time == seconds and ticks * self.tick < SECOND) or self._is_header(0)
        if not self._is_near(seconds) and not captured:
            return False  # zeros: empty records would follow each other without end
        then, ticks, captured, _ = self._unpack(cursor.data, cursor.pos + size)
        follows = captured <= LONGEST and ticks * self.tick < SECOND and (self._is_near(then) or is_near(then, seconds))
        if follows and (self._is_near(seconds) or is_near(then, seconds)):
            self._time = seconds
        return follows or self._is_row(size)

    def _is_near(self, seconds: int, limit: int = NEAR) -> bool:
        """Whether a packet may have this time, compared with earlier packets."""
        return self._time is None or is_near(seconds, self._time, limit)

    def _skip_damage(self, size: int, distance: int | None) -> DamagedBytes:
        """Return a `DamagedBytes` for bytes that are not a record.

        Args:
            size: the length that the damaged record claims.
            distance: where the next valid record starts; None if there is none.
        """
        left = self.cursor.left
        skipper = self._skipper
        if distance is not None:
            skipper.skip(distance, NO_RECORD)
        elif not left or (self.may_grow and left <= LONGEST):
            raise StopIteration
        elif left > LONGEST:
            skipper.skip(left - RECORD_HEADER + 1, NO_RECORD)
        else:
            is_cut = left < RECORD_HEADER or (size > left and self._is_credible(0))
            need = size or RECORD_HEADER
            skipper.skip(left, describe_cut("a packet", left, need) if is_cut else NO_RECORD, is_cut=is_cut)
        return skipper.take()

    def _search(self) -> int | None:
        """Find the next record after the start of the current one; return its distance in bytes."""
        more = PIECE if self.looks_ahead else 1
        return find_record(
            self.cursor, self._build_pattern(), self._begins, size=RECORD_HEADER, more=more, limit=LONGEST
        )

    def _build_pattern(self) -> re.Pattern[bytes]:
        """Return the pattern of a header with a credible time and lengths within bounds."""
        first = b"[^\0]"
        if self._time is not None:
            nears = range(self._time - NEAR >> 24, (self._time + NEAR >> 24) + 1)
            first = b"[" + b"".join(re.escape(bytes([byte & 0xFF])) for byte in nears) + b"]"
        ticks = b"[\0-\x3b]" if self.tick == 1 else b"\0"
        parts = [b"...", first, b"...", ticks, rb"(?!\0\0\0)...", b"\0", rb"(?!\0\0\0)...", b"\0"]
        if self.order == ">":
            # Each pair of parts is one field of 32 bits; in this byte order its halves are the other way round.
            parts = [part for low, high in zip(parts[::2], parts[1::2], strict=True) for part in (high, low)]
        return re.compile(b"(?=" + b"".join(parts) + b")", re.DOTALL)

    def _begins(self, distance: int) -> bool:
        """Whether a record starts at this distance: its time is near the last ones, or other records follow it."""
        if not self._is_credible(distance):
            return False
        seconds, _, captured, _ = self._unpack(self.cursor.data, self.cursor.pos + distance)
        is_whole = self.cursor.fill(distance + RECORD_HEADER + captured)
        return is_whole and ((self._time is not None and self._is_near(seconds, DAY)) or self._is_row(distance))

    def _is_row(self, distance: int) -> bool:
        """Whether consecutive records start at this distance; fewer suffice if the end is near."""
        for number in range(ROW):
            if not self.cursor.fill(distance + RECORD_HEADER):
                return number > 1 or (number == 1 and distance == self.cursor.left and not self.may_grow)
            if not self._is_header(distance):
                return False
            distance += RECORD_HEADER + self._unpack(self.cursor.data, self.cursor.pos + distance)[2]
        return True

    def _is_credible(self, distance: int) -> bool:
        """Whether the header at this distance is valid, judged without its neighbours."""
        seconds = self._unpack(self.cursor.data, self.cursor.pos + distance)[0]
        return self._is_header(distance) and self._is_near(seconds)

    def _is_header(self, distance: int) -> bool:
        """Whether the numbers are valid in a record header, whatever its time."""
        _, ticks, captured, length = self._unpack(self.cursor.data, self.cursor.pos + distance)
        return bool(0 < captured <= min(length, self._most) and length <= LONGEST and ticks * self.tick < SECOND)


def is_near(seconds: int, other: int, limit: int = NEAR) -> bool:
    """Whether two times, in seconds, are close enough for consecutive packets."""
    return abs(seconds - other) <= limit


def cut_error(cursor: Cursor, what: str, need: int, file: str, start: int | None = None) -> DumpError:
    """Create the error of a truncated file; `start` is where the record starts, if the cursor has moved on."""
    start = cursor.offset if start is None else start
    have = cursor.offset + cursor.left - start
    hint = "the capture was cut short; what comes before is read"
    return DumpError(f"{what} has {have} of its {need} bytes", file=file, offset=start, hint=hint)
