"""Chooses the items that are written, and counts those that are and those that are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ...capture.logs.disk_entry import DiskEntry
from ...capture.logs.log_batch import LogRecord
from ...query.captured_query import CapturedQuery
from ...query.query import Query
from .item_counts import count_item
from .item_text import ENTRY, Item


class ChosenItems:
    """Chooses items by a query, up to a number of them.

    Args:
        query: the query.
        counts: counts items by what they are; "shown" and "hidden" are frames and records.
        limit: the maximum number of items; None for all.
        is_wanted: tells of a chosen item whether it is written: see `KafkaFrames`.
    """

    def __init__(
        self, query: Query, counts: Counter[str], limit: int | None, is_wanted: Callable[[Item], bool]
    ) -> None:
        self.query: Query = query
        self.limit: int | None = limit
        self._counts, self._is_wanted = counts, is_wanted
        self._taken = 0

    @property
    def left(self) -> int:
        """The number of further items."""
        return max(0, (self.limit or 0) - self._taken)

    @property
    def is_done(self) -> bool:
        """Whether no more items are written."""
        return self.limit is not None and not self.left

    def add_counts(self, counts: Counter[str]) -> None:
        """Add the counts of items that another process has chosen."""
        self._counts.update(counts)

    def take(self, item: Item) -> bool:
        """Return whether an item is written; counts it."""
        count_item(item, self._counts)
        is_entry = isinstance(item, ENTRY)
        is_counted = isinstance(item, LogRecord | DiskEntry) or not is_entry
        if not (self.query.matches_entry(item) if is_entry else self.query.matches(item)):  # type: ignore[arg-type]
            self._counts["hidden"] += is_counted
            return False
        if not self._is_wanted(item):
            return False
        self._taken += 1
        self._counts["shown"] += is_counted
        return True

    def pass_frames(self, frames: int, selection: CapturedQuery | None) -> None:
        """Count frames of a capture that did not become items; `selection` chose some of them."""
        shown = frames if selection is None else selection.shown - selection.noted
        if selection is not None:
            selection.noted = selection.shown
        self._taken += shown
        self._counts.update(frames=frames, shown=shown, hidden=frames - shown)
