"""Spans as text: the value of a span; spans of array elements that are joined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..codecs.tracing import Span
from ..runtime.lazy_patterns import lazy_pattern
from .value_text import count_text, list_text, value_text

SEGMENT = lazy_pattern(r"[^.\[\]]+|\[\d+\]")


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
