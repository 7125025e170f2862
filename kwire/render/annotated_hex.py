"""Renders a frame as an annotated hexdump: each field with its bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..codecs.message_codec import Codec
from ..codecs.tracing import Span
from .colours import PLAIN, Style
from .enum_names import EnumNames
from .escaping import escape
from .span_text import SEGMENT, joined, span_text
from .value_text import hex_text, hidden_from, shorten, with_name

ROW = 8
_MARGIN = 8 + 2 + 3 * ROW + 1


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
    meaning = EnumNames(codec)
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


def _rows(data: bytes, span: Span, note: str, style: Style) -> Iterator[str]:
    for start in range(span.start, span.stop, ROW):
        row = hex_text(data, start, min(start + ROW, span.stop), hidden_from(span))
        line = f"{style.paint('dim', f'{start:08x}')}  {row}"
        if start == span.start:
            line += " " * (3 * ROW + 1 - len(row)) + note
        yield line.rstrip()
