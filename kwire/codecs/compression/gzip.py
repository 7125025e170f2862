"""gzip members, as Java reads them. Needs no library."""

from __future__ import annotations

import io
import zlib
from typing import Any

from .bounded_decompression import Inflated, refuse, refuse_size

_STEP = 64 * 1024


def inflate_gzip(data: bytes, limit: int) -> Inflated:
    """Decompress gzip members; the result includes the bytes after them.

    Like Java's reader, another member is only read if at least 19 bytes are left.
    """
    gzip = _GzipMembers(data, limit)
    gzip.inflate_member()
    while len(data) - gzip.at > 18 and data[gzip.at : gzip.at + 3] == b"\x1f\x8b\x08":
        gzip.inflate_member()
    return Inflated(gzip.out.getvalue(), data[gzip.at :])


class _GzipMembers:
    """Decompresses gzip; `at` is the position of the next member."""

    def __init__(self, data: bytes, limit: int) -> None:
        self.data = data
        self.limit = limit
        self.at = 0
        self.out = io.BytesIO()

    def inflate_member(self) -> None:
        """Decompress one member. The first portions are small, because there may be many small members."""
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
        start = self.at - len(chunk)
        more = True
        while more:
            try:
                piece = engine.decompress(chunk, _STEP)
            except zlib.error as error:
                refuse("gzip", str(error), start)
            self.out.write(piece)
            if self.out.tell() > self.limit:
                refuse_size("gzip", self.limit, len(self.data))
            chunk = engine.unconsumed_tail
            more = not engine.eof and (bool(chunk) or len(piece) == _STEP)


def deflate_gzip(data: bytes) -> bytes:
    """Compress to one gzip member."""
    return zlib.compress(data, wbits=zlib.MAX_WBITS | 16)
