"""Decompresses gzip, zstd, xz and bzip2 streams portion by portion, with bounded memory at any compression ratio.

All but zstd by the standard library; zstd by it too from Python 3.14 on, before that by the extra `compression`.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ..errors import DumpError

MOST_MEMORY = 1 << 28  # bytes that the dictionary of an xz file may have
MAGIC = 6  # bytes that identify a format
STEP = 1 << 17  # bytes per portion
MOST_LAYERS = 3
_GZIP_WINDOW = 31  # zlib's word for: a gzip member with its header and checksum


@dataclass(frozen=True, slots=True)
class Opened:
    """An input whose first bytes were read: `head` (at least four bytes, if there are that many), the rest, a
    description of the compression (`gzip around `), and a function that returns the number of bytes read from the
    file.
    """

    head: bytes
    rest: Iterator[bytes]
    prefix: str = ""
    position: Callable[[], int] = int

    def portions(self) -> Iterator[bytes]:
        """All of it."""
        return chain([self.head], self.rest)


def unpacked(portions: Iterator[bytes], file: str = "") -> Opened:
    """Read the first bytes of an input, and decompress it completely; raises as `decompressed`, immediately or
    later.
    """
    opened = _look(portions, "")
    for _ in range(MOST_LAYERS):
        found = [kind for kind, (magic, _) in COMPRESSIONS.items() if opened.head.startswith(magic)]
        if not found:
            return opened
        opened = _look(decompressed(opened.portions(), found[0], file), f"{opened.prefix}{found[0]} around ")
    raise DumpError(f"compressed {MOST_LAYERS} times or more", file=file)


def _look(portions: Iterator[bytes], prefix: str) -> Opened:
    head = b""
    while len(head) < MAGIC and (portion := next(portions, b"")):
        head += portion
    return Opened(head, portions, prefix)


def decompressed(portions: Iterator[bytes], kind: str, file: str = "") -> Iterator[bytes]:
    """Decompress a sequence of members.

    Args:
        portions: the compressed bytes.
        kind: a name in `COMPRESSIONS`.
        file: its name, for errors.

    Yields:
        Portions of the decompressed bytes, none empty, as soon as they are known.

    Raises:
        DumpError: the data is damaged or truncated, other data follows it, or a library is missing; the offset is in
            the compressed bytes. The bytes before it are yielded first.
    """
    magic, start, errors = COMPRESSIONS[kind][0], *COMPRESSIONS[kind][1](file)
    member, offset = start(), 0
    try:
        for portion in portions:
            data: bytes = portion
            while data:
                if member.ended and not data.startswith(magic[: len(data)]):
                    if data.strip(b"\0"):
                        raise DumpError(f"something else follows the {kind} data", file=file, offset=offset)
                    break  # tapes and block devices pad with zeros
                if member.ended:
                    member = start()
                before = len(data)
                yield from member.feed(data)
                data = member.unused
                offset += before - len(data)
    except errors as error:
        raise DumpError(f"damaged {kind} data: {error}", file=file, offset=offset) from None
    if not member.ended:
        hint = "the file was cut short; what comes before is read"
        raise DumpError(f"the {kind} data ends in the middle", file=file, offset=offset, hint=hint)


class _Gzip:
    def __init__(self) -> None:
        self.inflater = zlib.decompressobj(_GZIP_WINDOW)

    def feed(self, data: bytes) -> Iterator[bytes]:
        out = b""
        # A full portion may have left more inside, also when all input is taken.
        while (data or len(out) == STEP) and not self.inflater.eof:
            before = self.inflater.copy()
            try:
                out = self.inflater.decompress(data, STEP)
            except zlib.error:
                yield from _up_to_the_damage(before, data)
                raise
            data = self.inflater.unconsumed_tail
            if out:
                yield out

    @property
    def ended(self) -> bool:
        return self.inflater.eof

    @property
    def unused(self) -> bytes:
        return self.inflater.unused_data


def _up_to_the_damage(inflater: Any, data: bytes) -> Iterator[bytes]:
    """Decompress byte by byte, because the library returns no bytes of a portion that contains an error."""
    with suppress(zlib.error):
        for index in range(len(data)):
            out = inflater.decompress(data[index : index + 1])
            if out:
                yield out


class _Inflater:
    """The common interface of the decompressors of zstd, xz and bzip2."""

    def __init__(self, decompressor: Any) -> None:
        self.inflater = decompressor

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data or not (self.inflater.needs_input or self.inflater.eof):
            out = self.inflater.decompress(data, STEP)
            data = b""
            if out:
                yield out

    @property
    def ended(self) -> bool:
        return bool(self.inflater.eof)

    @property
    def unused(self) -> bytes:
        return bytes(self.inflater.unused_data)


_Start = tuple[Callable[[], _Gzip | _Inflater], type[Exception] | tuple[type[Exception], ...]]


def _gzip(file: str) -> _Start:
    return _Gzip, zlib.error


def _zstd(file: str) -> _Start:
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        hint = "pip install 'kwire[compression]', or decompress it first: zstd -d"
        raise DumpError("this is zstd, and nothing here can read it", file=file, hint=hint) from None
    return (lambda: _Inflater(zstd.ZstdDecompressor())), zstd.ZstdError


def _xz(file: str) -> _Start:
    try:
        import lzma
    except ImportError:  # a Python that was built without it
        raise DumpError("this is xz, and this Python cannot read it", file=file, hint="decompress it: xz -d") from None
    return (lambda: _Inflater(lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_MEMORY))), lzma.LZMAError


def _bzip2(file: str) -> _Start:
    try:
        import bz2
    except ImportError:
        hint = "decompress it: bzip2 -d"
        raise DumpError("this is bzip2, and this Python cannot read it", file=file, hint=hint) from None
    return (lambda: _Inflater(bz2.BZ2Decompressor())), (OSError, ValueError)


# kind -> (the bytes it begins with, what takes it off)
COMPRESSIONS: dict[str, tuple[bytes, Callable[[str], _Start]]] = {
    "gzip": (b"\x1f\x8b", _gzip),
    "zstd": (b"\x28\xb5\x2f\xfd", _zstd),
    "xz": (b"\xfd7zXZ\0", _xz),
    "bzip2": (b"BZh", _bzip2),
}
