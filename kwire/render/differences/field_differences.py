"""Finds the fields in which the bytes of two messages differ, by their spans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from ...codecs.message_codec import Codec
from ...codecs.tracing import Span
from ...protocol import FrameDecoder, Result, Undecodable, cut_frames, spans_for
from ..enum_names import EnumNames
from ..escaping import escape
from ..frame_title import title
from ..span_text import joined, span_text
from ..value_text import count_text, hex_text, hidden_from, with_name

WIDTH = 100  # maximum characters of a value
LISTED = 5  # maximum number of fields to list
BYTES = 16  # bytes of a field to show


class FieldDifference(NamedTuple):
    """A field that differs: its path, and the values of both sides; None if one side does not have the field."""

    path: str
    left: Span | None
    right: Span | None


def field_differences(
    left: Sequence[Span], right: Sequence[Span], before: bytes, after: bytes
) -> Iterator[FieldDifference]:
    """Yield the fields that differ, in the order of the bytes.

    Args:
        left, right: the spans of two messages.
        before, after: the bytes of the messages.

    >>> import kwire
    >>> codec = kwire.codec("MetadataRequest", 4)
    >>> datas = [bytes.fromhex("00000001 0003 616263 01"), bytes.fromhex("00000001 0003 616264 01")]
    >>> [found.path for found in field_differences(*map(codec.trace, datas), *datas)]
    ['topics[0].name']
    """
    ours, theirs = _number(joined(left)), _number(joined(right))
    for key in _merge(list(ours), list(theirs)):
        mine, yours = ours.get(key), theirs.get(key)
        if mine and yours and before[mine.start : mine.stop] == after[yours.start : yours.stop]:
            continue
        yield FieldDifference(key[0], mine, yours)


def field_difference_lines(left: bytes, right: bytes, codec: Codec | None = None) -> list[str]:
    """Return lines about the fields in which two dumps of frames differ; an empty list if they are equal or not frames.

    Args:
        left, right: one or more complete frames, with sizes and headers.
        codec: the codec for a response that answers no earlier request.

    >>> import kwire
    >>> frames = [kwire.encode_request(kwire.messages.MetadataRequest(), 4, correlation_id=id) for id in (1, 2)]
    >>> for line in field_difference_lines(*frames): print(line)
    Kafka frames differ in header.correlation_id at offset 8
      Metadata v4 request, correlation 1, no client id, 19 bytes, frame 0 at 0
      left:  header.correlation_id = 1    00 00 00 01
      right: header.correlation_id = 2    00 00 00 02
    """
    if left == right:
        return []
    pairs = zip_longest(_results(left, codec), _results(right, codec))
    for index, (before, after) in enumerate(pairs):
        if isinstance(before, Undecodable) or isinstance(after, Undecodable):
            return []
        if before is None or after is None:
            longer, side = (before or after), "right" if after is None else "left"
            assert longer is not None
            return [f"Kafka frames differ: {side} ends after {count_text(index, 'frame')}", f"  {_title(longer)}"]
        if before.frame.data != after.frame.data:
            return _explain(before, after)
    return []


def _explain(before: Result, after: Result) -> list[str]:
    datas = before.frame.data, after.frame.data
    differences = list(field_differences(spans_for(before), spans_for(after), *datas))
    if not differences:
        return []
    # The size field differs whenever later fields do; it is reported last.
    differences.sort(key=lambda difference: difference.path == "size")
    first = differences[0]
    span = first.left or first.right
    assert span is not None
    start = (before.frame.source.offset or 0) if first.left else (after.frame.source.offset or 0)
    lines = [f"Kafka frames differ in {escape(first.path)} at offset {start + span.start}", f"  {_title(before)}"]
    lines += [f"  {_title(after)}"] if _title(before).split(",")[0] != _title(after).split(",")[0] else []
    for name, result, value in (("left: ", before, first.left), ("right:", after, first.right)):
        lines.append(f"  {name} {_span_line(result, value)}")
    if len(differences) > 1:
        names = ", ".join(escape(difference.path) for difference in differences[1:LISTED])
        lines.append(f"  {len(differences) - 1} more: {names}{', ...' if len(differences) > LISTED else ''}")
    return lines


def _span_line(result: Result, span: Span | None) -> str:
    if span is None:
        return "(not there)"
    name = EnumNames(result.codec).name(span.path, span.value)
    value = with_name(span_text(span, WIDTH), name, WIDTH)
    size = span.stop - span.start
    raw = hex_text(result.frame.data, span.start, span.start + min(size, BYTES), hidden_from(span))
    return f"{escape(span.path)} = {value}    {raw}{' ...' if size > BYTES else ''}"


def _title(result: Result) -> str:
    return escape(title(result))


def _results(data: bytes, codec: Codec | None) -> Iterator[Result]:
    """Decode the frames of a dump one by one; the first invalid or truncated frame is undecodable."""
    decoder = FrameDecoder(answers=codec)
    return (decoder.decode(frame) for frame in cut_frames(data))


def _number(spans: Iterator[Span]) -> dict[tuple[str, int], Span]:
    """Return spans by path and by the number of earlier spans that have the same path (a tag, then its field)."""
    numbered: dict[tuple[str, int], Span] = {}
    for span in spans:
        number = 0
        while (span.path or span.type, number) in numbered:
            number += 1
        numbered[span.path or span.type, number] = span
    return numbered


def _merge(left: list[tuple[str, int]], right: list[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """Merge two orders of keys: the keys of `left`, with keys found only in `right` at their positions there."""
    known, positions = set(left), {key: index for index, key in enumerate(right)}
    position = 0
    for key in left:
        if key in positions:
            while position < positions[key]:
                if right[position] not in known:
                    yield right[position]
                position += 1
            position = max(position, positions[key] + 1)
        yield key
    yield from (key for key in right[position:] if key not in known)
