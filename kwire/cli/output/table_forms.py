"""The forms of a table: text, or with --json and --csv those for programs."""

from __future__ import annotations

import argparse
from typing import Any

from ...render.table import TableView
from .json_answer import add_json, print_json


def add_table_forms(parser: argparse.ArgumentParser) -> None:
    """Add --json and --csv."""
    forms = parser.add_mutually_exclusive_group()
    add_json(parser, forms, "one JSON array, with an object for each row")
    forms.add_argument("--csv", action="store_true", help="as CSV, with a line of names")


def print_for_program(table: TableView[Any], options: argparse.Namespace) -> bool:
    """Print a table as JSON or CSV; return False if neither is asked for."""
    if print_json(options, table.objects):
        return True
    if options.csv:
        print(table.csv(), end="")
    return bool(options.csv)
