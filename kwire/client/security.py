"""TLS and SASL of a client's connection. No setting shows a secret in its `repr`.

The settings have the names that librdkafka and Kafka's tools use: `security.protocol`, `sasl.mechanism`, and PEM
files. Sources: KIP-12 (SASL), KIP-84 (SCRAM), KIP-152 (SaslAuthenticate), KIP-368 (sessions that end).
"""

from __future__ import annotations

import ssl
from collections.abc import Generator
from dataclasses import dataclass, field
from secrets import token_urlsafe
from typing import Any, NamedTuple

from .. import messages
from ..errors import CallError
from ..protocol.sasl.mechanisms import check_mechanism
from .call_errors import WANTS_CERTIFICATE
from .pem_files import authority_errors, load_certificate

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
TLS_RECORDS = (b"\x15\x03", b"\x16\x03")  # an alert, or a handshake: what a TLS listener answers to bytes of Kafka
SASL_AUTHENTICATE = 36  # api key
NEWEST_AUTHENTICATE = 2


class SessionLifetime(NamedTuple):
    """How a connection was authenticated: for how many seconds (KIP-368; 0 for no limit), and with which version of
    SaslAuthenticate."""

    seconds: float = 0.0
    version: int = -1

    def ends(self, begun: float) -> float:
        """Return when to authenticate again a session that began at a time: after four fifths of its lifetime."""
        return begun + 0.8 * self.seconds if self.seconds else float("inf")


# Requests with their versions; it is sent the messages that answer.
Steps = Generator[tuple[Any, int], Any, SessionLifetime]


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
        ValueError: the protocol is unknown, or with SASL the mechanism is, or the user or the password is missing.

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
        if not self.has_sasl:
            return
        check_mechanism(self.mechanism)
        if not (self.username and self.password):
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
        see = "see --security-protocol, and its log"
        if self.has_sasl and self.has_tls:
            return WANTS_CERTIFICATE
        if self.has_sasl:
            return f"does this listener use TLS? {see}"
        if self.has_tls:
            return f"does it want SASL (--security-protocol SASL_SSL)? {WANTS_CERTIFICATE}"
        return f"does it speak this version, and does this listener use TLS or SASL? {see}"

    def tls_context(self) -> ssl.SSLContext:
        """Return the TLS settings of a connection.

        Raises:
            DumpError: a file is not PEM, or the key belongs to another certificate, or the key has a password.
            OSError: a file cannot be read.
        """
        if self.ca is None:
            context = ssl.create_default_context()
        else:
            with authority_errors(self.ca):
                context = ssl.create_default_context(cafile=self.ca)
        if self.cert is not None:
            load_certificate(context, self.cert, self.key)
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
            return SessionLifetime()
        newest = {api.api_key: api.max_version for api in spoken.api_keys}.get(SASL_AUTHENTICATE)
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
        handshake = yield messages.SaslHandshakeRequest(mechanism=self.mechanism), 1
        if handshake.error_code:
            there = ", ".join(handshake.mechanisms) or "none: is this a listener without SASL?"
            raise CallError(where, f"it has no SASL mechanism {self.mechanism}", f"its mechanisms: {there}")
        from ..protocol.sasl.client_exchange import SaslClientExchange
        from ..protocol.sasl.mechanisms import AuthenticationFailed

        exchange = SaslClientExchange(self.mechanism, self.username, self.password, token_urlsafe(24))
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
        return SessionLifetime(answer.session_lifetime_ms / 1000, version)


PLAINTEXT = Security()
