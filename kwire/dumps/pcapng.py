"""Packets out of pcapng: sections of either byte order, several interfaces, packet blocks of all three kinds.

https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-02.html. Other blocks are passed over, however long.
Knows blocks; knows nothing of what is in a packet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import calcsize, unpack_from
from typing import NamedTuple

from ..errors import DumpError
from .pcap import SECOND, Packet, check_length, cut
from .portions import Cursor

MAGIC = b"\x0a\x0d\x0d\x0a"
BYTE_ORDERS = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
INTERFACE, OLD_PACKET, SIMPLE_PACKET, ENHANCED_PACKET = 1, 2, 3, 6
LEAST = 12  # of a block: type, length, length again
END_OF_OPTIONS, TIME_RESOLUTION, TIME_OFFSET = 0, 9, 14
MICROSECONDS = b"\x06"


class _Interface(NamedTuple):
    link: int
    snap_length: int
    ticks: int  # in a second
    offset: int  # seconds

    def nanoseconds(self, high: int, low: int) -> int:
        return (high << 32 | low) * SECOND // self.ticks + self.offset * SECOND


class PcapngReader:
    """Reads the packets of a pcapng file; arguments, attributes, packets and errors as `PcapReader`."""

    def __init__(self, portions: Iterator[bytes], file: str = "") -> None:
        self.cursor, self.file = Cursor(portions), file
        self.order, self._interfaces = "<", list[_Interface]()

    def __iter__(self) -> PcapngReader:
        return self

    def __next__(self) -> Packet:
        """Read the next packet."""
        cursor = self.cursor
        while cursor.fill(LEAST):
            if cursor.data.startswith(MAGIC, cursor.pos):
                self.order, self._interfaces = _byte_order(cursor, self.file), []
            kind, size = unpack_from(self.order + "II", cursor.data, cursor.pos)
            if size < LEAST or size % 4:
                hint = "the capture is damaged here; what comes before is read"
                raise DumpError(f"a block of {size} bytes", file=self.file, offset=cursor.offset, hint=hint)
            if kind not in BLOCKS:
                self._pass_over(kind, size)
            elif (packet := self._packet(kind, size)) is not None:
                return packet
        if cursor.left:
            raise cut(cursor, "a block's header", LEAST, self.file)
        raise StopIteration

    def _pass_over(self, kind: int, size: int) -> None:
        start = self.cursor.offset
        if not self.cursor.skip(size):
            raise cut(self.cursor, f"a block of type {kind}", size, self.file, start)

    def _packet(self, kind: int, size: int) -> Packet | None:
        start, block = self.cursor.offset, _block(self.cursor, self.order, size, self.file)
        try:
            return BLOCKS[kind](block, self.order, self._interfaces)
        except (ValueError, IndexError) as error:
            raise DumpError(f"a block of type {kind}: {error}", file=self.file, offset=start) from None


def _byte_order(cursor: Cursor, file: str) -> str:
    magic = cursor.data[cursor.pos + 8 : cursor.pos + 12]
    if magic not in BYTE_ORDERS:
        problem = f"a section whose byte-order magic is {magic.hex()}"
        raise DumpError(problem, file=file, offset=cursor.offset, hint="1a2b3c4d in either order is written")
    return BYTE_ORDERS[magic]


def _block(cursor: Cursor, order: str, size: int, file: str) -> bytes:
    """Take a block and return its body."""
    check_length("a block", size, cursor, file)
    if not cursor.fill(size):
        raise cut(cursor, "a block", size, file)
    again = unpack_from(order + "I", cursor.data, cursor.pos + size - 4)[0]
    if again != size:
        problem = f"a block of {size} bytes, whose end says {again}"
        raise DumpError(problem, file=file, offset=cursor.offset, hint="the capture is damaged here")
    return cursor.take(size)[8:-4]


def _interface(block: bytes, order: str, interfaces: list[_Interface]) -> None:
    link, _, snap_length = _fields(block, order + "HHI")
    options = dict(_options(block[8:], order))
    resolution = (options.get(TIME_RESOLUTION) or MICROSECONDS)[0]
    ticks = 1 << (resolution & 0x7F) if resolution & 0x80 else 10**resolution
    offset = options.get(TIME_OFFSET, b"")
    seconds = _fields(offset, order + "q")[0] if len(offset) >= 8 else 0
    interfaces.append(_Interface(link, snap_length, ticks, seconds))


def _options(data: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    pos = 0
    while pos + 4 <= len(data):
        code, length = unpack_from(order + "HH", data, pos)
        if code == END_OF_OPTIONS:
            return
        yield code, data[pos + 4 : pos + 4 + length]
        pos += 4 + (length + 3) // 4 * 4


def _enhanced_packet(block: bytes, order: str, interfaces: list[_Interface]) -> Packet:
    number, high, low, captured, length = _fields(block, order + "IIIII")
    interface = _numbered(interfaces, number)
    return Packet(interface.nanoseconds(high, low), interface.link, _captured(block, 20, captured), length)


def _simple_packet(block: bytes, order: str, interfaces: list[_Interface]) -> Packet:
    (length,) = _fields(block, order + "I")
    interface = _numbered(interfaces, 0)
    # It does not say how much was captured: what the snap length lets through. Zero is no limit.
    captured = min(length, interface.snap_length or length)
    return Packet(None, interface.link, block[4 : 4 + captured], length)


def _old_packet(block: bytes, order: str, interfaces: list[_Interface]) -> Packet:
    number, _, high, low, captured, length = _fields(block, order + "HHIIII")
    interface = _numbered(interfaces, number)
    return Packet(interface.nanoseconds(high, low), interface.link, _captured(block, 20, captured), length)


BLOCKS: dict[int, Callable[[bytes, str, list[_Interface]], Packet | None]] = {
    INTERFACE: _interface,
    ENHANCED_PACKET: _enhanced_packet,
    SIMPLE_PACKET: _simple_packet,
    OLD_PACKET: _old_packet,
}


def _fields(block: bytes, layout: str) -> tuple[int, ...]:
    if len(block) < calcsize(layout):
        raise ValueError(f"{calcsize(layout)} bytes needed, {len(block)} there")
    return unpack_from(layout, block)


def _numbered(interfaces: list[_Interface], number: int) -> _Interface:
    if number >= len(interfaces):
        raise ValueError(f"interface {number} was not described; {len(interfaces)} were")
    return interfaces[number]


def _captured(block: bytes, start: int, captured: int) -> bytes:
    if captured > len(block) - start:
        raise ValueError(f"a packet of {captured} bytes in {len(block) - start}")
    return block[start : start + captured]
