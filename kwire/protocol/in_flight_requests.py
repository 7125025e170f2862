"""Requests in flight of one client, and rules that connections share (acks=0).

Responses arrive in the order of requests, per connection. Correlation ids are compared, not used as keys: the fetchers
of Kafka 0.8 and 0.9 use the same id for every request of a connection.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import Any

from ..codecs import Codec
from ..errors.decode import UnexpectedResponse

# Requests that are never answered: message -> (attribute, value).
UNANSWERED: dict[str, tuple[str, Any]] = {
    "ProduceRequest": ("acks", 0),  # the producer requests no acknowledgement
}
ALL_REPLICAS, LEADER_ONLY = -1, 1  # acks


def expects_response(message: Any) -> bool:
    """Whether a request will be answered.

    >>> from kwire import messages
    >>> expects_response(messages.ProduceRequest(acks=0)), expects_response(messages.ProduceRequest(acks=1))
    (False, True)
    """
    attribute, value = UNANSWERED.get(type(message).__name__, ("", None))
    return not attribute or bool(getattr(message, attribute) != value)


def prefixes_of(codec: Codec, *, answered: bool) -> tuple[bytes, ...]:
    """Return the possible first bytes of request bodies that are certainly answered, or certainly not; empty if all
    are.

    Other requests must be decoded to decide.

    >>> from kwire import codec
    >>> [[p.hex() for p in prefixes_of(codec("ProduceRequest", 9), answered=answered)] for answered in (True, False)]
    [['00ffff', '000001'], ['000000']]
    >>> prefixes_of(codec("MetadataRequest", 1), answered=True)
    ()
    """
    attribute, unanswered = UNANSWERED.get(codec.name, ("", None))
    prefixes = []
    for value in () if not attribute else (ALL_REPLICAS, LEADER_ONLY) if answered else (unanswered,):
        body = codec.encode(codec.message_class(**{attribute: value}))
        stop = next(span.stop for span in codec.trace(body) if span.path == attribute)
        prefixes.append(body[:stop])
    return tuple(prefixes)


class Doubt:
    """The requests in flight that a response may match only by chance, because bytes were lost.

    Requests may be among the lost bytes, and old clients reuse correlation ids. Responses come in order, and ids
    usually increase: the response to a lost request may match a request from before the loss whose own response was
        lost, or one with the same id as the first request after the loss.

    Attributes:
        active: whether there are any.
    """

    __slots__ = ("_before", "active")

    def __init__(self) -> None:
        self.active: bool = False
        self._before: Any = None  # the newest request from before the loss, while it is in flight

    def lose(self, in_flight: Sequence[Any]) -> None:
        """Record a loss of bytes after these requests in flight."""
        self.active = True
        self._before = in_flight[-1] if in_flight else None

    def covers(self, request: Any, in_flight: Iterable[Any]) -> bool:
        """Whether a response that matches a request in flight may answer a lost one instead."""
        if not self.active:
            return False
        behind = iter(in_flight)
        if self._before is not None:
            for one in behind:
                if one is request:
                    return True
                if one is self._before:
                    break
        return bool(request.correlation_id == next(behind, request).correlation_id)

    def settle(self, request: Any, overtaken: Sequence[Any]) -> None:
        """Record that a request was answered, and which ones its response overtook."""
        if self._before is None or any(one is self._before for one in overtaken):
            self.active = False
        if not self.active or request is self._before:
            self._before = None


class InFlightRequests:
    """The headers of the requests in flight of one connection, oldest first.

    For programs that decode headers themselves. kwire uses `Connection`, which also handles the direction of frames,
    acks=0, SASL and KIP-511.

    Args:
        limit: how many headers to keep; beyond that the oldest are dropped.

    >>> from kwire import messages
    >>> waiting = InFlightRequests()
    >>> waiting.add(messages.RequestHeader(request_api_key=3, request_api_version=9, correlation_id=7))
    >>> waiting.complete(7).request_api_key
    3
    """

    def __init__(self, limit: int = 65536) -> None:
        self.limit = limit
        self._headers: deque[Any] = deque()
        self._ids: Counter[int] = Counter()  # so that unknown ids need no search

    def __len__(self) -> int:
        return len(self._headers)

    def add(self, header: Any) -> None:
        """Add a request that was sent and expects a response."""
        if len(self._headers) == self.limit:
            self._pop()
        self._headers.append(header)
        self._ids[header.correlation_id] += 1

    @property
    def next_id(self) -> int | None:
        """The correlation id of the oldest request; None if there is none."""
        return self._headers[0].correlation_id if self._headers else None

    def find(self, correlation_id: int) -> Any:
        """Return the oldest header with this correlation id, or None; changes nothing."""
        if correlation_id not in self._ids:
            return None
        return next(header for header in self._headers if header.correlation_id == correlation_id)

    def next_is(self, correlation_id: int) -> bool:
        """Whether the oldest request has this correlation id."""
        return self.next_id == correlation_id

    def complete(self, correlation_id: int) -> Any:
        """Remove and return the header of the request that a response answers: the oldest one.

        Raises:
            UnexpectedResponse: the oldest has another correlation id, or there is none; nothing changes.
        """
        if not self.next_is(correlation_id):
            raise UnexpectedResponse(offset=4, found=correlation_id, need=self.next_id)
        return self._pop()

    def skip_to(self, correlation_id: int) -> list[Any]:
        """Remove the requests before the first one with this correlation id: they were overtaken and stay unanswered.

        Returns:
            The removed headers. Raises UnexpectedResponse if no request has the id; nothing changes then.
        """
        if self.find(correlation_id) is None:
            self.complete(correlation_id)
        dropped = []
        while not self.next_is(correlation_id):
            dropped.append(self._pop())
        return dropped

    def _pop(self) -> Any:
        header = self._headers.popleft()
        self._ids[header.correlation_id] -= 1
        if not self._ids[header.correlation_id]:
            del self._ids[header.correlation_id]
        return header
