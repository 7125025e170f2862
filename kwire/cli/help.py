"""`kwire help`: topics that concern several commands; the man page."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import UnknownMessage
from .options import add_command


def add_parser(commands: Any, about: str) -> None:
    """Add the command and its options."""
    examples = "  kwire help\n  kwire help exit-codes\n  kwire help decode       the same as kwire decode --help\n"
    parser = add_command(commands, "help", about, examples, explain_topic)
    parser.set_defaults(commands=commands)
    parser.add_argument("topic", nargs="?", metavar="TOPIC", help=f"a command, or one of {', '.join(TOPICS)}")


def explain_topic(options: argparse.Namespace) -> int:
    """Print a topic, whose name may be abbreviated; or the options of a command, or the list of topics."""
    topic = options.topic
    if topic in options.commands.choices:
        options.commands.choices[topic].print_help()
        return 0
    found = [name for name in TOPICS if topic is not None and name.startswith(topic.casefold())]
    if topic is not None and len(found) != 1:
        raise UnknownMessage("topic", topic, list(TOPICS))
    print("\n".join(help_lines(found[0] if found else None)))
    return 0


TOPICS: dict[str, tuple[str, str]] = {
    "input": (
        "what kwire reads",
        "Any number of files, or - for standard input; folders with -r. The format is\n"
        "detected from the content: raw frames (an int32 size, then that many bytes), hex\n"
        "text, a fixture. A response without its request needs --as, such as --as\n"
        "Metadata:12; --guess lists the messages that it could be. --body reads one body\n"
        "without size and header.",
    ),
    "output": (
        "lines, trees, JSON",
        "decode prints a line for each of many frames, all fields with -v or for a single\n"
        "frame. --jsonl prints one object per line, in a fixed shape; --json one array.\n"
        "Colours and a pager ($PAGER, else less -FRX) are used on terminals only;\n"
        "NO_COLOR turns colours off. Control characters are escaped, such as \\u001b.",
    ),
    "exit-codes": (
        "what commands return to scripts",
        "0    done\n"
        "1    done, and there is something to look at:\n"
        "       decode, explain,  a complete frame, record or batch did not decode; gaps,\n"
        "       report, pipeline  frames cut short and streams of other protocols are\n"
        "                         named and counted apart, and change nothing\n"
        "       decode --guess    no message fits a frame\n"
        "       check             something is not encoded to the same bytes, or a file\n"
        "                         beside a segment contradicts it\n"
        "       diff              there are differences\n"
        "       stats             --removed-in: a client breaks with that release\n"
        "       encode            a value could not be encoded; the others were\n"
        "       slice             no frame matches\n"
        "       call              the response has an error code\n"
        "       place             replicas could be spread more evenly; --verify: the\n"
        "                         plan is not carried out yet\n"
        "       assign            the leader sent a different assignment\n"
        "       spec check        a spec is not valid\n"
        "2    wrong usage, input that cannot be read, a broker that cannot be reached,\n"
        "     output that cannot be written: stderr says which and why\n"
        "130  interrupted with Ctrl-C; decode, stats and report first print or write\n"
        "     what was read until then; Ctrl-C or SIGTERM end --follow as the end of a\n"
        "     file would, with 0 or 1. A pipe that is closed early (| head) is no error.",
    ),
    "secrets": (
        "what is not printed",
        "Passwords, SASL tokens, salts, salted passwords, keys, delegation tokens and\n"
        "values of configurations that are passwords are printed as [hidden] with their\n"
        'size, as ** in dumps, as {"_hidden": size} in JSON, which kwire encode refuses.\n'
        "--show-secrets prints them. The bytes of a frame that does not decode are\n"
        "hidden unless it is known which message was meant, and that it holds none of\n"
        "these; the reason, with its sizes and offsets, is always shown. The contents of\n"
        "records are not masked: kwire redact removes them from a dump.",
    ),
    "tls": (
        "captures of encrypted connections",
        "With the keys of the sessions, tshark decrypts TLS 1.2 and 1.3 for kwire:\n"
        "  kwire decode --keylog KEYS FILE\n"
        "This runs tshark, which must be on the PATH, and shows only the TLS connections.\n"
        "To run tshark yourself, or for commands without --keylog:\n"
        "  tshark -r FILE -o tls.keylog_file:KEYS -q $(tshark -r FILE -Y tls \\\n"
        "    -T fields -e tcp.stream | sort -nur | sed 's/^/-z follow,tls,yaml,/') |\n"
        "    kwire decode -\n"
        "KEYS is what clients write with SSLKEYLOGFILE (librdkafka, Python), KeyLogWriter\n"
        "(Go), or on Java an agent such as extract-tls-secrets or jSSLKeyLog. The capture\n"
        "must contain the beginning of each connection. tshark's output has times, so\n"
        "latencies are shown, but at most one of the addresses of a connection.",
    ),
    "filters": (
        "which frames are shown",
        "--where 'FILTER' compares fields, as Wireshark's display filters do:\n"
        '  topics[].name == "orders" and error_code != 0\n'
        '  api == "Fetch" and latency > 20ms and not client_id matches "^test-"\n'
        "== != < <= > >= contains matches in, and or not ( ). A field is named by its\n"
        "path or the end of it, as kwire schema shows it; the frame itself has\n"
        "  api, api_key, version, type, correlation_id, client_id, software, size,\n"
        "  latency, request_frame, response_frame, time, frame, client, broker,\n"
        "  connection, faults, undecodable\n"
        "The same in options: --api Metadata or --api Metadata:12, more than once\n"
        "for several; --client 'app-*'; --conn 10.0.0.1:9092; --errors; --from and --to\n"
        "with a time (2026-11-21T09:30:00, 09:30:00, seconds), or with frame numbers\n"
        "if the dump has no times. A frame must match all given filters.",
    ),
    "versions": (
        "versions, releases, profiles",
        "kwire reads every version that Kafka released from 0.8 on. kwire apis --release\n"
        "3.9 lists what a release supports, kwire diff Fetch:9 Fetch:12 what changed.\n"
        "--profile KIP-36 reads the layouts that the KIP proposed, --schemas DIR your\n"
        "own specs.",
    ),
}


def help_lines(topic: str | None) -> list[str]:
    """Return the text of a topic, or the list of topics; KeyError if there is no such topic.

    >>> help_lines("versions")[0]
    'versions: versions, releases, profiles'
    """
    if topic is None:
        return ["kwire help TOPIC, or kwire COMMAND --help. Topics:", ""] + [
            f"  {name:<12}{about}" for name, (about, _) in TOPICS.items()
        ]
    about, text = TOPICS[topic]
    return [f"{topic}: {about}", "", *text.splitlines()]


@dataclass(frozen=True, slots=True)
class Words:
    """What may follow the words of a command line: commands, options with their help, and whether files may follow."""

    path: tuple[str, ...]
    commands: dict[str, str]
    options: dict[str, str]


def words_of(parser: argparse.ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[Words]:
    """Yield the words of a parser, then those of its commands."""
    inner = commands_of(parser)
    options = {name: about_of(action) for action in shown(parser) for name in action.option_strings}
    yield Words(path, names_in(inner), options)
    for name, child in {} if inner is None else inner.choices.items():
        yield from words_of(child, (*path, name))


def commands_of(parser: argparse.ArgumentParser) -> argparse._SubParsersAction[argparse.ArgumentParser] | None:
    """Return the argument of a parser that is the name of a command, if it has one."""
    return next((one for one in parser._actions if isinstance(one, argparse._SubParsersAction)), None)


def names_in(commands: argparse._SubParsersAction[argparse.ArgumentParser] | None) -> dict[str, str]:
    """Return the description of each command by name."""
    return {} if commands is None else {pseudo.dest: pseudo.help or "" for pseudo in commands._choices_actions}


def shown(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the arguments that help lists."""
    return [action for action in parser._actions if action.help != argparse.SUPPRESS]


