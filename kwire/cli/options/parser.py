"""Parsers whose help begins with examples, and that accept options between files."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

Run = Callable[[argparse.Namespace], int]


class Parser(argparse.ArgumentParser):
    """A parser whose help begins with examples instead of the usage line, and that accepts options between files."""

    _is_intermixing = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse `decode a.pcap --jsonl b.pcap`, too: argparse alone accepts files only before or after all options."""
        # Parsing twice would treat arguments after -- as options.
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
    """Add a command. Its help begins with examples; `run` receives the options and returns the exit code."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=about,
        description=f"{about[:1].upper()}{about[1:]}.\n\nExamples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser
