"""A client's connection to a broker: addresses, TLS and SASL, requests and responses, and which requests can change
the broker's state.

The security settings have the names that librdkafka and Kafka's tools use: `security.protocol`, `sasl.mechanism`, and
PEM
files. Sources: KIP-12 (SASL), KIP-84 (SCRAM), KIP-152 (SaslAuthenticate), KIP-368 (sessions that end).
"""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Generator, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from secrets import token_urlsafe
from threading import Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

from msgspec import Struct

from .. import __version__, messages
from ..codecs import Codec, codec_in
from ..errors import BadFrame, CallError, DumpError
from ..protocol import Frame, FrameDecoder, FrameReader, Response, Source, Undecodable, encode_request
from ..protocol.headers import expects_response
from ..protocol.results import CodecOf
from ..spec.catalog import Catalog, catalog_for
from ..spec.model import Versions
from .deadline import Deadline
from .failures import WANTS_CERTIFICATE, call_errors, tls_reason

if TYPE_CHECKING:
    from ..messages import RequestMessage


PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
TLS_RECORDS = (b"\x15\x03", b"\x16\x03")  # an alert, or a handshake: what a TLS listener answers to bytes of Kafka
SASL_AUTHENTICATE = 36  # api key
NEWEST_AUTHENTICATE = 2
_FILES = "give PEM files: a certificate with its key, which has no password"


class Session(NamedTuple):
    """How a connection was authenticated: for how many seconds (KIP-368; 0 for no limit), and with which version of
    SaslAuthenticate."""

    seconds: float = 0.0
    version: int = -1

    def ends(self, begun: float) -> float:
        """Return when to authenticate again a session that began at a time: after four fifths of its lifetime."""
        return begun + 0.8 * self.seconds if self.seconds else float("inf")


# Requests with their versions; it is sent the messages that answer.
Steps = Generator[tuple[Any, int], Any, Session]


