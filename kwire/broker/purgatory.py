"""The purgatory: requests that wait for records, for members of a group, or for their deadline.

As Kafka's DelayedOperationPurgatory. The caller passes the time.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Generic, NamedTuple, TypeVar

_FEW = 64  # the number of completed requests below which none are removed


Response = TypeVar("Response")


class Later(NamedTuple, Generic[Response]):
    """A response that is created only when it is sent, because many large responses may be due at the same time."""

    make: Callable[[], Response]


class Failed(NamedTuple):
    """The exception with which an attempt to complete a parked request ended."""

    error: Exception


class Parked(Generic[Response]):
    """A parked request, whose response is delayed; the type argument is the class of the response.

    Args:
        attempt: called after each change; returns the response, or None to keep waiting. Its argument is true at the
            deadline.
        keys: the keys of changes that the request waits for.
    """

    __slots__ = ("_attempt", "_response", "is_timed", "keys")

    def __init__(
        self,
        attempt: Callable[[bool], Response | Later[Response] | None] = lambda over: None,
        keys: Iterable[Hashable] = (),
    ) -> None:
        self.keys: tuple[Hashable, ...] = tuple(keys)
        self._attempt = attempt
        self._response: Any = None  # a response, Later or Failed
        self.is_timed: bool = False  # whether the purgatory calls `attempt` at the deadline

    @property
    def is_answered(self) -> bool:
        """Whether the response is set."""
        return self._response is not None

    @property
    def failure(self) -> Exception | None:
        """What the attempt to complete the request has raised."""
        return self._response.error if isinstance(self._response, Failed) else None

    @property
    def response(self) -> Any:
        """The response; None until it is set. Raises what the attempt to complete the request has raised."""
        if self.failure is not None:
            raise self.failure
        if isinstance(self._response, Later):
            self._response = self._response.make()
        return self._response

    def attempt(self, over: bool) -> Response | Later[Response] | None:
        """Return the response, which may be a `Later`; None to keep waiting."""
        return self._attempt(over)


class Purgatory:
    """The parked requests, by keys and deadlines.

    Attributes:
        answered: the completed requests, until the caller removes them.
        now: the latest time that was passed.

    >>> purgatory = Purgatory()
    >>> poll = Parked(lambda over: "nothing" if over else None, ["orders-0"])
    >>> purgatory.park(poll, deadline=2.0)
    >>> purgatory.changed("orders-0"), purgatory.tick(1.9), purgatory.answered
    (None, None, [])
    >>> purgatory.tick(2.0), purgatory.answered[0].response
    (None, 'nothing')
    """

    def __init__(self) -> None:
        self.answered: list[Parked[Any]] = []
        self.now: float = 0.0
        self._by_key: dict[Hashable, dict[Parked[Any], None]] = {}
        self._deadlines: list[tuple[float, int, Parked[Any]]] = []
        self._count = self._forgotten = 0

    def park(self, parked: Parked[Any], deadline: float) -> None:
        """Park a request until a change completes it, or until its deadline."""
        for key in parked.keys:
            self._by_key.setdefault(key, {})[parked] = None
        self._count += 1
        parked.is_timed = True
        heapq.heappush(self._deadlines, (deadline, self._count, parked))

    def changed(self, key: Hashable) -> None:
        """Try to complete the requests that wait for a key."""
        for parked in list(self._by_key.get(key, ())):
            self._attempt(parked, False)

    def _attempt(self, parked: Parked[Any], over: bool) -> None:
        """Try to complete a request. What that raises belongs to this request, not to the one that changed something,
        nor to the clock; it is raised where the response is read."""
        try:
            response = parked.attempt(over)
        except Exception as error:
            response = Failed(error)
        if response is not None:
            self.answer(parked, response)

    def answer(self, parked: Parked[Response], response: Response | Later[Response] | Failed) -> None:
        """Set the response of a parked request; later responses are ignored."""
        if not parked.is_answered:
            parked._response = response
            self.forget(parked)
            self.answered.append(parked)

    def forget(self, parked: Parked[Any]) -> None:
        """Remove a request that is completed, or whose client has disconnected."""
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
        """Remove forgotten requests: the oldest ones immediately, the others once they are the majority."""
        while self._deadlines and not self._deadlines[0][2].is_timed:
            heapq.heappop(self._deadlines)
            self._forgotten -= 1
        if self._forgotten > len(self._deadlines) // 2 + _FEW:
            self._deadlines = [row for row in self._deadlines if row[2].is_timed]
            heapq.heapify(self._deadlines)
            self._forgotten = 0

    def tick(self, now: float) -> None:
        """Complete the requests whose deadline has passed."""
        self.now = now
        while self._deadlines and self._deadlines[0][0] <= now:
            parked = heapq.heappop(self._deadlines)[2]
            parked.is_timed = False
            self._clear()
            self._attempt(parked, True)

    @property
    def next_deadline(self) -> float | None:
        """The time of the next `tick`; None if no request is waiting."""
        return self._deadlines[0][0] if self._deadlines else None


def _nothing(over: bool) -> None:
    return None
