"""Authentication of clients with SASL (both sides of PLAIN and SCRAM), and authorization with ACLs.

Sources: KIP-12 (SASL), KIP-84 (SCRAM), KIP-152 (SaslAuthenticate), KIP-368 (session lifetimes); KIP-11 and KIP-290
(ACLs, evaluated as by Kafka's StandardAuthorizer). `NEEDS` lists the operations that each api requires, after the table
"Operations and Resources on Protocols" in Kafka's documentation.

This module handles tokens, principals and resource names, but no messages (see `apis.security`) and no sockets. None of
its classes shows a secret in its `repr`.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from binascii import Error as BadBase64
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from ..values import AclOperation as Op
from ..values import AclPermissionType, ErrorCode, PatternType
from ..values import ResourceType as Kind

ANONYMOUS = "User:ANONYMOUS"  # the principal of a client that did not authenticate
ANYBODY, ANY_HOST, ANY_NAME = "User:*", "*", "*"
CLUSTER_NAME = "kafka-cluster"
DENY, ALLOW = AclPermissionType.DENY, AclPermissionType.ALLOW
LITERAL, PREFIXED, MATCH = PatternType.LITERAL, PatternType.PREFIXED, PatternType.MATCH
UNKNOWN, ANY = 0, 1  # the values of UNKNOWN and ANY in all ACL enums
UNASKED = -(1 << 31)  # the value of the field if the client did not request authorized operations
MOST_ACLS = 100_000

# For each operation, the operations that imply it.
IMPLIED_BY: dict[int, frozenset[int]] = {
    Op.DESCRIBE: frozenset((Op.READ, Op.WRITE, Op.DELETE, Op.ALTER)),
    Op.DESCRIBE_CONFIGS: frozenset((Op.ALTER_CONFIGS,)),
}
DENIALS: dict[int, int] = {
    Kind.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    Kind.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    Kind.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    Kind.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
# The operations that each type of resource supports (KIP-430).
OPERATIONS: dict[int, tuple[Op, ...]] = {
    Kind.TOPIC: (
        Op.READ,
        Op.WRITE,
        Op.CREATE,
        Op.DELETE,
        Op.ALTER,
        Op.DESCRIBE,
        Op.DESCRIBE_CONFIGS,
        Op.ALTER_CONFIGS,
    ),
    Kind.GROUP: (Op.READ, Op.DELETE, Op.DESCRIBE, Op.DESCRIBE_CONFIGS, Op.ALTER_CONFIGS),
    Kind.CLUSTER: (
        Op.CREATE,
        Op.ALTER,
        Op.DESCRIBE,
        Op.CLUSTER_ACTION,
        Op.DESCRIBE_CONFIGS,
        Op.ALTER_CONFIGS,
        Op.IDEMPOTENT_WRITE,
    ),
}


class Acl(NamedTuple):
    """One ACL: it allows or denies a principal an operation, from one host or any, on the resources that a pattern
    matches.

    All fields except the names are numbers of Kafka's enums: `kwire.values.ResourceType`, `PatternType`, `AclOperation`
    and `AclPermissionType`.
    """

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int

    def covers(self, resource_type: int, name: str) -> bool:
        """Return whether the ACL applies to a resource.

        >>> acl = Acl(Kind.TOPIC, "pay", PREFIXED, "User:a", "*", Op.READ, ALLOW)
        >>> acl.covers(Kind.TOPIC, "payments"), acl.covers(Kind.GROUP, "payments")
        (True, False)
        """
        if self.resource_type != resource_type:
            return False
        if self.pattern_type == PREFIXED:
            return name.startswith(self.resource_name)
        return self.resource_name in (name, ANY_NAME)

    def concerns(self, principal: str, host: str, operation: int) -> bool:
        """Return whether this ACL applies to a principal, a host and an operation; an allowed operation may imply
        others.
        """
        if self.principal not in (principal, ANYBODY) or self.host not in (host, ANY_HOST):
            return False
        if self.operation in (operation, Op.ALL):
            return True
        return self.permission == ALLOW and self.operation in IMPLIED_BY.get(operation, ())


def acl_of(row: Any) -> Acl:
    """Return the ACL in a row of a request or in a record of the metadata log."""
    pattern = row.resource_pattern_type if hasattr(row, "resource_pattern_type") else row.pattern_type
    return Acl(
        row.resource_type, row.resource_name, pattern, row.principal, row.host, row.operation, row.permission_type
    )


class Filter(NamedTuple):
    """A filter that selects ACLs. `ANY` and None match everything; the pattern type `MATCH` selects all patterns that
    match the name."""

    resource_type: int = ANY
    resource_name: str | None = None
    pattern_type: int = ANY
    principal: str | None = None
    host: str | None = None
    operation: int = ANY
    permission: int = ANY

    def matches(self, acl: Acl) -> bool:
        """Return whether the filter selects an ACL."""
        return (
            self.resource_type in (ANY, acl.resource_type)
            and self._names(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (ANY, acl.operation)
            and self.permission in (ANY, acl.permission)
        )

    def _names(self, acl: Acl) -> bool:
        if self.pattern_type == MATCH:
            return self.resource_name is None or acl.covers(acl.resource_type, self.resource_name)
        is_type = self.pattern_type in (ANY, acl.pattern_type)
        return is_type and self.resource_name in (None, acl.resource_name)


@dataclass(slots=True)
class Authorizer:
    """The ACLs of a cluster.

    Attributes:
        super_users: principals that may perform any operation, such as `User:admin`.
        is_open: whether a resource without ACLs is open to all principals (allow.everyone.if.no.acl.found).
        acls: the ACLs, each with its id in the metadata log.

    >>> acl = Acl(Kind.TOPIC, "t", LITERAL, "User:a", "*", Op.READ, ALLOW)
    >>> authorizer = Authorizer(acls={acl: bytes(16)})
    >>> [authorizer.allows("User:a", "::1", one, Kind.TOPIC, "t") for one in (Op.READ, Op.DESCRIBE, Op.WRITE)]
    [True, True, False]
    """

    super_users: Collection[str] = ()
    is_open: bool = False
    acls: dict[Acl, bytes] = field(default_factory=dict)

    def allows(self, principal: str, host: str, operation: int, resource_type: int, name: str) -> bool:
        """Return whether a principal may perform an operation on a resource. A DENY ACL takes precedence; if no ACL
        matches, the operation is denied."""
        if principal in self.super_users:
            return True
        covering = [acl for acl in self.acls if acl.covers(resource_type, name)]
        found = {acl.permission for acl in covering if acl.concerns(principal, host, operation)}
        return DENY not in found and (ALLOW in found or (self.is_open and not covering))

    def allows_any(self, principal: str, host: str, operation: int, resource_type: int) -> bool:
        """Return whether a principal may perform an operation on at least one resource of a type, existing or not."""
        if principal in self.super_users:
            return True
        own = [acl for acl in self.acls if acl.resource_type == resource_type]
        own = [acl for acl in own if acl.concerns(principal, host, operation)]
        denied = [acl for acl in own if acl.permission == DENY]
        if any(acl.resource_name == ANY_NAME and acl.pattern_type == LITERAL for acl in denied):
            return False
        allowed = [acl for acl in own if acl.permission == ALLOW]
        return self.is_open or any(not _is_dominated(acl, denied) for acl in allowed)

    def matching(self, filter_: Filter) -> list[Acl]:
        """Return the ACLs that a filter selects."""
        return [acl for acl in self.acls if filter_.matches(acl)]


def _is_dominated(acl: Acl, denied: Collection[Acl]) -> bool:
    """Return whether the denials cover everything that an ACL allows."""
    return any(
        one.covers(acl.resource_type, acl.resource_name) and (one.pattern_type == PREFIXED or one[:3] == acl[:3])
        for one in denied
    )


class Needs(NamedTuple):
    """The operations that an api requires on its topics, its groups (or transactional ids), and the cluster."""

    topic: Op | None = None
    group: Op | None = None
    cluster: Op | None = None
    transactional_id: Op | None = None


NEEDS: dict[str, Needs] = {
    "Produce": Needs(topic=Op.WRITE, transactional_id=Op.WRITE),
    "Fetch": Needs(topic=Op.READ),
    "ListOffsets": Needs(topic=Op.DESCRIBE),
    "Metadata": Needs(topic=Op.DESCRIBE),
    "OffsetForLeaderEpoch": Needs(topic=Op.DESCRIBE),
    "DescribeTopicPartitions": Needs(topic=Op.DESCRIBE),
    "DeleteTopics": Needs(topic=Op.DELETE),
    "CreatePartitions": Needs(topic=Op.ALTER),
    "DeleteRecords": Needs(topic=Op.DELETE),
    "DescribeProducers": Needs(topic=Op.READ),
    "JoinGroup": Needs(group=Op.READ),
    "SyncGroup": Needs(group=Op.READ),
    "Heartbeat": Needs(group=Op.READ),
    "LeaveGroup": Needs(group=Op.READ),
    "ConsumerGroupHeartbeat": Needs(topic=Op.DESCRIBE, group=Op.READ),
    "ShareGroupHeartbeat": Needs(topic=Op.DESCRIBE, group=Op.READ),
    "ShareFetch": Needs(topic=Op.READ, group=Op.READ),
    "ShareAcknowledge": Needs(topic=Op.READ, group=Op.READ),
    "DescribeShareGroupOffsets": Needs(topic=Op.DESCRIBE, group=Op.DESCRIBE),
    "AlterShareGroupOffsets": Needs(topic=Op.READ, group=Op.READ),
    "DeleteShareGroupOffsets": Needs(topic=Op.READ, group=Op.DELETE),
    "OffsetCommit": Needs(topic=Op.READ, group=Op.READ),
    "OffsetFetch": Needs(topic=Op.DESCRIBE, group=Op.DESCRIBE),
    "OffsetDelete": Needs(topic=Op.READ, group=Op.DELETE),
    "DeleteGroups": Needs(group=Op.DELETE),
    "DescribeGroups": Needs(group=Op.DESCRIBE),
    "ConsumerGroupDescribe": Needs(topic=Op.DESCRIBE, group=Op.DESCRIBE),
    "ShareGroupDescribe": Needs(topic=Op.DESCRIBE, group=Op.DESCRIBE),
    "FindCoordinator": Needs(group=Op.DESCRIBE, transactional_id=Op.DESCRIBE),
    "InitProducerId": Needs(transactional_id=Op.WRITE),
    "AddPartitionsToTxn": Needs(topic=Op.WRITE, transactional_id=Op.WRITE),
    "AddOffsetsToTxn": Needs(group=Op.READ, transactional_id=Op.WRITE),
    "TxnOffsetCommit": Needs(topic=Op.READ, group=Op.READ, transactional_id=Op.WRITE),
    "EndTxn": Needs(transactional_id=Op.WRITE),
    "DescribeTransactions": Needs(transactional_id=Op.DESCRIBE),
    "WriteTxnMarkers": Needs(cluster=Op.CLUSTER_ACTION),
    "DescribeAcls": Needs(cluster=Op.DESCRIBE),
    "CreateAcls": Needs(cluster=Op.ALTER),
    "DeleteAcls": Needs(cluster=Op.ALTER),
    "DescribeClientQuotas": Needs(cluster=Op.DESCRIBE_CONFIGS),
    "AlterClientQuotas": Needs(cluster=Op.ALTER_CONFIGS),
    "DescribeUserScramCredentials": Needs(cluster=Op.DESCRIBE),
    "AlterUserScramCredentials": Needs(cluster=Op.ALTER),
    "DescribeLogDirs": Needs(cluster=Op.DESCRIBE),
    "AlterReplicaLogDirs": Needs(cluster=Op.ALTER),
    "ElectLeaders": Needs(cluster=Op.ALTER),
    "AlterPartitionReassignments": Needs(cluster=Op.ALTER),
    "ListPartitionReassignments": Needs(cluster=Op.DESCRIBE),
    "DescribeQuorum": Needs(cluster=Op.DESCRIBE),
    "ListConfigResources": Needs(cluster=Op.DESCRIBE_CONFIGS),
    "UpdateFeatures": Needs(cluster=Op.ALTER),
    "UnregisterBroker": Needs(cluster=Op.ALTER),
    "AddRaftVoter": Needs(cluster=Op.ALTER),
    "RemoveRaftVoter": Needs(cluster=Op.ALTER),
}
NOTHING = Needs()
Allows = Callable[[int, int, str], bool]  # (operation, resource type, name) -> whether it is allowed


def denial(
    allows: Allows,
    api: str,
    topic: str | None = None,
    group: str | None = None,
    transactional_id: str | None = None,
) -> int:
    """Return the error code of a denied operation; 0 if the operation is allowed.

    Args:
        allows: returns whether the principal may perform an operation.
        api: the name of the api.
        topic, group, transactional_id: the resource that a part of the request names.
    """
    needs = NEEDS.get(api, NOTHING)
    for operation, kind, name in (
        (needs.cluster, Kind.CLUSTER, CLUSTER_NAME),
        (needs.transactional_id, Kind.TRANSACTIONAL_ID, transactional_id),
        (needs.group, Kind.GROUP, group),
        (needs.topic, Kind.TOPIC, topic),
    ):
        if operation is not None and name is not None and not allows(operation, kind, name):
            return DENIALS[kind]
    return ErrorCode.NONE


def operations(allows: Allows, kind: int, name: str) -> int:
    """Return the operations that the principal may perform on a resource, as a bit field (KIP-430)."""
    return sum(1 << one for one in OPERATIONS[kind] if allows(one, kind, name))


PLAIN, SHA_256, SHA_512 = "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"
MECHANISMS = (PLAIN, SHA_256, SHA_512)
SCRAM = {1: SHA_256, 2: SHA_512}  # by Kafka's number of the mechanism
LEAST_ITERATIONS, MOST_ITERATIONS = 4096, 16384
MOST_CLIENT_ITERATIONS = 1_000_000  # the highest count that a client accepts; it takes a third of a second to compute
MOST_USERS = 10_000
_HASHES = {SHA_256: "sha256", SHA_512: "sha512"}
_NAME = r"(?:[^,=\x00]|=2C|=3D)+"
_NONCE, _BASE64 = r"r=(?P<nonce>[!-+\--~]+)", "[A-Za-z0-9/+=]+"
_FIRST = re.compile(rf"(?P<header>n,(?:a=(?P<authzid>{_NAME}))?,)(?P<bare>n=(?P<name>{_NAME}),{_NONCE}.*)")
_FINAL = re.compile(rf"(?P<unproved>c=(?P<binding>{_BASE64}),{_NONCE}.*),p=(?P<proof>{_BASE64})")
_CHALLENGE = re.compile(rf"{_NONCE},s=(?P<salt>{_BASE64}),i=(?P<iterations>[0-9]{{1,9}})(?:,.*)?")
_HEADER = "n,,"  # neither channel binding nor an authorization id


def principal(name: str) -> str:
    """Return the principal for a user name; a name that starts with `User:` is returned unchanged.

    >>> principal("alice"), principal("User:CN=alice")
    ('User:alice', 'User:CN=alice')
    """
    return name if name.startswith("User:") else f"User:{name}"


# The abbreviations of attribute types in a distinguished name (RFC 2253, as in Java); other types keep their long
# names.
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
    """Return the principal of a client certificate, a dict from `ssl.SSLSocket.getpeercert`: the subject as X.500 name.

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
    """Raised if a client cannot be authenticated; the text is Kafka's error message and contains no secret."""


