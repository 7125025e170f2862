"""Every example of README.md and docs/ runs, and prints what is shown; links and commands that pages name exist."""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kwire.broker.server.control import OPERATIONS
from kwire.cli.command_table import COMMANDS
from kwire.cli.main import parser_for
from tests.cases import case_by_case
from tests.commands import CommandRunner
from tests.conftest import ROOT
from tests.docs.pages import PAGES, blocks_of, folder_for, text_of

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
LANGUAGES = {"python", "console", "sh", "text", "go", "js", "java"}
PROGRAMS = {"client.py", "proxy.py", "conftest.py"}  # they run in test_programs.py; pytest reads the last
SLOW = {
    "docs/tutorials/test-your-service.md",  # runs pytest with real clients, which wait; recipes-for-tests.md is like it
    "docs/how-to/simulate-brokers.md",  # simulates hundreds of histories, as tests/testing does
}
SPARK = "kwire.spark.register(spark)"  # what begins so runs in tests/spark/test_documented_lines.py
# Commands that install, need root, a network, Spark or a browser; what of them is kwire's is parsed below.
NOT_RUN = re.compile(
    r"pip install|git clone|python3 dev\.py|cd kwire|tcpdump|tshark|kwire|\.venv/bin/|\. \.venv|hatchling|#"
)


GENERATED = ("commands.md", "configs.md", "errors.md", "messages.md")


def test_there_are_as_many_examples_as_ever() -> None:
    blocks = [block for page in PAGES for block in blocks_of(page)]
    assert sum(block.text.count("\n>>> ") + block.text.startswith(">>> ") for block in blocks) >= 60
    assert sum(block.text.count("\n$ ") + block.text.startswith("$ ") for block in blocks) >= 40


@case_by_case("page", PAGES)
def test_every_block_says_what_it_is(page: str) -> None:
    assert text_of(page).count("\n```") == 2 * len(blocks_of(page))
    shown = "\n".join(block.text for block in blocks_of(page) if block.language == "console")
    for block in blocks_of(page):
        assert block.language in LANGUAGES, block
        if block.language == "python":
            is_run = block.program in PROGRAMS or (block.program and block.program in shown)
            assert is_run or block.text.startswith((">>> ", SPARK)), block
        if block.language == "console":
            assert block.text.startswith("$ "), block
        if block.language == "sh":
            assert all(NOT_RUN.match(line) for line in block.text.splitlines() if line.strip()), block


def with_examples() -> list[Any]:
    pages = [page for page in PAGES if any(block.language in ("python", "console") for block in blocks_of(page))]
    return [pytest.param(page, marks=[pytest.mark.ci] * (page in SLOW)) for page in pages]


@pytest.mark.parametrize("page", with_examples())
def test_the_examples_run(
    page: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command_runner: CommandRunner
) -> None:
    folder = folder_for(page, tmp_path)
    shell = Shell(folder, command_runner)
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    for block in blocks_of(page):
        if block.language == "python" and block.text.startswith(">>> "):
            test = doctest.DocTestParser().get_doctest(block.text, names, page, page, block.line)
            printed = io.StringIO()
            runner = doctest.DocTestRunner(optionflags=FLAGS)
            runner.run(test, out=printed.write, clear_globs=False)
            assert runner.failures == 0, printed.getvalue()
            names = test.globs
        elif block.language == "console":
            for command, output in commands_in(block.text):
                shell.check(command, output)


def commands_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a console block, each with what it prints."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        found = re.match(r"((?:[^\n]*\\\n)*[^\n]*)\n(.*)", part, re.DOTALL)
        assert found
        yield found[1], found[2]


