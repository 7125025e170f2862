"""`Reader` and `Writer`, which track positions and paths; `Node`, the base class of the tree; and its leaves.

The leaves are integers, floats, booleans and UUIDs, variable-length integers, and lengths where -1 means null. Reader
and Writer track the path, so that an error names its field although the nodes pass no names.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import (
    BadBoolean,
    BadLength,
    BadText,
    BadVarint,
    DecodeError,
    EncodeError,
    NegativeLength,
    NullNotAllowed,
    NullNotWritable,
    OutOfRange,
    OverlongVarint,
    StringTooLong,
    Tolerated,
    TooLong,
    TooManyFaults,
    TrailingBytes,
    Truncated,
    WrongType,
    excerpt,
)

if TYPE_CHECKING:

    class Construct:
        """Reads and builds one kind of value."""

        name: Any
        docs: str

        def parse(self, data: bytes, **contextkw: Any) -> Any:
            """Parse bytes and return the value."""

        def build(self, obj: Any, **contextkw: Any) -> bytes:
            """Encode a value and return the bytes."""
            ...

        def _parse(self, stream: Any, context: Any, path: str) -> Any: ...
        def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any: ...

    class Subconstruct(Construct):
        """Wraps another construct."""

        subcon: Any

        def __init__(self, subcon: Construct) -> None: ...
else:
    from construct import Construct, Subconstruct

__all__ = ["Construct", "Subconstruct"]


MOST_FAULTS = 10_000
# Arguments: bytes, a position and a count. Result: as many elements of an array, and the position after them.
Elements = Callable[[bytes, int, int], tuple[Sequence[Any], int] | None]  # None: refused


def bytes_of(data: Any) -> bytes:
    """Return a bytes-like object as bytes; raise TypeError for text, numbers and other objects."""
    if type(data) is bytes:
        return data
    try:
        return bytes(memoryview(data))
    except TypeError:
        hint = "; hex text becomes bytes by bytes.fromhex(...)" if isinstance(data, str) else ""
        raise TypeError(f"bytes are needed, not {type(data).__name__}{hint}") from None


class Reader:
    """A position in the bytes and in the message; used as construct's stream.

    Args:
        data: all the bytes.
        start: the start position.
        salvage: collect what Kafka tolerates in `faults` instead of raising it.

    `ahead` returns the fast path for the elements of an array, if the codec has one. The reference path uses it to skip
    the valid elements of long arrays in bytes that the fast path has refused, because reading them one by one takes
    many times as long.

    `tagged` counts the known tagged fields around the position. `unwritable` collects the offsets of tags that Kafka
    reads but cannot write; None means that they are refused.
    """

    __slots__ = (
        "ahead",
        "data",
        "end",
        "faults",
        "message",
        "path",
        "pos",
        "salvage",
        "tagged",
        "unwritable",
        "version",
    )

    def __init__(self, data: bytes, start: int = 0, *, salvage: bool = False) -> None:
        self.data: bytes = data
        self.end: int = len(data)
        self.pos: int = start
        self.salvage: bool = salvage
        self.faults: list[DecodeError] = []
        self.path: list[str | int] = []
        self.message: str | None = None
        self.version: int | None = None
        self.ahead: Callable[[Any], Elements] | None = None
        self.tagged: int = 0
        self.unwritable: set[int] | None = None

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes and advance; raise Truncated if there are fewer."""
        start, stop = self.pos, self.pos + count
        if stop > self.end:
            self.refuse(Truncated, start, need=count, have=self.end - start)
        self.pos = stop
        return self.data[start:stop]

    def child(self, segment: str | int, node: Construct) -> Any:
        """Read one part of the message with its name or index."""
        self.path.append(segment)
        value = node._parse(self, None, "")
        self.path.pop()
        return value

    def elements(self, array: Construct, count: int) -> Sequence[Any] | None:
        """Read `count` elements of an array on the fast path; return None, without advancing, if that is impossible.

        The fast path accepts only bytes that the reference path reads without faults or notes, so either may read the
        next element.
        """
        if self.ahead is None or type(self.data) is not bytes:
            return None
        found = self.ahead(array)(self.data, self.pos, count)
        if found is None or found[1] > self.end:
            return None
        items, self.pos = found
        return items

    def prefix(self, node: Construct) -> Any:
        """Read a count, marker or tag that precedes the parts."""
        return node._parse(self, None, "")

    def mark(self, start: int, type_name: str, value: Any) -> None:
        """Record the bytes from `start` to the current position as one field; does nothing unless tracing."""

    def refuse(self, kind: type[DecodeError], offset: int, **facts: Any) -> NoReturn:
        """Raise an error with the position, path and context."""
        error = self._error(kind, offset, facts)
        error.rest = self.data[offset : self.end]
        error.faults = tuple(self.faults)
        raise error

    def fault(self, kind: type[Tolerated], offset: int, **facts: Any) -> None:
        """Raise a fault that Kafka tolerates, or record it in salvage."""
        if not self.salvage:
            self.refuse(kind, offset, **facts)
        if len(self.faults) >= MOST_FAULTS:
            self.refuse(TooManyFaults, offset, need=MOST_FAULTS)
        self.note(kind, offset, **facts)

    def note(self, kind: type[Tolerated], offset: int, **facts: Any) -> None:
        """Record a note about valid but unusual bytes, also in strict mode; at most `MOST_FAULTS` notes are stored."""
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(self._error(kind, offset, facts))

    def refuse_unwritable(self, kind: type[DecodeError], offset: int, **facts: Any) -> None:
        """Refuse a tag that Kafka reads but cannot write, or record its offset in `unwritable`."""
        if self.unwritable is None:
            self.refuse(kind, offset, **facts)
        self.unwritable.add(offset)

    def checkpoint(self) -> tuple[int, ...]:
        """Return the current state for `rewind`."""
        return self.pos, len(self.path), len(self.faults)

    def rewind(self, state: tuple[int, ...]) -> None:
        """Return to an earlier state, and forget what was recorded since then."""
        self.pos, self.tagged = state[0], 0
        del self.path[state[1] :], self.faults[state[2] :]

    def finish(self) -> bytes:
        """Require that no bytes are left over; in salvage mode, return them."""
        left = self.data[self.pos : self.end]
        if left:
            self.fault(TrailingBytes, self.pos, have=len(left), raw=left)
        return left

    def read(self, count: int = -1) -> bytes:
        """Read as a plain stream does; for construct's own classes."""
        stop = self.end if count < 0 else min(self.end, self.pos + count)
        start, self.pos = self.pos, stop
        return self.data[start:stop]

    def tell(self) -> int:
        """Return the position; for construct's own classes."""
        return self.pos

    def _error(self, kind: type[DecodeError], offset: int, facts: dict[str, Any]) -> DecodeError:
        return kind(offset=offset, segments=self.path, message=self.message, version=self.version, **facts)


