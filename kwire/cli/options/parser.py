"""Parsers whose help begins with examples, and that accept options between files."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any, NoReturn

from ..terminal.remarks import complain

Run = Callable[[argparse.Namespace], int]


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of descriptions. argparse makes one for each argument, and asks for the width of the terminal."""

    def __init__(self, prog: str, width: int | None = None, **options: Any) -> None:
        super().__init__(prog, width=_help_width() if width is None else width, **options)


def _help_width() -> int:
    """Return the columns for help: argparse would import shutil for them, with all its compression."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns) - 2
    try:
        return (os.get_terminal_size(1).columns or 80) - 2
    except OSError:  # no terminal
        return 80 - 2


class Parser(argparse.ArgumentParser):
    """A parser whose help begins with examples instead of the usage line, and that accepts options between files."""

    _is_intermixing = False

    def __init__(self, *args: Any, formatter_class: Any = HelpFormatter, **options: Any) -> None:
        options["formatter_class"] = formatter_class
        super().__init__(*args, **options)

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

    def error(self, message: str) -> NoReturn:
        """Print an error in one line, without the usage, and exit with 2."""
        complain(message, f"{self.prog} --help lists the options")
        self.exit(2)

    def format_usage(self) -> str:
        """Return the usage without the options, which the help lists below it."""
        formatter = self.formatter_class(prog=f"{self.prog} [OPTIONS]")
        formatter.add_usage(self.usage, self._get_positional_actions(), [])
        return formatter.format_help()

    def format_help(self) -> str:
        """Write description and examples, then usage, then the options."""
        formatter = self.formatter_class(prog=f"{self.prog} [OPTIONS]")
        formatter.add_text(self.description)
        formatter.add_usage(self.usage, self._get_positional_actions(), [])
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
    )
    parser.set_defaults(run=run)
    return parser