class Shell:
    """Runs command lines as a shell that knows `kwire`; remarks for people, on stderr, are not shown."""

    def __init__(self, folder: Path, runner: CommandRunner) -> None:
        self.folder, self.runner = folder, runner
        scripts = folder / "bin"
        scripts.mkdir()
        for name in ("kwire", "pytest"):
            line = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m {name} "$@"\n'
            (scripts / name).write_text(line, "utf-8")
            (scripts / name).chmod(0o755)
        path = os.pathsep.join([str(scripts), str(Path(sys.executable).parent), os.environ["PATH"]])
        own = {"PATH": path, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder), "NO_COLOR": "1"}
        self.environment = {**os.environ, **own}
        self.environment.pop("PYTEST_ADDOPTS", None)

    def check(self, command: str, expected: str) -> None:
        """Run a command line, and compare what it prints."""
        data, code, said = b"", 0, b""
        for part in parts_of(command):
            words = words_of(part)
            if words is None:
                shell = ["bash", "-c", part]
                done = subprocess.run(shell, cwd=self.folder, env=self.environment, input=data, capture_output=True)
            else:
                done = self.runner.run(words, self.folder, self.environment, data)
            data, code, said = done.stdout, done.returncode, said + done.stderr
        printed = data.decode()
        assert doctest.OutputChecker().check_output(expected, printed, doctest.ELLIPSIS), (command, printed, said)
        assert code in ((0, 1) if expected else (0,)), (command, code, said)


def parts_of(command: str) -> list[str]:
    """Return the commands of a pipeline; a line with other syntax of the shell is one command.

    >>> parts_of("kwire decode - --where 'a | b' | head -n 1")
    ["kwire decode - --where 'a | b'", 'head -n 1']
    """
    scanner = re.compile(r"'[^']*'|\"[^\"]*\"|\\.|[^|]", re.DOTALL)
    parts, start = [], 0
    while start < len(command):
        end = start
        while found := scanner.match(command, end):
            end = found.end()
        parts.append(command[start:end].strip())
        start = end + 1
    return parts if not re.search(r"[;<>&$]", re.sub(r"'[^']*'", "", command)) else [command]


def words_of(command: str) -> list[str] | None:
    """Return the arguments of a command `kwire`; None for any other, and for what a shell must expand."""
    if not command.startswith("kwire ") or re.search(r"[;<>&$|*?`]", re.sub(r"'[^']*'", "", command)):
        return None
    return shlex.split(command)[1:]


def test_some_examples_run_in_a_process_of_their_own() -> None:
    commands = [
        command
        for page in PAGES
        for block in blocks_of(page)
        if block.language == "console"
        for command, _ in commands_in(block.text)
    ]
    parts = [part for command in commands for part in parts_of(command) if "kwire " in part]
    assert 2 <= sum(words_of(part) is None for part in parts) <= 10


@case_by_case("page", PAGES)
def test_the_commands_that_a_page_names_exist(page: str) -> None:
    parser = parser_for()
    shown = [line for block in blocks_of(page) if block.language == "sh" for line in block.text.splitlines()]
    inline = re.findall(r"`(kwire [a-z][^`\n]*)`", text_of(page).replace("\\|", "|"))
    for line in [*inline, *(line for line in shown if line.startswith("kwire "))]:
        words = shlex.split(re.split(r" [|#>]", line)[0].replace("..", "00"), comments=True)[1:]
        if words[0] in COMMANDS and words[1:] == []:
            continue  # the name of a command
        with contextlib.redirect_stderr(io.StringIO()) as said:
            try:
                parser.parse_args(words)
            except SystemExit as end:
                assert end.code == 0, (line, said.getvalue())


def test_tests_in_other_languages_start_brokers_with_options_that_exist() -> None:
    blocks = [block for page in PAGES for block in blocks_of(page) if block.language in ("go", "js", "java")]
    assert len(blocks) == 3
    for block in blocks:
        (words,) = re.findall(r'"kwire", \[?("serve".*?)[\])]', block.text)
        options = parser_for().parse_args(re.findall(r'"(.*?)"', words))
        assert (options.listen, options.control, options.json) == (":0", 0, True)
        for operation in re.findall(r'(?:\+"/|ask\(")(\w+)"', block.text):
            assert operation in OPERATIONS, operation


@case_by_case("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text_of(page)):
        if not link.startswith("https://"):
            target = (ROOT / page).parent / link
            assert target.is_file() or link.endswith(GENERATED), link


def test_all_tasks_are_there() -> None:
    numbers = re.findall(r"^## (\d+)\. ", text_of("docs/how-to/tasks.md"), re.MULTILINE)
    assert numbers == [str(number) for number in range(1, 27)]


def test_the_readme_is_short() -> None:
    assert text_of("README.md").count("\n") <= 150
