"""Rows of a request that name the same topic twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol, TypeVar


class TopicRow(Protocol):
    """An element of a request that names a topic."""

    @property
    def name(self) -> str:
        """The name of the topic."""


Row = TypeVar("Row", bound=TopicRow)


def unique_rows(rows: Sequence[Row]) -> list[tuple[Row, bool]]:
    """Return one row for each name, each with whether the request repeats the name."""
    counts = Counter(row.name for row in rows)
    return [(row, counts[row.name] > 1) for row in {row.name: row for row in rows}.values()]
