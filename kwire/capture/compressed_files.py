"""Decompresses files: gzip, xz and bzip2 by the standard library; zstd by it too from Python 3.14 on.

Before Python 3.14, zstd needs the extra `compression`. What comes before damage or a truncated end is read.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any, TypeVar

import msgspec

from ..errors import DumpError
from ..runtime.former_dataclasses import was_dataclass

MOST_MEMORY = 1 << 28  # largest dictionary of an xz file, in bytes
LEADING = 6  # bytes that identify a format
STEP = 1 << 17  # bytes per portion
SLICE = 1 << 14  # bytes that are decompressed at once
MOST_LAYERS = 3
_GZIP_WINDOW = 31  # zlib's setting for a gzip member with its header and checksum
T = TypeVar("T")


@was_dataclass
class OpenedInput(msgspec.Struct, frozen=True):
    """An input whose first bytes were read.

    Attributes:
        head: the first bytes: at least four, unless the input is shorter.
        rest: the portions after them.
        prefix: a description of the compression, such as `gzip around `.
        position: returns the number of bytes read from the file.
    """

    head: bytes
    rest: Iterator[bytes]
    prefix: str = ""
    position: Callable[[], int] = int

    def portions(self) -> Iterator[bytes]:
        """All bytes of the input."""
        return chain([self.head], self.rest)


def unpack_input(portions: Iterator[bytes], file: str = "") -> OpenedInput:
    """Read the first bytes of an input, and decompress it completely; raises the exceptions of `decompressed`,
    immediately or later.
    """
    opened = _read_head(portions, "")
    for _ in range(MOST_LAYERS):
        kinds = [kind for kind, (magic, _) in COMPRESSIONS.items() if opened.head.startswith(magic)]
        if not kinds:
            return opened
        opened = _read_head(decompress(opened.portions(), kinds[0], file), f"{opened.prefix}{kinds[0]} around ")
    raise DumpError(f"compressed {MOST_LAYERS} times or more", file=file)


def _read_head(portions: Iterator[bytes], prefix: str) -> OpenedInput:
    head = b""
    while len(head) < LEADING and (portion := next(portions, b"")):
        head += portion
    return OpenedInput(head, portions, prefix)


def decompress(portions: Iterator[bytes], kind: str, file: str = "") -> Iterator[bytes]:
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
    start, errors = COMPRESSIONS[kind][1](file)
    member = start()
    offset = 0
    yielded = False
    try:
        for data in _slice_portions(portions):
            while data:
                if member.ended:
                    if _is_padding(data, kind, file, offset):
                        break
                    member = start()
                before = len(data)
                for portion in member.feed(data):
                    yield portion
                    yielded = True
                data = member.unused
                offset += before - len(data)
    except errors as error:
        offset += member.sound
        raise DumpError(
            f"damaged {kind} data: {error}", file=file, offset=offset, hint=_describe_kept(yielded)
        ) from None
    if not member.ended:
        hint = f"the file was cut short there; {_describe_kept(yielded)}"
        raise DumpError(f"the {kind} data ends in the middle", file=file, offset=offset, hint=hint)


def _describe_kept(yielded: bool) -> str:
    return "what comes before is read" if yielded else "nothing before it can be decompressed"


def _slice_portions(portions: Iterator[bytes]) -> Iterator[bytes]:
    """Yield small slices, so that few bytes are lost with the slice that is damaged, whose offset is reported."""
    for portion in portions:
        for start in range(0, len(portion), SLICE):
            yield portion[start : start + SLICE]


def read_up_to_damage(items: Iterable[T], errors: list[DumpError]) -> Iterator[T]:
    """Yield what can be read, and add the error that ends it to a list."""
    try:
        yield from items
    except DumpError as error:
        errors.append(error)


def _is_padding(data: bytes, kind: str, file: str, offset: int) -> bool:
    """Whether only zeros follow a member: tapes and block devices pad with them. Raises DumpError if no member begins
    there.
    """
    magic = COMPRESSIONS[kind][0]
    if data.startswith(magic[: len(data)]) or _is_skippable(data, kind):
        return False
    if data.strip(b"\0"):
        raise DumpError(f"something else follows the {kind} data", file=file, offset=offset)
    return True


def _is_skippable(data: bytes, kind: str) -> bool:
    """Whether a frame that zstd skips may begin here, such as a seek table."""
    return kind == "zstd" and 0x50 <= data[0] <= 0x5F and data[1:4] == b"\x2a\x4d\x18"[: len(data) - 1]


class _GzipDecompressor:
    """Decompresses members of gzip; the bytes before damage are not lost."""

    def __init__(self) -> None:
        self.inflater = zlib.decompressobj(_GZIP_WINDOW)
        self.sound = 0  # bytes of the slice before the one at which the damage shows

    def feed(self, data: bytes) -> Iterator[bytes]:
        out = b""
        self.sound = 0
        # After a full portion, the decompressor may still hold output, even if it has consumed all input.
        while (data or len(out) == STEP) and not self.inflater.eof:
            before = self.inflater.copy()
            fed = len(data)
            try:
                out = self.inflater.decompress(data, STEP)
            except zlib.error:
                yield from self._decompress_to_damage(before, data)
                raise
            self.sound += fed - len(self.inflater.unconsumed_tail)
            data = self.inflater.unconsumed_tail
            if out:
                yield out

    def _decompress_to_damage(self, inflater: Any, data: bytes) -> Iterator[bytes]:
        """Decompress byte by byte, because the library returns no bytes of a portion that contains an error."""
        with suppress(zlib.error):
            for index in range(len(data)):
                out = inflater.decompress(data[index : index + 1])
                self.sound += 1
                if out:
                    yield out

    @property
    def ended(self) -> bool:
        return self.inflater.eof

    @property
    def unused(self) -> bytes:
        return self.inflater.unused_data


class _Decompressor:
    """The common interface of the decompressors of zstd, xz and bzip2."""

    sound = 0  # unknown: they return nothing of a slice with damage

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


_Loaded = tuple[Callable[[], _GzipDecompressor | _Decompressor], type[Exception] | tuple[type[Exception], ...]]


def _load_gzip(file: str) -> _Loaded:
    return _GzipDecompressor, zlib.error


def _load_zstd(file: str) -> _Loaded:
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        hint = "pip install 'kwire[compression]', or decompress it first: zstd -d"
        raise DumpError("this is zstd, and nothing here can read it", file=file, hint=hint) from None
    return (lambda: _Decompressor(zstd.ZstdDecompressor())), zstd.ZstdError


def _load_xz(file: str) -> _Loaded:
    try:
        import lzma
    except ImportError:  # a Python that was built without it
        raise DumpError("this is xz, and this Python cannot read it", file=file, hint="decompress it: xz -d") from None
    return (lambda: _Decompressor(lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_MEMORY))), lzma.LZMAError


def _load_bzip2(file: str) -> _Loaded:
    try:
        import bz2
    except ImportError:
        hint = "decompress it: bzip2 -d"
        raise DumpError("this is bzip2, and this Python cannot read it", file=file, hint=hint) from None
    return (lambda: _Decompressor(bz2.BZ2Decompressor())), (OSError, ValueError)


# kind -> (its first bytes, its decompressor)
COMPRESSIONS: dict[str, tuple[bytes, Callable[[str], _Loaded]]] = {
    "gzip": (b"\x1f\x8b", _load_gzip),
    "zstd": (b"\x28\xb5\x2f\xfd", _load_zstd),
    "xz": (b"\xfd7zXZ\0", _load_xz),
    "bzip2": (b"BZh", _load_bzip2),
}