class Writer:
    """The bytes written so far, and the path of the current value; used as construct's stream."""

    __slots__ = ("message", "out", "path", "version")

    def __init__(self, message: str | None = None, version: int | None = None) -> None:
        self.out: bytearray = bytearray()
        self.path: list[str | int] = []
        self.message: str | None = message
        self.version: int | None = version

    def child(self, segment: str | int, node: Construct, value: Any) -> None:
        """Write one part of the message with its name or index."""
        self.path.append(segment)
        node._build(value, self, None, "")
        self.path.pop()

    def refuse(self, kind: type[EncodeError], **facts: Any) -> NoReturn:
        """Raise an error with the path and context."""
        raise kind(segments=self.path, message=self.message, version=self.version, **facts)

    def write(self, data: bytes) -> int:
        """Write as a plain stream does; for construct's own classes."""
        self.out += data
        return len(data)


class Node(Construct):
    """A wire type.

    `type_name` is the name in traces, `least` the minimum size of a value in bytes, `nullable` whether it may be None.
    """

    type_name: str = "?"
    least: int = 0
    nullable: bool = False

    def parse_stream(self, stream: Any, **contextkw: Any) -> Any:
        """Parse from any stream, for users of construct: `node.parse(data)`."""
        return self._parse(stream if isinstance(stream, Reader) else Reader(stream.read()), None, "")

    def build_stream(self, obj: Any, stream: Any, **contextkw: Any) -> Any:
        """Build into any stream, for users of construct: `node.build(value)`."""
        writer = Writer()
        self._build(obj, writer, None, "")
        stream.write(bytes(writer.out))
        return obj

    def wrong_type(self, stream: Writer, value: Any) -> NoReturn:
        """Refuse a value that this type cannot write."""
        stream.refuse(WrongType, need=self.type_name, found=f"{type(value).__name__} {excerpt(value, 60)}")


class Number(Node):
    """An integer from `low` to `high`, both included."""

    low: int
    high: int

    def check(self, stream: Writer, value: Any) -> None:
        """Refuse a value that this type cannot write."""
        if not isinstance(value, int) or isinstance(value, bool):
            self.wrong_type(stream, value)
        if not self.low <= value <= self.high:
            found = excerpt(value, 60)
            stream.refuse(OutOfRange, need=self.type_name, found=found, low=self.low, high=self.high)


class Integer(Number):
    """A two's complement or unsigned integer of 1, 2, 4 or 8 bytes."""

    def __init__(self, type_name: str, code: str) -> None:
        super().__init__()
        self.type_name = type_name
        self.struct: struct.Struct = struct.Struct(">" + code)
        self.least: int = self.struct.size
        bits = 8 * self.least
        self.low, self.high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if code.islower() else (0, 2**bits - 1)

    def _parse(self, stream: Reader, context: Any, path: str) -> int:
        value: int = self.struct.unpack(stream.take(self.least))[0]
        return value

    def _build(self, obj: Any, stream: Writer, context: Any, path: str) -> None:
        self.check(stream, obj)
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
    """Sixteen raw bytes, most significant first. There is no null: all zeros mean no UUID."""

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


class UnsignedVarint(Number):
    """An unsigned varint of up to `bits` bits. Kafka drops bits that do not fit, as does salvage."""

    least = 1

    def __init__(self, type_name: str, bits: int = 32) -> None:
        super().__init__()
        self.type_name = type_name
        self.low, self.high = 0, 2**bits - 1
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
        self.low, self.high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1

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


class CompactLength(Node):
    """N + 1 as an unsigned varint; 0 is null (KIP-482). Wraps at 32 bits like Java's int."""

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
    """Wrap a number to 32 bits like Java's int.

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


LONGEST_TEXT = 32767  # Kafka's writers and readers check this limit for compact strings too
# Java's decoder replaces an encoded surrogate by one U+FFFD, Python's decoder by two or three.
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
    """UTF-8 text of at most `longest` bytes: a length (int16, or compact), followed by the bytes."""

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
    """Raw bytes: a length (int32, or compact), followed by the bytes."""

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
    """Record batches, which are not parsed: the same as bytes on the wire, but with another JSON form."""

    word = "records"


def malformed_text(raw: bytes) -> str:
    """Decode as Java does: each malformed part becomes one U+FFFD.

    >>> malformed_text(bytes.fromhex("61 ff 62 eda080 63"))
    'a\\ufffdb\\ufffdc'
    """
    return _SURROGATE.sub(b"\xef\xbf\xbd", raw).decode(errors="replace")
