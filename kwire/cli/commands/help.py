"""`kwire help`: prints a topic, the options of a command, or the list of topics."""

from __future__ import annotations

import argparse
from typing import Any

from ...errors import UnknownMessage
from ..help.topics import TOPICS, help_lines
from ..options.parser import add_command


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
