"""Single values as short text."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.render.value_text import count_text, shorten, value_text


@pytest.mark.parametrize(
    ("value", "type_name", "text"),
    [
        ("orders", "string", '"orders"'),
        ('a"\n\x1b', "string", '"a\\"\\n\\u001b"'),
        ("x" * 30, "string", '"' + "x" * 16 + "..."),
        (None, "nullable string", "null"),
        (True, "bool", "true"),
        (-1, "int32", "-1"),
        (b"", "bytes", "(0 bytes)"),
        (b"abc", "bytes", "616263 (3 bytes)"),
        (bytes(range(30)), "bytes", "00010... (30 bytes)"),
        (bytes(15) + b"\x01", "uuid", "AAAAAAAAAAAAAAAAAAAAAQ"),
    ],
)
def test_the_text_of_a_value(value: Any, type_name: str, text: str) -> None:
    assert value_text(value, type_name, 20) == text


def test_counts_and_cuts() -> None:
    assert (count_text(1), count_text(0), count_text(2, "byte")) == ("1 item", "0 items", "2 bytes")
    assert (shorten("abcdef", 6), shorten("abcdefg", 6)) == ("abcdef", "abc...")
