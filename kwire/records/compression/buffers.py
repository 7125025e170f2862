"""Shared by the compression codecs: bounded output buffers, library lookup, and errors.

Knows no codec and no records. Errors made here have no place yet; who asked for the bytes gives them one.
"""

from __future__ import annotations

import io
from typing import Any, NamedTuple, NoReturn

from ...errors import MissingExtra
from ...errors.decode import BadCompression, LimitExceeded

LIMIT = 64 * 1024 * 1024  # bytes of records that one batch may hold once inflated


class Inflated(NamedTuple):
    """Inflated bytes, and what was left over of the compressed ones behind their end."""

    data: bytes
    tail: bytes = b""


class Room:
    """Memory of a fixed size to inflate into.

    The operating system gives the memory only as it is written to, and the bytes are given out without a copy.
    """

    def __init__(self, size: int) -> None:
        self._buffer = io.BytesIO(bytes(size))
        self.view = self._buffer.getbuffer()

    def first(self, count: int) -> bytes:
        """Return the first `count` bytes, and give the rest back; the room is of no more use then."""
        self.view.release()
        self._buffer.truncate(count)
        return self._buffer.getvalue()


def library(codec: str) -> Any:
    """Return cramjam; MissingExtra if it is not installed."""
    try:
        import cramjam
    except ImportError:
        raise MissingExtra(f"{codec} compression", "cramjam", "compression") from None
    return cramjam


def run(codec: str, function: Any, *arguments: Any) -> Any:
    """Call a function of the library; what it complains of becomes a BadCompression."""
    try:
        return function(*arguments)
    except (library(codec).DecompressionError, OSError, ValueError, OverflowError) as error:
        refuse(codec, str(error))


def refuse(codec: str, problem: str, offset: int = 0) -> NoReturn:
    """Raise a BadCompression; `offset` is in the compressed bytes."""
    raise BadCompression(found=(codec, problem), offset=offset)


def exceed(codec: str, limit: int, have: int, **facts: Any) -> NoReturn:
    """Raise a LimitExceeded; `have` is the number of compressed bytes."""
    raise LimitExceeded(found=codec, need=limit, have=have, **facts)
