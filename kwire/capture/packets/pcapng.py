"""Reads packets from pcapng: sections of either byte order, several interfaces.

https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-02.html. Skips other blocks of any length. Does not parse
packets; `pcapng_blocks` parses the blocks.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from struct import calcsize, pack, unpack_from
from typing import Any

from ...errors import DumpError
from ...runtime.lazy_patterns import lazy_pattern
from ..portions import Cursor
from .damage import PIECE, ROW, DamagedBytes, Skipper, describe_cut, find_record, skip_to_record
from .packet import FIRST_INTERFACES, LONGEST, Interface, Packet
from .pcapng_blocks import BLOCKS, ENHANCED_PACKET, INTERFACE, OLD_PACKET, build_interface_block, parse_interface

MAGIC = b"\x0a\x0d\x0d\x0a"
BYTE_ORDERS = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
LEAST = 12  # bytes of a block: type, length, and the length again
SECTION = 0x0A0D0D0A
KINDS = frozenset([*range(1, 12), 0x0BAD, 0x40000BAD])  # the types that are searched for after damage
NO_BLOCK = "they are not a block"
ETHERNET = 1
MOST_INTERFACES = 1 << 16  # of a section; as many as the old packet block can number
# The layouts of the interface's number, which follows the type and length of a block.
NUMBERS = {ENHANCED_PACKET: "I", OLD_PACKET: "H"}
# The start of a block, by byte order: a type that is searched for, and a length.
STARTS = {
    "<": lazy_pattern(rb"(?=(?:[\x01-\x0b]\0\0\0|\xad\x0b\0[\0\x40]|\x0a\x0d\x0d\x0a)...[\0\x01])", re.DOTALL),
    ">": lazy_pattern(rb"(?=(?:\0\0\0[\x01-\x0b]|[\0\x40]\0\x0b\xad|\x0a\x0d\x0d\x0a)[\0\x01]...)", re.DOTALL),
}


class PcapngReader:
    """Reads the packets of a pcapng file; for arguments, attributes, packets and errors see `PcapReader`.

    `interfaces` are those of the current section, to which its interface descriptions are appended. A block repeats its
    length at its end, so damage is detected without the next block.
    """

    def __init__(
        self, portions: Iterator[bytes], file: str = "", passed: int = 0, *, looks_ahead: bool = False
    ) -> None:
        self.cursor: Cursor = Cursor(portions, passed)
        self.file: str = file
        self.looks_ahead: bool = looks_ahead
        self.may_grow: bool = False
        self.stop: int = sys.maxsize
        self.order: str = "<"
        self.interfaces: list[Interface] = []
        self._skipper = Skipper(self.cursor)
        self._has_skipped = False  # in this section

    def __iter__(self) -> PcapngReader:
        return self

    def __next__(self) -> Packet | DamagedBytes:
        """Read the next packet."""
        while not isinstance(block := self._read_block_header(), DamagedBytes):
            if block[0] not in BLOCKS and block[0] != INTERFACE:
                self._pass_over(*block)
            elif (packet := self._read_packet(*block)) is not None:
                return packet
        return block

    @property
    def state(self) -> tuple[Any, ...]:
        """See `PcapReader.state`."""
        return (
            self.cursor.offset,
            self._skipper.stop,
            self.order,
            self.interfaces,
            self._has_skipped and not self.interfaces,
        )

    @property
    def position(self) -> tuple[Any, ...]:
        """See `PcapReader.position`."""
        return self.cursor.offset, self.order, list(self.interfaces), self._has_skipped

    @classmethod
    def go_on(cls, head: bytes, portions: Iterator[bytes], file: str, position: tuple[Any, ...]) -> PcapngReader:
        """See `PcapReader.go_on`."""
        offset, order, interfaces, has_skipped = position
        reader = cls(portions, file, offset, looks_ahead=True)
        reader.begin_section(order, interfaces)
        reader._has_skipped = has_skipped
        return reader

    @property
    def header(self) -> bytes:
        """The blocks that make a file when packet blocks of the first `FIRST_INTERFACES` interfaces are appended: a
        section header and these interfaces.
        """
        return self._header_with(self.interfaces[:FIRST_INTERFACES])

    def _header_with(self, interfaces: Sequence[Interface]) -> bytes:
        section = MAGIC + pack(self.order + "IIHHqI", 28, 0x1A2B3C4D, 1, 0, -1, 28)
        return section + b"".join(build_interface_block(interface, self.order) for interface in interfaces)

    def split_off(self, block: bytes) -> tuple[bytes, bytes]:
        """Return the blocks that must precede a packet block of this section in a file of its own, and the block.

        They are `header` for the packets of the first interfaces. For others it is only the packet's interface, which
        gets number 0: no packet comes with thousands of interfaces.
        """
        kind, _ = unpack_from(self.order + "II", block)
        layout = self.order + NUMBERS[kind] if kind in NUMBERS else ""
        number = unpack_from(layout, block, 8)[0] if layout else 0
        if number < FIRST_INTERFACES:
            return self.header, block
        return self._header_with([self.interfaces[number]]), block[:8] + pack(layout, 0) + block[8 + calcsize(layout) :]

    def begin_section(self, order: str, interfaces: Iterable[Interface]) -> None:
        """Continue in the middle of a section."""
        self.order, self.interfaces = order, list(interfaces)

    def synchronise(self) -> bool:
        """See `PcapReader.synchronise`."""
        return skip_to_record(self.cursor, STARTS[self.order], self._is_row, LEAST, LONGEST)

    def _is_row(self, distance: int) -> bool:
        """Whether consecutive blocks start at this distance; fewer suffice if the input ends after the last."""
        for number in range(ROW):
            if not self.cursor.fill(distance + LEAST):
                return number > 0 and distance == self.cursor.left
            if not self._begins(distance):
                return False
            (size,) = unpack_from(self._byte_order_at(distance) + "I", self.cursor.data, self.cursor.pos + distance + 4)
            distance += size
        return True

    @property
    def is_ahead(self) -> bool:
        """Whether the next block is a packet block that has already been read."""
        cursor = self.cursor
        if cursor.left < LEAST:
            return False
        kind, size = unpack_from(self.order + "II", cursor.data, cursor.pos)
        return kind in BLOCKS and cursor.left >= size

    @property
    def is_skipping(self) -> bool:
        """Whether the next bytes are damaged."""
        return self._skipper.is_skipping

    def _read_block_header(self) -> tuple[int, int] | DamagedBytes:
        """Return the type and length of the next block."""
        cursor = self.cursor
        if self._skipper.is_skipping:
            return self._skipper.take()
        if cursor.offset >= self.stop:
            raise StopIteration
        if not cursor.fill(LEAST):
            return self._skip_damage(0)
        order = self._byte_order_at(0)
        kind, size = unpack_from((order or "<") + "II", cursor.data, cursor.pos)
        if not order or size < LEAST or size % 4 or not self._is_block(order, kind, size):
            return self._skip_damage(size if order else 0)
        if kind == SECTION:
            self.order = order
            self.interfaces = []
            self._has_skipped = False
        return kind, size

    def _pass_over(self, kind: int, size: int) -> None:
        start = self.cursor.offset
        if not self.cursor.skip(size):
            problem = f"a block of type {kind} has {self.cursor.offset - start} of its {size} bytes"
            raise DumpError(problem, file=self.file, offset=start, hint="the capture was cut short")

    def _byte_order_at(self, distance: int) -> str:
        """Return the byte order of the block at this distance; an empty string if it is unknown."""
        start = self.cursor.pos + distance
        if not self.cursor.data.startswith(MAGIC, start):
            return self.order
        return BYTE_ORDERS.get(self.cursor.data[start + 8 : start + 12], "")

    def _is_block(self, order: str, kind: int, size: int) -> bool:
        """Whether the next block is complete and ends with its length.

        A block longer than any packet only has to be complete; it is skipped, unless another block starts inside it.
        """
        if size > LONGEST:
            return kind not in (INTERFACE, *BLOCKS) and not self.may_grow and self._search() is None
        cursor = self.cursor
        return cursor.fill(size) and unpack_from(order + "I", cursor.data, cursor.pos + size - 4)[0] == size

    def _read_packet(self, kind: int, size: int) -> Packet | DamagedBytes | None:
        block = self.cursor.data[self.cursor.pos + 8 : self.cursor.pos + size - 4]
        interfaces = self.interfaces
        packet = None
        if self._has_skipped and not interfaces:
            interfaces = [Interface(ETHERNET, 10**6)]  # the interface description may be damaged
        try:
            if kind != INTERFACE:
                packet = BLOCKS[kind](block, self.order, interfaces)
            elif len(interfaces) < MOST_INTERFACES:
                interfaces.append(parse_interface(block, self.order))
            else:
                raise ValueError(f"there are more than {MOST_INTERFACES} interfaces")
        except (ValueError, IndexError) as error:
            self._skipper.skip(size, f"a block of type {kind}: {error}")
            return self._skipper.take()
        self.cursor.pos += size
        self.interfaces = interfaces
        return packet

    def _skip_damage(self, size: int) -> DamagedBytes:
        """Return bytes that are not a block; `size` is the length that the damaged block claims.

        Raises:
            StopIteration: the input has ended, or its last block may still be being written.
        """
        cursor, skipper = self.cursor, self._skipper
        is_credible = bool(size) and self._is_credible(0)
        # A block that is still being written may contain anything, even something that resembles blocks.
        waits = self.may_grow and is_credible and cursor.left < size
        distance = self._search() if cursor.left >= LEAST and not waits else None
        left = cursor.left
        if distance is not None:
            skipper.skip(distance, NO_BLOCK)
        elif not left or (self.may_grow and left <= LONGEST):
            raise StopIteration
        elif left > LONGEST:
            skipper.skip(left - LEAST + 1, NO_BLOCK)
        else:
            is_cut = left < LEAST or (is_credible and size > left)
            problem = describe_cut(self._describe_block(), left, size or LEAST) if is_cut else NO_BLOCK
            skipper.skip(left, problem, is_cut=is_cut)
        self._has_skipped = True
        return skipper.take()

    def _describe_block(self) -> str:
        """Return what the next block holds; nearly all hold packets."""
        if self.cursor.left < LEAST:
            return "a packet"
        (kind,) = unpack_from((self._byte_order_at(0) or "<") + "I", self.cursor.data, self.cursor.pos)
        return "a packet" if kind in BLOCKS else f"a block of type {kind}"

    def _search(self) -> int | None:
        """Find the next block after the start of the current one; return its distance in bytes."""
        more = PIECE if self.looks_ahead else 1
        return find_record(self.cursor, STARTS[self.order], self._begins, size=LEAST, more=more, limit=LONGEST)

    def _begins(self, distance: int) -> bool:
        """Whether a block starts at this distance: it must repeat its length at its end."""
        if not self._is_credible(distance):
            return False
        order = self._byte_order_at(distance)
        (size,) = unpack_from(order + "I", self.cursor.data, self.cursor.pos + distance + 4)
        if not self.cursor.fill(distance + size):
            return False
        return bool(unpack_from(order + "I", self.cursor.data, self.cursor.pos + distance + size - 4)[0] == size)

    def _is_credible(self, distance: int) -> bool:
        """Whether the block at this distance is credible by its type and length."""
        order = self._byte_order_at(distance)
        if not order:
            return False
        kind, size = unpack_from(order + "II", self.cursor.data, self.cursor.pos + distance)
        return bool(LEAST <= size <= LONGEST and size % 4 == 0 and (kind in KINDS or kind == SECTION))
