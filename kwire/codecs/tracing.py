"""Maps bytes to fields: a reader that records a `Span` for each field. Spans have no gaps and no overlaps."""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import Any, NamedTuple

from ..errors import DecodeError, Tolerated, path_text
from .wire import Reader
from .wire.construct_classes import Construct

_start = attrgetter("start")


class Span(NamedTuple):
    """A range of bytes and the field that it encodes.

    `start` and `stop` are offsets in bytes; `path` is as in errors (`topics[0].partitions[2].isr_nodes[1]`); `type` is
    the wire type; `value` is the decoded value, or the count of an array; `faults` are the faults found in these bytes.

    >>> import kwire
    >>> kwire.codec("HeartbeatResponse", 0).trace(bytes.fromhex("001b"))[0]
    Span(start=0, stop=2, path='error_code', type='int16', value=27, faults=())
    """

    start: int
    stop: int
    path: str
    type: str
    value: Any
    faults: tuple[DecodeError, ...] = ()


class TracingReader(Reader):
    """A reader that records a span for every scalar, count, marker and tag."""

    __slots__ = ("pending", "spans", "start")

    def __init__(self, data: bytes, start: int = 0, *, salvage: bool = False) -> None:
        super().__init__(data, start, salvage=salvage)
        self.start: int = start
        self.spans: list[Span] = []
        self.pending: list[DecodeError] = []

    def child(self, segment: str | int, node: Construct) -> Any:
        """Read a part; if it recorded no span, it is a scalar and gets one."""
        start = self.pos
        before = len(self.spans)
        self.path.append(segment)
        value = node._parse(self, None, "")
        if len(self.spans) == before:
            self.mark(start, _type_name(node), value)
        self.path.pop()
        return value

    @property
    def skips_valid(self) -> bool:
        """Leave all elements to the reference path, which records their spans."""
        return False

    def prefix(self, node: Construct) -> Any:
        """Read the prefix of a value; the prefix gets a separate span."""
        start = self.pos
        value = node._parse(self, None, "")
        self.mark(start, _type_name(node), value)
        return value

    def mark(self, start: int, type_name: str, value: Any) -> None:
        """Record the bytes from `start` to the current position as a span, if there are any."""
        if self.pos > start:
            self.spans.append(Span(start, self.pos, path_text(self.path), type_name, value, tuple(self.pending)))
            self.pending.clear()

    def checkpoint(self) -> tuple[int, ...]:
        """Return the current state for `rewind`, spans included."""
        return *super().checkpoint(), len(self.spans)

    def rewind(self, state: tuple[int, ...]) -> None:
        """Return to an earlier state, and forget spans since then, too."""
        super().rewind(state)
        del self.spans[state[3] :], self.pending[:]

    def note(self, kind: type[Tolerated], offset: int, **facts: Any) -> None:
        """Record a fault, which is added to its span."""
        before = len(self.faults)
        super().note(kind, offset, **facts)
        for fault in self.faults[before:]:
            at = bisect_right(self.spans, offset, key=_start) - 1
            if at >= 0 and offset < self.spans[at].stop:
                self.spans[at] = self.spans[at]._replace(faults=(*self.spans[at].faults, fault))
            else:  # its bytes are being read
                self.pending.append(fault)

    def leave_rest(self, type_name: str, error: DecodeError) -> None:
        """Record one span for all bytes that have no span yet."""
        start = self.spans[-1].stop if self.spans else self.start
        if start < self.end:
            rest = self.data[start : self.end]
            self.spans.append(Span(start, self.end, error.path, type_name, rest, (*self.pending, error)))


def _type_name(node: Construct) -> str:
    return str(getattr(node, "type_name", type(node).__name__))
