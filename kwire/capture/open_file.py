"""Opens an input and decompresses it: a path or URI, bytes in memory, or an open binary file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeAlias, cast

from msgspec.structs import replace

from ..errors import DumpError
from .compressed_files import OpenedInput, unpack_input
from .files import open_file, printable_name
from .packets.capture_formats import CAPTURES
from .portions import PORTION

LONGEST_TEXT = 1 << 28
LONGEST_FILE = 1 << 31  # bytes


class BinarySource(Protocol):
    """An open binary file, or anything else from which bytes are read."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; none at the end."""


InputSource: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | BinarySource"


def source_name(source: InputSource) -> str:
    """Return the name of an input for errors and for `source.file` of its frames.

    >>> source_name("a.pcap"), source_name(b"\\x00")
    ('a.pcap', '<bytes>')
    """
    if isinstance(source, str | os.PathLike):
        return printable_name(source)
    if isinstance(source, bytes | bytearray | memoryview):
        return "<bytes>"
    name = getattr(source, "name", None)
    return printable_name(name) if isinstance(name, str) else "<stream>"


def portions_in_memory(source: InputSource) -> Iterator[bytes] | None:
    """Return the portions of bytes in memory or of an open file; None for a path or a URI.

    Raises:
        TypeError: an open file gives text instead of bytes.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        data = bytes(source)
        return (data[start : start + PORTION] for start in range(0, len(data), PORTION))
    if isinstance(source, str | os.PathLike) or not hasattr(source, "read"):
        return None
    return available_portions(source)


def available_portions(stream: BinarySource) -> Iterator[bytes]:
    """Yield the bytes that are available, so that the first message is decoded before the input ends."""
    read = getattr(stream, "read1", stream.read)
    while portion := read(PORTION):
        if not isinstance(portion, bytes | bytearray | memoryview):
            raise TypeError(f"a file that is open in binary mode is needed; this one gives {type(portion).__name__}")
        yield bytes(portion)


@contextmanager
def open_unpacked(source: InputSource) -> Iterator[OpenedInput]:
    """Open an input and decompress it; `-` is standard input. For exceptions see `open_dump`."""
    portions = available_portions(sys.stdin.buffer) if source == "-" else portions_in_memory(source)
    if portions is not None:
        yield unpack_input(portions, source_name(source))
        return
    with open_file(cast("str | Path", source)) as stream:
        position = stream.tell if stream.seekable() else int  # a pipe has no position
        yield replace(unpack_input(available_portions(stream), source_name(source)), position=position)


def read_whole(opened: OpenedInput, file: str) -> bytes:
    """Return all bytes of an input; raise DumpError if they are too many for memory."""
    data = bytearray()
    for portion in opened.portions():
        data += portion
        if len(data) > LONGEST_TEXT:
            raise DumpError(f"more than {LONGEST_TEXT} bytes in one piece", file=file, hint="split it")
    return bytes(data)


def read_text(path: str | Path, hint: str) -> str:
    """Read a UTF-8 text file, which may be compressed.

    Args:
        path: a file; `-` is standard input.
        hint: the advice for a file that is not text.

    Raises:
        DumpError: the file is not text; the error names its format.
        OSError: it cannot be read.
    """
    data = bytearray()
    with open_unpacked(path) as opened:
        for portion in opened.portions():
            data += portion
            if len(data) > LONGEST_FILE:
                raise DumpError(f"more than {LONGEST_FILE} bytes of text", file=str(path), hint="split it")
    kind = _describe_binary(bytes(data[:128]))
    try:
        if kind is None:
            return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        kind = f"not UTF-8 text (byte 0x{data[error.start]:02x} at offset {error.start})"
    raise DumpError(f"this is {kind}", file=str(path), hint=hint)


def _describe_binary(head: bytes) -> str | None:
    """Return a description of a file with these first bytes; None if it is text.

    >>> _describe_binary(bytes.fromhex("00000004 00000007")), _describe_binary(b'{"kwire": 1}')
    ('not text, but raw frames or other bytes', None)
    """
    for kind, (magics, _) in CAPTURES.items():
        if head[:4] in magics:
            return f"a capture ({kind})"
    if b"\0" not in head:
        return None
    from .logs.batch_recognition import looks_like_log

    return "a log segment" if looks_like_log(head) else "not text, but raw frames or other bytes"
