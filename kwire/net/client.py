"""A client's connection to a broker: addresses, TLS and SASL, requests out, responses in, and which requests change
nothing there.
"""

from __future__ import annotations

import re
import socket
import ssl
import time
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

from msgspec import Struct

from .. import __version__
from ..codecs import Codec, codec_in
from ..errors import CallError
from ..errors.decode import BadFrame
from ..protocol import Frame, FrameDecoder, FrameReader, Response, Source, Undecodable, encode_request
from ..protocol.api_registry import expects_response
from ..protocol.results import CodecOf
from ..spec.catalog import Catalog, catalog_for
from ..versions import Versions
from .security import PLAINTEXT, TLS_RECORDS, Security, Session, tls_failure, tls_reason

if TYPE_CHECKING:
    from ..messages import RequestMessage

R = TypeVar("R", bound=Struct)

# Apis that change nothing, in the sense of Kafka's ACL operations Describe and Read.
READING = frozenset(
    "ApiVersions ConsumerGroupDescribe DescribeAcls DescribeClientQuotas DescribeCluster DescribeConfigs"
    " DescribeDelegationToken DescribeGroups DescribeLogDirs DescribeProducers DescribeQuorum DescribeShareGroupOffsets"
    " DescribeTopicPartitions DescribeTransactions DescribeUserScramCredentials Fetch FetchSnapshot FindCoordinator"
    " ListConfigResources ListGroups ListOffsets ListPartitionReassignments ListTransactions Metadata OffsetFetch"
    " OffsetForLeaderEpoch ReadShareGroupState ReadShareGroupStateSummary SaslHandshake ShareGroupDescribe"
    " StreamsGroupDescribe".split()
)


def changes_state(codec: Codec, message: Any) -> bool:
    """Whether a request may change something on the broker.

    Args:
        codec: of the request.
        message: the request. A Metadata request that names topics creates them, unless it says not to.

    An api that is not known here may.

    >>> import kwire
    >>> codec = kwire.codec("MetadataRequest", 4)
    >>> changes_state(codec, codec.from_json({"topics": [{"name": "new"}]}, defaults=True))
    True
    """
    if codec.spec.profile == "KIP-879" and codec.spec.api_name == "CreateReplicaAssignment":
        return False  # it asks where replicas would be placed
    creates = bool(getattr(message, "allow_auto_topic_creation", False) and message.topics)
    return creates or codec.spec.api_name not in READING


PORT = 9092
_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.%\w]+)\]|(?P<host>[^\s:\[\]]*))(?::(?P<port>\d{1,5}))?")


