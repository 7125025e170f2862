"""Every example of the pages for users runs, and prints what is shown."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGES = {"README.md": 30, "kwire/TASKS.md": 6}  # with the least number of Python examples
RUNS = [
    (page, *run)
    for page in PAGES
    for run in re.findall(r"<!-- run: (.*?) -->\n```\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)
]


@pytest.mark.parametrize("page", PAGES)
def test_the_python_examples_run(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, tried = doctest.testfile(str(ROOT / page), module_relative=False, optionflags=flags)
    assert (failed, tried > PAGES[page]) == (0, True)


@pytest.mark.parametrize(("page", "command", "output"), RUNS, ids=[command for _, command, _ in RUNS])
def test_the_commands_print_what_is_shown(page: str, command: str, output: str, tmp_path: Path) -> None:
    assert printed(command, tmp_path) == output


def printed(command: str, folder: Path) -> str:
    """Run a command line in a shell that knows `kwire`; stderr is for people, and not shown."""
    (folder / "kwire").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m kwire "$@"\n', "utf-8")
    (folder / "kwire").chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)}
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout, done.stderr
    return done.stdout


def test_all_tasks_are_there() -> None:
    numbers = re.findall(r"^## (\d+)\. ", (ROOT / "kwire/TASKS.md").read_text("utf-8"), re.MULTILINE)
    assert numbers == [str(number) for number in range(1, 26)]
