"""Integers of variable length: unsigned varints, and signed ones with zig-zag encoding."""

from __future__ import annotations

from typing import Any

from ...errors import BadVarint, OverlongVarint
from .node import Number
from .reader import Reader
from .writer import Writer

_BYTES = tuple(bytes([value]) for value in range(128))


class UnsignedVarint(Number):
    """An unsigned varint of up to `bits` bits. Kafka drops bits that do not fit, as does salvage."""

    least = 1

    def __init__(self, type_name: str, bits: int = 32) -> None:
        super().__init__()
        self.type_name = type_name
        self.low: int = 0
        self.high: int = 2**bits - 1
        self.longest: int = -(-bits // 7)

    def _parse(self, stream: Reader, context: Any, path: str) -> int:
        start = stream.pos
        value: int = 0
        shift = 0
        while True:
            byte: int = stream.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift >= 7 * self.longest:
                stream.refuse(BadVarint, start, need=self.longest, raw=stream.data[start : stream.pos])
        if (byte == 0 and shift) or value > self.high:
            self._overlong(stream, start, value & self.high)
        return value & self.high

    def _overlong(self, stream: Reader, start: int, value: int) -> None:
        raw = stream.data[start : stream.pos]
        stream.fault(OverlongVarint, start, have=len(raw), need=len(unsigned_varint(value)), raw=raw)

    def _build(self, obj: Any, stream: Writer, context: Any, path: str) -> None:
        self.check(stream, obj)
        stream.out += unsigned_varint(obj)


class Varint(Number):
    """A signed varint: the zig-zag encoding (0, -1, 1, -2 ... become 0, 1, 2, 3 ...) as an unsigned varint."""

    least = 1

    def __init__(self, type_name: str, bits: int = 32) -> None:
        super().__init__()
        self.type_name = type_name
        self.unsigned: UnsignedVarint = UnsignedVarint(type_name, bits)
        self.low: int = -(2 ** (bits - 1))
        self.high: int = 2 ** (bits - 1) - 1

    def _parse(self, stream: Reader, context: Any, path: str) -> int:
        value: int = self.unsigned._parse(stream, context, path)
        return (value >> 1) ^ -(value & 1)

    def _build(self, obj: Any, stream: Writer, context: Any, path: str) -> None:
        self.check(stream, obj)
        stream.out += unsigned_varint(obj << 1 if obj >= 0 else ~(obj << 1))


def short_varint(data: bytes, position: int) -> tuple[int, int]:
    """Read an unsigned varint of at most 32 bits in its shortest form; return the value and the position after it.

    Raises ValueError or IndexError without details for any other bytes; `UnsignedVarint` gives the details.

    >>> short_varint(bytes.fromhex("ac02"), 0)
    (300, 2)
    """
    value = data[position]
    position += 1
    if value < 128:
        return value, position
    value &= 127
    shift = 7
    while (byte := data[position]) > 127:
        value |= (byte & 127) << shift
        shift += 7
        position += 1
        if shift > 28:
            raise ValueError
    value |= byte << shift
    if not byte or value >= 2**32:
        raise ValueError
    return value, position + 1


def unsigned_varint(value: int) -> bytes:
    """Encode a number >= 0 in its shortest form.

    >>> unsigned_varint(300).hex()
    'ac02'
    """
    if 0 <= value < 128:
        return _BYTES[value]
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


UNSIGNED_VARINT = UnsignedVarint("unsigned varint")


VARINT = Varint("varint")


VARLONG = Varint("varlong", 64)
