"""Reads argv, runs one command, and turns every error into a line and an exit code.

`kwire help exit-codes` lists the exit codes. Modules of commands are imported when they run, so that --help is quick.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..errors import DecodeError, EncodeError, KwireError, suggestion
from .commands import COMMANDS, START, parser_for
from .terminal import complain, prepare_streams

WITH_APIS = ("apis", "call", "check", "decode", "diff", "encode", "explain", "report", "schema", "slice")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        argv: the arguments, without the program's name; those of the process unless given.

    Returns:
        The exit code.
    """
    prepare_streams()
    if argv is None:
        with _few_collections():
            return _guarded(sys.argv[1:])
    return _guarded(list(argv))


@contextmanager
def _few_collections() -> Iterator[None]:
    """Collect no garbage while modules are imported nor, of what is left then, at the end of the process.

    There is none, and looking for it is a quarter of the processor time of `kwire stats` of a small capture.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _guarded(arguments: list[str]) -> int:
    """Run the command; end as is usual where its reader is gone, or Ctrl-C was pressed."""
    try:
        is_completion = arguments[:1] == ["--complete"] and len(arguments) == 3
        return _complete(*arguments[1:]) if is_completion else _run(arguments)
    except BrokenPipeError:
        # The reader of the pipe has closed it; nothing may be written any more, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130


def _run(arguments: list[str]) -> int:
    parser = parser_for(arguments[:1])
    if not arguments:
        is_at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        print(START if is_at_terminal else parser.format_help(), end="")
        return 0 if is_at_terminal else 2
    if complaint := _misplaced(parser, arguments[0]):
        complain(*complaint)
        return 2
    if arguments[0] not in COMMANDS and (arguments[0] == "-" or not arguments[0].startswith("-")):
        arguments.insert(0, "decode")  # kwire FILE
        parser = parser_for(["decode"])
    try:
        options = parser.parse_args(with_versions(arguments))
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        return _carried_out(options)
    except KwireError as error:
        complain(str(error), error.hint if error.hint not in str(error) else "", getattr(error, "__notes__", ()))
        return 1 if isinstance(error, EncodeError | DecodeError) else 2
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        complain(f"{error.filename or ''}: {error.strerror or error}".removeprefix(": "))
        return 2


def _carried_out(options: argparse.Namespace) -> int:
    """Run the command that options name; garbage is collected again, though not among what start-up has made."""
    if not gc.isenabled():  # see `_few_collections`
        gc.freeze()
        gc.enable()
    code: int = options.run(options)
    sys.stdout.flush()
    return code


def _complete(shell: str, line: str) -> int:
    """Answer a script of `kwire --print-completion`."""
    from .completion import complete

    named = [word for word in line.split() if word in COMMANDS]
    for word in complete(shell, line, parser_for(named or ["decode"])):
        print(word)
    return 0


def with_versions(arguments: list[str]) -> list[str]:
    """Read `fetch v12` as `fetch:12`: a name of an api or message, and a word that is a version and no file.

    >>> with_versions(["schema", "fetch", "v12", "3", "v1"])
    ['schema', 'fetch:12', '3:1']
    """
    joined = arguments[:1]
    for word in arguments[1:]:
        is_version = re.fullmatch(r"v\d{1,5}", word) and not Path(word).exists()
        if is_version and len(joined) > 1 and re.fullmatch(r"[A-Za-z][A-Za-z_-]*|\d{1,5}", joined[-1]):
            joined[-1] += f":{word[1:]}"
        else:
            joined.append(word)
    return joined if arguments[0] in WITH_APIS else arguments


def _misplaced(parser: argparse.ArgumentParser, word: str) -> tuple[str, str] | None:
    """Say what is wrong with a first word that is no command, no file and no option of kwire itself."""
    if word.startswith("--"):
        if any(option.startswith(word.partition("=")[0]) for option in parser._option_string_actions):
            return None
        hint = f"write it behind the command: kwire decode {word} FILE; kwire --help lists the commands"
        return f"there is no option {word} in front of a command", hint
    if word not in COMMANDS and not Path(word).exists() and suggestion(word, COMMANDS):
        return f"there is no command {word!r}; {suggestion(word, COMMANDS)}", ""
    return None
