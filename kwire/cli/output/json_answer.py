"""The answer of a command as JSON: printed with --json, or written to a file beside the text, for `kwire mcp`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from ...render.escaping import json_text


class OptionAdder(Protocol):
    """A parser, or a group of its options."""

    def add_argument(self, *names: str, **settings: Any) -> Any:
        """Add an option."""


def add_json(parser: argparse.ArgumentParser, forms: OptionAdder | None = None, about: str = "") -> None:
    """Add --json, and --json-file for a program that wants the text, too.

    Args:
        parser: the parser of the command.
        forms: the group of options of which only one may be given; None for none.
        about: the help of --json.
    """
    (forms or parser).add_argument("--json", action="store_true", help=about or "print one JSON object")
    add_json_file(parser)


def add_json_file(parser: argparse.ArgumentParser) -> None:
    """Add --json-file."""
    parser.add_argument("--json-file", metavar="FILE", help=argparse.SUPPRESS)


def print_json(options: argparse.Namespace, make: Callable[[], Any], *, is_asked: bool | None = None) -> bool:
    """Print an answer as JSON if that is asked for; return whether it is all that is printed.

    Args:
        options: the options of the command.
        make: returns the answer, as plain values.
        is_asked: whether JSON is the form; None: with --json.
    """
    if options.json_file is not None:
        Path(options.json_file).write_text(json_text(make()), "utf-8", "surrogatepass")
        return False
    if not (options.json if is_asked is None else is_asked):
        return False
    print(json_text(make()))
    return True
