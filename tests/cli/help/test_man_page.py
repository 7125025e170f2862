"""The man page has every command and every option, and groff takes it."""

from __future__ import annotations

import shutil
import subprocess

from kwire.cli.help.man_page import man_page
from kwire.cli.help.parser_words import words_of
from kwire.cli.help.shell_completion import SCRIPTS
from kwire.cli.help.topics import TOPICS, help_lines
from kwire.cli.main import parser_for
from tests.tools.shared_files import COMPLETIONS, FOLDER, shared_files

PAGE = man_page(parser_for(), "1.2")


def test_everything_is_on_it() -> None:
    assert PAGE.startswith('.TH KWIRE 1 "" "kwire 1.2" "User Commands"\n')
    for words in words_of(parser_for()):
        for word in (*words.options, *words.commands):
            assert f".B {word}\n".replace("-", "\\-") in PAGE
    assert "SUPPRESS" not in PAGE


def test_groff_has_nothing_to_say_about_it() -> None:
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-ww", "-z"], input=PAGE, text=True, capture_output=True, check=True)
        assert done.stderr == ""
    requests = {line.split()[0] for line in PAGE.splitlines() if line.startswith((".", "'"))}
    assert requests == {".TH", ".SH", ".SS", ".TP", ".B", ".nf", ".fi"}


def test_topics_fit_a_terminal() -> None:
    assert [line.split()[0] for line in help_lines(None)[2:]] == list(TOPICS)
    for topic in TOPICS:
        lines = help_lines(topic)
        assert lines[0].startswith(f"{topic}: ")
        assert max(map(len, lines)) <= 80


def test_the_files_that_wheels_install_are_of_these_commands() -> None:
    for name, text in shared_files().items():
        shared = (FOLDER / name).read_text("utf-8")
        assert shared == text, f"{name} is stale: python -m tests.tools.shared_files"
    assert {str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*") if path.is_file()} == set(shared_files())
    assert set(COMPLETIONS) == set(SCRIPTS)
