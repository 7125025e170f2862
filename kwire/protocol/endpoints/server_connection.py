"""`ServerConnection`: the broker's side of a connection, without I/O."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from ...schema.catalog import Catalog
from ..frame_encoder import encode_response
from ..frames.frame_size import LEAST
from ..headers.api_versions_downgrade import API_VERSIONS
from ..headers.requests_without_response import expects_response
from ..results import Request, Result, Undecodable
from .connection_side import ConnectionSide, token_frame

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from ...messages import RequestMessage

R = TypeVar("R", bound=Struct)


class ServerConnection(ConnectionSide):
    """Decodes requests, and encodes the responses to them. The caller does the I/O, and decides about timeouts.

    Args:
        catalog: the specs to use; by default those of Kafka's releases.
        salvage: accept in requests what Kafka tolerates, and list it in their `faults`; otherwise such a request is an
            `Undecodable`.

    >>> import kwire
    >>> from kwire import messages as M
    >>> server = kwire.ServerConnection()
    >>> frame = kwire.encode_request(M.HeartbeatRequest(group_id="g"), 4, correlation_id=7)
    >>> (request,) = server.receive(frame)
    >>> request.api_name, request.message.group_id, len(server.unanswered)
    ('Heartbeat', 'g', 1)
    >>> server.send(M.HeartbeatResponse(error_code=27), request).hex(" ")
    '00 00 00 0c 00 00 00 07 00 00 00 00 00 00 1b 00'
    """

    def __init__(self, *, catalog: Catalog | None = None, salvage: bool = True) -> None:
        super().__init__(catalog, salvage, "request")
        self._unanswered: deque[Request[Any] | Undecodable] = deque()

    @property
    def unanswered(self) -> tuple[Request[Any] | Undecodable, ...]:
        """The requests that wait for a response, in the order in which they must be answered."""
        return tuple(self._unanswered)

    def receive(self, data: Buffer) -> list[Request[Any] | Undecodable]:
        """Add bytes from the client; return the requests that they complete.

        A request that does not decode is an `Undecodable`: close the connection, as brokers do, except for a version of
        ApiVersionsRequest that is too new, which `send` answers in version 0 (KIP-511).

        Args:
            data: any portion of the bytes that the client sent.

        Returns:
            The requests in order.

        Raises:
            BadFrame: a size is impossible: this is no client of Kafka.
            ValueError: the client sent a token, see `receive_token`.
        """
        return self._receive(data, self._accept)

    def _accept(self, result: Result) -> Request[Any] | Undecodable:
        if not isinstance(result, Request | Undecodable):
            raise ValueError("the client sent a SASL token; receive_token returns it")
        self._reader.least = LEAST
        if _is_answered(result):
            self._unanswered.append(result)
        return result

    def send(self, message: R, request: Request[RequestMessage[R]] | Undecodable) -> bytes:
        """Return the frame of the response to a request, in the version of the request.

        Args:
            message: the response.
            request: the request; an `Undecodable` only for ApiVersionsRequest.

        Raises:
            ValueError: an earlier request must be answered first, or this one has been, or gets no response.
            EncodeError: see `kwire.encode_response`; also if the message is the response to another request.
        """
        if not self._unanswered or self._unanswered[0] is not request:
            raise ValueError(f"{_name_of(request)} is not the next request to be answered; {self._next_text()}")
        version = request.api_version if isinstance(request, Request) else 0
        name = type(message).__name__
        if name in self.catalog and self.catalog.spec(name).api_key != request.header.request_api_key:
            raise ValueError(f"{_name_of(request)} is not answered by {name}")
        frame = encode_response(
            message,  # type: ignore[arg-type]
            version,
            correlation_id=request.header.correlation_id,
            catalog=self.catalog,
        )
        self._unanswered.popleft()
        if name == "SaslHandshakeResponse" and version == 0:
            self._reader.least = 0  # tokens follow, which may be empty
        return frame

    def send_token(self, token: Buffer) -> bytes:
        """Return the frame of a SASL token without a header, as it follows SaslHandshakeResponse in version 0."""
        return token_frame(token)

    def _next_text(self) -> str:
        return f"{_name_of(self._unanswered[0])} is" if self._unanswered else "all have been answered"


def _is_answered(result: Request[Any] | Undecodable) -> bool:
    """Whether a request gets a response: not with acks=0, and if it does not decode, only ApiVersions does."""
    if isinstance(result, Request):
        return expects_response(result.message)
    return getattr(result.header, "request_api_key", None) == API_VERSIONS


def _name_of(request: Request[Any] | Undecodable) -> str:
    return request.api_name if isinstance(request, Request) else "ApiVersions"
