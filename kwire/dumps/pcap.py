"""Packets out of pcap: both byte orders, micro- and nanoseconds, any snap length. Pcapng has a room of its own.

https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-04.html. Knows records; knows nothing of what is in a packet.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

import msgspec

from ..errors import DumpError
from .portions import Cursor

LONGEST = 1 << 24  # of a packet or of a block that holds one; no link has longer packets
SECOND = 1_000_000_000

# magic -> byte order, nanoseconds in one tick of a record's second number
MAGICS = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
FILE_HEADER, RECORD_HEADER = 24, 16


class Packet(msgspec.Struct, frozen=True, gc=False):
    """A captured packet.

    `nanoseconds` since 1970 are exact, None where the container has no time; `link` is the link type (1 is
    Ethernet); `data` is what was captured of the `length` bytes that were on the wire.
    """

    nanoseconds: int | None
    link: int
    data: bytes
    length: int

    @property
    def time(self) -> float | None:
        """Seconds since 1970, to the nearest float."""
        return None if self.nanoseconds is None else self.nanoseconds / SECOND


class PcapReader:
    """Reads the packets of a pcap file, in the order of the file, each as soon as its last byte was read.

    Args:
        portions: the file, in portions of any size.
        file: its name, for errors.
        passed: bytes between the file header and what follows it here.

    Attributes:
        cursor: where it is in the file. Who knows packets better may read some there, and move on. At the end of a
            file that grows, new portions go there, and iterating goes on.
        order: the byte order of the file's own numbers, as `struct` writes it.
        tick: nanoseconds in one tick of a record's second number.
        link: the link type. All three are known from the first packet on.

    Iterating raises DumpError where the file ends inside a packet, or a record cannot be one.
    """

    order, tick, link = "", 0, -1

    def __init__(self, portions: Iterator[bytes], file: str = "", passed: int = 0) -> None:
        self.cursor = Cursor(portions, passed)
        self.file = file

    def _begin(self) -> None:
        if not self.cursor.fill(FILE_HEADER):
            raise cut(self.cursor, "the file header", FILE_HEADER, self.file)
        header = self.cursor.take(FILE_HEADER)
        self.order, self.tick = MAGICS[header[:4]]
        self._unpack = Struct(self.order + "IIII").unpack_from
        # The upper half of this field has flags, and the length of the frame check sequence.
        self.link = Struct(self.order + "I").unpack_from(header, 20)[0] & 0xFFFF

    @property
    def is_ahead(self) -> bool:
        """Whether the next packet was read already."""
        cursor = self.cursor
        if cursor.left < RECORD_HEADER:
            return False
        return bool(cursor.left >= RECORD_HEADER + self._unpack(cursor.data, cursor.pos)[2])

    def __iter__(self) -> PcapReader:
        return self

    def __next__(self) -> Packet:
        """Read the next packet."""
        cursor = self.cursor
        if not self.order:
            self._begin()
        if cursor.left < RECORD_HEADER and not cursor.fill(RECORD_HEADER):
            if cursor.left:
                raise cut(cursor, "a packet's record", RECORD_HEADER, self.file)
            raise StopIteration
        seconds, ticks, captured, length = self._unpack(cursor.data, cursor.pos)
        if cursor.left < RECORD_HEADER + captured:
            check_length("a packet", captured, cursor, self.file)
            if not cursor.fill(RECORD_HEADER + captured):
                raise cut(cursor, "a packet's record", RECORD_HEADER + captured, self.file)
        start = cursor.pos + RECORD_HEADER
        cursor.pos = start + captured
        return Packet(seconds * SECOND + ticks * self.tick, self.link, cursor.data[start : cursor.pos], length)


def cut(cursor: Cursor, what: str, need: int, file: str, start: int | None = None) -> DumpError:
    """Make the error of a file that ends too early; `start` is where the record began, if the cursor has moved on."""
    start = cursor.offset if start is None else start
    have = cursor.offset + cursor.left - start
    hint = "the capture was cut short; what comes before is read"
    return DumpError(f"{what} has {have} of its {need} bytes", file=file, offset=start, hint=hint)


def check_length(what: str, length: int, cursor: Cursor, file: str) -> None:
    """Refuse a length that no packet has, before anything is read for it."""
    if length > LONGEST:
        problem, hint = f"{what} of {length} bytes", f"at most {LONGEST} are read: the capture is damaged here"
        raise DumpError(problem, file=file, offset=cursor.offset, hint=hint)
