"""Authentication: users with passwords, SCRAM credentials, and the SASL exchange of a connection, both sides of it.

Sources: KIP-12 (SASL), KIP-84 (SCRAM), KIP-152 (its requests), KIP-368 (sessions that expire).

This module handles tokens and names only, no messages and no sockets. No `repr` here contains a secret.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from binascii import Error as BadBase64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from .authorizer import ANONYMOUS

PLAIN, SHA_256, SHA_512 = "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"
MECHANISMS = (PLAIN, SHA_256, SHA_512)
SCRAM = {1: SHA_256, 2: SHA_512}  # Kafka's numbers
LEAST_ITERATIONS, MOST_ITERATIONS = 4096, 16384
MOST_CLIENT_ITERATIONS = 1_000_000  # that a client computes: a third of a second
MOST_USERS = 10_000
_HASHES = {SHA_256: "sha256", SHA_512: "sha512"}
_NAME = r"(?:[^,=\x00]|=2C|=3D)+"
_NONCE, _BASE64 = r"r=(?P<nonce>[!-+\--~]+)", "[A-Za-z0-9/+=]+"
_FIRST = re.compile(rf"(?P<header>n,(?:a=(?P<authzid>{_NAME}))?,)(?P<bare>n=(?P<name>{_NAME}),{_NONCE}.*)")
_FINAL = re.compile(rf"(?P<unproved>c=(?P<binding>{_BASE64}),{_NONCE}.*),p=(?P<proof>{_BASE64})")
_CHALLENGE = re.compile(rf"{_NONCE},s=(?P<salt>{_BASE64}),i=(?P<iterations>[0-9]{{1,9}})(?:,.*)?")
_HEADER = "n,,"  # no channel binding, and no other identity


def principal(name: str) -> str:
    """Return the principal of a name, unless it is one.

    >>> principal("alice"), principal("User:CN=alice")
    ('User:alice', 'User:CN=alice')
    """
    return name if name.startswith("User:") else f"User:{name}"


# How X.500 names write the attributes of a distinguished name (RFC 2253, as Java does); others are left out there.
_ATTRIBUTES = {
    "commonName": "CN",
    "countryName": "C",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "streetAddress": "STREET",
    "domainComponent": "DC",
    "userId": "UID",
}


def principal_of(certificate: Mapping[str, Any] | None) -> str:
    """Return the principal of a client's certificate, in the form of `ssl.SSLSocket.getpeercert`: its subject.

    >>> print(principal_of({"subject": ((("countryName", "SE"),), (("commonName", "a, b"),))}))
    User:CN=a\\, b,C=SE
    """
    if not certificate:
        return ANONYMOUS
    rows = [[(_ATTRIBUTES.get(name, name), value) for name, value in row] for row in certificate.get("subject", ())]
    parts = ["+".join(f"{name}={_escaped(value)}" for name, value in row) for row in reversed(rows)]
    return f"User:{','.join(parts)}"


def _escaped(value: str) -> str:
    text = re.sub(r'([,+"\\<>;])', r"\\\1", value)
    return re.sub(r"^([ #])|( )$", r"\\\g<0>", text)


class AuthenticationFailed(Exception):
    """A client could not be authenticated; the text is what Kafka answers, and contains no secret."""


@dataclass(frozen=True, slots=True)
class Credential:
    """What a server stores for a password with SCRAM (RFC 5802); the password cannot be computed from it."""

    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int

    @classmethod
    def of(cls, mechanism: str, salted: bytes, salt: bytes, iterations: int) -> Credential:
        """Make it from a salted password, which AlterUserScramCredentials carries."""
        name = _HASHES[mechanism]
        client_key = hmac.digest(salted, b"Client Key", name)
        return cls(salt, hashlib.new(name, client_key).digest(), hmac.digest(salted, b"Server Key", name), iterations)


@dataclass(slots=True)
class Users:
    """Who may authenticate.

    Attributes:
        passwords: of users, for all mechanisms.
        scram: credentials that administrators made, by user and mechanism; they go before passwords.

    >>> Users({"alice": "wonder"})
    Users(names=['alice'])
    """

    passwords: Mapping[str, str] = field(default_factory=dict)
    scram: dict[tuple[str, str], Credential] = field(default_factory=dict)
    _derived: dict[tuple[str, str], Credential] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Users(names={sorted({*self.passwords, *(name for name, _ in self.scram)})})"

    def check(self, name: str, password: str) -> bool:
        """Whether this is the password of a user."""
        known = self.passwords.get(name)
        return known is not None and hmac.compare_digest(known.encode(), password.encode())

    def credential(self, name: str, mechanism: str, rng: Random) -> Credential | None:
        """Return the credential of a user for a mechanism of SCRAM; None if there is none."""
        key = name, mechanism
        if key in self.scram:
            return self.scram[key]
        if name in self.passwords and key not in self._derived:
            salt = rng.randbytes(16)
            salted = hashlib.pbkdf2_hmac(_HASHES[mechanism], self.passwords[name].encode(), salt, LEAST_ITERATIONS)
            self._derived[key] = Credential.of(mechanism, salted, salt, LEAST_ITERATIONS)
        return self._derived.get(key)


class Exchange:
    """The tokens of one authentication. `name` is the user, once it is complete."""

    def __init__(self, mechanism: str, users: Users, rng: Random) -> None:
        self.mechanism: str = mechanism
        self._users, self._rng = users, rng
        self.name: str | None = None
        self._first: re.Match[str] | None = None
        self._challenge = ""
        self._credential: Credential | None = None

    def answer(self, token: bytes) -> bytes:
        """Return the answer to a client's token; raises AuthenticationFailed."""
        if self.mechanism == PLAIN:
            return self._plain(token)
        try:
            text = token.decode()
            return self._final(text) if self._first is not None else self._begin(text)
        except (UnicodeDecodeError, BadBase64):
            raise self._failure() from None

    def _failure(self) -> AuthenticationFailed:
        wrong = "Authentication failed during authentication due to invalid credentials with SASL mechanism"
        return AuthenticationFailed(f"{wrong} {self.mechanism}")

    def _plain(self, token: bytes) -> bytes:
        """RFC 4616."""
        parts = token.decode("utf-8", "replace").split("\0")
        if len(parts) != 3:
            raise AuthenticationFailed(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}")
        authzid, name, password = parts
        for value, what in ((name, "username"), (password, "password")):
            if not value:
                raise AuthenticationFailed(f"Authentication failed: {what} not specified")
        if not self._users.check(name, password):
            raise AuthenticationFailed("Authentication failed: Invalid username or password")
        if authzid not in ("", name):
            wrong = "Client requested an authorization id that is different from username"
            raise AuthenticationFailed(f"Authentication failed: {wrong}")
        self.name = name
        return b""

    def _begin(self, text: str) -> bytes:
        first = _FIRST.fullmatch(text)
        if first is None:
            raise self._failure()
        name = _plain_name(first["name"])
        self._credential = self._users.credential(name, self.mechanism, self._rng)
        if self._credential is None or first["authzid"] not in (None, first["name"]):
            raise self._failure()
        self._first = first
        nonce = first["nonce"] + b64encode(self._rng.randbytes(18)).decode()
        salt = b64encode(self._credential.salt).decode()
        self._challenge = f"r={nonce},s={salt},i={self._credential.iterations}"
        return self._challenge.encode()

    def _final(self, text: str) -> bytes:
        assert self._first is not None
        assert self._credential is not None
        final, known = _FINAL.fullmatch(text), self._credential
        nonce = self._challenge[2:].partition(",")[0]
        if final is None or final["nonce"] != nonce or b64decode(final["binding"]).decode() != self._first["header"]:
            raise self._failure()
        signed = f"{self._first['bare']},{self._challenge},{final['unproved']}".encode()
        hash_name = _HASHES[self.mechanism]
        signature, proof = hmac.digest(known.stored_key, signed, hash_name), b64decode(final["proof"])
        client_key = bytes(one ^ other for one, other in zip(signature, proof, strict=False))
        if not hmac.compare_digest(hashlib.new(hash_name, client_key).digest(), known.stored_key):
            raise self._failure()
        self.name = _plain_name(self._first["name"])
        return b"v=" + b64encode(hmac.digest(known.server_key, signed, hash_name))


