"""Runs the command that the first argument names."""

from __future__ import annotations

import argparse
import gc
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import KwireError, suggestion
from .command_table import COMMANDS, import_command
from .exit_codes import end_when_interrupted, report_errors
from .options.parser import Parser, add_command
from .terminal.escaped_output import prepared_streams
from .terminal.remarks import complain

__all__ = ["main"]

DESCRIPTION = """\
kwire decodes and encodes Apache Kafka's wire protocol.

Examples:
  kwire decode dump.pcap                   messages, one line each
  kwire decode dump.pcap --jsonl           one JSON object per line
  kwire decode reply.bin --as Metadata:12  a response without its request
  kwire explain dump.bin                   every byte and its field
  kwire report dump.pcap -o report.html    what a capture contains, one page
  kwire stats dump.pcap                    which clients request what, how often
  kwire cluster dump.pcap                  brokers by rack, partitions, replicas
  kwire cluster :9092                      the same from a live broker
  kwire place dump.pcap                    how evenly replicas are spread
  kwire place :9092 --repair               a plan that repairs rack placement
  kwire encode frames.jsonl -o dump.pcap   JSON back to bytes
  kwire call :9092 Metadata topics:=null   send a request to a broker
  kwire serve                              run a small broker, for tests
  kwire schema Fetch:17                    the fields of Fetch v17
  kwire demo                               a dump of a real broker, explained
"""
START = """\
kwire decodes and encodes Apache Kafka's wire protocol. Try:

  kwire demo              frames of a real broker, every byte explained
  kwire dump.pcap         the messages of a capture, one line each
  kwire browse dump.pcap  the same on the whole screen, with fields and bytes
  kwire decode -          pasted bytes in any form; Ctrl-D ends them
  kwire schema Metadata   the fields of a message
  kwire call :9092 Metadata topics:=null

kwire --help lists all commands, kwire COMMAND --help the options of one, and
kwire help the topics, such as exit-codes and filters.
"""


def parser_for(names: Collection[str] = tuple(COMMANDS)) -> argparse.ArgumentParser:
    """Build the parser.

    Args:
        names: the commands to add with all their options; the others are only listed with their descriptions.
    """
    parser = Parser(
        prog="kwire",
        usage="kwire COMMAND [OPTIONS] [FILE...]",
        description=DESCRIPTION,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and the engine")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, prog="kwire")
    for name, about in COMMANDS.items():
        if name in names:
            command = import_command(name)
            command.add_arguments(add_command(commands, name, about, command.EXAMPLES, command.run))
        else:
            commands.add_parser(name, help=about)
    parser.add_argument(
        "--print-completion", action=_Print, choices=("bash", "zsh", "fish"), help="print a completion script"
    )
    parser.add_argument("--print-manual", action=_Print, nargs=0, help="print the man page: | man -l -")
    return parser


class _Version(argparse.Action):
    """The option --version."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option_string: Any = None) -> None:
        """Print and exit."""
        try:
            from ..codecs.native import ENGINE, MISSING
        except KwireError as error:
            parser.error(str(error))
        print(f"kwire {__version__} (engine: {ENGINE})")
        if MISSING:
            print(f"the native engine, which is several times as fast, is not used: {MISSING}")
        parser.exit()


class _Print(argparse.Action):
    """An option that prints something and exits, like --version."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option_string: Any = None) -> None:
        """Print and exit."""
        from .help.man_page import man_page
        from .help.shell_completion import SCRIPTS

        print(SCRIPTS[values] if values else man_page(parser_for(), __version__), end="")
        parser.exit()


WITH_APIS = ("apis", "call", "check", "decode", "diff", "encode", "explain", "report", "schema", "slice")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        argv: the arguments, without the program's name; by default those of the process.

    Returns:
        The exit code.
    """
    with prepared_streams():
        if argv is None:
            with _few_collections():
                return end_when_interrupted(lambda: _run(sys.argv[1:]))
        return end_when_interrupted(lambda: _run(list(argv)))


@contextmanager
def _few_collections() -> Iterator[None]:
    """Disable garbage collection while modules are imported, and exclude their objects from collection at exit.

    There is no garbage then, and searching for it takes a quarter of the processor time of `kwire stats` on a small
    capture.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _run(arguments: list[str]) -> int:
    if arguments[:1] == ["--complete"] and len(arguments) == 3:
        return _complete(*arguments[1:])
    if len(arguments) == 2 and arguments[0] == "help" and arguments[1] in COMMANDS:
        arguments = [arguments[1], "--help"]
    parser = parser_for(arguments[:1])
    if not arguments:
        is_at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        print(START if is_at_terminal else parser.format_help(), end="")
        return 0 if is_at_terminal else 2
    if complaint := _find_misplaced(parser, arguments[0]):
        complain(*complaint)
        return 2
    if arguments[0] not in COMMANDS and (arguments[0] == "-" or not arguments[0].startswith("-")):
        arguments.insert(0, "decode")  # kwire FILE
        parser = parser_for(["decode"])
    try:
        options = parser.parse_args(with_versions(arguments))
    except SystemExit as stop:
        return int(stop.code or 0)
    return report_errors(lambda: _run_parsed(options))


def _run_parsed(options: argparse.Namespace) -> int:
    """Run the command that the options name, with garbage collection enabled except for objects made at start-up."""
    if not gc.isenabled():  # see `_few_collections`
        gc.freeze()
        gc.enable()
    code: int = options.run(options)
    sys.stdout.flush()
    return code


def _complete(shell: str, line: str) -> int:
    """Print the completions that a script of `kwire --print-completion` asks for."""
    from .help.shell_completion import complete

    named = [word for word in line.split() if word in COMMANDS]
    for word in complete(shell, line, parser_for(named or ["decode"])):
        print(word)
    return 0


def with_versions(arguments: list[str]) -> list[str]:
    """Join `fetch v12` to `fetch:12`: the name of an api or message, followed by a version that is not also a file.

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


def _find_misplaced(parser: argparse.ArgumentParser, word: str) -> tuple[str, str] | None:
    """Return the error for a first word that is not a command, a file or an option of kwire itself."""
    if word.startswith("--"):
        if any(option.startswith(word.partition("=")[0]) for option in parser._option_string_actions):
            return None
        hint = f"write it after the command: kwire decode {word} FILE; kwire --help lists the commands"
        return f"there is no option {word} before a command", hint
    if word not in COMMANDS and not Path(word).exists() and suggestion(word, COMMANDS):
        return f"there is no command {word!r}; {suggestion(word, COMMANDS)}", ""
    return None
