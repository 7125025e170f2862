"""Colours on a terminal only, and not where they are refused."""

from __future__ import annotations

import io

import pytest

from kwire.cli.terminal.terminal_style import style_for


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("variables", "wanted", "colour"),
    [
        ({}, "auto", True),
        ({}, "never", False),
        ({"NO_COLOR": "1"}, "auto", False),
        ({"NO_COLOR": ""}, "auto", True),
        ({"NO_COLOR": "1"}, "always", True),
        ({"TERM": "dumb"}, "auto", False),
    ],
)
def test_colours_on_a_terminal(
    variables: dict[str, str], wanted: str, colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert style_for(Terminal(), wanted).colour is colour


def test_a_file_gets_no_colour_and_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    style = style_for(io.StringIO())
    assert (style.colour, style.width) == (False, 80)
    assert style_for(Terminal()).width == 200
