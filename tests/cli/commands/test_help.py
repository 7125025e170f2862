"""`kwire help` and what the command prints of itself."""

from __future__ import annotations

import re

import pytest

from kwire.cli.command_table import COMMANDS
from kwire.cli.help.parser_words import words_of
from kwire.cli.help.shell_completion import SCRIPTS
from kwire.cli.main import main, parser_for
from kwire.query.frame_properties import PROPERTIES
from tests.cli.test_commands import out

COMMAND_PATHS = [one.path for one in words_of(parser_for()) if one.path]


def test_topics(capsys: pytest.CaptureFixture[str]) -> None:
    assert "  exit-codes  what commands return to scripts\n" in out(capsys, "help")
    text = out(capsys, "help", "exit-codes")
    assert "130  interrupted with Ctrl-C" in text
    assert out(capsys, "help", "exit") == text
    assert main(["help", "e-x"]) == 2
    assert "there is no topic 'e-x'; known: input, " in capsys.readouterr().err


def test_help_of_a_command_is_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert out(capsys, "help", "stats") == out(capsys, "stats", "--help")


def test_the_filters_topic_names_all_properties_of_frames(capsys: pytest.CaptureFixture[str]) -> None:
    words = set(re.findall(r"\w+", out(capsys, "help", "filters")))
    assert set(PROPERTIES) <= words


@pytest.mark.parametrize("words", [["kwire"], *([*path] for path in COMMAND_PATHS)], ids=" ".join)
def test_help_fits_80_columns(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = out(capsys, *words[words[0] == "kwire" :], "--help")
    assert "Examples:" in text or words == ["spec"]
    assert [line for line in text.splitlines() if len(line) > 80] == []


def test_kwire_alone_says_what_to_do(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    text = out(capsys)
    assert max(map(len, text.splitlines())) <= 80
    named = set(re.findall(r"(?<=^  kwire )[a-z]+(?= )", text, re.MULTILINE))
    assert len(named) >= 4
    assert named <= set(COMMANDS)
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    assert "usage: kwire COMMAND" in out(capsys, code=2)


def test_scripts_and_the_page_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert out(capsys, "--print-completion", "zsh") == SCRIPTS["zsh"]
    assert out(capsys, "--print-manual").startswith(".TH KWIRE 1 ")
    assert main(["--print-completion", "csh"]) == 2
