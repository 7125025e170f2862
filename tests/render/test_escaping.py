"""No raw control character, ever; colours only where wanted."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from kwire.render.colours import Style
from kwire.render.escaping import escape


@given(st.text())
def test_escaped_json_is_equal_and_printable(text: str) -> None:
    line = escape(json.dumps(text, ensure_ascii=False))
    assert line.isprintable()
    assert json.loads(line) == text


def test_the_usual_suspects_are_escaped() -> None:
    assert escape("\x1b]0;x\x07") == "\\u001b]0;x\\u0007"
    assert escape("\x7f\x9b\u202e\u2028\ufeff\ud800") == "\\u007f\\u009b\\u202e\\u2028\\ufeff\\ud800"
    assert escape("\U000e0041") == "\\udb40\\udc41"
    assert escape("a\tb\nc é 漢 😀") == "a\tb\nc é 漢 😀"


def test_colour_is_painted_only_when_on() -> None:
    assert Style().paint("error", "x") == "x"
    assert Style(colour=True).paint("error", "x") == "\x1b[1;31mx\x1b[0m"
    assert Style(colour=True).paint("value", "x") == "x"
