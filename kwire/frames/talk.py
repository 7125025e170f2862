"""What is known of a connection while its frames are decoded: who asks, what waits for an answer, how one logs in.

Values and small rules; reads no bytes.
"""

from __future__ import annotations

from typing import Any

from ..gist import software_of
from .pairing import InFlightRequests, expects_response
from .results import Client, Request

SASL_HANDSHAKE, SASL_AUTHENTICATE, API_VERSIONS, ENVELOPE = 17, 36, 18, 58
FORWARDED = 4096  # requests inside envelopes that are remembered


class Talk:
    """One connection.

    Attributes:
        waiting: the requests in flight.
        client: who asks.
        mechanism: the SASL mechanism that the client chose last; None before that.
        authenticating: whether the client has begun to authenticate, and has asked for nothing else since.
        lossy: whether bytes of it are missing, so that requests may be among these.
        bare: whether tokens without headers may come (SaslHandshake v0), and `tokens` how many have come.
    """

    def __init__(self) -> None:
        self.waiting = InFlightRequests()
        self.client = Client()
        self.mechanism: str | None = None
        self.authenticating = self.bare = self.lossy = False
        self.tokens = 0
        self._forwarded: dict[int, Any] = {}

    def asked(self, request: Request) -> None:
        """Note a request that was decoded."""
        key, message = request.codec.spec.api_key, request.message
        self.hear(request.header, key, expects_response(message), software_of(message) if key == API_VERSIONS else "")
        self.authenticating = key in (SASL_HANDSHAKE, SASL_AUTHENTICATE)
        self.bare = key == SASL_HANDSHAKE and request.codec.version == 0
        if key == SASL_HANDSHAKE:
            self.mechanism, self.tokens = message.mechanism, 0

    def hear(self, header: Any, key: int | None, awaits: bool, software: str = "") -> None:
        """Note a request that has nothing to do with SASL.

        Args:
            header: of the request; None where it has none.
            key: its api.
            awaits: whether it will be answered.
            software: what it tells of the client's software.
        """
        client_id = getattr(header, "client_id", None)
        if key == API_VERSIONS:
            self.client = Client(client_id, software or self.client.software)
        elif client_id is not None and client_id != self.client.client_id:
            self.client = Client(client_id, self.client.software)
        self.authenticating = self.bare = False
        if awaits and header is not None:
            self.waiting.add(header)

    def expect(self, header: Any, message: Any) -> None:
        """Note that a request waits for an answer."""
        if header is not None and expects_response(message):
            self.waiting.add(header)

    def forward(self, correlation_id: int, header: Any) -> None:
        """Note which request is inside an envelope."""
        if len(self._forwarded) >= FORWARDED:
            del self._forwarded[next(iter(self._forwarded))]
        self._forwarded[correlation_id] = header

    def forwarded(self, correlation_id: int) -> Any:
        """Return the header of the request inside an envelope, and forget it; None if it is not known."""
        return self._forwarded.pop(correlation_id, None)
