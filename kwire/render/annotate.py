"""Writes annotated hexdumps, in which every byte is on a line with its field; golden fixtures have the same format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..caches import lazy_pattern
from ..capture.hex_text.golden_fixture import Fixture, check_writer, parse_fixture
from ..codecs import Codec, Span
from ..errors import DumpError
from ..protocol import Frame, FrameDecoder, Request, Response, Token, Undecodable
from ..spec.catalog import catalog_for
from .style import PLAIN, Style, escape
from .value_text import Meaning, count_text, hex_text, hidden_from, list_text, shorten, value_text, with_name

ROW = 8
_MARGIN = 8 + 2 + 3 * ROW + 1
SEGMENT = lazy_pattern(r"[^.\[\]]+|\[\d+\]")


def annotate(
    data: bytes, spans: Sequence[Span], style: Style = PLAIN, *, codec: Codec | None = None, types: bool = True
) -> str:
    """Return the annotated hexdump of a message.

    Args:
        data: all bytes of the message.
        spans: the spans of `Codec.trace`, or of a result of a tracing `FrameDecoder`.
        style: the colours, and the width in columns.
        codec: the codec of the message, for names of numbers such as error codes.
        types: whether to show the wire types, right-aligned if the line is long enough.

    Returns:
        Lines, each with its newline. `kwire.capture.hex_text.parser.parse_hex_text` parses them again.

    >>> import kwire
    >>> codec, body = kwire.codec("HeartbeatResponse", 0), bytes.fromhex("001b")
    >>> print(annotate(body, codec.trace(body), codec=codec, types=False), end="")
    00000000  00 1b                    error_code = 27 REBALANCE_IN_PROGRESS
    """
    return "".join(f"{line}\n" for line in frame_lines(data, spans, style, codec=codec, types=types))


def frame_lines(
    data: bytes, spans: Sequence[Span], style: Style = PLAIN, *, codec: Codec | None = None, types: bool = True
) -> Iterator[str]:
    """Yield the lines of `annotate`, without newlines."""
    meaning = Meaning(codec)
    shown: list[str] = []
    for span in joined(spans):
        segments = SEGMENT.findall(span.path) or [span.type]
        yield from _headings(shown, segments, style)
        shown = segments
        note = _note(span, segments, style, types, meaning.name(span.path, span.value))
        yield from _rows(data, span, note, style)
        for fault in span.faults:
            text = shorten(escape(f"! {type(fault).__name__}: {fault.reason}"), max(style.width - _MARGIN, 30))
            yield " " * _MARGIN + style.paint("error", text)


def joined(spans: Iterable[Span]) -> Iterator[Span]:
    """Join the count of an array of numbers with its elements, into one span whose value is a list."""
    pending: Span | None = None
    for span in spans:
        if pending is not None and _is_element(pending, span):
            values = [*pending.value, span.value] if isinstance(pending.value, list) else [span.value]
            faults = pending.faults + span.faults
            pending = pending._replace(stop=span.stop, value=values, faults=faults)
            continue
        if pending is not None:
            yield pending
        pending = span
    if pending is not None:
        yield pending


def _is_element(array: Span, span: Span) -> bool:
    if not array.type.endswith("array") or isinstance(span.value, str | bytes):
        return False
    index = len(array.value) if isinstance(array.value, list) else 0
    return span.path == f"{array.path}[{index}]" and not span.type.endswith(("array", "struct"))


def _headings(shown: list[str], segments: list[str], style: Style) -> Iterator[str]:
    """Yield headings for the structs that contain this line but not the previous one."""
    common = 0
    while common < min(len(shown), len(segments)) and shown[common] == segments[common]:
        common += 1
    for depth in range(common, len(segments) - 1):
        if segments[depth + 1].startswith("["):
            continue  # the heading of the element contains the name too
        name = segments[depth]
        if name.startswith("["):
            name = segments[depth - 1] + name
        elif depth < len(shown) and shown[depth] == name:
            continue
        yield " " * _MARGIN + _indent(segments[: depth + 1]) + style.paint("dim", name)


def _indent(segments: list[str]) -> str:
    return "  " * (len(segments) - 1 - sum(segment.startswith("[") for segment in segments))


def _note(span: Span, segments: list[str], style: Style, types: bool, meaning: str) -> str:
    indent = _indent(segments)
    name = segments[-1] if not segments[-1].startswith("[") else segments[-2] + segments[-1]
    room = max(style.width - _MARGIN - len(indent) - len(name) - 3, 12)
    value = with_name(span_text(span, room), meaning, room)
    width = len(indent) + len(name) + 3 + len(value)
    text = f"{indent}{style.paint('name', name)} = {style.paint('value', value)}"
    gap = style.width - _MARGIN - width - len(span.type)
    return f"{text}{' ' * gap}{style.paint('dim', span.type)}" if types and gap >= 2 else text


def span_text(span: Span, room: int) -> str:
    """Format the value of a span in `room` columns; for an array, its count or its numbers."""
    value: Any = span.value
    if isinstance(value, list):
        return list_text([value_text(item, "", room) for item in value], room)
    if span.type == "tag, size":
        return f"tag {value[0]}, {count_text(value[1], 'byte')}"
    if span.type.endswith("array") and value is not None:
        return count_text(value) if value else "[]"
    return value_text(value, span.type, room)


def _rows(data: bytes, span: Span, note: str, style: Style) -> Iterator[str]:
    for start in range(span.start, span.stop, ROW):
        row = hex_text(data, start, min(start + ROW, span.stop), hidden_from(span))
        line = f"{style.paint('dim', f'{start:08x}')}  {row}"
        if start == span.start:
            line += " " * (3 * ROW + 1 - len(row)) + note
        yield line.rstrip()


def fixture_text(result: Request | Response, writer: str, profile: str | None = None) -> str:
    """Write a fixture of a traced result.

    Args:
        result: a result of a `FrameDecoder` with `trace`.
        writer: the software that wrote the bytes.
        profile: the KIP whose draft they follow.

    Raises:
        DumpError: the writer is missing, or is kwire.
    """
    check_writer(writer)
    framing = "body" if result.frame.bare else "frame"
    head = [f"# fixture: {result.codec.name} v{result.codec.version} {framing}"]
    head += [f"# profile: {profile}"] if profile else []
    head.append(f"# writer: {writer}")
    return "\n".join(head) + "\n" + annotate(result.frame.data, result.spans, codec=result.codec)


def rewrite_fixture(text: str, file: str = "") -> str:
    """Rewrite the annotations of a fixture; its header and its bytes stay the same.

    Raises:
        DumpError: the text is not a fixture, or its bytes do not decode as its message.
    """
    fixture = parse_fixture(text, file)
    if fixture is None:
        raise DumpError("this is not a fixture", file=file, hint="begin it with # fixture: NAME vN body")
    result = decode_fixture(fixture)
    return "".join(f"{line}\n" for line in fixture.head) + annotate(fixture.data, result.spans, codec=result.codec)


def decode_fixture(fixture: Fixture) -> Request | Response:
    """Decode a fixture strictly, with spans. Raises the DecodeError of its bytes."""
    frame = Frame(
        fixture.data,
        message=fixture.message,
        version=fixture.version,
        bare=fixture.bare,
        profile=fixture.profile,
    )
    result = FrameDecoder(catalog_for(fixture.profile), salvage=False, trace=True).decode(frame)
    if isinstance(result, Undecodable):
        raise result.error
    assert not isinstance(result, Token)  # a fixture is one message
    return result