def _plain_name(text: str) -> str:
    return text.replace("=2C", ",").replace("=3D", "=")


class ClientExchange:
    """The tokens of one authentication, as a client makes them.

    Args:
        mechanism: one of MECHANISMS.
        name, password: of the user.
        nonce: random and printable, without a comma.

    >>> ClientExchange("PLAIN", "alice", "wonder", "").begin()
    b'\\x00alice\\x00wonder'
    """

    def __init__(self, mechanism: str, name: str, password: str, nonce: str) -> None:
        self.mechanism, self._name, self._password, self._nonce = mechanism, name, password, nonce
        self._bare = f"n={name.replace('=', '=3D').replace(',', '=2C')},r={nonce}"
        self._verifier: bytes | None = None

    def begin(self) -> bytes:
        """Return the first token."""
        if self.mechanism == PLAIN:
            return f"\0{self._name}\0{self._password}".encode()
        return f"{_HEADER}{self._bare}".encode()

    def proceed(self, answer: bytes) -> bytes | None:
        """Return the token that follows an answer; None if authentication is complete.

        Raises:
            AuthenticationFailed: the answer is not one of this mechanism, or the server does not have the credential.
        """
        if self.mechanism == PLAIN:
            return None
        if self._verifier is not None:
            if not hmac.compare_digest(answer.partition(b",")[0], b"v=" + b64encode(self._verifier)):
                raise AuthenticationFailed("its signature is not that of the user's credential")
            return None
        challenge = _CHALLENGE.fullmatch(answer.decode("utf-8", "replace"))
        if challenge is None or not challenge["nonce"].startswith(self._nonce) or challenge["nonce"] == self._nonce:
            raise AuthenticationFailed(f"this is no challenge of {self.mechanism}")
        iterations = int(challenge["iterations"])
        if not LEAST_ITERATIONS <= iterations <= MOST_CLIENT_ITERATIONS:
            raise AuthenticationFailed(f"{iterations} iterations; {LEAST_ITERATIONS} at least")
        return self._prove(challenge, iterations)

    def _prove(self, challenge: re.Match[str], iterations: int) -> bytes:
        name = _HASHES[self.mechanism]
        try:
            salt = b64decode(challenge["salt"])
        except BadBase64:
            raise AuthenticationFailed("its salt is not Base64") from None
        salted = hashlib.pbkdf2_hmac(name, self._password.encode(), salt, iterations)
        unproved = f"c={b64encode(_HEADER.encode()).decode()},r={challenge['nonce']}"
        signed = f"{self._bare},{challenge[0]},{unproved}".encode()
        known = Credential.of(self.mechanism, salted, salt, iterations)
        signature = hmac.digest(known.stored_key, signed, name)
        client_key = hmac.digest(salted, b"Client Key", name)
        proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
        self._verifier = hmac.digest(known.server_key, signed, name)
        return f"{unproved},p={b64encode(proof).decode()}".encode()