@dataclass(frozen=True, slots=True)
class Credential:
    """What a server stores for a SCRAM user instead of the password (RFC 5802); the password cannot be computed from
    it.
    """

    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int

    @classmethod
    def of(cls, mechanism: str, salted: bytes, salt: bytes, iterations: int) -> Credential:
        """Return the credential for a salted password, the form that AlterUserScramCredentials contains."""
        name = _HASHES[mechanism]
        client_key = hmac.digest(salted, b"Client Key", name)
        return cls(salt, hashlib.new(name, client_key).digest(), hmac.digest(salted, b"Server Key", name), iterations)


@dataclass(slots=True)
class Users:
    """The users who can authenticate.

    Attributes:
        passwords: the password of each user, valid for all mechanisms.
        scram: credentials set by administrators, by user and mechanism; they take precedence over `passwords`.

    >>> Users({"alice": "wonder"})
    Users(names=['alice'])
    """

    passwords: Mapping[str, str] = field(default_factory=dict)
    scram: dict[tuple[str, str], Credential] = field(default_factory=dict)
    _derived: dict[tuple[str, str], Credential] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Users(names={sorted({*self.passwords, *(name for name, _ in self.scram)})})"

    def check(self, name: str, password: str) -> bool:
        """Return whether the password is the user's password."""
        known = self.passwords.get(name)
        return known is not None and hmac.compare_digest(known.encode(), password.encode())

    def credential(self, name: str, mechanism: str, rng: Random) -> Credential | None:
        """Return a user's credential for a SCRAM mechanism; None if there is none."""
        key = name, mechanism
        if key in self.scram:
            return self.scram[key]
        if name in self.passwords and key not in self._derived:
            salt = rng.randbytes(16)
            salted = hashlib.pbkdf2_hmac(_HASHES[mechanism], self.passwords[name].encode(), salt, LEAST_ITERATIONS)
            self._derived[key] = Credential.of(mechanism, salted, salt, LEAST_ITERATIONS)
        return self._derived.get(key)


