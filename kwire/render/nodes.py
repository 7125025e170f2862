"""The fields of a frame as nested rows: each with its depth, its name, its own bytes and its value as text.

What a page draws from. Knows spans; knows no HTML.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..codecs import Codec
from ..tracing import Span
from .annotate import SEGMENT, joined, span_text
from .meaning import Meaning
from .style import escape
from .values import with_name

LONGEST = 400  # characters of a value; of the list of an array of numbers too


class Node(NamedTuple):
    """A field, or a struct that holds fields.

    `name` is one segment of a path: `topics`, `[0]`; `start` and `stop` are the bytes that are its own, none for a
    struct without a marker; `faults` says what is wrong with them.
    """

    depth: int
    name: str
    start: int
    stop: int
    type: str
    value: str
    faults: tuple[str, ...] = ()


def nodes(spans: Iterable[Span], codec: Codec | None = None) -> Iterator[Node]:
    """Yield the fields of a frame, what holds them in front of them, in the order of the bytes.

    Args:
        spans: of `Codec.trace`, or of a result of a tracing `FrameDecoder`.
        codec: of the message, for names of numbers such as error codes.

    >>> import kwire
    >>> codec = kwire.codec("MetadataRequest", 4)
    >>> for node in nodes(codec.trace(bytes.fromhex("00000001 0003 616263 01"))):
    ...     print("  " * node.depth + node.name, node.start, node.stop, node.value)
    topics 0 4 1 item
      [0] 4 4
        name 4 9 "abc"
    allow_auto_topic_creation 9 10 true
    """
    meaning = Meaning(codec)
    shown: list[str] = []
    for span in joined(spans):
        segments = SEGMENT.findall(span.path) or [span.type]
        for depth in range(_common(shown, segments), len(segments) - 1):
            yield Node(depth, escape(segments[depth]), span.start, span.start, "", "")
        shown = segments
        name = meaning.name(span.path, span.value)
        value = with_name(span_text(span, LONGEST), name, LONGEST)
        faults = tuple(escape(f"{type(fault).__name__}: {fault.reason}") for fault in span.faults)
        yield Node(len(segments) - 1, escape(segments[-1]), span.start, span.stop, escape(span.type), value, faults)


def _common(shown: list[str], segments: list[str]) -> int:
    """Count the segments that are on the page already; the last one always gets a row of its own."""
    count = 0
    while count < min(len(shown), len(segments) - 1) and shown[count] == segments[count]:
        count += 1
    return count
