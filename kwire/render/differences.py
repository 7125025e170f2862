"""Finds differences between two messages, by the values of their fields, and between two frames, by spans and bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from itertools import islice, zip_longest
from typing import Any, NamedTuple

from ..codecs import Codec, Span
from ..errors import Segments, excerpt, path_text
from ..protocol import FrameDecoder, Result, Undecodable, cut_frames, spans_for
from ..redact.sensitive_configs import is_sensitive
from ..schema.sensitive_fields import ENVELOPED, SECRET_FIELDS, SECRET_PARTS, Hidden
from .annotate import joined, span_text
from .style import PLAIN, Style, escape
from .tree import title
from .value_text import Meaning, count_text, hex_text, hidden_from, value_text, with_name

LISTED_VALUES = 10  # maximum number of fields to list
VALUE_WIDTH = 60  # maximum characters of a value
FIRST = ("message", "header")  # parts of a decoded frame that are compared; its bytes follow
_RAW = frozenset(("data", "rest"))  # raw bytes, in which the position of secrets is unknown
_DERIVED = frozenset(("spans",))
_NONE: Any = object()  # the array has no such element


class ValueDifference(NamedTuple):
    """Two values that differ, and their path."""

    path: Segments
    left: Any
    right: Any


def value_differences(left: Any, right: Any, path: Segments = ()) -> Iterator[ValueDifference]:
    """Yield the innermost values in which two messages, requests or responses differ, in the order of their fields.

    >>> from kwire import messages as m
    >>> one, other = (m.MetadataRequest(topics=[m.MetadataRequest.MetadataRequestTopic(name=name)]) for name in "ab")
    >>> [(path_text(found.path), found.left, found.right) for found in value_differences(one, other)]
    [('topics[0].name', 'a', 'b')]
    """
    if type(left) is type(right) and (names := _names_of(left)):
        for name in names:
            inner = path if name == "message" and not path else (*path, name)
            yield from value_differences(_held_value(left, name), _held_value(right, name), inner)
    elif (
        isinstance(left, tuple | list) and isinstance(right, tuple | list) and not (_names_of(left) or _names_of(right))
    ):
        for index, (one, other) in enumerate(zip_longest(left, right, fillvalue=_NONE)):
            yield from value_differences(one, other, (*path, index))
    elif left is _NONE or right is _NONE or left != right:
        yield ValueDifference(path, left, right)


def value_lines(left: Any, right: Any) -> list[str]:
    """Return differences as lines such as `topics[0].name: 'a' != 'b'`, without secrets; an empty list for equal
    values.
    """
    found = list(islice(value_differences(left, right), LISTED_VALUES + 1))
    lines = [_value_line(*one) for one in found[:LISTED_VALUES]]
    return [*lines, "and more"] if len(found) > LISTED_VALUES else lines


def _names_of(value: Any) -> tuple[str, ...]:
    names: tuple[str, ...] = getattr(value, "__struct_fields__", getattr(value, "_fields", ()))
    if not names and is_dataclass(value):
        names = tuple(field.name for field in fields(value) if field.compare and field.name not in _DERIVED)
    return (*(name for name in FIRST if name in names), *(name for name in names if name not in FIRST))


def _held_value(owner: Any, name: str) -> Any:
    """Return the value of a field, or a placeholder for a secret; placeholders are equal if the secrets are."""
    value = getattr(owner, name)
    if isinstance(value, dict):  # the parts of a SASL token
        return tuple((part, Hidden(held) if part in SECRET_PARTS else held) for part, held in value.items())
    is_secret = name in SECRET_FIELDS or name in ENVELOPED or name in _RAW
    is_secret = is_secret or (name == "value" and is_sensitive(str(getattr(owner, "name", ""))))
    return Hidden(value) if is_secret and value and isinstance(value, str | bytes) else value


def _value_line(path: Segments, left: Any, right: Any) -> str:
    one, other = _value_texts(left, right)
    return f"{path_text(path) or 'the whole'}: {one} != {other}"


def _value_texts(left: Any, right: Any) -> tuple[str, str]:
    """Format two values; if they are long, only the part from shortly before their first difference."""
    start = 0
    if isinstance(left, str | bytes) and type(left) is type(right) and max(len(left), len(right)) > VALUE_WIDTH // 2:
        pairs = enumerate(zip(left, right, strict=False))
        start = max(next((at for at, (one, other) in pairs if one != other), min(len(left), len(right))) - 8, 0)
    one, other = (_value_text(value, start) for value in (left, right))
    return one, other


def _value_text(value: Any, start: int) -> str:
    if value is _NONE:
        return "nothing"
    if _names_of(value):
        return f"{type(value).__name__}(...)"
    return f"...{excerpt(value[start:], VALUE_WIDTH)} from {start} on" if start else excerpt(value, VALUE_WIDTH)


WIDTH = 100  # maximum characters of a value
LISTED = 5  # maximum number of fields to list
BYTES = 16  # bytes of a field to show


class Difference(NamedTuple):
    """A field that differs: its path, and the values of both sides; None if one side does not have the field."""

    path: str
    left: Span | None
    right: Span | None


def field_differences(left: Sequence[Span], right: Sequence[Span], one: bytes, other: bytes) -> Iterator[Difference]:
    """Yield the fields that differ, in the order of the bytes.

    Args:
        left, right: the spans of two messages.
        one, other: the bytes of the messages.

    >>> import kwire
    >>> codec = kwire.codec("MetadataRequest", 4)
    >>> datas = [bytes.fromhex("00000001 0003 616263 01"), bytes.fromhex("00000001 0003 616264 01")]
    >>> [found.path for found in field_differences(*map(codec.trace, datas), *datas)]
    ['topics[0].name']
    """
    ours, theirs = _numbered(joined(left)), _numbered(joined(right))
    for key in _merged(list(ours), list(theirs)):
        mine, yours = ours.get(key), theirs.get(key)
        if mine and yours and one[mine.start : mine.stop] == other[yours.start : yours.stop]:
            continue
        yield Difference(key[0], mine, yours)


def difference_lines(left: bytes, right: bytes, codec: Codec | None = None) -> list[str]:
    """Return lines about the fields in which two dumps of frames differ; an empty list if they are equal or not frames.

    Args:
        left, right: one or more complete frames, with sizes and headers.
        codec: the codec for a response that answers no earlier request.

    >>> import kwire
    >>> frames = [kwire.encode_request(kwire.messages.MetadataRequest(), 4, correlation_id=id) for id in (1, 2)]
    >>> for line in difference_lines(*frames): print(line)
    Kafka frames differ in header.correlation_id at offset 8
      Metadata v4 request, correlation 1, no client id, 19 bytes, frame 0 at 0
      left:  header.correlation_id = 1    00 00 00 01
      right: header.correlation_id = 2    00 00 00 02
    """
    if left == right:
        return []
    pairs = zip_longest(_results(left, codec), _results(right, codec))
    for index, (one, other) in enumerate(pairs):
        if isinstance(one, Undecodable) or isinstance(other, Undecodable):
            return []
        if one is None or other is None:
            longer, side = (one or other), "right" if other is None else "left"
            assert longer is not None
            return [f"Kafka frames differ: {side} ends after {count_text(index, 'frame')}", f"  {_title(longer)}"]
        if one.frame.data != other.frame.data:
            return _explained(one, other)
    return []


def _explained(one: Result, other: Result) -> list[str]:
    datas = one.frame.data, other.frame.data
    found = list(field_differences(spans_for(one), spans_for(other), *datas))
    if not found:
        return []
    # The size field differs whenever later fields do; it is reported last.
    found.sort(key=lambda difference: difference.path == "size")
    first = found[0]
    span = first.left or first.right
    assert span is not None
    start = (one.frame.source.offset or 0) if first.left else (other.frame.source.offset or 0)
    lines = [f"Kafka frames differ in {escape(first.path)} at offset {start + span.start}", f"  {_title(one)}"]
    lines += [f"  {_title(other)}"] if _title(one).split(",")[0] != _title(other).split(",")[0] else []
    for name, result, held in (("left: ", one, first.left), ("right:", other, first.right)):
        lines.append(f"  {name} {_held(result, held)}")
    if len(found) > 1:
        names = ", ".join(escape(difference.path) for difference in found[1:LISTED])
        lines.append(f"  {len(found) - 1} more: {names}{', ...' if len(found) > LISTED else ''}")
    return lines


def _held(result: Result, span: Span | None) -> str:
    if span is None:
        return "(not there)"
    name = Meaning(result.codec).name(span.path, span.value)
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


def _numbered(spans: Iterator[Span]) -> dict[tuple[str, int], Span]:
    """Return spans by path and by the number of earlier spans that have the same path (a tag, then its field)."""
    found: dict[tuple[str, int], Span] = {}
    for span in spans:
        number = 0
        while (span.path or span.type, number) in found:
            number += 1
        found[span.path or span.type, number] = span
    return found


def _merged(left: list[tuple[str, int]], right: list[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """Merge two orders of keys: the keys of `left`, with keys found only in `right` at their positions there."""
    known, place = set(left), {key: index for index, key in enumerate(right)}
    at = 0
    for key in left:
        if key in place:
            while at < place[key]:
                if right[at] not in known:
                    yield right[at]
                at += 1
            at = max(at, place[key] + 1)
        yield key
    yield from (key for key in right[at:] if key not in known)


def frame_differences(one: Result, other: Result, style: Style = PLAIN) -> Iterator[str]:
    """Yield the differences between two frames as lines; yield nothing if their bytes are equal.

    Args:
        one, other: results of a tracing `FrameDecoder`.
        style: colours.

    Yields:
        A line for each field (`~` changed, `-` only in the first, `+` only in the second), in the order of
        the bytes, then one for the first byte that differs.
    """
    before, after = one.frame.data, other.frame.data
    old, new = _fields(one.spans), _fields(other.spans)
    if before == after and all(old[path].value == new[path].value for path in old.keys() & new.keys()):
        return
    for path in [*old, *(path for path in new if path not in old)]:
        if path not in new:
            yield _line("-", path, _text(old[path]), style)
        elif path not in old:
            yield _line("+", path, _text(new[path]), style)
        elif old[path].value != new[path].value:
            yield _line("~", path, f"{_text(old[path])} -> {_text(new[path])}", style)
    pairs = enumerate(zip(before, after, strict=False))
    at = next((at for at, (a, b) in pairs if a != b), min(len(before), len(after)))
    if before == after:
        return  # what differs is hidden
    runs = " -> ".join(_run(one, at) or "the end" for one in (one, other))
    yield f"  first byte that differs: {at:#x} ({at}): {runs}; {len(before)} and {len(after)} bytes"


def _run(result: Result, start: int) -> str:
    """Format eight bytes as hex, bytes of secrets as `**`."""
    words = []
    for at in range(start, min(start + 8, len(result.frame.data))):
        span = next((span for span in result.spans if span.start <= at < span.stop), None)
        words.append(hex_text(result.frame.data, at, at + 1, hidden_from(span) if span else None))
    return " ".join(words)


def _fields(spans: tuple[Span, ...]) -> dict[str, Span]:
    """Return the spans by path; of two spans with one path (a count and a marker), the last."""
    return {span.path: span for span in spans}


def _text(span: Span) -> str:
    if span.type.endswith(("array", "count", "size")):
        return str(span.value)
    return value_text(span.value, span.type, 60)


def _line(sign: str, path: str, text: str, style: Style) -> str:
    kind = {"+": "title", "-": "error", "~": "warning"}[sign]
    return f"  {style.paint(kind, sign)} {style.paint('name', escape(path))}: {escape(text)}"
