"""Integers, float, boolean and UUID, variable-length integers, and lengths where -1 means null."""

from __future__ import annotations

import re
import struct
from typing import Any

from ..errors import (
    BadBoolean,
    BadLength,
    BadText,
    BadVarint,
    NegativeLength,
    NullNotAllowed,
    NullNotWritable,
    OverlongVarint,
    StringTooLong,
    TooLong,
    WrongType,
)
from .streams import Node, Reader, Writer


class Integer(Node):
    """A two's complement or unsigned integer of 1, 2, 4 or 8 bytes."""

    def __init__(self, type_name: str, code: str) -> None:
        super().__init__()
        self.type_name = type_name
        self.struct: struct.Struct = struct.Struct(">" + code)
        self.least: int = self.struct.size
        bits = 8 * self.least
        self.low: int
        self.high: int
        self.low, self.high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if code.islower() else (0, 2**bits - 1)

    def _parse(self, stream: Reader, context: Any, path: str) -> int:
        value: int = self.struct.unpack(stream.take(self.least))[0]
        return value

    def _build(self, obj: Any, stream: Writer, context: Any, path: str) -> None:
        if not isinstance(obj, int) or isinstance(obj, bool) or not self.low <= obj <= self.high:
            self.wrong_type(stream, obj)
        stream.out += self.struct.pack(obj)


class Float64(Node):
    """An IEEE 754 double."""

    type_name: str = "float64"
    least: int = 8

    def _parse(self, stream: Reader, context: Any, path: str) -> float:
        value: float = struct.unpack(">d", stream.take(8))[0]
        return value

    def _build(self, obj: Any, stream: Writer, context: Any, path: str) -> None:
        if not isinstance(obj, float):
            self.wrong_type(stream, obj)
        stream.out += struct.pack(">d", obj)


class Boolean(Node):
    """One byte: 0 is false, 1 is true. Kafka reads any other byte as true."""

    type_name: str = "bool"
    least: int = 1

    def _parse(self, stream: Reader, context: Any, path: str) -> bool:
        raw = stream.take(1)
        if raw > b"\x01":
            stream.fault(BadBoolean, stream.pos - 1, found=raw[0], raw=raw)
        return raw != b"\x00"

    def _build(self, obj: Any, stream: Writer, context: Any, path: str) -> None:
        if obj is not True and obj is not False:
            self.wrong_type(stream, obj)
        stream.out += b"\x01" if obj else b"\x00"


class Uuid(Node):
    """Sixteen raw bytes, most significant first. There is no null: all zeros mean that there is no UUID."""

    type_name: str = "uuid"
    least: int = 16

    def _parse(self, stream: Reader, context: Any, path: str) -> bytes:
        return stream.take(16)

    def _build(self, obj: Any, stream: Writer, context: Any, path: str) -> None:
        if not isinstance(obj, bytes) or len(obj) != 16:
            self.wrong_type(stream, obj)
        stream.out += obj


INT8, INT16, INT32, INT64 = Integer("int8", "b"), Integer("int16", "h"), Integer("int32", "i"), Integer("int64", "q")
UINT16, UINT32 = Integer("uint16", "H"), Integer("uint32", "I")
FLOAT64, BOOLEAN, UUID = Float64(), Boolean(), Uuid()


_BYTES = tuple(bytes([value]) for value in range(128))


class UnsignedVarint(Node):
    """An unsigned varint of up to `bits` bits. Kafka drops bits that do not fit, and so does salvage."""

    least = 1

    def __init__(self, type_name: str, bits: int = 32) -> None:
        super().__init__()
        self.type_name = type_name
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
        if not isinstance(obj, int) or isinstance(obj, bool) or not 0 <= obj <= self.high:
            self.wrong_type(stream, obj)
        stream.out += unsigned_varint(obj)


class Varint(Node):
    """A signed varint: zig-zag (0, -1, 1, -2 ... are 0, 1, 2, 3 ...) over an unsigned one."""

    least = 1

    def __init__(self, type_name: str, bits: int = 32) -> None:
        super().__init__()
        self.type_name = type_name
        self.unsigned: UnsignedVarint = UnsignedVarint(type_name, bits)
        self.low: Any = -(2 ** (bits - 1))
        self.high: Any = 2 ** (bits - 1) - 1

    def _parse(self, stream: Reader, context: Any, path: str) -> int:
        value: int = self.unsigned._parse(stream, context, path)
        return (value >> 1) ^ -(value & 1)

    def _build(self, obj: Any, stream: Writer, context: Any, path: str) -> None:
        if not isinstance(obj, int) or isinstance(obj, bool) or not self.low <= obj <= self.high:
            self.wrong_type(stream, obj)
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


class CompactLength(Node):
    """N + 1 as an unsigned varint; 0 is null (KIP-482). Wraps at 32 bits as Java's int does."""

    type_name: str = "compact length"
    least: int = 1
    high: int = 2**31 - 2

    def _parse(self, stream: Reader, context: Any, path: str) -> int:
        return int32(UNSIGNED_VARINT._parse(stream, context, path) - 1)

    def _build(self, obj: Any, stream: Writer, context: Any, path: str) -> None:
        stream.out += unsigned_varint(obj + 1)


