"""Formats single values as short text: values, counts, sizes, durations, lists, bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from ..codecs.tracing import Span
from ..errors import DecodeError
from ..schema.sensitive_fields import Hidden
from .colours import PLAIN, Style
from .escaping import escape


def value_text(value: Any, type_name: str = "", width: int = 60) -> str:
    """Format one value: strings in quotes, bytes as hex, uuids as in Kafka, null, true, false.

    >>> value_text("orders"), value_text(None), value_text(bytes(16), "uuid"), value_text(b"abc", "bytes")
    ('"orders"', 'null', 'AAAAAAAAAAAAAAAAAAAAAA', '616263 (3 bytes)')
    """
    if isinstance(value, Hidden):
        return repr(value)
    if isinstance(value, str):
        return shorten(escape(json.dumps(value, ensure_ascii=False)), width)
    if isinstance(value, bytes):
        from ..codecs.json_writer import uuid_text

        return uuid_text(value) if type_name == "uuid" else _bytes_text(value, width)
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    return str(value)


def count_text(count: int, noun: str = "item") -> str:
    """Format a count: `1 item`, `2 items`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def size_text(count: int) -> str:
    """Format a number of bytes in the largest binary unit in which it is at least 1.

    >>> size_text(0), size_text(1023), size_text(1536), size_text(5 << 40)
    ('0 B', '1023 B', '1.5 KiB', '5.0 TiB')
    """
    if count < 1024:
        return f"{count} B"
    power = min((count.bit_length() - 1) // 10, 5)
    return f"{count / (1 << 10 * power):.1f} {'KMGTP'[power - 1]}iB"


def duration_text(seconds: float) -> str:
    """Format a duration with at least two digits, in microseconds, milliseconds or seconds.

    >>> [duration_text(seconds) for seconds in (0, 0.000052, 0.00145, 0.0999, 0.9996, 61.24, 7200, -0.002)]
    ['0us', '52us', '1.4ms', '100ms', '1.0s', '61s', '7200s', '-2.0ms']
    """
    size = abs(seconds)
    if size < 0.0009995:
        factor, unit = 1e6, "us"
    elif size < 0.9995:
        factor, unit = 1e3, "ms"
    else:
        factor, unit = 1, "s"
    digits = int(unit != "us" and size * factor < 9.95)
    return f"{seconds * factor:.{digits}f}{unit}"


def shorten(text: str, width: int) -> str:
    """Truncate text that is too wide, and mark it as truncated.

    >>> shorten("abcdefgh", 6)
    'abc...'
    """
    return text if len(text) <= width else text[: max(width - 3, 1)] + "..."


def with_name(text: str, name: str, width: int) -> str:
    """Format a number and its name.

    The number is never shortened; the name is omitted if too little of it would remain.

    >>> with_name("-1", "UNKNOWN_SERVER_ERROR", 12), with_name("-2147483648", "NOT_ASKED_FOR", 16)
    ('-1 UNKNOW...', '-2147483648')
    """
    left = width - len(text) - 1
    return f"{text} {shorten(name, left)}" if name and (left >= 8 or left >= len(name)) else text


def list_text(items: Sequence[str], width: int) -> str:
    """Format values as a list with as many complete values as fit; at least one.

    >>> list_text(["1001", "1002", "1003"], 18), list_text(["1001", "1002", "1003"], 17)
    ('[1001, 1002, 1003]', '[1001, 1002, ...]')
    """
    text = f"[{', '.join(items)}]"
    if len(text) <= width or not items:
        return text
    shown, left = [items[0]], width - len(items[0]) - len("[, ...]")
    for item in items[1:]:
        left -= len(item) + 2
        if left < 0:
            break
        shown.append(item)
    return f"[{', '.join(shown)}, ...]" if len(shown) < len(items) else text


def _bytes_text(value: bytes, width: int) -> str:
    size = f"({count_text(len(value), 'byte')})"
    room = max(width - len(size) - 1, 8) // 2 * 2
    return f"{shorten(value.hex(), room)} {size}" if value else size


def format_bytes(data: bytes) -> str:
    """Return bytes as pairs of hex digits: by the library hexdump, an extra, or by Python, which writes the same.

    >>> format_bytes(b"kafka\\0")
    '6b 61 66 6b 61 00'
    """
    return _find_formatter()(data)


@cache
def _find_formatter() -> Callable[[bytes], str]:
    try:
        from hexdump import dump  # imported on use: commands that print no bytes do without
    except ImportError:  # it is published as source only, which some installations refuse
        return lambda data: data.hex(" ")
    return lambda data: str(dump(data, size=2, sep=" ")).lower()


def hex_text(data: bytes, start: int, stop: int, hidden: int | None = None) -> str:
    """Format bytes of a frame as hex; bytes from `hidden` on are `**`.

    >>> hex_text(bytes(4), 1, 4, hidden=3)
    '00 00 **'
    """
    stop = min(stop, len(data))
    last = stop if hidden is None else max(start, min(stop, hidden))
    shown, count = format_bytes(data[start:last]), stop - last
    return " ".join(filter(None, [shown, *["**"] * count]))


def hidden_from(span: Span) -> int | None:
    """Return the position of a span's hidden bytes, which are its last bytes; None if it has none."""
    return span.stop - span.value.size if isinstance(span.value, Hidden) else None


def error_lines(error: DecodeError, style: Style = PLAIN) -> Iterator[str]:
    """Yield the text of an error, and its hint."""
    yield style.paint("error", escape(str(error)))
    if error.hint:
        yield f"  hint: {escape(error.hint)}"
