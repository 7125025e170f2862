"""Compression of records: the codecs by name and number, gzip, and dispatch to the others.

Decompression is bounded while it runs. gzip needs no library; snappy, lz4 and zstd need cramjam (extra `compression`),
which is imported on first use.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from typing import Any

from ...errors import WrongType, excerpt
from . import lz4, snappy, zstd
from .buffers import LIMIT, Inflated, exceed, refuse

NAMES = ("none", "gzip", "snappy", "lz4", "zstd")
_STEP = 64 * 1024


def name_of(codec: int, magic: int) -> str | None:
    """Return the name of a codec's number; None if the magic does not have it.

    >>> name_of(4, 2), name_of(4, 1)
    ('zstd', None)
    """
    return NAMES[codec] if codec < (5 if magic >= 2 else 4) else None


def inflate(name: str, data: bytes, *, magic: int = 2, limit: int = LIMIT) -> Inflated:
    """Decompress records.

    Args:
        name: one of `NAMES` except `none`.
        data: the compressed bytes.
        magic: of the batch; magic 0 has a variant of lz4.
        limit: the largest decompressed size, in bytes.

    Raises:
        BadCompression, LimitExceeded: without a path; `offset` is relative to `data`.
        MissingExtra: the codec needs a library that is not installed.
    """
    if name == "lz4":
        return lz4.inflate(data, limit, magic=magic)
    return _INFLATE[name](data, limit)


def deflate(name: str, data: bytes, *, magic: int = 2) -> bytes:
    """Compress records the way Kafka's producer does.

    Raises:
        WrongType: no such codec in this magic.
        MissingExtra: the codec needs a library that is not installed.
    """
    if name not in NAMES[1 : 5 if magic >= 2 else 4]:
        raise WrongType(need=f"a compression of magic {magic}", found=excerpt(name), segments=("compression",))
    if name == "lz4":
        return lz4.deflate(data, magic=magic)
    return _DEFLATE[name](data)


def _inflate_gzip(data: bytes, limit: int) -> Inflated:
    """Inflate the members of a gzip; what follows is left over, as with Java's reader, which takes no fewer than
    19 bytes for a member."""
    gzip = _Gzip(data, limit)
    gzip.inflate_member()
    while len(data) - gzip.at > 18 and data[gzip.at : gzip.at + 3] == b"\x1f\x8b\x08":
        gzip.inflate_member()
    return Inflated(gzip.out.getvalue(), data[gzip.at :])


class _Gzip:
    """A gzip being inflated: `at` is where the next member begins."""

    def __init__(self, data: bytes, limit: int) -> None:
        self.data, self.limit = data, limit
        self.at = 0
        self.out = io.BytesIO()

    def inflate_member(self) -> None:
        """Inflate one member. Portions begin small, for there may be many small members."""
        engine = zlib.decompressobj(zlib.MAX_WBITS | 16)
        portion = 256
        while not engine.eof:
            chunk = self.data[self.at : self.at + portion]
            if not chunk:
                refuse("gzip", "it is cut off", self.at)
            self.at += len(chunk)
            portion = min(2 * portion, _STEP)
            self._inflate(engine, chunk)
        self.at -= len(engine.unused_data)

    def _inflate(self, engine: Any, chunk: bytes) -> None:
        start, more = self.at - len(chunk), True
        while more:
            try:
                piece = engine.decompress(chunk, _STEP)
            except zlib.error as error:
                refuse("gzip", str(error), start)
            self.out.write(piece)
            if self.out.tell() > self.limit:
                exceed("gzip", self.limit, len(self.data))
            chunk = engine.unconsumed_tail
            more = not engine.eof and (bool(chunk) or len(piece) == _STEP)


def _deflate_gzip(data: bytes) -> bytes:
    return zlib.compress(data, wbits=zlib.MAX_WBITS | 16)


_INFLATE: dict[str, Callable[[bytes, int], Inflated]] = {
    "gzip": _inflate_gzip,
    "snappy": snappy.inflate,
    "zstd": zstd.inflate,
}
_DEFLATE: dict[str, Callable[[bytes], bytes]] = {
    "gzip": _deflate_gzip,
    "snappy": snappy.deflate,
    "zstd": zstd.deflate,
}
