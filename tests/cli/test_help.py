"""`kwire help` and what the command prints of itself."""

from __future__ import annotations

import pytest

from kwire.cli import main
from kwire.cli.commands import parser_for
from kwire.cli.completion import completion
from tests.cli.test_commands import out


def test_topics(capsys: pytest.CaptureFixture[str]) -> None:
    assert "  exit      exit codes\n" in out(capsys, "help")
    assert "130  interrupted with Ctrl-C" in out(capsys, "help", "exit")
    assert main(["help", "exot"]) == 2
    assert "there is no topic 'exot'; did you mean exit?" in capsys.readouterr().err


def test_scripts_and_the_page_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert out(capsys, "--print-completion", "zsh") == completion("zsh", parser_for())
    assert out(capsys, "--print-manual").startswith(".TH KWIRE 1 ")
    assert main(["--print-completion", "csh"]) == 2
