"""`ClientConnection`: the client's side of a connection, without I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import UnsupportedVersion
from ...schema.catalog import Catalog
from ...schema.version_ranges import Versions
from ...values import kind
from ..frame_encoder import encode_request
from ..frames.frame import Frame, Source
from ..frames.frame_size import LEAST, LIMIT
from ..headers.api_versions_downgrade import API_VERSIONS
from ..results import Response, Result, Undecodable
from .connection_side import ConnectionSide, token_frame

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from ...messages import RequestMessage

UNSUPPORTED_VERSION = 35


class ClientConnection(ConnectionSide):
    """Encodes requests, and decodes the responses to them. The caller does the I/O, and decides about timeouts.

    Args:
        client_id: the client id in the headers of requests; None for null.
        catalog: the specs to use; by default those of Kafka's releases.
        salvage: accept in responses what Kafka tolerates, and list it in their `faults`; otherwise it raises.
        limit: the largest accepted size of a response, in bytes; what claims more is a BadFrame.

    Attributes:
        versions: the versions that the broker supports, by api key; None until it has answered ApiVersionsRequest.

    A program writes the bytes of `send` to a socket, and gives `receive` what it reads from the socket:

    >>> import kwire
    >>> from kwire import messages as M
    >>> client, server = kwire.ClientConnection("me"), kwire.ServerConnection()
    >>> (request,) = server.receive(client.send(M.MetadataRequest(topics=None), 12))
    >>> (response,) = client.receive(server.send(M.MetadataResponse(controller_id=3), request))
    >>> response.correlation_id, response.message.controller_id, client.in_flight
    (1, 3, 0)
    """

    def __init__(
        self,
        client_id: str | None = None,
        *,
        catalog: Catalog | None = None,
        salvage: bool = True,
        limit: int = LIMIT,
    ) -> None:
        super().__init__(catalog, salvage, "response", limit)
        self.client_id: str | None = client_id
        self.versions: dict[int, Versions] | None = None
        self._api_versions: Versions | None = None  # of ApiVersions itself, once the broker has refused one (KIP-511)
        self._refusal = 0  # the error with which the broker answered ApiVersionsRequest last; 0 for none
        self._sent = 0

    @property
    def in_flight(self) -> int:
        """The number of requests that have no response yet."""
        return len(self._decoder.connections.on((None, None)).in_flight)

    def send(self, message: RequestMessage[Any], version: int | None = None) -> bytes:
        """Return the frame of a request, with the next correlation id.

        Args:
            message: the request.
            version: its version; by default the newest that the broker supports too. ApiVersionsRequest needs none: it
                is sent in the newest version, and after the broker has refused that, in one that it supports.

        Raises:
            ValueError: the broker's versions are not known yet, and `version` is not given.
            UnsupportedVersion: there is no such version, or the broker supports none of this request.
            EncodeError: see `kwire.encode_request`.

        After a Produce request with `acks=0`, which has no response, nothing is in flight.
        """
        if version is None:
            version = self.newest_version(type(message).__name__)
        self._sent = self._sent % 0x7FFFFFFF + 1
        frame = encode_request(
            message, version, correlation_id=self._sent, client_id=self.client_id, catalog=self.catalog
        )
        self._decoder.decode(Frame(frame, Source(direction="request")))
        self._reader.least = LEAST
        return frame

    def send_token(self, token: Buffer) -> bytes:
        """Return the frame of a SASL token without a header, as it follows SaslHandshakeRequest in version 0."""
        frame = token_frame(token)
        self._decoder.decode(Frame(frame, Source(direction="request")))
        self._reader.least = 0  # the broker's token may be empty
        return frame

    def receive(self, data: Buffer) -> list[Response[Any]]:
        """Add bytes from the broker; return the responses that they complete, each decoded by its request.

        Args:
            data: any portion of the bytes that the broker sent.

        Returns:
            The responses in the order in which they arrived.

        Raises:
            BadFrame: a size is impossible: this is no broker, or an earlier frame was wrong.
            DecodeError: a response does not decode, or answers no request in flight. Responses before it are returned
                first; the next call raises.
            UnsupportedVersion: the broker refuses each version of ApiVersionsRequest.
            ValueError: the broker sent a token, see `receive_token`.
        """
        return self._receive(data, self._accept)

    def _accept(self, result: Result) -> Response[Any]:
        if isinstance(result, Undecodable):
            raise result.error
        if not isinstance(result, Response):
            raise ValueError("the broker sent a SASL token; receive_token returns it")
        if result.api_key == API_VERSIONS:
            self._learn_versions(result.message)
        return result

    def newest_version(self, name: str) -> int:
        """Return the newest version of a request that the broker and the specs have; raises the errors of `send`.

        Args:
            name: the name of the request, such as `MetadataRequest`.
        """
        spec = self.catalog.spec(name)
        if spec.api_key == API_VERSIONS:
            supported = self._api_versions if self.versions is None else self.versions.get(API_VERSIONS)
        elif self.versions is None:
            problem = f"the versions of {name} that the broker supports are not known"
            raise ValueError(f"{problem}; {self._advise_api_versions()}, or give a version")
        else:
            supported = self.versions.get(-1 if spec.api_key is None else spec.api_key, Versions())
        common = [version for version in spec.versions if supported is None or version in supported]
        if not common:
            raise UnsupportedVersion(name, spec.versions.last, str(supported), "the broker")
        return max(common)

    def _advise_api_versions(self) -> str:
        """Return what to send before requests in versions that the broker supports."""
        request = 'ApiVersionsRequest(client_software_name="NAME", client_software_version="1")'  # or INVALID_REQUEST
        if not self._refusal:
            return f"send {request} and receive its response first"
        error = kind("ErrorCode")(self._refusal).name or self._refusal
        return f"the broker answered ApiVersionsRequest with {error}: send {request} once more"

    def _learn_versions(self, message: Any) -> None:
        """Keep the versions that the broker supports. One that refuses a version of ApiVersions lists only this api, or
        nothing (KIP-511)."""
        self._refusal = message.error_code
        ranges = {api.api_key: Versions(((api.min_version, api.max_version),)) for api in message.api_keys}
        if message.error_code == UNSUPPORTED_VERSION and self._api_versions is not None:
            raise UnsupportedVersion("ApiVersionsRequest", self._api_versions.first, "none", "the broker")
        if message.error_code == UNSUPPORTED_VERSION:
            self._api_versions = ranges.get(API_VERSIONS, Versions(((0, 0),)))
        elif not message.error_code:
            self.versions = ranges
