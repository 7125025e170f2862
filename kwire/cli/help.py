"""`kwire help`, `kwire --print-completion`, `kwire --print-manual`: what the command says of itself."""

from __future__ import annotations

import argparse
from typing import Any

from .. import __version__
from ..errors import KwireError, UnknownMessage
from .completion import SHELLS, completion
from .grammar import command
from .manual import TOPICS, help_lines, manual


def add_help(parser: argparse.ArgumentParser, commands: Any) -> None:
    """Add the command `help`, and the options that print scripts and the man page."""
    child = command(commands, "help", "explain a topic", "  kwire help\n  kwire help exit\n", "help:explain_topic")
    child.add_argument("topic", nargs="?", metavar="TOPIC", help=f"one of {', '.join(TOPICS)}")
    parser.add_argument("--print-completion", action=_Print, choices=SHELLS, help="print a completion script")
    parser.add_argument("--print-manual", action=_Print, nargs=0, help="print the man page: | man -l -")


def explain_topic(options: argparse.Namespace) -> int:
    """Print a topic, or the list of topics."""
    if options.topic is not None and options.topic not in TOPICS:
        raise UnknownMessage("topic", options.topic, list(TOPICS))
    print("\n".join(help_lines(options.topic)))
    return 0


class ShowVersion(argparse.Action):
    """The option --version."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option_string: Any = None) -> None:
        """Print and exit."""
        try:
            from ..fast_path import ENGINE
        except KwireError as error:
            parser.error(str(error))
        print(f"kwire {__version__} (engine: {ENGINE})")
        parser.exit()


class _Print(argparse.Action):
    """An option that prints something and is done, as --version is."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option_string: Any = None) -> None:
        """Print and exit."""
        print(completion(values, parser) if values else manual(parser, __version__), end="")
        parser.exit()
