"""`kwire help`: prints a topic, or the list of topics. `kwire help COMMAND` is `kwire COMMAND --help`, see `main`."""

from __future__ import annotations

import argparse

from ...errors import UnknownMessage
from ..help.topics import TOPICS, help_lines

EXAMPLES = """\
  kwire help
  kwire help exit-codes
  kwire help decode       the same as kwire decode --help
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("topic", nargs="?", metavar="TOPIC", help=f"a command, or one of {', '.join(TOPICS)}")


def run(options: argparse.Namespace) -> int:
    """Print a topic, whose name may be abbreviated, or the list of topics."""
    topic = options.topic
    if topic is None:
        print("\n".join(help_lines(None)))
        return 0
    names = [name for name in TOPICS if name.startswith(topic.casefold())]
    if len(names) != 1:
        raise UnknownMessage("topic", topic, list(TOPICS))
    print("\n".join(help_lines(names[0])))
    return 0
