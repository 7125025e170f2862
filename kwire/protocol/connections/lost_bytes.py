"""Which responses may match the wrong request, because bytes of a connection, possibly requests, were lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


class PairingDoubt:
    """The requests in flight that a response may match by mistake, because bytes were lost.

    Requests may be among the lost bytes, and old clients reuse correlation ids. Responses arrive in order, and ids
    usually increase. Therefore the response to a lost request may match a request from before the loss whose response
    was lost too, or one with the same id as the first request after the loss.

    Attributes:
        active: whether there are such requests.
    """

    __slots__ = ("_before", "active")

    def __init__(self) -> None:
        self.active: bool = False
        self._before: Any = None  # the newest request from before the loss, while it is in flight

    def lose(self, in_flight: Sequence[Any]) -> None:
        """Record that bytes were lost while these requests were in flight."""
        self.active = True
        self._before = in_flight[-1] if in_flight else None

    def covers(self, request: Any, in_flight: Iterable[Any]) -> bool:
        """Whether a response that matches a request in flight may answer a lost request instead."""
        if not self.active:
            return False
        behind = iter(in_flight)
        if self._before is not None:
            for earlier_request in behind:
                if earlier_request is request:
                    return True
                if earlier_request is self._before:
                    break
        return bool(request.correlation_id == next(behind, request).correlation_id)

    def settle(self, request: Any, overtaken: Sequence[Any]) -> None:
        """Record that a request was answered, and which requests its response has overtaken."""
        if self._before is None or any(earlier_request is self._before for earlier_request in overtaken):
            self.active = False
        if not self.active or request is self._before:
            self._before = None