class Session:
    """The state of authentication of one connection.

    Args:
        users: who may authenticate.
        mechanisms: that the listener has; without any, clients need not authenticate.
        rng: for salts and nonces.
        most_seconds: after which clients must authenticate again (KIP-368); 0 means never.
        who: the principal without SASL: anonymous, or the subject of the client's certificate.

    Attributes:
        has_failed: whether the connection is to be closed once its client has the answer.
        takes_tokens: whether the next frame is a bare token, as after SaslHandshake v0.

    >>> session = Session(Users({"alice": "wonder"}), ["PLAIN"], Random(1))
    >>> session.handshake("PLAIN", 1), session.authenticate(b"\\0alice\\0wonder", now=0.0), session.principal
    (True, b'', 'User:alice')
    """

    __slots__ = (
        "_ends",
        "_exchange",
        "_most_seconds",
        "_rng",
        "has_failed",
        "is_authenticated",
        "mechanisms",
        "principal",
        "takes_tokens",
        "users",
    )

    def __init__(
        self,
        users: Users,
        mechanisms: Sequence[str],
        rng: Random,
        most_seconds: float = 0.0,
        who: str = ANONYMOUS,
    ) -> None:
        self.users: Users = users
        self.mechanisms: Sequence[str] = mechanisms
        self._rng, self._most_seconds = rng, most_seconds
        self.principal: str = who
        self.is_authenticated: bool = not mechanisms
        self.has_failed: bool = False
        self.takes_tokens: bool = False
        self._exchange: Exchange | None = None
        self._ends: float | None = None

    def problem(self, api: str, now: float) -> str:
        """Return why a request is refused and its connection closed; empty if it is handled."""
        if api in ("SaslHandshake", "SaslAuthenticate"):
            return ""
        if self._exchange is not None:
            return f"{api} amid SASL authentication"
        if not self.is_authenticated and api != "ApiVersions":
            return f"{api} before SASL authentication"
        if self._ends is not None and now >= self._ends:
            return f"{api} after the SASL session has ended"
        return ""

    @property
    def may_begin(self) -> bool:
        """Whether a SaslHandshake is expected: at first, and again where sessions end."""
        return bool(self.mechanisms) and (not self.is_authenticated or self._ends is not None)

    @property
    def is_under_way(self) -> bool:
        """Whether a token is expected."""
        return self._exchange is not None

    def handshake(self, mechanism: str, version: int) -> bool:
        """Begin to authenticate; returns False for a mechanism that the listener does not have."""
        self.has_failed = mechanism not in self.mechanisms
        if not self.has_failed:
            self._exchange = Exchange(mechanism, self.users, self._rng)
            self.takes_tokens = version == 0
        return not self.has_failed

    def authenticate(self, token: bytes, now: float) -> bytes:
        """Return the answer to a token; raises AuthenticationFailed."""
        assert self._exchange is not None
        try:
            answer = self._exchange.answer(token)
            self._complete(self._exchange.name, now)
        except AuthenticationFailed:
            self.has_failed = True
            raise
        return answer

    def _complete(self, name: str | None, now: float) -> None:
        if name is None:
            return
        who = f"User:{name}"
        if self._ends is not None and who != self.principal:
            names = f"from {self.principal.replace(':', '.', 1)}: {who.replace(':', '.', 1)}"
            raise AuthenticationFailed(f"Cannot change principals during re-authentication {names}")
        self.principal, self.is_authenticated = who, True
        self._exchange, self.takes_tokens = None, False
        self._ends = now + self._most_seconds if self._most_seconds else None

    def lifetime_ms(self, now: float) -> int:
        """Return how long the session lasts; 0 is for ever."""
        return 0 if self._ends is None else int((self._ends - now) * 1000)
