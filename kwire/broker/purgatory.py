"""Delayed responses: long polls, and joins and syncs of groups. The caller passes the time."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple

_FEW = 64  # forgotten ones that may be kept in any case


class Later(NamedTuple):
    """A response that is made when somebody takes it: many may be due at once, and large."""

    make: Callable[[], Any]


class Parked:
    """A request that waits.

    Args:
        attempt: is asked for the response whenever something has changed; True says that the time is over.
        keys: what it waits for a change of.
    """

    __slots__ = ("_attempt", "_response", "is_timed", "keys")

    def __init__(self, attempt: Callable[[bool], Any] = lambda over: None, keys: Iterable[Hashable] = ()) -> None:
        self.keys: tuple[Hashable, ...] = tuple(keys)
        self._attempt = attempt
        self._response: Any = None
        self.is_timed: bool = False  # whether the purgatory looks at it when its time is over

    @property
    def is_answered(self) -> bool:
        """Whether there is a response."""
        return self._response is not None

    @property
    def response(self) -> Any:
        """The response; None until it is answered."""
        if isinstance(self._response, Later):
            self._response = self._response.make()
        return self._response

    def attempt(self, over: bool) -> Any:
        """Return the response, perhaps a `Later`, or None if it is too early."""
        return self._attempt(over)


class Purgatory:
    """All parked requests, by what they wait for and until when.

    Attributes:
        answered: those that got their response, until somebody takes them out.
        now: the time, as it was told last.

    >>> purgatory = Purgatory()
    >>> poll = Parked(lambda over: "nothing" if over else None, ["orders-0"])
    >>> purgatory.park(poll, deadline=2.0)
    >>> purgatory.changed("orders-0"), purgatory.tick(1.9), purgatory.answered
    (None, None, [])
    >>> purgatory.tick(2.0), purgatory.answered[0].response
    (None, 'nothing')
    """

    def __init__(self) -> None:
        self.answered: list[Parked] = []
        self.now: float = 0.0
        self._by_key: dict[Hashable, dict[Parked, None]] = {}
        self._deadlines: list[tuple[float, int, Parked]] = []
        self._count = self._forgotten = 0

    def park(self, parked: Parked, deadline: float) -> None:
        """Keep a request until something it waits for lets it be answered, or the time is over."""
        for key in parked.keys:
            self._by_key.setdefault(key, {})[parked] = None
        self._count += 1
        parked.is_timed = True
        heapq.heappush(self._deadlines, (deadline, self._count, parked))

    def changed(self, key: Hashable) -> None:
        """Look again at those that wait for something."""
        for parked in list(self._by_key.get(key, ())):
            response = parked.attempt(False)
            if response is not None:
                self.answer(parked, response)

    def answer(self, parked: Parked, response: Any) -> None:
        """Give a parked request its response; only the first one counts."""
        if not parked.is_answered:
            parked._response = response
            self.forget(parked)
            self.answered.append(parked)

    def forget(self, parked: Parked) -> None:
        """Wait no longer: it is answered, or whoever asked is gone."""
        for key in parked.keys:
            waiting = self._by_key.get(key, {})
            waiting.pop(parked, None)
            if not waiting:
                self._by_key.pop(key, None)
        parked._attempt = _nothing
        if parked.is_timed:
            parked.is_timed = False
            self._forgotten += 1
            self._clear()

    def _clear(self) -> None:
        """Let go of the forgotten: of those that are next at once, of all when they are most of what is kept."""
        while self._deadlines and not self._deadlines[0][2].is_timed:
            heapq.heappop(self._deadlines)
            self._forgotten -= 1
        if self._forgotten > len(self._deadlines) // 2 + _FEW:
            self._deadlines = [row for row in self._deadlines if row[2].is_timed]
            heapq.heapify(self._deadlines)
            self._forgotten = 0

    def tick(self, now: float) -> None:
        """Answer those whose time is over."""
        self.now = now
        while self._deadlines and self._deadlines[0][0] <= now:
            parked = heapq.heappop(self._deadlines)[2]
            parked.is_timed = False
            self._clear()
            response = parked.attempt(True)
            if response is not None:
                self.answer(parked, response)

    @property
    def next_deadline(self) -> float | None:
        """When to `tick` next; None if nothing waits."""
        return self._deadlines[0][0] if self._deadlines else None


def _nothing(over: bool) -> None:
    return None
