"""What differs between two frames: field by field, then the bytes. Knows spans; knows no files."""

from __future__ import annotations

from collections.abc import Iterator

from ..frames import Request, Response, Undecodable
from ..tracing import Span
from .style import PLAIN, Style, escape
from .values import value_text

Result = Request | Response | Undecodable


def frame_differences(one: Result, other: Result, style: Style = PLAIN) -> Iterator[str]:
    """Yield the lines that say how two frames differ; none if their bytes are the same.

    Args:
        one, other: results of a tracing `FrameDecoder`.
        style: colours.

    Yields:
        A line for each field (`~` changed, `-` only in the first, `+` only in the second), in the order of
        the bytes, then one for the first byte that differs.
    """
    before, after = one.frame.data, other.frame.data
    if before == after:
        return
    old, new = _fields(one.spans), _fields(other.spans)
    for path in [*old, *(path for path in new if path not in old)]:
        if path not in new:
            yield _line("-", path, _text(old[path]), style)
        elif path not in old:
            yield _line("+", path, _text(new[path]), style)
        elif old[path].value != new[path].value:
            yield _line("~", path, f"{_text(old[path])} -> {_text(new[path])}", style)
    pairs = enumerate(zip(before, after, strict=False))
    at = next((at for at, (a, b) in pairs if a != b), min(len(before), len(after)))
    runs = " -> ".join(data[at : at + 8].hex(" ") or "the end" for data in (before, after))
    yield f"  first byte that differs: {at:#x} ({at}): {runs}; {len(before)} and {len(after)} bytes"


def _fields(spans: tuple[Span, ...]) -> dict[str, Span]:
    """Return the spans by their paths; of two with one path (a count and a marker) the last."""
    return {span.path: span for span in spans}


def _text(span: Span) -> str:
    if span.type.endswith(("array", "count", "size")):
        return str(span.value)
    return value_text(span.value, span.type, 60)


def _line(sign: str, path: str, text: str, style: Style) -> str:
    kind = {"+": "title", "-": "error", "~": "warning"}[sign]
    return f"  {style.paint(kind, sign)} {style.paint('name', escape(path))}: {escape(text)}"