@dataclass(frozen=True, slots=True)
class Security:
    """The security settings of a client's connections.

    Args:
        protocol: one of `PROTOCOLS`.
        mechanism: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.
        username, password: the SASL credentials.
        ca: a PEM file of the authorities that sign brokers' certificates; by default the system's authorities.
        cert, key: PEM files of the client's certificate and its private key (mutual TLS).

    Raises:
        ValueError: the protocol or the mechanism is unknown, or SASL has no user or no password.

    >>> Security("SASL_SSL", "SCRAM-SHA-256", "alice", "wonder")
    Security(protocol='SASL_SSL', mechanism='SCRAM-SHA-256', username='alice', ca=None, cert=None, key=None)
    """

    protocol: str = "PLAINTEXT"
    mechanism: str = "PLAIN"
    username: str = ""
    password: str = field(default="", repr=False)
    ca: str | None = None
    cert: str | None = None
    key: str | None = None

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise ValueError(f"there is no security protocol {self.protocol!r}; there are {', '.join(PROTOCOLS)}")
        if self.has_sasl and not (self.username and self.password):
            raise ValueError(f"{self.protocol} needs a user and a password")

    @property
    def has_tls(self) -> bool:
        """Whether connections use TLS."""
        return self.protocol in ("SSL", "SASL_SSL")

    @property
    def has_sasl(self) -> bool:
        """Whether the client authenticates with SASL."""
        return self.protocol.startswith("SASL")

    @property
    def hint(self) -> str:
        """What to check if a broker closes the connection."""
        if self.has_sasl:
            return (
                WANTS_CERTIFICATE
                if self.has_tls
                else "does this listener use TLS? see --security-protocol, and its log"
            )
        if self.has_tls:
            return f"does it want SASL (--security-protocol SASL_SSL)? {WANTS_CERTIFICATE}"
        return (
            "does it speak this version, and does this listener use TLS or SASL? see --security-protocol, and its log"
        )

    def tls_context(self) -> ssl.SSLContext:
        """Return the TLS settings of a connection.

        Raises:
            DumpError: a file is not PEM, or the key belongs to another certificate, or the key has a password.
            OSError: a file cannot be read.
        """
        try:
            context = ssl.create_default_context(cafile=self.ca)
        except ssl.SSLError as error:
            hint = "give a PEM file with one certificate or several"
            raise DumpError(f"no certificate: {tls_reason(error)}", file=self.ca or "", hint=hint) from None
        if self.cert is not None:
            try:
                context.load_cert_chain(self.cert, self.key, password=lambda: b"")
            except ssl.SSLError as error:
                problem = f"no certificate with its key: {tls_reason(error)}"
                raise DumpError(problem, file=self.cert, hint=_FILES) from None
        return context

    def begin(self, where: str) -> Steps:
        """Yield the requests that begin a connection with TLS or SASL; the caller sends back each response.

        The first request is ApiVersions: only its response proves that the broker accepts the client's certificate.

        Args:
            where: the broker's address, for errors.

        Raises:
            CallError: see `authenticate`, or the broker has no SaslAuthenticate.
        """
        spoken = yield messages.ApiVersionsRequest(), 0
        if not self.has_sasl:
            return Session()
        newest = {one.api_key: one.max_version for one in spoken.api_keys}.get(SASL_AUTHENTICATE)
        if newest is None:
            raise CallError(where, "it has no SaslAuthenticate", "SASL needs Kafka 1.0 or newer")
        return (yield from self.authenticate(where, min(newest, NEWEST_AUTHENTICATE)))

    def authenticate(self, where: str, version: int) -> Steps:
        """Yield the requests that authenticate a connection with SASL, for the first time or again.

        After the end of a session, a broker accepts only these requests.

        Args:
            where: the broker's address, for errors.
            version: the version of SaslAuthenticate.

        Raises:
            CallError: the broker does not support the mechanism, or refuses the user, or cannot prove that it has the
                user's credentials (SCRAM).
        """
        found = yield messages.SaslHandshakeRequest(mechanism=self.mechanism), 1
        if found.error_code:
            there = ", ".join(found.mechanisms) or "none: is this a listener without SASL?"
            raise CallError(where, f"it has no SASL mechanism {self.mechanism}", f"its mechanisms: {there}")
        from ..broker.authentication_and_acls import (  # takes the broker for tests with it
            AuthenticationFailed,
            ClientExchange,
        )

        exchange = ClientExchange(self.mechanism, self.username, self.password, token_urlsafe(24))
        token: bytes | None = exchange.begin()
        while token is not None:
            answer = yield messages.SaslAuthenticateRequest(auth_bytes=token), version
            if answer.error_code:
                problem = f"authentication failed: {answer.error_message or f'error {answer.error_code}'}"
                raise CallError(where, problem, "is it this user, password and --sasl-mechanism?")
            try:
                token = exchange.proceed(bytes(answer.auth_bytes))
            except AuthenticationFailed as error:
                raise CallError(where, f"the broker did not authenticate itself: {error}") from None
        return Session(answer.session_lifetime_ms / 1000, version)


PLAINTEXT = Security()


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
    """Return whether a request may change something on the broker.

    Args:
        codec: the codec of the request.
        message: the request. A Metadata request may create the topics that it names, unless it forbids this.

    Returns True for an unknown api.

    >>> import kwire
    >>> codec = kwire.codec("MetadataRequest", 4)
    >>> changes_state(codec, codec.from_json({"topics": [{"name": "new"}]}, defaults=True))
    True
    """
    if codec.spec.profile == "KIP-879" and codec.spec.api_name == "CreateReplicaAssignment":
        return False  # it only computes a placement
    creates = bool(getattr(message, "allow_auto_topic_creation", False) and message.topics)
    return creates or codec.spec.api_name not in READING


PORT = 9092
LOOPBACK = ("localhost", "127.0.0.1", "::1")  # hosts that other machines cannot reach
_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.%\w]+)\]|(?P<host>[^\s:\[\]]*))(?::(?P<port>\d{1,5}))?")


