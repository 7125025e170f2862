"""bash takes the script and completes with it; the scripts of the other shells have every command."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from kwire.cli.commands import COMMANDS, parser_for
from kwire.cli.completion import SHELLS, completion, words_of


def completed(*words: str) -> list[str]:
    """Ask bash, as its readline would, what the last word could become."""
    script = completion("bash", parser_for())
    line = " ".join(f"'{word}'" for word in words)
    ask = f'{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _kwire; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "answers"),
    [
        (("kwire", "de"), ["decode", "demo"]),
        (("kwire", "--ver"), ["--version"]),
        (("kwire", "--print-completion", ""), ["bash", "zsh", "fish"]),
        (("kwire", "decode", "--js"), ["--json", "--jsonl"]),
        (("kwire", "decode", "x.bin", "--color", "a"), ["auto", "always"]),
        (("kwire", "spec", "ch"), ["check"]),
        (("kwire", "spec", "check", "--h"), ["--help"]),
        (("kwire", "stats", "dump.bin", "--rem"), ["--removed-in"]),
        (("kwire", "decode", "stats", "--gu"), ["--guess"]),
        (("kwire", "decode", "nothing-like-it"), []),
    ],
)
def test_bash_completes(words: tuple[str, ...], answers: list[str]) -> None:
    assert completed(*words) == answers


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_takes_the_script(shell: str) -> None:
    script = completion(shell, parser_for())
    for command in COMMANDS:
        assert command in script
    found = shutil.which(shell)
    if found:  # bash is wherever these tests run; the others are tried where they are
        subprocess.run([found, "-n", "/dev/stdin"], input=script, text=True, check=True, capture_output=True)
    assert found or shell != "bash"


def test_the_words_are_those_of_the_parser() -> None:
    words = {one.path: one for one in words_of(parser_for())}
    assert tuple(words[()].commands) == tuple(COMMANDS)
    assert words["stats",].options["--removed-in"].startswith("clients with versions")
    assert words["decode",].files
    assert not words["demo",].files
