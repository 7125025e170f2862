"""kafka-python's `KafkaProtocol`, the state of a connection, over `kwire.ClientConnection`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import kwire
from kwire.errors import BadFrame

from . import messages

LIMIT = 100_000_000


class SaslBytesRequest:
    """A SASL token without a header, after SaslHandshake in version 0."""

    API_VERSION = 0
    error_code = 0

    def __init__(self, data: bytes) -> None:
        self.data = data

    def expect_response(self) -> bool:
        """Whether a broker answers."""
        return True


class SaslBytesResponse:
    """The token of the broker."""

    error_code = 0
    error_message = None

    def __init__(self, data: bytes) -> None:
        self.auth_bytes = data


class KafkaProtocol:
    """What is in flight on a connection, and the bytes to write.

    Args:
        config: of them, `client_id` and `receive_message_max_bytes` matter.
    """

    def __init__(self, **config: Any) -> None:
        limit = config.get("receive_message_max_bytes", LIMIT)
        self._connection = kwire.ClientConnection(config.get("client_id", "kafka-python"), limit=limit)
        self._numbers: list[tuple[int, bool]] = []  # of requests in flight, and whether they are tokens
        self._written: list[bytes] = []
        self._tokens = 0

    def send_request(self, request: Any) -> int:
        """Encode a request; returns its correlation id."""
        if isinstance(request, SaslBytesRequest):
            self._tokens += 1
            number = -self._tokens
            self._written.append(self._connection.send_token(request.data))
        else:
            frame = self._connection.send(request.kwire_message(), request.API_VERSION)
            number = int.from_bytes(frame[8:12])
            self._written.append(frame)
        if request.expect_response():
            self._numbers.append((number, isinstance(request, SaslBytesRequest)))
        return number

    def send_bytes(self) -> bytes:
        """Return the bytes to write, once."""
        data = b"".join(self._written)
        self._written.clear()
        return data

    def receive_bytes(self, data: bytes) -> list[tuple[int, Any]]:
        """Return the responses that bytes complete, with their correlation ids."""
        errors = import_module("kafka.errors")
        try:
            if self._numbers and self._numbers[0][1]:
                token = self._connection.receive_token(data)
                return [] if token is None else [(self._numbers.pop(0)[0], SaslBytesResponse(token.frame.data[4:]))]
            received = self._connection.receive(data)
        except BadFrame as error:
            raise errors.InvalidReceiveError(str(error)) from error
        except kwire.DecodeError as error:
            kind = errors.KafkaProtocolError if self._numbers else errors.CorrelationIdError
            raise kind(str(error)) from error
        return [self._response(response) for response in received]

    def _response(self, response: kwire.Response[Any]) -> tuple[int, Any]:
        number, _ = self._numbers.pop(0)
        if number != response.correlation_id:
            error = f"the response {response.correlation_id} came before {number}"
            raise import_module("kafka.errors").CorrelationIdError(error)
        name = type(response.message).__name__
        return number, getattr(messages, name).of(response.message, response.api_version)
