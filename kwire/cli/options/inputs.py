"""Options that name the inputs: FILE, --hex, -r, --as, --body, --log-of, --keylog."""

from __future__ import annotations

import argparse

from .secrets import add_secrets
from .specs import add_profile


def title_of(options: argparse.Namespace) -> str:
    """Return the names of all inputs in one line."""
    return ", ".join([*(["hex text"] if options.hex is not None else []), *options.files])


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that read dumps."""
    add_files(parser)
    parser.add_argument(
        "--as",
        dest="named",
        metavar="API:VERSION",
        help="api of a single response, or of --body: Metadata:12",
    )
    parser.add_argument("--log-of", metavar="TOPIC", help="topic of the log: __consumer_offsets, ...")
    parser.add_argument("--body", action="store_true", help="the input is one body, without size and header")
    add_secrets(parser)
    add_profile(parser)


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add the dumps that a command reads."""
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="frames, hex text, captures, logs; - is stdin",
    )
    parser.add_argument("--hex", metavar="TEXT", help="hex text, in any form accepted in files")
    parser.add_argument("-r", "--recursive", action="store_true", help="also read all files of folders")
    add_keylog(parser)


def add_keylog(parser: argparse.ArgumentParser) -> None:
    """Add --keylog."""
    parser.add_argument("--keylog", metavar="FILE", help="TLS session keys (SSLKEYLOGFILE); tshark decrypts")
