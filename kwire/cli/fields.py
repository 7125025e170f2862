"""--fields of `kwire decode`: chosen fields of each frame, as TSV, CSV, JSON lines or a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import msgspec

from ..codecs.json import uuid_text
from ..display_filter import parse_path
from ..field_paths import FieldPath
from ..render.style import escape, table
from ..sensitive_fields import HIDDEN, Hidden
from ..spec.catalog import Catalog
from .inputs import UsageError
from .lines import ENTRY, Item

_ESCAPED = {ord("\\"): "\\\\", ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"}
FORMATS = ("tsv", "csv", "jsonl", "table")
Print = Callable[[str], None]


def write_fields(items: Iterable[Item], names: str, form: str, catalog: Catalog, write: Print) -> None:
    """Write the fields of frames, a line a frame.

    Args:
        items: the frames.
        names: paths with commas between; one that has several values in a frame has them with commas between.
        form: one of `FORMATS`; a table is aligned, so it is written when all frames are read.
        catalog: the specs whose fields may be named.
        write: writes text.

    Raises:
        UsageError: an item is a record of a log.
        FilterError: a path that no message has.
    """
    paths = [parse_path(name.strip(), catalog) for name in names.split(",")]
    rows = (_row(item, paths) for item in items)
    header = [path.text for path in paths]
    if form == "jsonl":
        for row in rows:
            write(escape(msgspec.json.encode(dict(zip(header, row, strict=True))).decode()) + "\n")
    elif form == "table":
        texts = [[_text(values) for values in row] for row in rows]
        write("".join(f"{escape(line)}\n" for line in table(header, texts)))
    else:
        for line in _separated(header, rows, form):
            write(line)


def _row(item: Item, paths: list[FieldPath]) -> list[list[Any]]:
    if isinstance(item, ENTRY):
        raise UsageError("--fields names fields of frames; of a log use --jsonl")
    return [[_plain(value) for value in path.values(item)] for path in paths]


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: uuids as Kafka writes them, other bytes as hex, structs as their own text."""
    if isinstance(value, Hidden):
        return {HIDDEN: value.size}
    if isinstance(value, bytes):
        return uuid_text(value) if len(value) == 16 else value.hex()
    return value if isinstance(value, str | int | float | None) else str(value)


def _text(values: list[Any]) -> str:
    return ",".join("null" if value is None else str(value) for value in values)


def _separated(header: list[str], rows: Iterator[list[list[Any]]], form: str) -> Iterator[str]:
    """Yield lines of CSV; or of TSV, with a backslash for tabs, newlines and backslashes inside a value."""
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\n")
    for texts in chain((header,), ([_text(values) for values in row] for row in rows)):
        if form == "tsv":
            yield escape("\t".join(text.translate(_ESCAPED) for text in texts)) + "\n"
            continue
        writer.writerow(texts)
        yield line.getvalue()
        line.seek(0)
        line.truncate()
