"""Every example of the README runs."""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys

import pytest

from tests.conftest import ROOT

README = (ROOT / "README.md").read_text("utf-8")
RUNS = re.findall(r"<!-- run: (.*?) -->\n```\n(.*?)```", README, re.DOTALL)


def test_the_python_examples_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    failed, tried = doctest.testfile(str(ROOT / "README.md"), module_relative=False, optionflags=flags)
    assert (failed, tried > 15) == (0, True)


@pytest.mark.parametrize(("command", "output"), RUNS, ids=[command for command, _ in RUNS])
def test_the_commands_print_what_is_shown(command: str, output: str) -> None:
    first, _, part = command.partition(" | sed -n ")
    words = shlex.split(first)
    assert words[0] == "kwire"
    done = subprocess.run([sys.executable, "-m", *words], cwd=ROOT, capture_output=True, check=True, text=True)
    start, stop = map(int, part.removesuffix("p").split(","))
    assert "\n".join(done.stdout.splitlines()[start - 1 : stop]) + "\n" == output
