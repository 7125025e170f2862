"""The forms of a table: text, or with --json and --csv those for programs."""

from __future__ import annotations

import argparse
from typing import Any

from ...render.escaping import json_text
from ...render.table import TableView


def add_table_forms(parser: argparse.ArgumentParser) -> None:
    """Add --json and --csv."""
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="one JSON array, with an object for each row")
    forms.add_argument("--csv", action="store_true", help="as CSV, with a line of names")


def print_for_program(table: TableView[Any], options: argparse.Namespace) -> bool:
    """Print a table as JSON or CSV; return False if neither is asked for."""
    if options.json:
        print(json_text(table.objects()))
    elif options.csv:
        print(table.csv(), end="")
    return bool(options.json or options.csv)
