"""The command line's grammar: commands, options, and help that begins with examples."""

from __future__ import annotations

import argparse
from typing import Any

from . import brokers, questions
from .grammar import Parser, colour, command, inputs, profile, raw, secrets
from .help import ShowVersion, add_help

DESCRIPTION = """\
kwire decodes and encodes Apache Kafka's wire protocol.

Examples:
  kwire decode dump.pcap                  messages, a line each
  kwire decode dump.pcap --jsonl          one JSON object a line
  kwire decode reply.bin --as Metadata:12 a response without its request
  kwire explain dump.bin                  every byte, and the field it is
  kwire report dump.pcap -o report.html   what is in it, as one page
  kwire stats dump.pcap                   who asks for what, how often
  kwire cluster dump.pcap                 brokers by rack, partitions, replicas
  kwire cluster :9092                     the same of a live broker
  kwire place --from dump.pcap            how evenly they are placed
  kwire encode frames.jsonl -o dump.pcap  JSON back to bytes
  kwire call :9092 Metadata topics:=null  ask a broker
  kwire serve                             run a small broker, for tests
  kwire schema Fetch:17                   its fields, and what they mean
  kwire demo                              a dump of a real broker, explained
"""
COMMANDS = (
    "decode",
    "explain",
    "report",
    "encode",
    "check",
    "stats",
    "cluster",
    "place",
    "redact",
    "pipeline",
    "call",
    "proxy",
    "serve",
    "schema",
    "diff",
    "apis",
    "errors",
    "spec",
    "demo",
    "help",
)


def parser_for() -> argparse.ArgumentParser:
    """Build the parser. Each command's `run` imports what it needs when it is called."""
    parser = Parser(
        prog="kwire",
        usage="kwire COMMAND [OPTIONS] [FILE...]",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=ShowVersion, nargs=0, help="print the version, and which engine decodes")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, prog="kwire")
    _decode(commands)
    _explain(commands)
    _report(commands)
    _encode(commands)
    _check(commands)
    questions.stats(commands)
    questions.cluster(commands)
    questions.place(commands)
    questions.redact(commands)
    questions.pipeline(commands)
    brokers.call(commands)
    brokers.proxy(commands)
    brokers.serve(commands)
    _schema(commands)
    _diff(commands)
    _apis(commands)
    _errors(commands)
    _spec(commands)
    _demo(commands)
    add_help(parser, commands)
    return parser


