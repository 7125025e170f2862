"""Wire types of a fixed size: integers, float64, booleans and UUIDs."""

from __future__ import annotations

import struct
from typing import Any

from ...errors import BadBoolean
from .node import Node, Number
from .reader import Reader
from .writer import Writer


class Integer(Number):
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


INT8 = Integer("int8", "b")
INT16 = Integer("int16", "h")
INT32 = Integer("int32", "i")
INT64 = Integer("int64", "q")


UINT16 = Integer("uint16", "H")
UINT32 = Integer("uint32", "I")


FLOAT64 = Float64()
BOOLEAN = Boolean()
UUID = Uuid()
