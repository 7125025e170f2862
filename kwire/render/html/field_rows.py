"""The fields of a frame as rows of a page, each struct before its fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ...codecs.message_codec import Codec
from ...codecs.tracing import Span
from ..enum_names import EnumNames
from ..escaping import escape
from ..span_text import SEGMENT, joined, span_text
from ..value_text import with_name

LONGEST = 400  # maximum characters of a value, and of the list of an array of numbers


class PageField(NamedTuple):
    """A field, or a struct that contains fields.

    `name` is one segment of a path: `topics`, `[0]`; `start` and `stop` delimit the bytes of the field itself, which
    are empty for a struct without a marker; `faults` are the faults of these bytes.
    """

    depth: int
    name: str
    start: int
    stop: int
    type: str
    value: str
    faults: tuple[str, ...] = ()


def nodes(spans: Iterable[Span], codec: Codec | None = None) -> Iterator[PageField]:
    """Yield the fields of a frame in the order of their bytes, each struct before its fields.

    Args:
        spans: the spans of `Codec.trace`, or of a result of a tracing `FrameDecoder`.
        codec: the codec of the message, for the names of numbers such as error codes.

    >>> import kwire
    >>> codec = kwire.codec("MetadataRequest", 4)
    >>> for node in nodes(codec.trace(bytes.fromhex("00000001 0003 616263 01"))):
    ...     print("  " * node.depth + node.name, node.start, node.stop, node.value)
    topics 0 4 1 item
      [0] 4 4
        name 4 9 "abc"
    allow_auto_topic_creation 9 10 true
    """
    meaning = EnumNames(codec)
    shown: list[str] = []
    for span in joined(spans):
        segments = SEGMENT.findall(span.path) or [span.type]
        for depth in range(_common(shown, segments), len(segments) - 1):
            yield PageField(depth, escape(segments[depth]), span.start, span.start, "", "")
        shown = segments
        name = meaning.name(span.path, span.value)
        value = with_name(span_text(span, LONGEST), name, LONGEST)
        faults = tuple(escape(f"{type(fault).__name__}: {fault.reason}") for fault in span.faults)
        yield PageField(
            len(segments) - 1, escape(segments[-1]), span.start, span.stop, escape(span.type), value, faults
        )


def _common(shown: list[str], segments: list[str]) -> int:
    """Return the number of leading segments that the page already shows; the last segment always gets its own row."""
    count = 0
    while count < min(len(shown), len(segments) - 1) and shown[count] == segments[count]:
        count += 1
    return count
