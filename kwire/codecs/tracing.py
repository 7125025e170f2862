"""Runs the reference execution and collects `Span`s: which bytes are which field.

The spans of a message cover its bytes without gap or overlap. Shares nothing with other executions but the tree.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import Any, NamedTuple

from ..errors import DecodeError, path_text
from ..errors.decode import Tolerated
from ..wire import Reader
from ..wire.streams import Construct

_start = attrgetter("start")


class Span(NamedTuple):
    """Some bytes and what they are.

    `start` and `stop` are offsets in bytes; `path` is as in errors (`topics[0].partitions[2].isr_nodes[1]`);
    `type` is the wire type; `value` is the decoded value, for an array its count; `faults` what is wrong with them.
    """

    start: int
    stop: int
    path: str
    type: str
    value: Any
    faults: tuple[DecodeError, ...] = ()


class TracingReader(Reader):
    """A reader that keeps a span of every leaf and of every count, marker and tag."""

    __slots__ = ("pending", "spans", "start")

    def __init__(self, data: bytes, start: int = 0, *, salvage: bool = False) -> None:
        super().__init__(data, start, salvage=salvage)
        self.start: int = start
        self.spans: list[Span] = []
        self.pending: list[DecodeError] = []

    def child(self, segment: str | int, node: Construct) -> Any:
        """Read a part; if nothing inside it made a span, it is a leaf and gets one."""
        start, before = self.pos, len(self.spans)
        self.path.append(segment)
        value = node._parse(self, None, "")
        if len(self.spans) == before:
            self.mark(start, _type_name(node), value)
        self.path.pop()
        return value

    def elements(self, array: Construct, count: int) -> None:
        """Leave all elements to the reference: each has spans."""

    def prefix(self, node: Construct) -> Any:
        """Read what stands in front of parts; it gets a span of its own."""
        start = self.pos
        value = node._parse(self, None, "")
        self.mark(start, _type_name(node), value)
        return value

    def mark(self, start: int, type_name: str, value: Any) -> None:
        """Keep the bytes from `start` to here as a span, if there are any."""
        if self.pos > start:
            self.spans.append(Span(start, self.pos, path_text(self.path), type_name, value, tuple(self.pending)))
            self.pending.clear()

    def note(self, kind: type[Tolerated], offset: int, **facts: Any) -> None:
        """Note a fault, and keep it for the span it belongs to."""
        before = len(self.faults)
        super().note(kind, offset, **facts)
        for fault in self.faults[before:]:
            at = bisect_right(self.spans, offset, key=_start) - 1
            if at >= 0 and offset < self.spans[at].stop:
                self.spans[at] = self.spans[at]._replace(faults=(*self.spans[at].faults, fault))
            else:  # its bytes are being read
                self.pending.append(fault)

    def leave_rest(self, type_name: str, error: DecodeError) -> None:
        """Make one span of all bytes that are in no span yet."""
        start = self.spans[-1].stop if self.spans else self.start
        if start < self.end:
            rest = self.data[start : self.end]
            self.spans.append(Span(start, self.end, error.path, type_name, rest, (*self.pending, error)))


def _type_name(node: Construct) -> str:
    return str(getattr(node, "type_name", type(node).__name__))