class Exchange:
    """The server side of one authentication. `name` is the user once the exchange is complete."""

    def __init__(self, mechanism: str, users: Users, rng: Random) -> None:
        self.mechanism: str = mechanism
        self._users, self._rng = users, rng
        self.name: str | None = None
        self._first: re.Match[str] | None = None
        self._challenge = ""
        self._credential: Credential | None = None

    def answer(self, token: bytes) -> bytes:
        """Return the server's token in response to a client's token; raises AuthenticationFailed if authentication
        fails.
        """
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
        """Check the token of SASL/PLAIN (RFC 4616)."""
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
    """The client side of one authentication.

    Args:
        mechanism: one of MECHANISMS.
        name, password: the user's name and password.
        nonce: random printable text without commas.

    >>> ClientExchange("PLAIN", "alice", "wonder", "").begin()
    b'\\x00alice\\x00wonder'
    """

    def __init__(self, mechanism: str, name: str, password: str, nonce: str) -> None:
        self.mechanism, self._name, self._password, self._nonce = mechanism, name, password, nonce
        self._bare = f"n={name.replace('=', '=3D').replace(',', '=2C')},r={nonce}"
        self._verifier: bytes | None = None

    def begin(self) -> bytes:
        """Return the client's first token."""
        if self.mechanism == PLAIN:
            return f"\0{self._name}\0{self._password}".encode()
        return f"{_HEADER}{self._bare}".encode()

    def proceed(self, answer: bytes) -> bytes | None:
        """Return the client's next token in response to a token of the server; None if authentication is complete.

        Raises:
            AuthenticationFailed: the token is not valid for the mechanism, or it does not prove that the server has the
                credential.
        """
        if self.mechanism == PLAIN:
            return None
        if self._verifier is not None:
            if not hmac.compare_digest(answer.partition(b",")[0], b"v=" + b64encode(self._verifier)):
                raise AuthenticationFailed("its signature does not match the user's credential")
            return None
        challenge = _CHALLENGE.fullmatch(answer.decode("utf-8", "replace"))
        if challenge is None or not challenge["nonce"].startswith(self._nonce) or challenge["nonce"] == self._nonce:
            raise AuthenticationFailed(f"the token is not a challenge of {self.mechanism}")
        iterations = int(challenge["iterations"])
        if not LEAST_ITERATIONS <= iterations <= MOST_CLIENT_ITERATIONS:
            raise AuthenticationFailed(f"{iterations} iterations; at least {LEAST_ITERATIONS} are required")
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
    """The authentication state of one connection.

    Args:
        users: the users who can authenticate.
        mechanisms: the SASL mechanisms that the listener enables; if empty, clients need not authenticate.
        rng: the random generator for salts and nonces.
        most_seconds: the time in seconds after which clients must authenticate again (KIP-368); 0 disables the limit.
        who: the principal of a client without SASL: anonymous, or the subject of the client's certificate.

    Attributes:
        has_failed: whether the connection must be closed once the response is sent.
        takes_tokens: whether the next frame is a raw token without a header, as after SaslHandshake v0.

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
        """Return the reason to refuse a request and close its connection; the empty string if the request may be
        handled.
        """
        if api in ("SaslHandshake", "SaslAuthenticate"):
            return ""
        if self._exchange is not None:
            return f"{api} during SASL authentication"
        if not self.is_authenticated and api != "ApiVersions":
            return f"{api} before SASL authentication"
        if self._ends is not None and now >= self._ends:
            return f"{api} after the SASL session has ended"
        return ""

    @property
    def may_begin(self) -> bool:
        """Whether SaslHandshake is valid now: before authentication, and again later if sessions expire."""
        return bool(self.mechanisms) and (not self.is_authenticated or self._ends is not None)

    @property
    def is_under_way(self) -> bool:
        """Whether the next token of an authentication is expected."""
        return self._exchange is not None

    def handshake(self, mechanism: str, version: int) -> bool:
        """Begin authentication; returns False if the listener does not enable the mechanism."""
        self.has_failed = mechanism not in self.mechanisms
        if not self.has_failed:
            self._exchange = Exchange(mechanism, self.users, self._rng)
            self.takes_tokens = version == 0
        return not self.has_failed

    def authenticate(self, token: bytes, now: float) -> bytes:
        """Return the server's token in response to a client's token; raises AuthenticationFailed if authentication
        fails.
        """
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
        """Return the remaining lifetime of the session in milliseconds; 0 if it is unlimited."""
        return 0 if self._ends is None else int((self._ends - now) * 1000)
