"""The man page of `kwire`, made from the parser, and the topics of `kwire help`."""

from __future__ import annotations

import argparse

from .completion import words_of

TOPICS: dict[str, tuple[str, str]] = {
    "input": (
        "what kwire reads",
        "Any number of files, or - for standard input; folders with -r. What a file is,\n"
        "its content says: raw frames (an int32 size, then so many bytes), hex text, a\n"
        "fixture. A response without its request needs --as, such as --as Metadata:12;\n"
        "--guess finds what it could be. --body reads one body without size and header.",
    ),
    "output": (
        "lines, trees, JSON",
        "decode prints a line for each of many frames, all fields with -v or for a single\n"
        "frame. --jsonl prints one object a line, whose shape is fixed; --json one array.\n"
        "Colours, and a pager ($PAGER, else less -FRX), on terminals only; NO_COLOR\n"
        "is heeded. A control character is never printed raw: it is written as \\u001b.",
    ),
    "exit": (
        "exit codes",
        "0    all is well\n"
        "1    something did not decode, differs, or would break: a frame that cannot be\n"
        "     read or is cut short, bytes that were not captured, a broken dump; also\n"
        "     if nothing in the input is Kafka's, or if replicas that kwire place looks\n"
        "     at could be spread more evenly. What other protocols say beside\n"
        "     Kafka's (ZooKeeper's, TLS) is named in a remark and changes nothing.\n"
        "2    usage, or input that cannot be read\n"
        "130  interrupted with Ctrl-C; the summary is printed all the same",
    ),
    "secrets": (
        "what is not printed",
        "Passwords, SASL tokens, salts, salted passwords, keys, delegation tokens and\n"
        "values of configurations that are passwords are printed as [hidden] with their\n"
        'size, as ** in dumps, as {"_hidden": size} in JSON, which kwire encode refuses.\n'
        "--show-secrets prints them. The bytes of a frame that does not decode are\n"
        "hidden unless it is known which message was meant, and that it holds none of\n"
        "these; the reason, with its sizes and offsets, is always shown. What records\n"
        "hold is not looked at: kwire redact takes that out of a dump.",
    ),
    "tls": (
        "captures of encrypted connections",
        "kwire does not decrypt: capture on a PLAINTEXT listener, or have tshark decrypt\n"
        "with the keys of the sessions. librdkafka, Python and Go clients can write them\n"
        "(SSLKEYLOGFILE, or KeyLogWriter in Go); Java takes an agent such as\n"
        "extract-tls-secrets or jSSLKeyLog. Then, for the first connection:\n"
        "  tshark -r FILE -o tls.keylog_file:KEYS -q -z follow,tls,raw,0 |\n"
        "    grep -E '^[[:space:]]*[0-9a-f]+$' | kwire decode -\n"
        "The capture must hold the beginning of the connection.",
    ),
    "filters": (
        "which frames are shown",
        "--api Metadata or --api Metadata:12, more than once for several;\n"
        "--client 'app-*'; --conn 10.0.0.1:9092; --errors; --from and --to with a time\n"
        "(2026-11-21T09:30:00, 09:30:00, seconds), or with frame numbers where the dump\n"
        "tells no times.",
    ),
    "versions": (
        "versions, releases, profiles",
        "kwire reads every version that Kafka released from 0.8 on. What a release\n"
        "speaks: kwire apis --release 3.9. What changed: kwire diff Fetch:9 Fetch:12.\n"
        "--profile KIP-36 reads what that KIP proposed, --schemas DIR specs of your own.",
    ),
}


def help_lines(topic: str | None) -> list[str]:
    """Return the text of a topic, or the list of topics; KeyError if there is no such topic.

    >>> help_lines("exit")[0]
    'exit: exit codes'
    """
    if topic is None:
        return ["kwire help TOPIC, or kwire COMMAND --help. Topics:", ""] + [
            f"  {name:<10}{about}" for name, (about, _) in TOPICS.items()
        ]
    about, text = TOPICS[topic]
    return [f"{topic}: {about}", "", *text.splitlines()]


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
    r"""Write text so that man takes none of it for a request.

    >>> print(_roff("--body"), _roff(".x"), _roff("a\\b"))
    \-\-body \&.x a\eb
    """
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text.startswith((".", "'")) else text