INT16_LENGTH = INT16
INT32_LENGTH = INT32
COMPACT_LENGTH = CompactLength()


def int32(value: int) -> int:
    """Wrap a number to 32 bits, as Java's int does.

    >>> int32(2**31), int32(-(2**31) - 1)
    (-2147483648, 2147483647)
    """
    return (value + 2**31) % 2**32 - 2**31


def read_length(stream: Reader, length: Node, *, nullable: bool, least: int) -> int | None:
    """Read a length; None means null. The claimed length is checked before any memory is allocated.

    Args:
        length: the encoding of the length.
        nullable: whether null is allowed.
        least: the minimum size of one counted element, in bytes.
    """
    start = stream.pos
    count: int = length._parse(stream, None, "")
    if count >= 0:
        if count * least > stream.end - stream.pos:
            stream.refuse(BadLength, start, found=count, need=count * least, have=stream.end - stream.pos)
        return count
    if not nullable:
        stream.refuse(NullNotAllowed, start, found=count, raw=stream.data[start : stream.pos])
    if count != -1:
        stream.fault(NegativeLength, start, found=count, raw=stream.data[start : stream.pos])
    return None


def write_length(stream: Writer, length: Any, count: int | None, *, nullable: bool) -> None:
    """Write a length; None means null."""
    if count is None:
        if not nullable:
            stream.refuse(NullNotWritable, found=None)
        count = -1
    elif count > length.high:
        stream.refuse(TooLong, found=count, need=length.high)
    length._build(count, stream, None, "")


LONGEST_TEXT = 32767  # Kafka's writers and readers check this limit for compact strings as well
# Java's decoder replaces an encoded surrogate by one U+FFFD, Python's by two or three.
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


class _Counted(Node):
    """A value with a length prefix; may be null if `nullable`."""

    word = "?"

    def __init__(self, length: Node, *, nullable: bool = False) -> None:
        super().__init__()
        self.length: Node = length
        self.nullable: bool = nullable
        self.least: int = length.least
        compact = "compact " if length is COMPACT_LENGTH else ""
        self.type_name: str = f"{compact}{'nullable ' if nullable else ''}{self.word}"


class String(_Counted):
    """UTF-8 text of at most `longest` bytes: a length (int16, or compact), then the bytes."""

    word = "string"

    def __init__(self, length: Node = INT16_LENGTH, *, nullable: bool = False, longest: int = LONGEST_TEXT) -> None:
        super().__init__(length, nullable=nullable)
        self.longest = longest

    def _parse(self, stream: Reader, context: Any, path: str) -> str | None:
        start = stream.pos
        size = read_length(stream, self.length, nullable=self.nullable, least=1)
        if size is None:
            return None
        if size > self.longest:
            stream.refuse(StringTooLong, start, found=size)
        raw = stream.take(size)
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            stream.fault(BadText, stream.pos - size + error.start, raw=raw)
            return malformed_text(raw)

    def _build(self, obj: Any, stream: Writer, context: Any, path: str) -> None:
        if obj is None:
            write_length(stream, self.length, None, nullable=self.nullable)
            return
        if not isinstance(obj, str):
            self.wrong_type(stream, obj)
        try:
            raw = str.encode(obj)  # a subclass may override `encode`
        except UnicodeEncodeError:
            stream.refuse(WrongType, need="text without lone surrogates", found=ascii(obj)[:60])
        if len(raw) > self.longest:
            stream.refuse(TooLong, found=f"text of {len(raw)} bytes", need=f"{self.longest} bytes")
        write_length(stream, self.length, len(raw), nullable=self.nullable)
        stream.out += raw


class Bytes(_Counted):
    """Raw bytes: a length (int32, or compact), then the bytes."""

    word = "bytes"

    def __init__(self, length: Node = INT32_LENGTH, *, nullable: bool = False) -> None:
        super().__init__(length, nullable=nullable)

    def _parse(self, stream: Reader, context: Any, path: str) -> bytes | None:
        size = read_length(stream, self.length, nullable=self.nullable, least=1)
        return None if size is None else stream.take(size)

    def _build(self, obj: Any, stream: Writer, context: Any, path: str) -> None:
        if obj is not None and not isinstance(obj, bytes | bytearray | memoryview):
            self.wrong_type(stream, obj)
        raw = obj if obj is None else bytes(obj)
        write_length(stream, self.length, None if raw is None else len(raw), nullable=self.nullable)
        if raw is not None:
            stream.out += raw


class Records(Bytes):
    """Record batches, which are not parsed: the same as bytes on the wire, with another JSON form."""

    word = "records"


def malformed_text(raw: bytes) -> str:
    """Decode as Java does: each malformed part becomes one U+FFFD.

    >>> malformed_text(bytes.fromhex("61 ff 62 eda080 63"))
    'a\\ufffdb\\ufffdc'
    """
    return _SURROGATE.sub(b"\xef\xbf\xbd", raw).decode(errors="replace")
