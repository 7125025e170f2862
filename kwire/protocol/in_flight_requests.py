"""Which requests are never answered (acks=0), and which of those in flight a response answers only perhaps.

Responses arrive in the order of requests, per connection. Correlation ids are compared, not used as keys: the fetchers
of Kafka 0.8 and 0.9 use the same id for every request of a connection.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..codecs import Codec

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
