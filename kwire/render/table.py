"""Tables: rows and columns as aligned text, and from one list of columns also as JSON objects and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from .colours import PLAIN, Style
from .escaping import escape

Row = TypeVar("Row")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], style: Style = PLAIN, right: int = 0) -> Iterator[str]:
    """Yield the lines of a table. Nothing is truncated: a long value makes its column wide.

    Args:
        head: the names of the columns.
        rows: the values, as many as columns.
        style: colours of the head.
        right: how many columns at the end are aligned to the right.

    >>> for line in table(["api", "count"], [["Metadata", "7"], ["Fetch", "100"]], right=1):
    ...     print(line)
    api       count
    Metadata      7
    Fetch       100
    """
    return align([head, *rows], [index >= len(head) - right for index in range(len(head))], style)


def align(rows: Iterable[Sequence[str]], is_right: Sequence[bool], style: Style = PLAIN) -> Iterator[str]:
    """Yield rows, of which the first is the head, with their columns aligned to the left or to the right."""
    texts = [[_flat(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for number, row in enumerate(texts):
        cells = zip(row, widths, is_right, strict=True)
        line = "  ".join(text.rjust(width) if right else text.ljust(width) for text, width, right in cells).rstrip()
        yield style.paint("bold", line) if number == 0 else line


def _flat(value: str) -> str:
    return escape(value).replace("\n", " ").replace("\t", " ")


class TableColumn(msgspec.Struct, Generic[Row], frozen=True):
    """A column.

    Attributes:
        name: its name in JSON and CSV; `a/b` is the member b of an object a. Empty: it is only in text.
        value: returns the value of a row.
        title: its head in text; the name by default.
        text: formats a value for text.
        right: whether text is aligned to the right.
        nothing: what None is in text.
        optional: whether JSON leaves out a value that is None.
    """

    name: str
    value: Callable[[Row], Any]
    title: str = ""
    text: Callable[[Any], str] = str
    right: bool = False
    nothing: str = "-"
    optional: bool = False

    def cell(self, row: Row) -> str:
        """Return the text of a row's value."""
        value = self.value(row)
        return self.nothing if value is None else self.text(value)


class TableView(msgspec.Struct, Generic[Row], frozen=True):
    """Rows and their columns.

    Attributes:
        columns: in the order of JSON and CSV.
        rows: any objects; the columns return their values.
        titles: the columns of the text, in its order.
    """

    columns: Sequence[TableColumn[Row]]
    rows: Sequence[Row]
    titles: Sequence[str]

    def lines(self, style: Style = PLAIN) -> Iterator[str]:
        """Yield the lines of the text: the titles, and a line for each row."""
        columns = {column.title or column.name: column for column in self.columns}
        shown = [columns[title] for title in self.titles]
        cells = [[column.cell(row) for column in shown] for row in self.rows]
        return align([self.titles, *cells], [column.right for column in shown], style)

    def objects(self) -> list[dict[str, Any]]:
        """Return a JSON object for each row."""
        return [self._object(row) for row in self.rows]

    def csv(self) -> str:
        """Return the lines of CSV: the names, and a line for each row. None is empty; an object is JSON text."""
        columns = [column for column in self.columns if column.name]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(column.name for column in columns)
        for row in self.rows:
            values = [column.value(row) for column in columns]
            writer.writerow(json.dumps(value) if isinstance(value, dict | bool) else value for value in values)
        return text.getvalue()

    def _object(self, row: Row) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for column in self.columns:
            value = column.value(row)
            if not column.name or (value is None and column.optional):
                continue
            outer, _, name = column.name.rpartition("/")
            inner = members.setdefault(outer, {}) if outer else members
            inner[name] = value
        return members


def key_columns(names: Sequence[str], key_of: Callable[[Row], Sequence[str]]) -> list[TableColumn[Row]]:
    """Return a column for each part of the key of a row."""

    def part(index: int) -> Callable[[Row], str]:
        return lambda row: key_of(row)[index]

    return [TableColumn(name, part(index)) for index, name in enumerate(names)]
