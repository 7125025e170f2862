"""The steps of clients that authenticate, well and badly, and of an administrator of ACLs: one line for each.

`python -m tests.interop.security_steps HOST:PORT` prints them for a broker with SASL and an authorizer, whose users are
`USERS`, of whom admin is a super user. `tests/data/security-kafka-4.1.0.txt` is what Kafka 4.1.0 answered.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import kwire
from kwire.client.address import address
from kwire.client.connection import BrokerConnection
from kwire.errors import CallError
from tests.interop.admin_steps import Admin
from tests.interop.transaction_steps import Line

M = kwire.messages
USERS = {"admin": "adminpw", "alice": "wonder", "bob": "builder"}
TOPIC, GROUP, CLUSTER, ID = 2, 3, 4, 5  # resources
LITERAL, PREFIXED = 3, 4
ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, ALTER_CONFIGS, IDEMPOTENT = 2, 3, 4, 5, 6, 7, 8, 11, 12
DENY, ALLOW = 2, 3
CLOSED = "closed"


class Scram:
    """A client of RFC 5802."""

    def __init__(self, name: str, password: str, hash_name: str = "sha256") -> None:
        self.name, self.password, self.hash_name = name, password, hash_name
        self.first = f"n={name},r=fyko+d2lbbFgONRv9qkxdawL"

    def begin(self) -> bytes:
        return f"n,,{self.first}".encode()

    def proof(self, challenge: bytes) -> bytes:
        nonce, salt, count = (part[2:] for part in challenge.decode().split(","))
        salted = hashlib.pbkdf2_hmac(self.hash_name, self.password.encode(), base64.b64decode(salt), int(count))
        unproved = f"c=biws,r={nonce}"
        signed = f"{self.first},{challenge.decode()},{unproved}".encode()
        client_key = hmac.digest(salted, b"Client Key", self.hash_name)
        signature = hmac.digest(hashlib.new(self.hash_name, client_key).digest(), signed, self.hash_name)
        self.verifier = hmac.digest(hmac.digest(salted, b"Server Key", self.hash_name), signed, self.hash_name)
        proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
        return f"{unproved},p={base64.b64encode(proof).decode()}".encode()

    def trusts(self, final: bytes) -> bool:
        return base64.b64decode(final[2:]) == self.verifier


class Secured(Admin):
    """A broker that is asked as a principal; the topic, group and transactional id are new."""

    user = "admin"

    def dial(self) -> BrokerConnection:
        return BrokerConnection(address(self.place), timeout=180, client_id="steps")

    def ask(self, name: str, version: int, place: str = "", **fields: Any) -> Any:
        key = f"{self.user}, {time.monotonic() // 2}"  # sessions end after 4 seconds
        if key not in self.connections:
            self.connections[key] = self.dial()
            assert self.login(self.connections[key], self.user, USERS[self.user])[0] == 0
        return self.send(self.connections[key], name, version, **fields)

    def send_as_admin(self, message: Any) -> Any:
        """Send a message of CreateAcls."""
        return self.ask("CreateAcls", 3, creations=message.creations)

    def send(self, connection: BrokerConnection, name: str, version: int, **fields: Any) -> Any:
        answer = connection.ask(kwire.codec(f"{name}Request", version), getattr(M, f"{name}Request")(**fields))
        assert answer is not None
        return answer.message

    def handshake(self, connection: BrokerConnection, mechanism: str) -> tuple[int, list[str]]:
        found = self.send(connection, "SaslHandshake", 1, mechanism=mechanism)
        return found.error_code, sorted(found.mechanisms)

    def token(self, connection: BrokerConnection, data: bytes) -> tuple[int, str | None, bytes]:
        found = self.send(connection, "SaslAuthenticate", 2, auth_bytes=data)
        return found.error_code, found.error_message, bytes(found.auth_bytes)

    def login(self, connection: BrokerConnection, name: str, password: str) -> tuple[int, str | None]:
        assert self.handshake(connection, "PLAIN")[0] == 0
        return self.token(connection, f"\0{name}\0{password}".encode())[:2]

    def is_closed(self, connection: BrokerConnection) -> bool:
        try:
            self.send(connection, "ApiVersions", 0)
        except CallError:
            return True
        return False

    def scram(self, name: str, password: str, mechanism: str = "SCRAM-SHA-256") -> Any:
        """Authenticate with SCRAM; return whether the broker proved itself, or what went wrong, and where."""
        client = Scram(name, password, "sha512" if mechanism.endswith("512") else "sha256")
        with self.dial() as connection:
            assert self.handshake(connection, mechanism)[0] == 0
            code, message, challenge = self.token(connection, client.begin())
            if code:
                return "first", code, message, self.is_closed(connection)
            code, message, final = self.token(connection, client.proof(challenge))
            return client.trusts(final) if not code else ("final", code, message, self.is_closed(connection))

    def set_scram(self, *rows: tuple[str, int, str, int]) -> list[int]:
        """Set passwords: names, mechanisms, passwords, iterations."""
        request, salt = M.AlterUserScramCredentialsRequest, b"0123456789abcdef"
        made = tuple(
            request.ScramCredentialUpsertion(
                name=name,
                mechanism=number,
                iterations=count,
                salt=salt,
                salted_password=hashlib.pbkdf2_hmac("sha512" if number == 2 else "sha256", word.encode(), salt, count),
            )
            for name, number, word, count in rows
        )
        return self._scram_codes(upsertions=made)

    def unset_scram(self, name: str, number: int) -> list[int]:
        row = M.AlterUserScramCredentialsRequest.ScramCredentialDeletion(name=name, mechanism=number)
        return self._scram_codes(deletions=(row,))

    def _scram_codes(self, **fields: Any) -> list[int]:
        found = self.ask("AlterUserScramCredentials", 0, **fields).results
        self.pause(0.3)
        return [one.error_code for one in found]

    def scrams(self, *names: str) -> Any:
        row = M.DescribeUserScramCredentialsRequest.UserName
        found = self.ask("DescribeUserScramCredentials", 0, users=tuple(row(name=name) for name in names))
        return found.error_code, [
            (one.error_code, [(info.mechanism, info.iterations) for info in one.credential_infos])
            for one in found.results
        ]

    def raw(self, password: str) -> str:
        """Authenticate with bare tokens, as after SaslHandshake v0."""
        with self.dial() as connection:
            self.send(connection, "SaslHandshake", 0, mechanism="PLAIN")
            token = f"\0alice\0{password}".encode()
            connection._socket.sendall(len(token).to_bytes(4, "big") + token)
            answer = connection._socket.recv(4)
            return answer.hex() if answer else CLOSED

    def acl(self, kind: int, name: str, operation: int, *, permission: int = ALLOW, **more: Any) -> Any:
        """Make an ACL, and wait until it holds."""
        fields: dict[str, Any] = {"resource_pattern_type": LITERAL, "principal": "User:alice", "host": "*"} | more
        request = M.CreateAclsRequest
        row = request.AclCreation(
            resource_type=kind, resource_name=name, operation=operation, permission_type=permission, **fields
        )
        code = self.ask("CreateAcls", 3, creations=(row,)).results[0].error_code
        self.pause(0.3)
        return code

    def forget(self, **wanted: Any) -> Any:
        row = M.DeleteAclsRequest.DeleteAclsFilter(**_anything(**wanted))
        found = self.ask("DeleteAcls", 3, filters=(row,)).filter_results[0]
        self.pause(0.3)
        return found.error_code, len(found.matching_acls)

    def acls(self, **wanted: Any) -> Any:
        found = self.ask("DescribeAcls", 3, **_anything(**wanted))
        rows = [
            (one.pattern_type, acl.principal, acl.host, acl.operation, acl.permission_type)
            for one in found.resources
            for acl in one.acls
        ]
        return found.error_code, sorted(rows)


def _anything(**wanted: Any) -> dict[str, Any]:
    names = {"resource_name_filter": None, "principal_filter": None, "host_filter": None}
    kinds = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1}
    return {**names, **kinds, **wanted}


def sasl_steps(broker: Secured) -> Iterator[Line]:
    """Authenticate, well and badly."""
    with broker.dial() as connection:
        yield "a mechanism that is not there", [broker.handshake(connection, "NONE"), broker.is_closed(connection)]
    for token in (b"\0alice\0wrong", b"\0nobody\0wonder", b"\0alice", b"bob\0alice\0wonder", b"\0\0wonder"):
        with broker.dial() as connection:
            broker.handshake(connection, "PLAIN")
            yield "a bad token", [broker.token(connection, token), broker.is_closed(connection)]
    with broker.dial() as connection:
        try:
            broker.send(connection, "Metadata", 9, topics=None)
            yield "metadata first", "answered"
        except CallError:
            yield "metadata first", CLOSED
    with broker.dial() as connection:
        yield "versions first", broker.send(connection, "ApiVersions", 0).error_code
        yield "then PLAIN", broker.login(connection, "alice", "wonder")
        yield "a token too many", [broker.token(connection, b"\0alice\0wonder"), broker.is_closed(connection)]
        broker.pause(1.2)  # Kafka takes nobody for one who authenticates again before
        yield "again", broker.login(connection, "alice", "wonder")
        broker.pause(1.2)
        yield "again, as another one", [broker.login(connection, "bob", "builder"), broker.is_closed(connection)]
    yield "bare tokens", [broker.raw("wonder"), broker.raw("wrong")]
    name = f"carol-{broker.topic}"
    yield "SCRAM without user", broker.scram(name, "pw")
    yield "make credentials", [broker.set_scram((name, 1, "pw", 4096)), broker.set_scram((name, 2, "pw", 8192))]
    yield "SCRAM", [broker.scram(name, "pw"), broker.scram(name, "pw", "SCRAM-SHA-512")]
    yield "SCRAM, wrong password", broker.scram(name, "wrong")
    yield "describe credentials", [broker.scrams(name), broker.scrams("nobody"), broker.scrams(name, name)]
    bad = [(name, 1, "pw", 100), (name, 1, "pw", 20_000), (name, 3, "pw", 4096), ("", 1, "pw", 4096)]
    yield "bad credentials", [broker.set_scram(one) for one in bad]
    yield "twice", broker.set_scram((name, 1, "a", 4096), (name, 2, "b", 4096))
    yield "remove credentials", [broker.unset_scram(name, 1), broker.unset_scram(name, 1), broker.scrams(name)]
    yield "SCRAM after that", broker.scram(name, "pw")[:2]


def codes(broker: Asking) -> Iterator[Line]:
    """Ask for everything; the lines have the error codes."""
    topic, group = broker.topic, broker.group
    wanted = M.MetadataRequest.MetadataRequestTopic(name=topic)
    found = broker.ask("Metadata", 9, topics=(wanted,), include_topic_authorized_operations=True).topics[0]
    yield "metadata", [found.error_code, len(found.partitions), hex(found.topic_authorized_operations & 0xFFFFFFFF)]
    yield "all topics", topic in {one.name for one in broker.ask("Metadata", 9, topics=None).topics}
    yield "describe topic partitions", [[one[0] for one in page] for page in broker.pages(9, topic)]
    yield "produce", broker.write(b"a")
    yield "fetch", broker.fetch_code()
    yield "list offsets", broker.list_code()
    yield "epochs", broker.epoch_end(0)[0]
    yield "configs", broker.config_codes()
    yield "delete records", broker.delete_records(0)[0]
    yield "make a topic", broker.create_code(f"{topic}-{broker.user}-2")
    yield "more partitions", broker.grow_code()
    yield (
        "an idempotent producer",
        broker.ask("InitProducerId", 4, transactional_id=None, transaction_timeout_ms=1).error_code,
    )
    yield "a transactional one", broker.init().error_code
    yield "coordinators", [broker.coordinator_code(group, 0), broker.coordinator_code(broker.id, 1)]
    joined = broker.ask("JoinGroup", 7, group_id=group, session_timeout_ms=9000, member_id="", protocol_type="x")
    yield "join", joined.error_code
    yield "commit", broker.commit(1)
    yield "committed", broker.committed()
    yield "describe group", broker.ask("DescribeGroups", 5, groups=(group,)).groups[0].error_code
    yield "groups", group in {one.group_id for one in broker.ask("ListGroups", 4).groups}
    yield "delete offset", broker.delete_offset(group, topic, 1)
    yield (
        "cluster",
        [
            broker.ask("DescribeLogDirs", 4, topics=None).error_code,
            broker.elect(0, 0),
            broker.ask("ListPartitionReassignments", 0, topics=None, timeout_ms=5000).error_code,
            broker.acls(resource_name_filter="none")[0],
            broker.acl(TOPIC, "none", READ),
            broker.forget(resource_name_filter="none")[0],
            broker.scrams("nobody")[0],
            broker.quota_code(),
            hex(
                broker.ask(
                    "DescribeCluster", 0, include_cluster_authorized_operations=True
                ).cluster_authorized_operations
            ),
        ],
    )


class Asking(Secured):
    """Requests whose error codes alone are of interest."""

    def fetch_code(self) -> int:
        part = M.FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
        row = M.FetchRequest.FetchTopic(topic=self.topic, partitions=(part,))
        found = self.ask("Fetch", 11, max_wait_ms=1, min_bytes=0, max_bytes=1 << 20, session_epoch=-1, topics=(row,))
        return int(found.responses[0].partitions[0].error_code)

    def committed(self) -> Any:
        row = M.OffsetFetchRequest.OffsetFetchRequestTopic(name=self.topic, partition_indexes=(0,))
        found = self.ask("OffsetFetch", 7, group_id=self.group, topics=(row,))
        return found.error_code, [
            (one.error_code, one.committed_offset) for row in found.topics for one in row.partitions
        ]

    def list_code(self) -> int:
        part = M.ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=-1)
        row = M.ListOffsetsRequest.ListOffsetsTopic(name=self.topic, partitions=(part,))
        return int(self.ask("ListOffsets", 6, topics=(row,)).topics[0].partitions[0].error_code)

    def config_codes(self) -> list[int]:
        request = M.DescribeConfigsRequest.DescribeConfigsResource
        rows = request(resource_type=2, resource_name=self.topic), request(resource_type=4, resource_name="1")
        found = self.ask("DescribeConfigs", 4, resources=rows).results
        return [*(one.error_code for one in found), self.alter(("retention.ms", "5000"))]

    def create_code(self, name: str) -> Any:
        row = M.CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        found = self.ask("CreateTopics", 7, topics=(row,), timeout_ms=10_000).topics[0]
        return found.error_code, found.num_partitions, found.topic_config_error_code

    def grow_code(self) -> int:
        row = M.CreatePartitionsRequest.CreatePartitionsTopic(name=self.topic, count=2)
        return int(self.ask("CreatePartitions", 3, topics=(row,), timeout_ms=5000).results[0].error_code)

    def coordinator_code(self, key: str, kind: int) -> int:
        found = self.ask("FindCoordinator", 4, key_type=kind, coordinator_keys=(key,))
        return int(found.coordinators[0].error_code)

    def quota_code(self) -> int:
        request = M.AlterClientQuotasRequest
        row = request.EntryData(
            entity=(request.EntityData(entity_type="client-id", entity_name="x"),),
            ops=(request.OpData(key="producer_byte_rate", value=1.0),),
        )
        return int(self.ask("AlterClientQuotas", 1, entries=(row,), validate_only=True).entries[0].error_code)

    def delete_code(self, name: str) -> int:
        row = M.DeleteTopicsRequest.DeleteTopicState(name=name)
        return int(self.ask("DeleteTopics", 6, topics=(row,), timeout_ms=5000).responses[0].error_code)


def acl_steps(broker: Asking) -> Iterator[Line]:
    """Ask without rights, and with more and more of them."""
    topic, group = broker.topic, broker.group

    def admin(*results: Any) -> Any:
        return list(results)

    broker.user = "alice"
    yield from ((f"nothing: {label}", value) for label, value in codes(broker))
    broker.user = "admin"
    yield "allow to read the topic", admin(broker.acl(TOPIC, topic, READ), broker.acl(GROUP, group, READ))
    broker.user = "alice"
    yield from ((f"reading: {label}", value) for label, value in codes(broker))
    broker.user = "admin"
    allowed = [
        broker.acl(TOPIC, topic[:9], WRITE, resource_pattern_type=PREFIXED, principal="User:*"),
        broker.acl(ID, "*", WRITE),
        broker.acl(CLUSTER, "kafka-cluster", CREATE),
        broker.acl(CLUSTER, "kafka-cluster", DESCRIBE),
        broker.acl(TOPIC, topic, ALTER_CONFIGS),
        broker.acl(TOPIC, topic, READ, permission=DENY),
        broker.acl(GROUP, "*", ALL),
    ]
    yield "allow more, and deny to read", admin(*allowed)
    broker.user = "alice"
    yield from ((f"writing: {label}", value) for label, value in codes(broker))
    broker.user = "bob"
    yield "bob", [broker.write(b"b"), broker.fetch_code(), broker.delete_code(topic), broker.delete_code("nowhere")]
    broker.user = "admin"
    yield from filter_steps(broker)
    broker.user = "alice"
    yield "no ACLs are left", [broker.write(b"c"), broker.fetch_code()]
    broker.user = "admin"


def filter_steps(broker: Asking) -> Iterator[Line]:
    """Select ACLs, make bad ones, and remove all."""
    topic = broker.topic
    yield "ACLs of the topic", broker.acls(resource_name_filter=topic)
    yield (
        "ACLs that match it",
        broker.acls(resource_name_filter=topic, resource_type_filter=TOPIC, pattern_type_filter=2),
    )
    yield "denials", broker.acls(resource_name_filter=topic, permission_type=DENY)
    yield "of bob", broker.acls(principal_filter="User:bob")
    bad = [
        broker.acl(CLUSTER, "other", READ),
        broker.acl(TOPIC, "", READ),
        broker.acl(TOPIC, topic, READ, principal="alice"),
    ]
    yield "bad ACLs", bad
    gone = [
        broker.forget(resource_name_filter=topic, permission_type=DENY),
        broker.forget(principal_filter="User:alice"),
        broker.forget(principal_filter="User:*"),
        broker.forget(principal_filter="User:*"),
    ]
    yield "remove ACLs", gone


def feature_steps(broker: Asking) -> Iterator[Line]:
    """Change levels of features and voters, without effect, and ask for subscriptions to metrics."""

    def update(name: str, level: int, kind: int = 1, version: int = 1) -> Any:
        row = M.UpdateFeaturesRequest.FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)
        fields: dict[str, Any] = {"timeout_ms": 5000, "validate_only": True, "feature_updates": (row,)}
        found = broker.ask("UpdateFeatures", version, **fields)
        return found.error_code, found.error_message, [(one.feature, one.error_code) for one in found.results]

    yield "same levels", [update("group.version", 1), update("group.version", 1, version=2)]
    yield "lower levels", [update("group.version", 0, 2), update("transaction.version", 1, 1)]
    yield "bad levels", [update("group.version", 5), update("group.version", 1, 9), update("nonsense", 1)]
    found = broker.ask("UnregisterBroker", 0, broker_id=7)
    yield "unregister a broker", (found.error_code, found.error_message)
    listener = M.AddRaftVoterRequest.Listener(name="CONTROLLER", host="x", port=1)
    voter: dict[str, Any] = {"cluster_id": None, "voter_id": 9, "voter_directory_id": b"1" * 16}
    found = broker.ask("AddRaftVoter", 0, timeout_ms=1000, listeners=(listener,), **voter)
    yield "add a voter", (found.error_code, found.error_message)
    found = broker.ask("RemoveRaftVoter", 0, **voter)
    yield "remove a voter", (found.error_code, found.error_message)
    found = broker.ask("GetTelemetrySubscriptions", 0, client_instance_id=b"i" * 16)
    yield "subscriptions", (found.error_code, found.client_instance_id, found.push_interval_ms, found.requested_metrics)
    sizes: dict[str, Any] = {"accepted": sorted(found.accepted_compression_types), "most": found.telemetry_max_bytes}
    yield "what is accepted", sizes
    pushed: dict[str, Any] = {
        "client_instance_id": b"i" * 16,
        "subscription_id": found.subscription_id,
        "metrics": b"m",
    }
    bad: list[dict[str, Any]] = [{"subscription_id": 5}, {"client_instance_id": bytes(16)}]
    yield "push", [broker.ask("PushTelemetry", 0, **(pushed | one)).error_code for one in bad]
    advertised = {one.api_key for one in broker.ask("ApiVersions", 0).api_keys}
    yield "advertised", [key in advertised for key in (17, 36, 50, 51, 57, 64, 71, 72, 80, 81)]


def lines(place: str, pause: Callable[[float], None] = time.sleep) -> list[str]:
    """Take all steps; returns a line for each."""
    broker = Asking(place, pause)
    try:
        broker.begin()
        steps = [*sasl_steps(broker), *acl_steps(broker), *feature_steps(broker)]
        return [
            f"{label}: {value}".replace(broker.topic, "TOPIC").replace(broker.topic[:9], "TO") for label, value in steps
        ]
    finally:
        for connection in broker.connections.values():
            connection.close()


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines(sys.argv[1])) + "\n")
