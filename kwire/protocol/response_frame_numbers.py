"""Adds to each request the frame number of its response; holds results in a bounded window."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Any, TypeVar

from msgspec.structs import replace

from .headers.requests_without_response import expects_response
from .results import Request, Response, Result, Token, Undecodable

MOST_HELD = 100_000  # waiting results
MOST_BYTES = 1 << 26  # bytes of their frames
T = TypeVar("T")


class _HeldItem:
    """A result that is not yet yielded; for a waiting request, also its connection."""

    __slots__ = ("connection", "result", "size", "waits")

    def __init__(self, result: Any, size: int = 0, connection: object = None, *, waits: bool = False) -> None:
        self.result = result
        self.size: int = size
        self.connection: object = connection
        self.waits: bool = waits


class _ResultWindow:
    """Results in order; the oldest one is a request that waits for its response."""

    def __init__(self) -> None:
        self._held = deque[_HeldItem]()
        self._requests: dict[object, dict[int, _HeldItem]] = {}  # the waiting requests, by connection and frame number
        self._file: str | None = None
        self._size = 0  # in bytes

    def add(self, result: object) -> None:
        """Add a result. A response stores its frame number in its request; older requests stop waiting."""
        if isinstance(result, Request | Response | Token | Undecodable):
            self._add(result)
        else:
            self._held.append(_HeldItem(result))

    def _add(self, result: Result) -> None:
        source = result.frame.source
        if source.file != self._file:
            self.release()
            self._file = source.file
        for number in result.frame.closed:
            self._end(number)
        connection = source.connection_key
        item = _HeldItem(result, len(result.frame.data), connection)
        self._held.append(item)
        self._size += item.size
        if isinstance(result, Request) and source.frame is not None and expects_response(result.message):
            item.waits = True
            self._requests.setdefault(connection, {})[source.frame] = item
        elif isinstance(result, Response) and result.request_frame is not None:
            self._answer(connection, result.request_frame, source.frame)

    def _answer(self, connection: object, request: int, response: int | None) -> None:
        waiting = self._requests.get(connection, {})
        for number in list(takewhile(lambda number: number <= request, waiting)):
            item = waiting.pop(number)
            item.waits = False
            if number == request:
                item.result = replace(item.result, response_frame=response)

    def _end(self, connection: object) -> None:
        for item in self._requests.pop(connection, {}).values():
            item.waits = False

    def release(self) -> None:
        """Mark all results as ready."""
        for connection in list(self._requests):
            self._end(connection)

    def ready(self) -> Iterator[Any]:
        """Yield the first results that do not wait, and the results that exceed the window."""
        while self._held and (not self._held[0].waits or len(self._held) > MOST_HELD or self._size > MOST_BYTES):
            item = self._held.popleft()
            self._size -= item.size
            if item.waits:
                del self._requests[item.connection][item.result.frame.source.frame]
            yield item.result


def with_response_frames(results: Iterable[T]) -> Iterator[T]:
    """Yield results in the same order, each request with the frame number of its response.

    A request is held until its response, a response to a later request or the end of its connection has arrived. At
    most 100,000 results or 64 MiB of frames are held; then the oldest is yielded without the number.

    Args:
        results: results of frames that have numbers; other objects are yielded unchanged.

    >>> import kwire
    >>> results = kwire.decode_frames(kwire.read_dump("fixtures/dumps/kafka-3.9-zk.bin"))
    >>> [getattr(result, "response_frame", None) for result in with_response_frames(results)]
    [1, None, 3, None, 5, None]
    """
    window = _ResultWindow()
    for result in results:
        window.add(result)
        yield from window.ready()
    window.release()
    yield from window.ready()
