"""Options that several commands have, and parsers whose help begins with examples."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

Run = Callable[[argparse.Namespace], int]


class Parser(argparse.ArgumentParser):
    """A parser whose help begins with the examples, not with the grammar; options may stand among files."""

    _is_intermixing = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse `decode a.pcap --jsonl b.pcap`, too: argparse alone takes files only before or behind all options."""
        # Parsing twice would take what is behind -- for options.
        if self._is_intermixing or self._subparsers is not None or "--" in (args or ()):
            return super().parse_known_args(args, namespace)
        self._is_intermixing = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_intermixing = False

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


def add_command(commands: Any, name: str, about: str, examples: str, run: Run) -> argparse.ArgumentParser:
    """Add a command, whose help begins with its examples; `run` takes the options and returns the exit code."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=about,
        description=f"{about[:1].upper()}{about[1:]}.\n\nExamples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that read dumps."""
    add_files(parser)
    parser.add_argument(
        "--as",
        dest="named",
        metavar="API:VERSION",
        help="api of a single response, or of --body: Metadata:12",
    )
    parser.add_argument("--log-of", metavar="TOPIC", help="the topic a log is of: __consumer_offsets, ...")
    parser.add_argument("--body", action="store_true", help="the input is one body, without size and header")
    add_secrets(parser)
    add_profile(parser)


def add_secrets(parser: argparse.ArgumentParser) -> None:
    """Add --show-secrets."""
    parser.add_argument("--show-secrets", action="store_true", help="also print passwords, proofs, keys and tokens")


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


def add_raw(parser: argparse.ArgumentParser) -> None:
    """Add --raw."""
    parser.add_argument("--raw", action="store_true", help="write raw frames, without connections and times")


def add_profile(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose specs."""
    parser.add_argument("--profile", metavar="KIP", help="layouts that this KIP proposed: KIP-36, KIP-112 or KIP-879")
    parser.add_argument("--schemas", metavar="DIR", help="your own specs, or a Kafka checkout, used first")


def add_colour(parser: argparse.ArgumentParser) -> None:
    """Add --color."""
    choices = ("auto", "always", "never")
    about = "auto (default: on a terminal), always or never"
    parser.add_argument("--color", metavar="WHEN", choices=choices, default="auto", help=about)