def about_of(action: argparse.Action) -> str:
    """Return the help of an argument, on one line."""
    return re.sub(r"\s+", " ", action.help or "").replace("%%", "%")


def manual(parser: argparse.ArgumentParser, version: str) -> str:
    """Return the man page, in the language of man(7)."""
    lines = [f'.TH KWIRE 1 "" "kwire {version}" "User Commands"', ".SH NAME"]
    lines += [
        r"kwire \- decode and encode Apache Kafka's wire protocol",
        ".SH SYNOPSIS",
        ".B kwire",
        r"COMMAND [OPTIONS] [FILE...]",
    ]
    for one in words_of(parser):
        lines += [".SH OPTIONS"] if not one.path else [f".SS {_roff(' '.join(('kwire', *one.path)))}"]
        lines += _entries(one.options)
        lines += [] if one.path else [".SH COMMANDS"]
        lines += _entries(one.commands)
    for name, (about, text) in TOPICS.items():
        lines += [f".SH {_roff(name.upper())}", _roff(about), ".nf", *map(_roff, text.splitlines()), ".fi"]
    return "\n".join(lines) + "\n"


def _entries(words: dict[str, str]) -> list[str]:
    return [line for word, about in words.items() for line in (".TP", f".B {_roff(word)}", _roff(about) or r"\&")]


def _roff(text: str) -> str:
    r"""Escape text so that man does not read any of it as a request.

    >>> print(_roff("--body"), _roff(".x"), _roff("a\\b"))
    \-\-body \&.x a\eb
    """
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text.startswith((".", "'")) else text