def _decode(commands: Any) -> None:
    parser = command(
        commands,
        "decode",
        "decode the frames of captures and other dumps",
        "  kwire decode dump.bin                     a line a frame\n"
        "  kwire decode dump.bin -v --api Metadata   trees, of one api\n"
        "  kwire decode - --jsonl < dump.bin         JSON lines, for jq\n"
        "  kwire decode *.pcap --parquet tables      for polars, DuckDB, Spark\n"
        "  kwire decode --hex '00000010 0012 0000 0000002a 00056b77697265 00'\n"
        "  kwire decode reply.bin --guess            what could it be?\n"
        "\nA line: time (UTC) or frame number, -> to the broker or <- back, api:version,\n"
        "#correlation id, size, client id, !errors, topics.\n",
        "decode:decode",
    )
    inputs(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON array, indented")
    form.add_argument("--jsonl", action="store_true", help="one JSON object a line, as each frame is read")
    parser.add_argument("--strict", action="store_true", help="refuse what Kafka tolerates, instead of noting it")
    form.add_argument(
        "-v", "--verbose", action="store_true", help="trees with all fields; one frame is shown so anyway"
    )
    form.add_argument("--parquet", metavar="DIR", help="a table, one row a frame, as DIR/frames.parquet")
    form.add_argument("--guess", action="store_true", help="list every message and version that a frame could be")
    _filters(parser)
    parser.add_argument("--no-pager", action="store_true", help="print long output as it is")
    colour(parser)


def _filters(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("which frames")
    group.add_argument("--api", action="append", metavar="NAME[:VERSION]", help="of this api; may be repeated")
    group.add_argument("--client", metavar="GLOB", help="of clients whose id is like this, such as 'app-*'")
    group.add_argument("--conn", metavar="IP[:PORT]", help="of connections with this end")
    group.add_argument("--errors", action="store_true", help="with an error code, or undecodable")
    group.add_argument("--from", dest="since", metavar="WHEN", help="from a time (ISO, seconds) or frame number on")
    group.add_argument("--to", dest="until", metavar="WHEN", help="up to a time or frame number")


def _explain(commands: Any) -> None:
    parser = command(
        commands,
        "explain",
        "show every byte of a dump and the field it belongs to",
        "  kwire explain dump.bin\n"
        "  kwire explain --html -o page.html dump.bin     for a browser\n"
        '  kwire explain --fixture --writer "Apache Kafka 3.9.2" dump.bin > fixture.hex\n'
        "  kwire explain --fixture --in-place fixture.hex\n",
        "explain:explain",
    )
    inputs(parser)
    parser.add_argument("--no-types", action="store_true", help="leave out the wire types")
    parser.add_argument("--html", action="store_true", help="write one page for a browser, which needs no network")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="for --html: where to write; standard output unless given"
    )
    parser.add_argument("--fixture", action="store_true", help="write a golden fixture (of the only frame)")
    parser.add_argument("--writer", metavar="WHO", help="for --fixture: who wrote the bytes; never kwire")
    parser.add_argument("--in-place", action="store_true", help="for --fixture: annotate fixture files anew")
    colour(parser)


def _report(commands: Any) -> None:
    parser = command(
        commands,
        "report",
        "write what is in dumps as one HTML page",
        "  kwire report dump.bin -o report.html\n  kwire report - < dump.bin > report.html\n",
        "report:report",
    )
    inputs(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write; standard output unless given")


def _encode(commands: Any) -> None:
    parser = command(
        commands,
        "encode",
        "turn JSON into bytes",
        "  kwire encode frames.jsonl -o dump.pcap    what decode --jsonl or --json wrote\n"
        "  kwire encode broker.log -o dump.pcap      a log of requests in JSON\n"
        "  kwire encode --template Metadata:12       JSON to start from\n"
        "  kwire encode body.json --as MetadataRequest:12 --hex     a payload alone\n"
        "\nWhere the input names connections (JSON of a capture, a log of a broker), a\n"
        "capture is written, else raw frames, whatever the name of the output. Lines that\n"
        "cannot be encoded are named and skipped; exit code 1.\n",
        "encode:encode",
    )
    parser.add_argument("file", nargs="?", help="JSON of frames, a log of requests, or a payload; - is stdin")
    parser.add_argument("--as", dest="named", metavar="NAME:VERSION", help="the JSON is a payload of this message")
    parser.add_argument("--template", metavar="NAME:VERSION", help="print JSON to start from, and encode nothing")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write; standard output unless given")
    parser.add_argument("--hex", action="store_true", help="write hex text of raw frames")
    raw(parser)
    profile(parser)


def _check(commands: Any) -> None:
    parser = command(
        commands,
        "check",
        "say whether frames encode to what they were",
        "  kwire check dump.bin\n  kwire check --json a.bin b.hex\n",
        "check:check",
    )
    inputs(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object, with every difference")


def _schema(commands: Any) -> None:
    parser = command(
        commands,
        "schema",
        "show the fields of messages",
        "  kwire schema Fetch:17\n  kwire schema MetadataResponse --bnf\n  kwire schema Metadata:12 --json | jq .\n"
        "  kwire schema MetadataResponse:12 --source\n",
        "lookup:schema",
    )
    parser.add_argument("names", nargs="+", metavar="NAME[:VERSION]", help="an api or a message; the newest version")
    forms = parser.add_mutually_exclusive_group()
    for form, about in (
        ("bnf", "as a grammar"),
        ("json", "as JSON"),
        ("markdown", "as a Markdown table"),
        ("source", "as the Python that decodes and encodes it"),
    ):
        forms.add_argument(f"--{form}", dest="form", action="store_const", const=form, help=about)
    profile(parser)
    colour(parser)


def _diff(commands: Any) -> None:
    parser = command(
        commands,
        "diff",
        "show what differs: versions, releases, dumps",
        "  kwire diff Metadata:9 Metadata:12\n  kwire diff one.bin two.bin\n"
        "  kwire diff --release 3.9 4.4\n  kwire diff --release 3.9 4.4 Fetch\n",
        "lookup:diff",
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME[:VERSION]",
        help="two messages or apis, or two files; with --release one api",
    )
    parser.add_argument("--release", nargs=2, metavar=("A", "B"), help="two Kafka releases")
    secrets(parser)
    profile(parser)
    colour(parser)


def _apis(commands: Any) -> None:
    parser = command(
        commands,
        "apis",
        "list apis and their versions",
        "  kwire apis fetch\n  kwire apis --release 2.8\n",
        "lookup:apis",
    )
    parser.add_argument("names", nargs="*", metavar="API", help="a key, a name, or a part of one; all unless told")
    parser.add_argument("--release", help="the versions that this Kafka release speaks")


def _errors(commands: Any) -> None:
    parser = command(
        commands, "errors", "say what error codes mean", "  kwire errors 56\n  kwire errors leader\n", "lookup:errors"
    )
    parser.add_argument("names", nargs="*", metavar="CODE", help="a number, a name, or a part of one; all unless told")


def _spec(commands: Any) -> None:
    parser = commands.add_parser("spec", help="work on JSON message specs")
    actions = parser.add_subparsers(metavar="ACTION", required=True, prog="kwire spec")
    check = command(
        actions,
        "check",
        "say whether message specs are valid, and what to write instead",
        "  kwire spec check MetadataRequest.json\n"
        "  kwire spec check ~/kafka/clients/src/main/resources/common/message\n",
        "spec:check",
    )
    check.add_argument("files", nargs="+", metavar="FILE", help="spec files, or folders of them")


def _demo(commands: Any) -> None:
    parser = command(commands, "demo", "explain a bundled dump of a real broker", "  kwire demo\n", "demo:demo")
    colour(parser)