class Address(NamedTuple):
    """A host, by name or number, and a TCP port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def check(self) -> None:
        """Raise CallError for what no look-up of names should see: brokers can name any text as host, and any number.

        getaddrinfo ends a name at its first NUL, and keeps only 16 bits of a port.

        >>> Address("b1", 70_000).check()
        Traceback (most recent call last):
            ...
        kwire.errors.CallError: b1:70000: this is not an address
        """
        if not self.host.isprintable() or not self.host or not 0 < self.port <= 0xFFFF:
            raise CallError(str(self), "this is not an address", "a host has no control characters, a port 1 to 65535")


def address(text: str, host: str = "localhost", port: int = PORT) -> Address:
    """Read `host:port`, `:port`, `host` or `[::1]:port`.

    Args:
        text: the address as text.
        host, port: the defaults for a missing host or port.

    Raises:
        CallError: the text has none of these forms.

    >>> str(address(":19092")), str(address("b1.example")), str(address("[::1]:9093"))
    ('localhost:19092', 'b1.example:9092', '[::1]:9093')
    """
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"] or port) > 0xFFFF:
        raise CallError(text, "this is not an address", "write HOST:PORT, :PORT or [IPv6]:PORT")
    return Address(match["six"] or match["host"] or host, int(match["port"] or port))


PORTION = 1 << 16
TLS_HANDSHAKE = b"\x16\x03"  # what a client begins with
UNSUPPORTED_VERSION = 35
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
            made = socket.socket(family, kind, protocol)
            try:
                made.settimeout(deadline.left())
                made.connect(where)
            except OSError as error:
                made.close()
                refusal = error
            else:
                return made
        raise refusal or OSError("the host has no address")


def _look_up(address: Address, deadline: Deadline) -> list[Any]:
    """Return what getaddrinfo returns; it takes no timeout and can last as long as the resolver likes."""
    found: Future[list[Any]] = Future()

    def look_up() -> None:
        try:
            found.set_result(socket.getaddrinfo(*address, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            found.set_exception(error)

    Thread(target=look_up, name="kwire look-up", daemon=True).start()
    return found.result(deadline.left())


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
        self._decoder = FrameDecoder(self.catalog, salvage=True)
        self._reader = FrameReader()
        self._asked = 0
        self._spoken: dict[int, Versions] = {}
        self.security: Security = security
        self._session, self._session_ends = Session(), float("inf")
        self.deadline: Deadline | None = deadline
        context = security.tls_context() if security.has_tls else None
        with self.within(deadline or Deadline(timeout)) as until:
            self._socket = connect(address, until)
            try:
                self._secure(context, until)
            except BaseException:
                self.close()
                raise

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
        before, self.deadline = self.deadline, deadline
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
        self._asked += 1
        data = encode_request(
            message, codec.version, correlation_id=self._asked, client_id=self.client_id, catalog=self.catalog
        )
        self._decoder.decode(Frame(data, Source(direction="request")))
        with call_errors(self.address, hint=self.security.hint):
            self._send(data, deadline)
            frame = self._frame(deadline) if expects_response(message) else None
        return None if frame is None else self._decode(frame)

    def _send(self, data: bytes, deadline: Deadline) -> None:
        rest = memoryview(data)
        while rest:  # `sendall` of TLS gives each of its portions the whole timeout
            self._socket.settimeout(deadline.left())
            rest = rest[self._socket.send(rest) :]

    def versions(self) -> dict[int, Versions]:
        """Request the versions that the broker supports (KIP-35), if necessary again in version 0 (KIP-511)."""
        answer = self._versions(3, SOFTWARE)
        if answer.error_code == UNSUPPORTED_VERSION:
            answer = self._versions(0, {})
        return {api.api_key: Versions(((api.min_version, api.max_version),)) for api in answer.api_keys}

    def newest(self, name: str) -> int | None:
        """Return the newest version of a request that both the broker and the specs have; None if they share none.

        Args:
            name: the name of the request, such as `MetadataRequest`.
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

    def _decode(self, frame: Frame) -> Response:
        result = self._decoder.decode(replace(frame, source=Source(direction="response")))
        if isinstance(result, Undecodable):
            raise result.error
        assert isinstance(result, Response)
        return result

    def _frame(self, deadline: Deadline) -> Frame:
        while True:
            try:
                for frame in self._reader:
                    return frame
            except BadFrame as error:
                raise self._no_kafka(error) from None
            self._socket.settimeout(deadline.left())
            portion = self._socket.recv(PORTION)
            if not portion:
                raise CallError(str(self.address), "it closed the connection without an answer", self.security.hint)
            self._reader.feed(portion)

    def _no_kafka(self, error: BadFrame) -> CallError:
        if self._reader.rest.startswith(TLS_RECORDS):
            return CallError(str(self.address), "it responds with TLS", "use --security-protocol SSL or SASL_SSL")
        return CallError(str(self.address), f"it does not respond as Kafka does: {error}", "which port is this?")
