"""The command line's grammar: commands, options, and help that begins with examples."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import Any

from .. import __version__

DESCRIPTION = """\
kwire: Kafka's wire protocol, both ways.

Examples:
  kwire decode dump.bin                   messages of a dump, as trees
  kwire decode dump.bin --jsonl           one JSON object a line
  tail -c 49 x | kwire decode -           from standard input
  kwire decode reply.bin --as Metadata:12 a response without its request
  kwire explain dump.bin                  every byte, and the field it is
  kwire report dump.bin -o report.html    what is in it, as one page
  kwire encode frames.jsonl -o dump.bin   JSON back to bytes
  kwire schema Fetch:17                   its fields, and what they mean
  kwire diff Metadata:9 Metadata:12       what changed between two versions
  kwire apis --release 2.8                which versions a release speaks
  kwire errors 56                         what an error code means
  kwire spec check MyRequest.json         is this message spec valid?
  kwire demo                              a dump of a real broker, explained
"""
COMMANDS = ("decode", "explain", "report", "encode", "schema", "diff", "apis", "errors", "spec", "demo")


class Parser(argparse.ArgumentParser):
    """A parser whose help begins with the examples, not with the grammar."""

    def format_help(self) -> str:
        """Write description and examples, then usage, then the options."""
        formatter = self._get_formatter()
        formatter.add_text(self.description)
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        for group in self._action_groups:
            formatter.start_section(group.title)
            formatter.add_arguments(group._group_actions)
            formatter.end_section()
        return formatter.format_help()


def parser_for() -> argparse.ArgumentParser:
    """Build the parser. Each command's `run` imports what it needs when it is called."""
    parser = Parser(
        prog="kwire",
        usage="kwire COMMAND [OPTIONS] [FILE...]",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"kwire {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, prog="kwire")
    _decode(commands)
    _explain(commands)
    _report(commands)
    _encode(commands)
    _schema(commands)
    _diff(commands)
    _apis(commands)
    _errors(commands)
    _spec(commands)
    _demo(commands)
    return parser


def _command(commands: Any, name: str, about: str, examples: str, run: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=about,
        description=f"{about[:1].upper()}{about[1:]}.\n\nExamples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=_lazy(run))
    return parser


def _lazy(target: str) -> Callable[[argparse.Namespace], int]:
    def run(options: argparse.Namespace) -> int:
        room, function = target.split(":")
        code: int = getattr(import_module(f".{room}", __package__), function)(options)
        return code

    return run


def _decode(commands: Any) -> None:
    parser = _command(
        commands,
        "decode",
        "turn the frames of dumps into words",
        "  kwire decode dump.bin\n"
        "  kwire decode - --jsonl < dump.bin\n"
        "  kwire decode --hex '00000010 0012 0000 0000002a 00056b77697265 00'\n"
        "  kwire decode body.bin --body --as FetchRequest:12\n",
        "decode:decode",
    )
    _inputs(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON array, indented")
    form.add_argument("--jsonl", action="store_true", help="one JSON object a line, as each frame is read")
    parser.add_argument("--strict", action="store_true", help="refuse what Kafka tolerates, instead of noting it")
    _colour(parser)


def _explain(commands: Any) -> None:
    parser = _command(
        commands,
        "explain",
        "show every byte of a dump and the field it belongs to",
        "  kwire explain dump.bin\n"
        "  kwire explain --html -o page.html dump.bin     for a browser\n"
        '  kwire explain --fixture --writer "Apache Kafka 3.9.2" dump.bin > fixture.hex\n'
        "  kwire explain --fixture --in-place fixture.hex\n",
        "explain:explain",
    )
    _inputs(parser)
    parser.add_argument("--no-types", action="store_true", help="leave out the wire types")
    parser.add_argument("--html", action="store_true", help="write one page for a browser, which needs no network")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="for --html: where to write; standard output unless given"
    )
    parser.add_argument("--fixture", action="store_true", help="write a golden fixture (of the only frame)")
    parser.add_argument("--writer", metavar="WHO", help="for --fixture: who wrote the bytes; never kwire")
    parser.add_argument("--in-place", action="store_true", help="for --fixture: annotate fixture files anew")
    _colour(parser)


def _report(commands: Any) -> None:
    parser = _command(
        commands,
        "report",
        "write what is in dumps as one HTML file: timeline, versions, latency, errors",
        "  kwire report dump.bin -o report.html\n  kwire report - < dump.bin > report.html\n",
        "report:report",
    )
    _inputs(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write; standard output unless given")


def _encode(commands: Any) -> None:
    parser = _command(
        commands,
        "encode",
        "turn JSON into bytes",
        "  kwire encode frames.jsonl -o dump.bin     what decode --jsonl or --json wrote\n"
        "  kwire encode --template Metadata:12       JSON to start from\n"
        "  kwire encode body.json --as MetadataRequest:12 --hex     a payload alone\n",
        "encode:encode",
    )
    parser.add_argument("file", nargs="?", default="-", help="JSON of frames, or of a payload; - is standard input")
    parser.add_argument("--as", dest="named", metavar="NAME:VERSION", help="the JSON is a payload of this message")
    parser.add_argument("--template", metavar="NAME:VERSION", help="print JSON to start from, and encode nothing")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write; standard output unless given")
    parser.add_argument("--hex", action="store_true", help="write hex text instead of raw bytes")
    _profile(parser)


def _schema(commands: Any) -> None:
    parser = _command(
        commands,
        "schema",
        "show the fields of messages",
        "  kwire schema Fetch:17\n  kwire schema MetadataResponse --bnf\n  kwire schema Metadata:12 --json | jq .\n",
        "lookup:schema",
    )
    parser.add_argument("names", nargs="+", metavar="NAME[:VERSION]", help="an api or a message; the newest version")
    for form, about in (("bnf", "as a grammar"), ("json", "as JSON"), ("markdown", "as a Markdown table")):
        parser.add_argument(f"--{form}", dest="form", action="store_const", const=form, help=about)
    _profile(parser)
    _colour(parser)


def _diff(commands: Any) -> None:
    parser = _command(
        commands,
        "diff",
        "show what differs between two versions or two releases",
        "  kwire diff Metadata:9 Metadata:12\n  kwire diff --release 3.9 4.4\n  kwire diff --release 3.9 4.4 Fetch\n",
        "lookup:diff",
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME[:VERSION]", help="two messages or apis; with --release one api"
    )
    parser.add_argument("--release", nargs=2, metavar=("A", "B"), help="two Kafka releases")
    _profile(parser)
    _colour(parser)


def _apis(commands: Any) -> None:
    parser = _command(
        commands,
        "apis",
        "list apis and their versions",
        "  kwire apis fetch\n  kwire apis --release 2.8\n",
        "lookup:apis",
    )
    parser.add_argument("names", nargs="*", metavar="API", help="a key, a name, or a part of one; all unless told")
    parser.add_argument("--release", help="the versions that this Kafka release speaks")


def _errors(commands: Any) -> None:
    parser = _command(
        commands, "errors", "say what error codes mean", "  kwire errors 56\n  kwire errors leader\n", "lookup:errors"
    )
    parser.add_argument("names", nargs="*", metavar="CODE", help="a number, a name, or a part of one; all unless told")


def _spec(commands: Any) -> None:
    parser = commands.add_parser("spec", help="work on JSON message specs")
    actions = parser.add_subparsers(metavar="ACTION", required=True, prog="kwire spec")
    check = _command(
        actions,
        "check",
        "say whether message specs are valid, and what to write instead",
        "  kwire spec check MetadataRequest.json\n"
        "  kwire spec check ~/kafka/clients/src/main/resources/common/message\n",
        "spec:check",
    )
    check.add_argument("files", nargs="+", metavar="FILE", help="spec files, or folders of them")


def _demo(commands: Any) -> None:
    parser = _command(commands, "demo", "explain a bundled dump of a real broker", "  kwire demo\n", "demo:demo")
    _colour(parser)


def _inputs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="*", metavar="FILE", help="raw frames, hex text or a fixture; - is stdin")
    parser.add_argument("--hex", metavar="TEXT", help="hex text on the command line, in any form that files have")
    parser.add_argument(
        "--as",
        dest="named",
        metavar="API:VERSION",
        help="what a response answers that has no request before it, such as Metadata:12; with --body the message",
    )
    parser.add_argument("--body", action="store_true", help="the input is one body, without size and header")
    _profile(parser)


def _profile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--profile", help="read as this KIP proposed: KIP-36, KIP-112 or KIP-879")
    parser.add_argument("--schemas", metavar="DIR", help="specs of your own, or a Kafka checkout, in front of ours")


def _colour(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="auto: on a terminal")
