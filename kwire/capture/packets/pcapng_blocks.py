"""Parses the blocks of pcapng: interface descriptions with their options, and three kinds of packet blocks.

https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-02.html, sections 4.2 to 4.4; the old packet block is in its
appendix A.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from struct import calcsize, pack, unpack_from

from .packet import Interface, Packet

INTERFACE, OLD_PACKET, SIMPLE_PACKET, ENHANCED_PACKET = 1, 2, 3, 6
END_OF_OPTIONS, TIME_RESOLUTION, TIME_OFFSET = 0, 9, 14  # opt_endofopt, if_tsresol, if_tsoffset
MICROSECONDS = b"\x06"  # the default of if_tsresol: 10**-6 s; with the highest bit, the rest is a power of 2


def parse_interface(block: bytes, order: str) -> Interface:
    """Parse an interface description block, without its type and length."""
    link, _, snap_length = unpack_fields(block, order + "HHI")
    options = dict(_parse_options(block[8:], order))
    resolution = (options.get(TIME_RESOLUTION) or MICROSECONDS)[0]
    ticks = 1 << (resolution & 0x7F) if resolution & 0x80 else 10**resolution
    offset = options.get(TIME_OFFSET, b"")
    seconds = unpack_fields(offset, order + "q")[0] if len(offset) >= 8 else 0
    return Interface(link, ticks, seconds, snap_length)


def build_interface_block(interface: Interface, order: str) -> bytes:
    """Build an interface description block, as `parse_interface` reads it."""
    digits = len(str(interface.ticks)) - 1
    resolution = digits if interface.ticks == 10**digits else 0x80 | interface.ticks.bit_length() - 1
    options = pack(
        order + "HHB3xHHqI", TIME_RESOLUTION, 1, resolution, TIME_OFFSET, 8, interface.offset, END_OF_OPTIONS
    )
    size = 20 + len(options)
    head = pack(order + "IIHHI", INTERFACE, size, interface.link, 0, interface.snap_length)
    return head + options + pack(order + "I", size)


def _parse_options(data: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    pos = 0
    while pos + 4 <= len(data):
        code, length = unpack_from(order + "HH", data, pos)
        if code == END_OF_OPTIONS:
            return
        yield code, data[pos + 4 : pos + 4 + length]
        pos += 4 + (length + 3) // 4 * 4


def _parse_enhanced_packet(block: bytes, order: str, interfaces: Sequence[Interface]) -> Packet:
    number, high, low, captured, length = unpack_fields(block, order + "IIIII")
    interface = find_interface(interfaces, number)
    return Packet(interface.nanoseconds(high << 32 | low), interface.link, captured_part(block, 20, captured), length)


def _parse_simple_packet(block: bytes, order: str, interfaces: Sequence[Interface]) -> Packet:
    (length,) = unpack_fields(block, order + "I")
    interface = find_interface(interfaces, 0)
    # A simple packet block has no captured length: the snap length determines it. Zero means no limit.
    captured = min(length, interface.snap_length or length)
    return Packet(None, interface.link, block[4 : 4 + captured], length)


def _parse_old_packet(block: bytes, order: str, interfaces: Sequence[Interface]) -> Packet:
    number, _, high, low, captured, length = unpack_fields(block, order + "HHIIII")
    interface = find_interface(interfaces, number)
    return Packet(interface.nanoseconds(high << 32 | low), interface.link, captured_part(block, 20, captured), length)


BLOCKS: dict[int, Callable[[bytes, str, Sequence[Interface]], Packet]] = {
    ENHANCED_PACKET: _parse_enhanced_packet,
    SIMPLE_PACKET: _parse_simple_packet,
    OLD_PACKET: _parse_old_packet,
}


def unpack_fields(block: bytes, layout: str) -> tuple[int, ...]:
    """Unpack the first fields of a block; raise ValueError if it is too short."""
    if len(block) < calcsize(layout):
        raise ValueError(f"{calcsize(layout)} bytes needed, {len(block)} there")
    return unpack_from(layout, block)


def find_interface(interfaces: Sequence[Interface], number: int) -> Interface:
    """Return the interface of a number; raise ValueError if no block described it."""
    if number >= len(interfaces):
        raise ValueError(f"interface {number} was not described; {len(interfaces)} were")
    return interfaces[number]


def captured_part(block: bytes, start: int, captured: int) -> bytes:
    """Return the bytes of a packet in its block; raise ValueError if the block is too short."""
    if captured > len(block) - start:
        raise ValueError(f"a packet of {captured} bytes in {len(block) - start}")
    return block[start : start + captured]
