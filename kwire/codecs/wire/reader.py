"""Reads bytes, and tracks position and path, so that an error names its field although nodes pass no names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ...errors import DecodeError, Tolerated, TooManyFaults, TrailingBytes, Truncated
from .construct_classes import Construct

MOST_FAULTS = 10_000
# Arguments: bytes, a position and a count. Result: as many elements of an array, and the position after them.
Elements = Callable[[bytes, int, int], tuple[Sequence[Any], int] | None]  # None: refused


def bytes_of(data: Any) -> bytes:
    """Return a bytes-like object as bytes; raise TypeError for text, numbers and other objects."""
    if type(data) is bytes:
        return data
    try:
        return bytes(memoryview(data))
    except TypeError:
        hint = "; hex text becomes bytes by bytes.fromhex(...)" if isinstance(data, str) else ""
        raise TypeError(f"bytes are needed, not {type(data).__name__}{hint}") from None


class Reader:
    """A position in the bytes and in the message; used as construct's stream.

    Args:
        data: all the bytes.
        start: the start position.
        salvage: collect what Kafka tolerates in `faults` instead of raising it.

    `ahead` returns the fast path for the elements of an array, if the codec has one. The reference path uses it to skip
    the valid elements of long arrays in bytes that the fast path has refused, because reading them one by one takes
    many times as long.

    `tagged` counts the known tagged fields around the position. `unwritable` collects the offsets of tags that Kafka
    reads but cannot write; None means that they are refused. With `views`, records are memoryviews.
    """

    __slots__ = (
        "ahead",
        "data",
        "end",
        "faults",
        "message",
        "path",
        "pos",
        "salvage",
        "tagged",
        "unwritable",
        "version",
        "views",
    )

    def __init__(self, data: bytes, start: int = 0, *, salvage: bool = False) -> None:
        self.data: bytes = data
        self.end: int = len(data)
        self.pos: int = start
        self.salvage: bool = salvage
        self.faults: list[DecodeError] = []
        self.path: list[str | int] = []
        self.message: str | None = None
        self.version: int | None = None
        self.ahead: Callable[[Any], Elements] | None = None
        self.tagged: int = 0
        self.unwritable: set[int] | None = None
        self.views: bool = False

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes and advance; raise Truncated if there are fewer."""
        start = self.pos
        stop = self.pos + count
        if stop > self.end:
            self.refuse(Truncated, start, need=count, have=self.end - start)
        self.pos = stop
        return self.data[start:stop]

    def child(self, segment: str | int, node: Construct) -> Any:
        """Read one part of the message with its name or index."""
        self.path.append(segment)
        value = node._parse(self, None, "")
        self.path.pop()
        return value

    @property
    def skips_valid(self) -> bool:
        """Whether valid elements of arrays may be read on the fast path."""
        return self.ahead is not None and not self.views and type(self.data) is bytes

    def elements(self, array: Construct, count: int) -> Sequence[Any] | None:
        """Read `count` elements of an array on the fast path; return None, without advancing, if that is impossible.

        The fast path accepts only bytes that the reference path reads without faults or notes, so either may read the
        next element.
        """
        if self.ahead is None or not self.skips_valid:
            return None
        items_and_end = self.ahead(array)(self.data, self.pos, count)
        if items_and_end is None or items_and_end[1] > self.end:
            return None
        items, self.pos = items_and_end
        return items

    def prefix(self, node: Construct) -> Any:
        """Read a count, marker or tag that precedes the parts."""
        return node._parse(self, None, "")

    def mark(self, start: int, type_name: str, value: Any) -> None:
        """Record the bytes from `start` to the current position as one field; does nothing unless tracing."""

    def refuse(self, kind: type[DecodeError], offset: int, **facts: Any) -> NoReturn:
        """Raise an error with the position, path and context."""
        error = self._error(kind, offset, facts)
        error.rest = self.data[offset : self.end]
        error.faults = tuple(self.faults)
        raise error

    def fault(self, kind: type[Tolerated], offset: int, **facts: Any) -> None:
        """Raise a fault that Kafka tolerates, or record it in salvage."""
        if not self.salvage:
            self.refuse(kind, offset, **facts)
        if len(self.faults) >= MOST_FAULTS:
            self.refuse(TooManyFaults, offset, need=MOST_FAULTS)
        self.note(kind, offset, **facts)

    def note(self, kind: type[Tolerated], offset: int, **facts: Any) -> None:
        """Record a note about valid but unusual bytes, also in strict mode; at most `MOST_FAULTS` notes are stored."""
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(self._error(kind, offset, facts))

    def refuse_unwritable(self, kind: type[DecodeError], offset: int, **facts: Any) -> None:
        """Refuse a tag that Kafka reads but cannot write, or record its offset in `unwritable`."""
        if self.unwritable is None:
            self.refuse(kind, offset, **facts)
        self.unwritable.add(offset)

    def checkpoint(self) -> tuple[int, ...]:
        """Return the current state for `rewind`."""
        return self.pos, len(self.path), len(self.faults)

    def rewind(self, state: tuple[int, ...]) -> None:
        """Return to an earlier state, and forget what was recorded since then."""
        self.pos = state[0]
        self.tagged = 0
        del self.path[state[1] :], self.faults[state[2] :]

    def finish(self) -> bytes:
        """Require that no bytes are left over; in salvage mode, return them."""
        left = self.data[self.pos : self.end]
        if left:
            self.fault(TrailingBytes, self.pos, have=len(left), raw=left)
        return left

    def read(self, count: int = -1) -> bytes:
        """Read as a plain stream does; for construct's own classes."""
        stop = self.end if count < 0 else min(self.end, self.pos + count)
        start = self.pos
        self.pos = stop
        return self.data[start:stop]

    def tell(self) -> int:
        """Return the position; for construct's own classes."""
        return self.pos

    def _error(self, kind: type[DecodeError], offset: int, facts: dict[str, Any]) -> DecodeError:
        return kind(offset=offset, segments=self.path, message=self.message, version=self.version, **facts)
