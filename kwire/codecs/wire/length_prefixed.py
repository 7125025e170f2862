"""Values with a length before them: strings, bytes, records."""

from __future__ import annotations

import re
from typing import Any

from ...errors import BadText, StringTooLong, TooLong, WrongType
from .lengths import COMPACT_LENGTH, INT16_LENGTH, INT32_LENGTH, read_length, write_length
from .node import Node
from .reader import Reader
from .writer import Writer

LONGEST_TEXT = 32767  # Kafka's writers and readers check this limit for compact strings too
# Java's decoder replaces an encoded surrogate by one U+FFFD, Python's decoder by two or three.
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


class _LengthPrefixed(Node):
    """A value with a length prefix; may be null if `nullable`."""

    word = "?"

    def __init__(self, length: Node, *, nullable: bool = False) -> None:
        super().__init__()
        self.length: Node = length
        self.nullable: bool = nullable
        self.least: int = length.least
        compact = "compact " if length is COMPACT_LENGTH else ""
        self.type_name: str = f"{compact}{'nullable ' if nullable else ''}{self.word}"


class String(_LengthPrefixed):
    """UTF-8 text of at most `longest` bytes: a length (int16, or compact), followed by the bytes."""

    word = "string"

    def __init__(self, length: Node = INT16_LENGTH, *, nullable: bool = False, longest: int = LONGEST_TEXT) -> None:
        super().__init__(length, nullable=nullable)
        self.longest = longest

    def _parse(self, stream: Reader, context: Any, path: str) -> str | None:
        start = stream.pos
        size = read_length(stream, self.length, nullable=self.nullable, element_size=1)
        if size is None:
            return None
        if size > self.longest:
            stream.refuse(StringTooLong, start, found=size)
        raw = stream.take(size)
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            stream.fault(BadText, stream.pos - size + error.start, raw=raw)
            return decode_malformed_text(raw)

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


class Bytes(_LengthPrefixed):
    """Raw bytes: a length (int32, or compact), followed by the bytes."""

    word = "bytes"

    def __init__(self, length: Node = INT32_LENGTH, *, nullable: bool = False) -> None:
        super().__init__(length, nullable=nullable)

    def _parse(self, stream: Reader, context: Any, path: str) -> bytes | None:
        size = read_length(stream, self.length, nullable=self.nullable, element_size=1)
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

    def _parse(self, stream: Reader, context: Any, path: str) -> Any:
        raw = super()._parse(stream, context, path)
        return raw if raw is None or not stream.views else memoryview(raw)


def decode_malformed_text(raw: bytes) -> str:
    """Decode as Java does: each malformed part becomes one U+FFFD.

    >>> decode_malformed_text(bytes.fromhex("61 ff 62 eda080 63"))
    'a\\ufffdb\\ufffdc'
    """
    return _SURROGATE.sub(b"\xef\xbf\xbd", raw).decode(errors="replace")
