"""Opens a file and decompresses it: all bytes of binary files and of text."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from ..errors import DumpError
from .compressed_files import OpenedInput, unpack_input
from .files import open_file
from .packets.capture_formats import CAPTURES
from .portions import PORTION

LONGEST_TEXT = 1 << 28
LONGEST_FILE = 1 << 31  # bytes


@contextmanager
def open_unpacked(path: str | Path) -> Iterator[OpenedInput]:
    """Open a file and decompress it; `-` is standard input. For exceptions see `open_dump`."""
    if str(path) == "-":
        yield unpack_input(_read_available(sys.stdin.buffer), "-")
    else:
        with open_file(path) as stream:
            position = stream.tell if stream.seekable() else int  # a pipe has no position
            yield replace(unpack_input(_read_available(stream), str(path)), position=position)


def _read_available(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes that are available, so that the first message is decoded before the input ends."""
    read1 = getattr(stream, "read1", stream.read)
    while portion := read1(PORTION):
        yield portion


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
