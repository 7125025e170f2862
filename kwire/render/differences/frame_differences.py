"""Renders the differences between two decoded frames as lines."""

from __future__ import annotations

from collections.abc import Iterator

from ...codecs.tracing import Span
from ...protocol import Result
from ..colours import PLAIN, Style
from ..escaping import escape
from ..value_text import hex_text, hidden_from, value_text


def frame_differences(left: Result, right: Result, style: Style = PLAIN) -> Iterator[str]:
    """Yield the differences between two frames as lines; yield nothing if their bytes are equal.

    Args:
        left, right: results of a tracing `FrameDecoder`.
        style: colours.

    Yields:
        A line for each field (`~` changed, `-` only in the first, `+` only in the second), in the order of
        the bytes, then one for the first byte that differs.
    """
    before, after = left.frame.data, right.frame.data
    old, new = spans_by_path(left.spans), spans_by_path(right.spans)
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
    runs = " -> ".join(_run(left, at) or "the end" for left in (left, right))
    yield f"  first byte that differs: {at:#x} ({at}): {runs}; {len(before)} and {len(after)} bytes"


def _run(result: Result, start: int) -> str:
    """Format eight bytes as hex, bytes of secrets as `**`."""
    words = []
    for at in range(start, min(start + 8, len(result.frame.data))):
        span = next((span for span in result.spans if span.start <= at < span.stop), None)
        words.append(hex_text(result.frame.data, at, at + 1, hidden_from(span) if span else None))
    return " ".join(words)


def spans_by_path(spans: tuple[Span, ...]) -> dict[str, Span]:
    """Return the spans by path; of two spans with one path (a count and a marker), the last."""
    return {span.path: span for span in spans}


def _text(span: Span) -> str:
    if span.type.endswith(("array", "count", "size")):
        return str(span.value)
    return value_text(span.value, span.type, 60)


def _line(sign: str, path: str, text: str, style: Style) -> str:
    kind = {"+": "title", "-": "error", "~": "warning"}[sign]
    return f"  {style.paint(kind, sign)} {style.paint('name', escape(path))}: {escape(text)}"
