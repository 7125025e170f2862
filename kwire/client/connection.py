"""A client's connection to a broker: requests and responses, in the versions that both sides support."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, overload

from msgspec import Struct

from .. import __version__
from ..codecs.message_codec import Codec, codec_in
from ..errors import BadFrame, CallError
from ..protocol import Response
from ..protocol.endpoints.client_connection import ClientConnection
from ..protocol.headers.requests_without_response import expects_response
from ..protocol.results import CodecOf
from ..runtime import telemetry
from ..runtime.loggers import CLIENT
from ..runtime.telemetry import observe
from ..schema.catalog import Catalog, catalog_for
from ..schema.version_ranges import Versions
from .address import Address
from .call_errors import call_errors
from .deadline import Deadline
from .security import PLAINTEXT, TLS_RECORDS, Security, SessionLifetime

if TYPE_CHECKING:
    from ..messages import RequestMessage

R = TypeVar("R", bound=Struct)
PORTION = 1 << 16
SOFTWARE = {"clientSoftwareName": "kwire", "clientSoftwareVersion": __version__}  # KIP-511: brokers refuse empty ones


def connect(address: Address, deadline: Deadline) -> socket.socket:
    """Connect to the first address of a host that accepts.

    Args:
        address: a host, by name or number, and a port.
        deadline: the end of the look-up of the name and of all attempts together.

    Raises:
        CallError: it is not an address, the host is unknown, or nothing accepts in time.
    """
    address.check()
    with call_errors(address, "cannot connect", "does a broker listen there?"):
        refusal: OSError | None = None
        for family, kind, protocol, _, where in _look_up(address, deadline):
            connection = socket.socket(family, kind, protocol)
            try:
                connection.settimeout(deadline.left())
                connection.connect(where)
            except OSError as error:
                connection.close()
                refusal = error
            else:
                return connection
        raise refusal or OSError("the host has no address")


def _look_up(address: Address, deadline: Deadline) -> list[Any]:
    """Return what getaddrinfo returns; it takes no timeout and can last as long as the resolver likes."""
    addresses: Future[list[Any]] = Future()

    def look_up() -> None:
        try:
            addresses.set_result(socket.getaddrinfo(*address, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            addresses.set_exception(error)

    Thread(target=look_up, name="kwire look-up", daemon=True).start()
    return addresses.result(deadline.left())


class BrokerConnection:
    """A connection to one broker.

    Args:
        address: the address of the broker.
        timeout: seconds for the connection with TLS and SASL, and again for each request, up to the last byte of its
            response.
        client_id: the client id in requests.
        catalog: the specs to use; by default the specs of Kafka's releases.
        security: TLS and SASL; by default neither.
        deadline: the end of the set-up and of all requests together, instead of `timeout`; see `within`.

    Raises:
        CallError: nothing listens there, or the broker does not respond in time, or TLS or SASL fails.
        DumpError, OSError: see `Security.tls_context`.
    """

    def __init__(
        self,
        address: Address,
        *,
        timeout: float = 10.0,
        client_id: str = "kwire",
        catalog: Catalog | None = None,
        security: Security = PLAINTEXT,
        deadline: Deadline | None = None,
    ) -> None:
        self.address: Address = address
        self.timeout: float = timeout
        self.client_id: str = client_id
        self.catalog: Catalog = catalog or catalog_for()
        self._wire = ClientConnection(client_id, catalog=self.catalog)
        self.security: Security = security
        self._session, self._session_ends = SessionLifetime(), float("inf")
        self.deadline: Deadline | None = deadline
        context = security.tls_context() if security.has_tls else None
        with self.within(deadline or Deadline(timeout)) as until:
            self._socket = connect(address, until)
            try:
                self._secure(context, until)
            except BaseException:
                self.close()
                raise
        CLIENT.debug("%s: connected as %r", address, client_id)

    def to(self, address: Address, deadline: Deadline | None = None) -> BrokerConnection:
        """Connect to another broker with the same settings."""
        return BrokerConnection(
            address,
            timeout=self.timeout,
            client_id=self.client_id,
            catalog=self.catalog,
            security=self.security,
            deadline=deadline,
        )

    @contextmanager
    def within(self, deadline: Deadline) -> Iterator[Deadline]:
        """Let all requests of the block end at one deadline, instead of after `timeout` each."""
        before = self.deadline
        self.deadline = deadline
        try:
            yield deadline
        finally:
            self.deadline = before

    def _secure(self, context: ssl.SSLContext | None, deadline: Deadline) -> None:
        """Start TLS and authenticate, if configured."""
        if context is not None:
            with call_errors(self.address, is_tls=True):
                self._socket.settimeout(deadline.left())
                self._socket = context.wrap_socket(self._socket, server_hostname=self.address.host)
        if self.security != PLAINTEXT:
            self._authenticate()

    def _authenticate(self) -> None:
        """Set up the connection, or authenticate again."""
        self._session_ends = float("inf")  # for the requests of this exchange
        begun = time.monotonic()
        where = str(self.address)
        version = self._session.version
        steps = self.security.begin(where) if version < 0 else self.security.authenticate(where, version)
        answer: Any = None
        try:
            while True:
                message, version = steps.send(answer)
                response = self.ask(codec_in(self.catalog, type(message).__name__, version), message)
                assert response is not None
                answer = response.message
        except StopIteration as end:
            self._session = end.value
            self._session_ends = self._session.ends(begun)

    def __enter__(self) -> BrokerConnection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()
        CLIENT.debug("%s: closed", self.address)

    @overload
    def ask(self, codec: CodecOf[RequestMessage[R]], message: Any) -> Response[R] | None: ...
    @overload
    def ask(self, codec: Codec, message: Any) -> Response[Any] | None: ...
    def ask(self, codec: Any, message: Any) -> Response[Any] | None:
        """Send a request and wait for its response.

        Args:
            codec: the codec of the request, at the version to send.
            message: a message of this codec.

        Returns:
            The response; None for a Produce request with acks=0.

        Raises:
            CallError: the connection broke, or no response arrived in time.
            DecodeError: the response does not decode.
            EncodeError: see `kwire.encode_request`.
        """
        deadline = self.deadline or Deadline(self.timeout)
        if time.monotonic() > self._session_ends:
            with self.within(deadline):
                self._authenticate()
        data = self._wire.send(message, codec.version)
        with (
            observe(
                telemetry.CLIENT,
                codec.spec.api_name,
                api_version=codec.version,
                server_address=self.address.host,
                server_port=self.address.port,
                client_id=self.client_id,
            ) as measurement,
            call_errors(self.address, hint=self.security.hint),
        ):
            measurement.note(request_size=len(data))
            self._send(data, deadline)
            response = self._read_response(deadline) if expects_response(message) else None
            if response is not None:
                measurement.note(response_size=len(response.frame.data))
            return response

    def _send(self, data: bytes, deadline: Deadline) -> None:
        rest = memoryview(data)
        while rest:  # `sendall` of TLS gives each of its portions the whole timeout
            self._socket.settimeout(deadline.left())
            rest = rest[self._socket.send(rest) :]

    def versions(self) -> dict[int, Versions]:
        """Request the versions that the broker supports (KIP-35), if necessary again in version 0 (KIP-511)."""
        self._ask_versions(3, SOFTWARE)
        if self._wire.versions is None:
            self._ask_versions(0, {})
        return self._wire.versions or {}

    def newest(self, name: str) -> int | None:
        """Return the newest version of a request that both the broker and the specs have; None if they share none.

        Args:
            name: the name of the request, such as `MetadataRequest`.
        """
        spec = self.catalog.spec(name)
        versions = self._wire.versions or self.versions()
        theirs = versions.get(spec.api_key) if spec.api_key is not None else None
        return max((version for version in theirs or () if version in spec.versions), default=None)

    def _ask_versions(self, version: int, members: dict[str, str]) -> None:
        codec = codec_in(self.catalog, "ApiVersionsRequest", version)
        self.ask(codec, codec.from_json(members, defaults=True))

    def _read_response(self, deadline: Deadline) -> Response:
        while True:
            self._socket.settimeout(deadline.left())
            portion = self._socket.recv(PORTION)
            if not portion:
                raise CallError(str(self.address), "it closed the connection without an answer", self.security.hint)
            try:
                responses = self._wire.receive(portion)
            except BadFrame as error:
                raise self._foreign_bytes_error(error) from None
            if responses:
                return responses[0]

    def _foreign_bytes_error(self, error: BadFrame) -> CallError:
        if self._wire.unread.startswith(TLS_RECORDS):
            return CallError(str(self.address), "it responds with TLS", "use --security-protocol SSL or SASL_SSL")
        return CallError(str(self.address), f"it does not respond as Kafka does: {error}", "which port is this?")
