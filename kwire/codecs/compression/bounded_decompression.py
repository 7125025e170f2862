"""What all decompression shares: a bounded output, and errors with an offset in the compressed bytes.

Before a library allocates memory, the sizes that the compressed bytes claim are checked against the limit. snappy, lz4
and zstd need cramjam (extra `compression`), which is imported on first use.
"""

from __future__ import annotations

import io
from typing import Any, NamedTuple, NoReturn

from ...errors import BadCompression, LimitExceeded, MissingExtra


class Inflated(NamedTuple):
    """Decompressed bytes, and the input after the end of the compressed data."""

    data: bytes
    tail: bytes = b""


class OutputBuffer:
    """An output buffer of a fixed size.

    The operating system commits the memory only as it is written to, and the bytes are returned without a copy.
    """

    def __init__(self, size: int) -> None:
        self._buffer = io.BytesIO(bytes(size))
        self.view: memoryview = self._buffer.getbuffer()

    def first(self, count: int) -> bytes:
        """Return the first `count` bytes, and free the rest; the buffer cannot be used afterwards."""
        self.view.release()
        self._buffer.truncate(count)
        return self._buffer.getvalue()


def load_cramjam(codec: str) -> Any:
    """Return cramjam; raise MissingExtra if it is not installed."""
    try:
        import cramjam
    except ImportError:
        raise MissingExtra(f"{codec} compression", "cramjam", "compression") from None
    return cramjam


def run_cramjam(codec: str, function: Any, *arguments: Any) -> Any:
    """Call a function of the library; convert its errors to BadCompression."""
    try:
        return function(*arguments)
    except (load_cramjam(codec).DecompressionError, OSError, ValueError, OverflowError) as error:
        refuse(codec, str(error))


def refuse(codec: str, problem: str, offset: int = 0) -> NoReturn:
    """Raise a BadCompression; `offset` is in the compressed bytes."""
    raise BadCompression(found=(codec, problem), offset=offset)


def refuse_size(codec: str, limit: int, have: int, **facts: Any) -> NoReturn:
    """Raise a LimitExceeded; `have` is the number of compressed bytes."""
    raise LimitExceeded(found=codec, need=limit, have=have, **facts)
