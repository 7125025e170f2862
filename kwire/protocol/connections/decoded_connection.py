"""A connection whose bodies are decoded: its client, and requests in envelopes."""

from __future__ import annotations

from typing import Any

from ..headers.api_versions_downgrade import API_VERSIONS
from ..headers.apis import Apis, Call
from ..results import NOBODY, Client
from .connection import Connection

FORWARDED = 4096  # number of requests in envelopes that are stored


class DecodedConnection(Connection):
    """The state of a connection whose bodies are decoded.

    Attributes:
        client: the client, according to decoded requests.
        call: the call that identified the client; None if every request must be checked.
        note: free for use by the reader of frames; initially None.
    """

    __slots__ = ("_forwarded", "client")
    call: Call | None

    def __init__(self, apis: Apis) -> None:
        super().__init__(apis=apis)
        self.client: Client = NOBODY
        self._forwarded: dict[int, Any] | None = None

    @property
    def _own_state(self) -> Any:
        return self.client, self._forwarded

    @_own_state.setter
    def _own_state(self, state: Any) -> None:
        self.client, self._forwarded = state

    def meet(self, key: int | None, client_id: str | None, software: str = "") -> None:
        """Update the client from one of its requests.

        Args:
            key: the api key of the request.
            client_id: the client id of the request; None keeps the known one.
            software: the client software that the request contains.
        """
        self.call = None
        if key == API_VERSIONS:
            self.client = Client(client_id, software or self.client.software)
        elif client_id is not None and client_id != self.client.client_id:
            self.client = Client(client_id, self.client.software)

    def forward(self, correlation_id: int, header: Any) -> None:
        """Store the header of a request inside an envelope."""
        self._forwarded = {} if self._forwarded is None else self._forwarded
        if len(self._forwarded) >= FORWARDED:
            del self._forwarded[next(iter(self._forwarded))]
        self._forwarded[correlation_id] = header

    def forwarded(self, correlation_id: int) -> Any:
        """Return and remove the header of a request in an envelope; None if unknown."""
        return None if self._forwarded is None else self._forwarded.pop(correlation_id, None)
