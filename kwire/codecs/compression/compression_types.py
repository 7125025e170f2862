"""Compresses and decompresses records by the name of the compression: gzip, snappy, lz4 or zstd."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import WrongType, excerpt
from .bounded_decompression import Inflated
from .gzip import deflate_gzip, inflate_gzip
from .lz4 import deflate_lz4, inflate_lz4
from .snappy import deflate_snappy, inflate_snappy
from .zstd import deflate_zstd, inflate_zstd

LIMIT = 64 * 1024 * 1024  # largest decompressed size of the records of one batch, in bytes
# The codecs by name and number; gzip.

NAMES = ("none", "gzip", "snappy", "lz4", "zstd")
_INFLATERS: dict[str, Callable[[bytes, int], Inflated]] = {
    "gzip": inflate_gzip,
    "snappy": inflate_snappy,
    "zstd": inflate_zstd,
}
_DEFLATERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": deflate_gzip,
    "snappy": deflate_snappy,
    "zstd": deflate_zstd,
}


def name_of(codec: int, magic: int) -> str | None:
    """Return the name of a compression by its number; None if the magic does not support it.

    >>> name_of(4, 2), name_of(4, 1)
    ('zstd', None)
    """
    if codec >= len(NAMES):
        return None
    name = NAMES[codec]
    return None if name == "zstd" and magic < 2 else name  # KIP-110


def inflate(name: str, data: bytes, *, magic: int = 2, limit: int = LIMIT) -> Inflated:
    """Decompress records.

    Args:
        name: one of `NAMES` except `none`.
        data: the compressed bytes.
        magic: the magic of the batch; magic 0 has a variant of lz4.
        limit: the maximum decompressed size, in bytes.

    Raises:
        BadCompression, LimitExceeded: the data is invalid or too large; no path, and `offset` is relative to `data`.
        MissingExtra: the codec needs a library that is not installed.
    """
    if name == "lz4":
        return inflate_lz4(data, limit, magic=magic)
    return _INFLATERS[name](data, limit)


def deflate(name: str, data: bytes, *, magic: int = 2) -> bytes:
    """Compress records as Kafka's producer does.

    Raises:
        WrongType: the magic does not support this compression.
        MissingExtra: the codec needs a library that is not installed.
    """
    if name not in NAMES[1 : 5 if magic >= 2 else 4]:
        raise WrongType(need=f"a compression of magic {magic}", found=excerpt(name), segments=("compression",))
    if name == "lz4":
        return deflate_lz4(data, magic=magic)
    return _DEFLATERS[name](data)
