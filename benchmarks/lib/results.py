"""What was measured, and what is asked of it. Knows nothing of how it was measured."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.lib.bodies import Body
from benchmarks.lib.rounds import Times, ratios


class Row(NamedTuple):
    """What was measured of one body: by operation, seconds of a call, by implementation, a round each."""

    body: Body
    operations: dict[str, Times]

    def times(self, operation: str) -> Times:
        return self.operations[operation]

    def ratios(self, operation: str, other: str) -> list[float]:
        """Return how many times faster kwire is than another; nothing if it was not measured."""
        times = self.times(operation)
        return ratios(times[other], times["kwire"]) if other in times else []


def medians(rows: Sequence[Row], operation: str, other: str) -> list[float]:
    """Return how many times faster kwire is than another, of all bodies that both were measured with."""
    return [statistics.median(found) for row in rows if (found := row.ratios(operation, other))]
