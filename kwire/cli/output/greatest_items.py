"""`kwire decode --sort`: the items with the greatest values of a field, the greatest first."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappush, heapreplace
from typing import Any

from ...protocol import FrameDecoder
from ...query.captured_query import CapturedQuery
from ...query.field_path import FieldPath
from ...query.query import Query
from ...query.record_properties import read_records
from ...query.result_values import path_values
from ...render.captured.selected_frames import SelectedFrames
from .item_text import ENTRY, Form, Item, LineWriter

MOST_SORTED = 10  # items that --sort prints without --first


class Greatest:
    """Keeps the items with the greatest values of a field; items without a number there are left out.

    Args:
        form: the format in which they are written at the end.
        path: the field.
        limit: the number of items.
        query: the query that chooses among all items.
    """

    def __init__(self, form: Form, path: FieldPath, limit: int | None, query: Query) -> None:
        self._form, self._path, self._query = form, path, query
        self._limit = limit or MOST_SORTED
        self._heap: list[tuple[float, int, Item]] = []
        self._read = read_records(path)
        self._order = 0

    def writer(self, decoder: FrameDecoder, file: str, *, sealed: bool, query: Query | None) -> LineWriter:
        """Return what chooses the frames of a capture."""
        captured = CapturedQuery(self._query, file, sealed=sealed, paths=[self._path], row=self._skip, is_plain=False)
        return SelectedFrames(decoder, file, sealed=sealed, selection=captured)

    def _skip(self, row: list[Any]) -> str | None:
        """Return an empty text for a frame that is not among the greatest; None for one that must be decoded."""
        greatest = _greatest(row[0])
        return "" if greatest is None or (self._is_full and greatest <= self._heap[0][0]) else None

    @property
    def _is_full(self) -> bool:
        return len(self._heap) >= self._limit

    def text(self, item: Item) -> str:
        """Add an item; returns an empty text."""
        if isinstance(item, ENTRY):
            read = getattr(self._read, "read", None)
            greatest = _greatest(read(item) if read is not None else ())
        else:
            greatest = _greatest(path_values(self._path, item, self._query.context))
        if greatest is None:
            return ""
        self._order -= 1  # of equal items, the first
        if not self._is_full:
            heappush(self._heap, (greatest, self._order, item))
        elif greatest > self._heap[0][0]:
            heapreplace(self._heap, (greatest, self._order, item))
        return ""

    def end(self) -> str:
        """Return the text of all items that were kept."""
        kept = sorted(self._heap, key=lambda entry: entry[:2], reverse=True)
        return "".join([self._form.text(item) for _, _, item in kept]) + self._form.end()


def _greatest(values: Iterable[Any]) -> float | None:
    return max((value for value in values if isinstance(value, int | float)), default=None)
