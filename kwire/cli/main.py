"""Runs a command of the command table, and converts every error into a message and an exit code.

Each command is a module with its parser and its implementation. A module is imported only when its command runs or
shows its options, so that `kwire --help` is quick. `kwire help exit-codes` lists the exit codes.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from .. import __version__
from ..errors import DecodeError, EncodeError, KwireError, suggestion
from .options.parser import Parser
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
AddParser = Callable[[Any, str], None]


class Command(NamedTuple):
    """A short description of a command, and a function that imports and returns the one that adds it."""

    about: str
    load: Callable[[], AddParser]


def _decode() -> AddParser:
    from .commands.decode import add_parser

    return add_parser


def _explain() -> AddParser:
    from .commands.explain import add_explain

    return add_explain


def _report() -> AddParser:
    from .commands.report import add_parser

    return add_parser


def _encode() -> AddParser:
    from .commands.encode import add_encode

    return add_encode


def _check() -> AddParser:
    from .commands.check import add_check

    return add_check


def _stats() -> AddParser:
    from .commands.stats import add_parser

    return add_parser


def _cluster() -> AddParser:
    from .commands.cluster import add_parser

    return add_parser


def _assign() -> AddParser:
    from .commands.assign import add_parser

    return add_parser


def _simulate() -> AddParser:
    from .commands.simulate import add_parser

    return add_parser


def _place() -> AddParser:
    from .commands.place import add_parser

    return add_parser


def _redact() -> AddParser:
    from .commands.redact import add_redact

    return add_redact


def _slice() -> AddParser:
    from .commands.slice import add_slice

    return add_slice


def _browse() -> AddParser:
    from .commands.browse import add_parser

    return add_parser


def _pipeline() -> AddParser:
    from .commands.pipeline import add_parser

    return add_parser


def _call() -> AddParser:
    from .commands.call import add_call

    return add_call


def _proxy() -> AddParser:
    from .commands.proxy import add_parser

    return add_parser


def _serve() -> AddParser:
    from .commands.serve import add_parser

    return add_parser


def _schema() -> AddParser:
    from .commands.schema import add_schema

    return add_schema


def _diff() -> AddParser:
    from .commands.diff import add_diff

    return add_diff


def _apis() -> AddParser:
    from .commands.apis import add_apis

    return add_apis


def _errors() -> AddParser:
    from .commands.errors import add_errors

    return add_errors


def _spec() -> AddParser:
    from .commands.spec import add_spec

    return add_spec


def _mcp() -> AddParser:
    from .commands.mcp import add_parser

    return add_parser


def _demo() -> AddParser:
    from .commands.demo import add_demo

    return add_demo


def _help() -> AddParser:
    from .commands.help import add_parser

    return add_parser


COMMANDS: dict[str, Command] = {
    "decode": Command("decode the frames of captures and other dumps", _decode),
    "explain": Command("show every byte of a dump and the field it belongs to", _explain),
    "browse": Command("browse frames, their fields and bytes in the terminal", _browse),
    "report": Command("write a report on dumps as one HTML page", _report),
    "encode": Command("encode JSON to bytes", _encode),
    "check": Command("check that frames encode to the same bytes", _check),
    "stats": Command("count frames by client, api, version and more", _stats),
    "cluster": Command("show brokers by rack and partitions, from dumps or a live broker", _cluster),
    "assign": Command("compute the assignment of consumer assignors for a group", _assign),
    "simulate": Command("simulate disk failures in a cluster, and write the capture", _simulate),
    "place": Command("place replicas over racks", _place),
    "redact": Command("remove payloads, secrets and names from dumps", _redact),
    "slice": Command("write selected frames of a capture to a new capture", _slice),
    "pipeline": Command("convert captures to Parquet on Spark, with the history of clusters", _pipeline),
    "call": Command("send one request to a broker, and show the response", _call),
    "proxy": Command("run a proxy between clients and brokers that shows messages", _proxy),
    "serve": Command("run one or more small brokers for tests", _serve),
    "schema": Command("show the fields of messages", _schema),
    "diff": Command("show differences of versions, releases or dumps", _diff),
    "apis": Command("list apis and their versions", _apis),
    "errors": Command("explain error codes", _errors),
    "spec": Command("work on JSON message specs", _spec),
    "mcp": Command("serve captures to an assistant (Model Context Protocol)", _mcp),
    "demo": Command("explain a bundled dump of a real broker", _demo),
    "help": Command("explain a topic, such as exit-codes or filters", _help),
}


def parser_for(names: Collection[str] = tuple(COMMANDS)) -> argparse.ArgumentParser:
    """Build the parser.

    Args:
        names: the commands to add with all their options; the others are only listed with their descriptions.
    """
    parser = Parser(
        prog="kwire",
        usage="kwire COMMAND [OPTIONS] [FILE...]",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and the engine")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, prog="kwire")
    for name, command in COMMANDS.items():
        if name in names:
            command.load()(commands, command.about)
        else:
            commands.add_parser(name, help=command.about)
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
                return _guarded(sys.argv[1:])
        return _guarded(list(argv))


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


def _guarded(arguments: list[str]) -> int:
    """Run the command; exit as is usual for a closed pipe or for Ctrl-C."""
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
    parser = parser_for(arguments[: 2 if arguments[:1] == ["help"] else 1])  # kwire help COMMAND
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


def _misplaced(parser: argparse.ArgumentParser, word: str) -> tuple[str, str] | None:
    """Return the error for a first word that is not a command, a file or an option of kwire itself."""
    if word.startswith("--"):
        if any(option.startswith(word.partition("=")[0]) for option in parser._option_string_actions):
            return None
        hint = f"write it after the command: kwire decode {word} FILE; kwire --help lists the commands"
        return f"there is no option {word} before a command", hint
    if word not in COMMANDS and not Path(word).exists() and suggestion(word, COMMANDS):
        return f"there is no command {word!r}; {suggestion(word, COMMANDS)}", ""
    return None
