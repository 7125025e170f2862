"""`kwire decode --fields`: the chosen fields of each item as TSV, CSV, JSON lines or an aligned table."""

from __future__ import annotations

import csv
import io
from contextlib import suppress
from typing import Any

import msgspec

from ...protocol import FrameDecoder
from ...query.captured_query import CapturedQuery
from ...query.display_filter import parse_path
from ...query.field_path import FieldPath
from ...query.plain_values import has_one_value, plain_entry, plain_result
from ...query.query import Query
from ...render.captured.selected_frames import SelectedFrames
from ...render.escaping import compact_json, escape
from ...render.table import table
from ...schema.catalog import Catalog
from .item_text import ENTRY, Item, LineWriter

_ESCAPED = {ord("\\"): "\\\\", ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"}
_NOT_PLAIN = bytes((*range(0x20), ord("\\"), 0x7F))
FORMATS = ("tsv", "csv", "jsonl", "table")
Row = list[list[Any]]


def parse_paths(names: str, catalog: Catalog) -> list[FieldPath]:
    """Parse paths separated by commas. Raises FilterError."""
    return [parse_path(name.strip(), catalog) for name in names.split(",")]


class AsFields:
    """Chosen fields of items, one line for each.

    Args:
        names: paths separated by commas; if a path has several values in an item, they are separated by commas.
        form: one of `FORMATS`; a table is aligned, so it is written after all items were read.
        catalog: the specs whose fields the paths may name.
        query: the query that chooses the items.

    Raises:
        FilterError: no message has a path.
    """

    def __init__(self, names: str, form: str, catalog: Catalog, query: Query) -> None:
        self.paths: list[FieldPath] = parse_paths(names, catalog)
        self._query, self._form = query, form
        self._header = [path.text for path in self.paths]
        self._is_single = [form == "jsonl" and has_one_value(path, catalog) for path in self.paths]
        self._rows: list[list[str]] = []
        self._has_begun = False
        self._line = io.StringIO()
        self._writer = csv.writer(self._line, lineterminator="\n")

    def writer(self, decoder: FrameDecoder, file: str, *, sealed: bool, query: Query | None) -> LineWriter:
        """Return what writes the lines of a capture."""
        captured = CapturedQuery(self._query, file, sealed=sealed, paths=self.paths, row=self._row)
        return SelectedFrames(decoder, file, sealed=sealed, selection=captured)

    def text(self, item: Item) -> str:
        """Return the line of an item, with its newline."""
        if isinstance(item, ENTRY):
            return self._row([plain_entry(path, item) for path in self.paths])
        return self._row([plain_result(path, item, self._query.context) for path in self.paths])

    def end(self) -> str:
        """Return the aligned table; for other forms without any item, their header."""
        if self._form == "table":
            return "".join(f"{escape(line)}\n" for line in table(self._header, self._rows))
        return self._begin()

    def _begin(self) -> str:
        """Return the header once."""
        if self._has_begun or self._form not in ("tsv", "csv"):
            return ""
        self._has_begun = True
        return self._separate(self._header)

    def _row(self, row: Row) -> str:
        if self._form == "jsonl":
            members = {
                name: values[0] if is_single and values else None if is_single else values
                for name, values, is_single in zip(self._header, row, self._is_single, strict=True)
            }
            return compact_json(members) + "\n"
        texts = [_join(values) for values in row]
        if self._form == "table":
            self._rows.append(texts)
            return ""
        return self._begin() + self._separate(texts)

    def _separate(self, texts: list[str]) -> str:
        """Return a line of CSV; or of TSV, with tabs, newlines and backslashes escaped by a backslash."""
        if self._form == "tsv":
            line = "\t".join(texts)
            return (line if _is_plain(line, len(texts) - 1) else "\t".join(map(_escape_cell, texts))) + "\n"
        self._line.seek(0)
        self._line.truncate()
        self._writer.writerow(texts)
        return self._line.getvalue()


def _is_plain(line: str, tabs: int) -> bool:
    """Return whether the tabs between its cells are all that a line has of what is escaped."""
    if not line.isascii():  # nearly all are; cells can be long, and `isprintable` takes eight times as long
        return False
    octets = line.encode()
    return len(octets) - len(octets.translate(None, _NOT_PLAIN)) == tabs


def _escape_cell(text: str) -> str:
    return escape(text.translate(_ESCAPED))


def _join(values: list[Any]) -> str:
    """Join the values of a cell; structs, null, true and false are written as in JSON."""
    if not values:
        return ""
    if len(values) == 1:
        value = values[0]
        if type(value) is str:
            return value
        if type(value) in (int, float):
            return repr(value)
    with suppress(TypeError):  # most cells with several values have only names
        return ",".join(values)
    return ",".join(value if isinstance(value, str) else msgspec.json.encode(value).decode() for value in values)
