"""`kwire help`: topics that concern several commands."""

from __future__ import annotations

import argparse
from typing import Any

from ..errors import UnknownMessage
from .completion import TOPICS, help_lines
from .options import add_command


def add_parser(commands: Any, about: str) -> None:
    """Add the command and its options."""
    parser = add_command(commands, "help", about, "  kwire help\n  kwire help exit\n", explain_topic)
    parser.add_argument("topic", nargs="?", metavar="TOPIC", help=f"one of {', '.join(TOPICS)}")


def explain_topic(options: argparse.Namespace) -> int:
    """Print a topic, or the list of topics."""
    if options.topic is not None and options.topic not in TOPICS:
        raise UnknownMessage("topic", options.topic, list(TOPICS))
    print("\n".join(help_lines(options.topic)))
    return 0
