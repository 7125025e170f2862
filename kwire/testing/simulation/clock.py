"""The simulated clock: a queue of functions, each called at its time, in a fixed order."""

from __future__ import annotations

import heapq
from collections.abc import Callable


class Clock:
    """A clock that jumps from one timer to the next.

    >>> clock, calls = Clock(), []
    >>> clock.call_at(2.0, lambda: calls.append("later"))
    >>> clock.call_at(1.0, lambda: calls.append("sooner"))
    >>> clock.run_next(), clock.run_next(), calls, clock.now
    (None, None, ['sooner', 'later'], 2.0)
    """

    def __init__(self) -> None:
        self.now: float = 0.0
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def call_at(self, at: float, function: Callable[[], None]) -> None:
        """Call a function at a time in seconds; functions of the same time are called in the order of these calls."""
        self._count += 1
        heapq.heappush(self._timers, (max(at, self.now), self._count, function))

    @property
    def next_time(self) -> float | None:
        """The time of the next timer; None if there is none."""
        return self._timers[0][0] if self._timers else None

    def run_next(self) -> None:
        """Advance to the next timer, and call its function."""
        self.now, _, function = heapq.heappop(self._timers)
        function()
