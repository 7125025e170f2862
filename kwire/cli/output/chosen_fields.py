"""`kwire decode --fields`: the chosen fields of each frame as TSV, CSV, JSON lines or an aligned table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import msgspec

from ...codecs.json_writer import uuid_text
from ...query.display_filter import parse_path
from ...query.field_path import FieldPath
from ...render.escaping import escape
from ...render.table import table
from ...schema.catalog import Catalog
from ...schema.sensitive_fields import HIDDEN, Hidden
from ..options.usage_error import UsageError
from .item_text import ENTRY, Item, Print

_ESCAPED = {ord("\\"): "\\\\", ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"}
FORMATS = ("tsv", "csv", "jsonl", "table")


def write_fields(items: Iterable[Item], names: str, form: str, catalog: Catalog, write: Print) -> None:
    """Write the fields of frames, one line per frame.

    Args:
        items: the frames.
        names: paths separated by commas; if a path has several values in a frame, they are separated by commas.
        form: one of `FORMATS`; a table is aligned, so it is written after all frames were read.
        catalog: the specs whose fields the paths may name.
        write: a function that writes text.

    Raises:
        UsageError: an item is a record of a log.
        FilterError: no message has a path.
    """
    paths = [parse_path(name.strip(), catalog) for name in names.split(",")]
    rows = (_row(item, paths) for item in items)
    header = [path.text for path in paths]
    if form == "jsonl":
        for row in rows:
            write(escape(msgspec.json.encode(dict(zip(header, row, strict=True))).decode()) + "\n")
    elif form == "table":
        texts = [[_join(values) for values in row] for row in rows]
        write("".join(f"{escape(line)}\n" for line in table(header, texts)))
    else:
        for line in _separate(header, rows, form):
            write(line)


def _row(item: Item, paths: list[FieldPath]) -> list[list[Any]]:
    if isinstance(item, ENTRY):
        raise UsageError("--fields names fields of frames; of a log use --jsonl")
    return [[_plain(value) for value in path.values(item)] for path in paths]


def _plain(value: Any) -> Any:
    """Return a value for JSON: UUIDs in Kafka's format, other bytes as hex, structs as their text."""
    if isinstance(value, Hidden):
        return {HIDDEN: value.size}
    if isinstance(value, bytes):
        return uuid_text(value) if len(value) == 16 else value.hex()
    return value if isinstance(value, str | int | float | None) else str(value)


def _join(values: list[Any]) -> str:
    """Join the values of a cell; null, true and false are written as in JSON."""
    words = {None: "null", True: "true", False: "false"}
    return ",".join(words[value] if value is None or isinstance(value, bool) else str(value) for value in values)


def _separate(header: list[str], rows: Iterator[list[list[Any]]], form: str) -> Iterator[str]:
    """Yield lines of CSV; or of TSV, with tabs, newlines and backslashes escaped by a backslash."""
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\n")
    for texts in chain((header,), ([_join(values) for values in row] for row in rows)):
        if form == "tsv":
            yield escape("\t".join(text.translate(_ESCAPED) for text in texts)) + "\n"
            continue
        writer.writerow(texts)
        yield line.getvalue()
        line.seek(0)
        line.truncate()
