"""Finds requests in flight by their correlation ids, if there are many of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from ..headers.header import Header

MOST_CANDIDATES = 8  # maximum number of requests with the same correlation id that are compared


class CorrelationIndex:
    """The places of requests in flight by correlation id. The oldest may be gone: the others end the queue.

    Args:
        in_flight: the requests, oldest first.
    """

    __slots__ = ("_count", "_places")

    def __init__(self, in_flight: Iterable[Header]) -> None:
        self._places: dict[int | None, list[int]] = {}
        self._count = 0
        for header in in_flight:
            self.append(header.correlation_id)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, correlation_id: int) -> bool:
        return correlation_id in self._places

    def append(self, correlation_id: int | None) -> None:
        """Add the newest request."""
        self._places.setdefault(correlation_id, []).append(self._count)
        self._count += 1

    def find(self, correlation_id: int, in_flight: Sequence[Header]) -> list[Header]:
        """Return the first requests with a correlation id, at most `MOST_CANDIDATES`, oldest first."""
        positions = self._places.get(correlation_id)
        begin = self._count - len(in_flight)
        if positions is None:
            return []
        del positions[: bisect_left(positions, begin)]
        if not positions:
            del self._places[correlation_id]
        return [in_flight[position - begin] for position in positions[:MOST_CANDIDATES]]
