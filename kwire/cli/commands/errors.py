"""`kwire errors`: explains Kafka's error codes, by number, by name or by a part of a name.

The exit codes of commands are in `kwire.cli.exit_codes`, kwire's own exceptions in `kwire.errors.decode_errors`.
"""

from __future__ import annotations

import argparse
import textwrap

from ...errors import UnknownMessage
from ...render.table import TableColumn, TableView
from ...schema.field_names import fold_name
from ...values import Value, kind
from ..output.table_forms import add_table_forms, print_for_program

EXAMPLES = """\
  kwire errors 56
  kwire errors leader
"""
COLUMNS: list[TableColumn[Value]] = [
    TableColumn("code", lambda code: code.value),
    TableColumn("name", lambda code: str(code)),
    TableColumn("retriable", lambda code: getattr(code, "retriable", None)),
    TableColumn("since", lambda code: getattr(code, "since", None)),
    TableColumn("about", lambda code: getattr(code, "about", "")),
]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("names", nargs="*", metavar="CODE", help="a number, a name, or a part of one; default: all")
    add_table_forms(parser)


def run(options: argparse.Namespace) -> int:
    """Print error codes by number, name or part of a name."""
    known = kind("ErrorCode")
    codes = list(known)
    if options.names:
        codes = [code for word in options.names for code in _errors_like(known, word)]
    if print_for_program(TableView(COLUMNS, codes, []), options):
        return 0
    for code in codes:
        retry = {True: "retriable", False: "not retriable", None: "unknown"}[getattr(code, "retriable", None)]
        since = f", since {getattr(code, 'since', '')}" if getattr(code, "since", None) else ""
        print(f"{code.value:>4}  {code}  ({retry}{since})")
        if getattr(code, "about", ""):
            print(textwrap.fill(getattr(code, "about", ""), 78, initial_indent="      ", subsequent_indent="      "))
    return 0


def _errors_like(codes: type[Value], word: str) -> list[Value]:
    """Return the error codes with a number, a name, or a part of a name. Raises UnknownMessage if there is none."""
    try:
        code = codes(word)
        matches = [code] if code.name else []
    except UnknownMessage:
        matches = [code for code in codes if fold_name(word) in fold_name(str(code))]
    if not matches:
        raise UnknownMessage("error code", word, [str(code) for code in codes])
    return matches