class Address(NamedTuple):
    """A host, by name or number, and a TCP port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def address(text: str, host: str = "localhost", port: int = PORT) -> Address:
    """Read `host:port`, `:port`, `host` or `[::1]:port`.

    Args:
        text: what was written.
        host, port: what is meant where it says none.

    Raises:
        CallError: it is none of these.

    >>> str(address(":19092")), str(address("b1.example")), str(address("[::1]:9093"))
    ('localhost:19092', 'b1.example:9092', '[::1]:9093')
    """
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"] or port) > 0xFFFF:
        raise CallError(text, "this is no address", "write HOST:PORT, :PORT or [IPv6]:PORT")
    return Address(match["six"] or match["host"] or host, int(match["port"] or port))


PORTION = 1 << 16
TLS_HANDSHAKE = b"\x16\x03"  # what a client begins with
UNSUPPORTED_VERSION = 35
SOFTWARE = {"clientSoftwareName": "kwire", "clientSoftwareVersion": __version__}  # KIP-511: brokers refuse empty ones


class BrokerConnection:
    """A connection to one broker.

    Args:
        address: where it listens.
        timeout: seconds to wait for the connection, and for each portion of an answer.
        client_id: what requests carry.
        catalog: the specs to use; those of Kafka's releases by default.
        security: TLS and SASL; neither unless given.

    Raises:
        CallError: nothing listens there, or it does not answer in time, or TLS or SASL fail.
        DumpError, OSError: as `Security.tls_context`.
    """

    def __init__(
        self,
        address: Address,
        *,
        timeout: float = 10.0,
        client_id: str = "kwire",
        catalog: Catalog | None = None,
        security: Security = PLAINTEXT,
    ) -> None:
        self.address: Address = address
        self.timeout: float = timeout
        self.client_id: str = client_id
        self.catalog: Catalog = catalog or catalog_for()
        self._decoder = FrameDecoder(self.catalog, salvage=True)
        self._reader = FrameReader()
        self._asked = 0
        self._spoken: dict[int, Versions] = {}
        self.security: Security = security
        self._session, self._session_ends = Session(), float("inf")
        context = security.tls_context() if security.has_tls else None
        try:
            self._socket = socket.create_connection(address, timeout)
        except OSError as error:
            raise CallError(str(address), f"cannot connect: {why(error)}", "does a broker listen there?") from None
        try:
            self._secure(context)
        except BaseException:
            self.close()
            raise

    def to(self, address: Address) -> BrokerConnection:
        """Connect to another broker, in the same way."""
        return BrokerConnection(
            address, timeout=self.timeout, client_id=self.client_id, catalog=self.catalog, security=self.security
        )

    def _secure(self, context: ssl.SSLContext | None) -> None:
        """Begin TLS, and authenticate, as the settings say."""
        if context is not None:
            try:
                self._socket = context.wrap_socket(self._socket, server_hostname=self.address.host)
            except OSError as error:
                raise tls_failure(error, str(self.address)) from None
        if self.security != PLAINTEXT:
            self._authenticate()

    def _authenticate(self) -> None:
        """Begin the connection, or authenticate again; a session counts as ended a fifth before its end."""
        self._session_ends = float("inf")  # for the requests of this exchange
        begun = time.monotonic()
        where, version = str(self.address), self._session.version
        steps = self.security.begin(where) if version < 0 else self.security.authenticate(where, version)
        answer: Any = None
        try:
            while True:
                message, version = steps.send(answer)
                found = self.ask(codec_in(self.catalog, type(message).__name__, version), message)
                assert found is not None
                answer = found.message
        except StopIteration as end:
            self._session = end.value
            self._session_ends = begun + 0.8 * end.value.seconds if end.value.seconds else float("inf")

    def __enter__(self) -> BrokerConnection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    @overload
    def ask(self, codec: CodecOf[RequestMessage[R]], message: Any) -> Response[R] | None: ...
    @overload
    def ask(self, codec: Codec, message: Any) -> Response[Any] | None: ...
    def ask(self, codec: Any, message: Any) -> Response[Any] | None:
        """Send a request and wait for its answer.

        Args:
            codec: of the request, at the version to send.
            message: a message of this codec.

        Returns:
            The answer; None for a Produce that asks for none (acks=0).

        Raises:
            CallError: the connection broke, or no answer came in time.
            DecodeError: the answer does not decode.
            EncodeError: as `kwire.encode_request`.
        """
        if time.monotonic() > self._session_ends:
            self._authenticate()
        self._asked += 1
        data = encode_request(
            message, codec.version, correlation_id=self._asked, client_id=self.client_id, catalog=self.catalog
        )
        self._decoder.decode(Frame(data, Source(direction="request")))
        try:
            self._socket.sendall(data)
            return self._answer() if expects_response(message) else None
        except ssl.SSLError as error:  # with TLS 1.3 a broker refuses a client's certificate as late as this
            raise tls_failure(error, str(self.address)) from None
        except OSError as error:
            raise self._broken(why(error)) from None

    def versions(self) -> dict[int, Versions]:
        """Ask which versions of which api keys the broker speaks (KIP-35; KIP-511 if it does not know how we ask)."""
        answer = self._versions(3, SOFTWARE)
        if answer.error_code == UNSUPPORTED_VERSION:
            answer = self._versions(0, {})
        return {api.api_key: Versions(((api.min_version, api.max_version),)) for api in answer.api_keys}

    def newest(self, name: str) -> int | None:
        """Return the newest version of a request that the broker and the specs know; None if there is none.

        Args:
            name: of the request, such as `MetadataRequest`.
        """
        spec = self.catalog.spec(name)
        self._spoken = self._spoken or self.versions()
        theirs = self._spoken.get(spec.api_key) if spec.api_key is not None else None
        return max((version for version in theirs or () if version in spec.versions), default=None)

    def _versions(self, version: int, members: dict[str, str]) -> Any:
        codec = codec_in(self.catalog, "ApiVersionsRequest", version)
        answer = self.ask(codec, codec.from_json(members, defaults=True))
        assert answer is not None
        return answer.message

    def _answer(self) -> Response:
        result = self._decoder.decode(replace(self._frame(), source=Source(direction="response")))
        if isinstance(result, Undecodable):
            raise result.error
        assert isinstance(result, Response)
        return result

    def _frame(self) -> Frame:
        while True:
            try:
                for frame in self._reader:
                    return frame
            except BadFrame as error:
                raise self._no_kafka(error) from None
            portion = self._socket.recv(PORTION)
            if not portion:
                raise self._broken("it closed the connection without an answer")
            self._reader.feed(portion)

    def _broken(self, problem: str) -> CallError:
        return CallError(str(self.address), problem, self.security.hint)

    def _no_kafka(self, error: BadFrame) -> CallError:
        if self._reader.rest.startswith(TLS_RECORDS):
            return CallError(str(self.address), "it answers in TLS", "use --security-protocol SSL or SASL_SSL")
        return CallError(str(self.address), f"it does not answer as Kafka does: {error}", "which port is this?")


def why(error: OSError) -> str:
    """Say what is wrong with a socket, in words."""
    if isinstance(error, ssl.SSLError):
        return tls_reason(error)
    return "no answer in time" if isinstance(error, TimeoutError) else error.strerror or str(error)
