"""Random requests of every served api and version, with plausible and odd values, to brokers whose time moves, whose
disks fail and which stop: `RandomWorld`.

Requests go through their bytes, and responses are encoded, as by a server, but there is no server: what a handler
raises ends the test. The values that a world has answered (member ids, epochs, producer ids) are sent again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any

import kwire
from kwire.broker import Node, Parked, ServedCluster, Settings
from kwire.broker.api import ClosesConnection
from kwire.broker.client_quota_manager import KEYS
from kwire.broker.configs import definitions_of
from kwire.broker.controller.topic_names import TRANSACTIONS
from kwire.broker.fault_rules import ERROR, FaultRule
from kwire.broker.features import features_of
from kwire.broker.groups.group_migration import POLICIES
from kwire.broker.internal_topics import coordinator_of
from kwire.broker.request_context import RequestContext
from kwire.broker.request_frames import ServedRequest, read_request, write_response
from kwire.broker.security.sasl_session import SaslSession
from kwire.codecs import wire
from kwire.codecs.message_codec import codec_in
from kwire.protocol import Frame
from kwire.protocol.sasl.mechanisms import SCRAM
from kwire.schema.releases import releases
from kwire.values import ErrorCode
from tests.broker.served import FailingDisk
from tests.messages.random_values import draw

BROKERS = 3
REQUESTS = 400  # to one world
LONGEST_TEXT = 32_767  # bytes of a string in Kafka's protocol
MOST_REQUEST = 2 << 20  # bytes
MOST_SHOWN = 3000  # characters of a request that fails
MOST_RESPONSE = 8 << 20  # bytes
TOPICS = ("t", "u", "compacted", "new", "missing", "a.b", "a_b", "__consumer_offsets", "__transaction_state")
ODD_TOPICS = ("__share_group_state", "__cluster_metadata", "", ".", "..", "no/name", "x" * 249, "x" * 250, "\0", "é")
GROUPS = ("g", "h", "consumer-group", "share-group", "", "x" * 300)
IDS = ("p", "q", "", None)
USERS = ("User:alice", "User:*", "User:", "alice", "nobody", "Group:x", "user", "client-id", "ip", "CLUSTER")
NUMBERS = (
    "0",
    "1",
    "-1",
    "1000",
    "9" * 30,
    "1e3",
    "1.5",
    "nan",
    "inf",
    "-0",
    " 1",
    "",
    "true",
    "false",
    "compact",
    "\0",
)
PATTERNS = ("", ".*", "[", "(a|b)*", "t|u", "^t$", "\\", "(?P<a>t)", "x{1,1000}", "a" * 300)
MECHANISMS = (*SCRAM.values(), "PLAIN", "", "GSSAPI")
SMALL = (-2, -1, 0, 1, 2, 3, 4, 5)
MILLISECONDS = (-1, 0, 1, 500, 6_000, 10_000, 60_000, 2**31 - 1)
FLOATS = (0.0, 1.0, 1e6, 1e-300, 1e300, -1.0, float("inf"), float("-inf"), float("nan"))
CONFIGS = (*definitions_of("topic", None), "log.retention.ms", "broker.id", "interval.ms", *KEYS, "no.such.config")
WORDS: dict[str, tuple[Any, ...]] = {
    "client_software_name": ("kwire", "", "-"),
    "client_software_version": ("1", "", "."),
    "config_name": CONFIGS,
    "entity_name": (*USERS, None),
    "entity_type": ("user", "client-id", "ip", "", "x"),
    "feature": (*features_of(None), "", "x"),
    "key": (*KEYS, *GROUPS, "p", "u:0"),
    "mechanism": MECHANISMS,
    "name": (*TOPICS, *CONFIGS, *USERS, "range", "cooperative-sticky"),
    "principal": USERS,
    "principal_filter": (*USERS, None),
    "principal_name": ("alice", "", "*"),
    "principal_type": ("User", "", "Group"),
    "protocol_name": ("range", "", None),
    "protocol_type": ("consumer", "connect", "", None),
    "rack_id": ("r1", "r2", "", None),
    "resource_name": (*TOPICS, "1", "2", "", "kafka-cluster", *GROUPS),
    "server_assignor": ("range", "uniform", "no such", None),
    "subscribed_topic_regex": (*PATTERNS, None),
    "transactional_id_pattern": (*PATTERNS, None),
    "value": (*NUMBERS, *USERS, None),
}
FEW = frozenset(("partitions", "count", "replication_factor", "batch_size", "max_records"))  # what costs by number


@cache
def api_keys() -> dict[str, int]:
    """Return the keys of the apis by name."""
    return {api.name: api.key for api in releases().apis.values()}


def settings_for(rng: Random) -> Settings:
    """Draw the settings of a cluster; what clients can create is bounded."""
    has_acls = rng.random() < 0.3
    return Settings(
        auto_create_topics=rng.random() < 0.7,
        num_partitions=rng.choice((1, 2, 5)),
        default_replication_factor=rng.choice((1, 2, 3)),
        min_insync_replicas=rng.choice((1, 1, 2)),
        fetch_max_bytes=1 << 16,
        retention_bytes=rng.choice((-1, -1, 0, 2000)),
        internal_partitions=rng.choice((1, 3)),
        initial_rebalance_delay=rng.choice((0.0, 3.0)),
        migration_policy=rng.choice(POLICIES),
        most_partitions=120,
        most_groups=12,
        most_group_members=6,
        most_group_bytes=20_000,
        rack_aware_fetch=rng.random() < 0.3,
        profile=rng.choice((None, None, None, "KIP-36", "KIP-879")),
        read_only=rng.random() < 0.05,
        release=rng.choice((None, None, None, rng.choice(releases().names[-20:]))),
        authorizer=has_acls,
        super_users=("User:alice", "User:ANONYMOUS")[: rng.choice((1, 2))] if has_acls else (),
        allow_without_acls=rng.random() < 0.5,
        sasl_mechanisms=MECHANISMS[:3] if rng.random() < 0.1 else (),
        passwords={"alice": "wonder"},
    )


@dataclass
class Seen:
    """The values of the requests and responses so far, which later requests contain again.

    Attributes:
        values: the newest values, by the name of their field.
        scenes: values that belong together, such as a member with its group and epoch.
    """

    values: dict[str, deque[Any]] = field(default_factory=dict)
    scenes: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=12))

    def add(self, request: Any, response: Any) -> None:
        """Remember the values of a response, and those of its request that they belong to."""
        self._walk(response, 0)
        scene = {
            name: getattr(message, name)
            for message in (request, response)
            for name in TOGETHER
            if hasattr(message, name)
        }
        if getattr(response, "error_code", 0) == 0 and len(scene) > 1:
            self.scenes.append(scene)

    def _walk(self, value: Any, depth: int) -> None:
        for name in getattr(value, "__struct_fields__", ()):
            inner = getattr(value, name)
            if isinstance(inner, tuple):
                for row in inner[:3]:
                    self._walk(row, depth + 1)
            elif isinstance(inner, str | int | bytes):
                self.values.setdefault(name, deque(maxlen=6)).append(inner)


TOGETHER = (
    *("group_id", "member_id", "generation_id", "member_epoch"),
    *("transactional_id", "producer_id", "producer_epoch", "session_id"),
)
EPOCHS = ("generation_id", "member_epoch", "generation_id_or_member_epoch", "share_session_epoch", "session_epoch")


class Drawing:
    """Draws a request message: values that fit the names of their fields, values seen before, and odd ones.

    Args:
        rng: the random generator.
        seen: the values of earlier messages.
        topic_ids: the ids of the topics.
        odd: how many values are odd, from 0 to 1; drawn by default.
    """

    def __init__(self, rng: Random, seen: Seen, topic_ids: list[bytes], odd: float | None = None) -> None:
        self.rng, self.seen, self.topic_ids = rng, seen, topic_ids
        self.scene: dict[str, Any] = {}
        if seen.scenes and rng.random() < 0.7:
            self.scene = {**rng.choice(seen.scenes)}
        for name in EPOCHS:
            epochs = [self.scene[one] for one in EPOCHS if one in self.scene]
            self.scene.setdefault(name, epochs[0] if epochs else rng.choice(SMALL))
        self.many = odd is None and rng.random() < 0.02  # whether arrays may be long
        self.odd = rng.choice((0.0, 0.02, 0.1, 0.5)) if odd is None else odd

    def draw(self, node: Any, name: str = "") -> Any:
        """Return a value for a node of the tree, in the field of a name."""
        if isinstance(node, wire.Struct):
            return self._struct(node)
        if isinstance(node, wire.NullableStruct):
            return None if self.rng.random() < 0.2 else self._struct(node.subcon)
        if isinstance(node, wire.Array):
            return self._array(node, name)
        if self.rng.random() >= self.odd:
            fitting = [value for value in self._plausible(node, name) if _fits(node, value)]
            if fitting:
                return self.rng.choice(fitting)
        if isinstance(node, wire.String) and self.rng.random() < 0.1:
            return self.rng.choice(("x" * LONGEST_TEXT, "é" * (LONGEST_TEXT // 2)))
        value = draw(node, self.rng)
        return min(value, 10 ** self.rng.choice((1, 2, 6))) if name in FEW else value

    def _struct(self, node: wire.Struct) -> Any:
        fields = list(node.fields)
        if node.tagged is not None:
            fields += [one for one in node.tagged.fields.values() if self.rng.random() < 0.5]
        return node.message_class(**{str(one.name): self.draw(one.subcon, str(one.name)) for one in fields})

    def _array(self, node: wire.Array, name: str) -> tuple[Any, ...] | None:
        if node.nullable and self.rng.random() < 0.15:
            return None
        count = self.rng.choice((0, 1, 1, 1, 2, 3))
        if self.many and self.rng.random() < 0.5:
            self.many, count = False, self.rng.choice((20, 300, 2000))
        rows = [self.draw(node.element, name) for _ in range(min(count, 40))]
        return tuple(rows * -(-count // 40))[:count]  # many are duplicates

    def _plausible(self, node: Any, name: str) -> tuple[Any, ...]:
        """Return values that a client would send in a field; some do not fit its type."""
        if name in self.scene:
            return (self.scene[name],)
        seen = tuple(self.seen.values.get(name, ()))
        if isinstance(node, wire.Uuid):
            return (*self.topic_ids, *seen)
        if isinstance(node, wire.String):
            return (*self._words(name), *seen)
        if isinstance(node, wire.Bytes):
            return (self._records() if name == "records" else b"\0\1\0\0\0\1\0\1t\xff\xff\xff\xff", *seen)
        if isinstance(node, wire.Integer):
            return self._numbers(name, seen)
        return FLOATS if isinstance(node, wire.Float64) else ()

    def _words(self, name: str) -> tuple[Any, ...]:
        if name in WORDS:
            return WORDS[name]
        if "topic" in name:
            return TOPICS if self.rng.random() < 0.9 else ODD_TOPICS
        if "transactional" in name:
            return IDS
        if "group" in name and "instance" not in name:
            return GROUPS
        return ("", "a", None)

    def _numbers(self, name: str, seen: tuple[Any, ...]) -> tuple[Any, ...]:
        if name.endswith("_ms"):
            return MILLISECONDS
        if "replica" in name or "broker" in name or "node" in name:
            return (1, 2, 3, 3, 4, -1)
        return (*SMALL, *seen, *seen)

    def _records(self) -> bytes:
        """Return one or several record batches, most of them valid."""
        rng = self.rng
        records = [
            kwire.Record(
                place, rng.choice((0, -1, 1000, 2**62)), rng.choice((None, b"", b"k")), rng.choice((None, b"v"))
            )
            for place in range(rng.choice((1, 1, 2, 30)))
        ]
        fields: dict[str, Any] = {}
        if rng.random() < 0.6:
            fields["producer_id"] = self.scene.get("producer_id", rng.choice(SMALL))
            fields["producer_epoch"] = max(-1, min(self.scene.get("producer_epoch", 0), 2**15 - 1))
            fields["base_sequence"] = rng.choice((-1, 0, 0, 0, 1, 2, 2**31 - 1))
            fields["is_transactional"] = rng.random() < 0.6
        data = kwire.build_batch(records, compression=rng.choice(("none", "none", "gzip")), **fields)
        if rng.random() < 0.1:
            place = rng.randrange(len(data))
            data = data[:place] + rng.randbytes(2) + data[place + 1 :]
        return data * rng.choice((1, 1, 1, 1, 2))


def _fits(node: Any, value: Any) -> bool:
    if value is None:
        return bool(getattr(node, "nullable", False))
    if isinstance(node, wire.Integer):
        return isinstance(value, int) and not isinstance(value, bool) and node.low <= value <= node.high
    if isinstance(node, wire.Uuid):
        return isinstance(value, bytes) and len(value) == 16
    if isinstance(node, wire.String | wire.Float64):
        return isinstance(value, str if isinstance(node, wire.String) else float)
    return isinstance(node, wire.Bytes) and isinstance(value, bytes)


@contextmanager
def said_of(served: ServedRequest | None) -> Iterator[None]:
    """Name the request in whatever is raised."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"{served}"[:MOST_SHOWN])
        raise


class RandomWorld:
    """A cluster that receives random requests.

    Args:
        seed: decides everything, so that a world is drawn again from it.
        settings: the settings of the cluster; drawn by default.

    Attributes:
        requests: how many requests were handled.
    """

    def __init__(self, seed: str, settings: Settings | None = None) -> None:
        self.rng = rng = Random(seed)
        self.disks = [[FailingDisk(f"/{node_id}/{one}") for one in "ab"] for node_id in range(1, BROKERS + 1)]
        nodes = [
            Node(node_id, port=9092 + node_id, rack=f"r{node_id}", disks=disks)
            for node_id, disks in enumerate(self.disks, 1)
        ]
        self.settings = settings or settings_for(rng)
        self.cluster = ServedCluster(nodes, self.settings, Random(rng.random()))
        self.now, self.requests = 1000.0, 0
        self.cluster.time_ms = lambda: int(self.now * 1000)
        self.seen = Seen()
        self.parked: dict[Parked[Any], ServedRequest] = {}
        self.sessions = [self._session() for _ in range(3)]
        self._recover()

    def _session(self) -> SaslSession:
        users, mechanisms = self.cluster.controller.users, self.settings.sasl_mechanisms
        return SaslSession(users, mechanisms, self.rng, self.rng.choice((0.0, 60.0)))

    def _recover(self) -> None:
        """Bring all brokers and disks back, and the topics."""
        for disk in (disk for disks in self.disks for disk in disks):
            disk.is_broken = False
        for node_id, node in self.cluster.controller.nodes.items():
            for log_dir in node.log_dirs:
                self.cluster.heal(log_dir)
            self.cluster.start(node_id)
        controller = self.cluster.controller
        for topic, configs in (("t", {}), ("u", {}), ("compacted", {"cleanup.policy": "compact"})):
            if topic not in controller.topics:
                controller.create(topic, {0: [1, 2, 3], 1: [2, 3, 1]}, configs)

    def run(self, requests: int = REQUESTS) -> None:
        """Send requests, while time moves and brokers and disks fail."""
        for _ in range(requests):
            if self.rng.random() < 0.15:
                self._happen()
            self.send(*self._api())
        self.end()

    def end(self) -> None:
        """Check that in the end nothing waits."""
        self._recover()
        self._wait(400.0)
        self._wait(100_000.0)
        self._take_answers()
        assert not self.parked, list(self.parked.values())

    def _check_bounds(self) -> None:
        """Check that what clients can create is bounded."""
        groups, settings = self.cluster.groups, self.settings
        assert 0 <= groups.held.size <= settings.most_group_bytes, groups.held.size
        assert len(groups.all()) <= settings.most_groups
        partitions = sum(len(topic.partitions) for topic in self.cluster.controller.topics.values())
        assert partitions <= settings.most_partitions + 3 * settings.internal_partitions

    def send(self, name: str, version: int, odd: float | None = None) -> None:
        """Draw a request of an api and version, send it to a broker, and check the response.

        Args:
            name: the name of the api.
            version: the version.
            odd: how many values are odd, from 0 to 1; drawn by default.
        """
        served = self._drawn(name, version, odd)
        place = self.rng.randrange(len(self.sessions))
        session = self.sessions[place]
        if session.problem(name, self.now) or session.has_failed or session.takes_tokens:
            self.sessions[place] = self._session()  # a server closes the connection
            return
        node_id, host = self._broker_for(served.message), self.rng.choice(("127.0.0.1", "h", ""))
        client = served.client_id, host, session.principal, session
        self.requests += 1
        with said_of(served):
            context = RequestContext(self.cluster, node_id, served.message, version, self.now, *client)
            try:
                response = self.cluster.handle(context)
            except ClosesConnection:
                assert served.message.acks == 0  # a Produce request with an error
                response = None
            if isinstance(response, Parked):
                self.parked[response] = served
            else:
                self._check(served, response)
            self._check_bounds()
        self._take_answers()

    def _drawn(self, name: str, version: int, odd: float | None) -> ServedRequest:
        """Draw a request; return it as it is read from its bytes."""
        rng, cluster = self.rng, self.cluster
        codec = codec_in(cluster.catalog, f"{name}Request", version)
        topic_ids = [topic.topic_id for topic in cluster.controller.topics.values()]
        message = Drawing(rng, self.seen, topic_ids, odd).draw(codec.schema)
        client_id = rng.choice(("c", "d", "", None))
        data = kwire.encode_request(message, version, correlation_id=7, client_id=client_id, catalog=cluster.catalog)
        if len(data) > MOST_REQUEST:
            return self._drawn(name, version, odd)
        served = read_request(Frame(data), cluster.catalog, cluster.apis)
        assert isinstance(served, ServedRequest), (served, message)
        return served

    def _api(self) -> tuple[str, int]:
        """Draw a served api and version; a draft takes the key and the version of a released message."""
        while True:
            name, api = self.rng.choice(list(self.cluster.table.items()))
            version = self.rng.choice((api.last, self.rng.randint(api.first, api.last)))
            key = api_keys().get(name)
            spec = None if key is None else self.cluster.catalog.find(key, "request", version)
            if spec is None or spec.name == f"{name}Request":
                return name, version

    def _broker_for(self, message: Any) -> int:
        """Return the broker that should get a request, or any."""
        rng, controller = self.rng, self.cluster.controller
        group = getattr(message, "group_id", None)
        transactional_id = getattr(message, "transactional_id", None)
        found: int | None = None
        if rng.random() < 0.6:
            if group is not None:
                found = coordinator_of(group, controller)
            elif transactional_id is not None:
                found = coordinator_of(transactional_id, controller, TRANSACTIONS)
        return found or rng.randint(1, BROKERS)

    def _check(self, served: ServedRequest, response: Any) -> None:
        """Encode a response; only Produce with acks=0 has none."""
        if response is None:
            assert getattr(served.message, "acks", None) == 0, "there is no response"
            return
        data = write_response(served, response, self.cluster.catalog)
        assert len(data) <= MOST_RESPONSE, len(data)
        self.seen.add(served.message, response)

    def _take_answers(self) -> None:
        answered = self.cluster.waiting.answered
        while answered:
            parked = answered.pop()
            served = self.parked.pop(parked, None)
            with said_of(served):
                response = parked.response  # raises what an attempt, or a timer of the broker's own, has raised
                if served is not None:
                    self._check(served, response)

    def _wait(self, seconds: float) -> None:
        """Let time pass, deadline by deadline."""
        end = self.now + seconds
        while (deadline := self.cluster.next_deadline) is not None and deadline <= end:
            self.now = max(self.now, deadline)
            self.cluster.tick(self.now)
        self.now = end
        self.cluster.check()

    def _happen(self) -> None:
        """Let something happen to the cluster."""
        cluster, rng = self.cluster, self.rng
        node_id = rng.randint(1, BROKERS)
        log_dir = rng.choice(cluster.controller.nodes[node_id].log_dirs)
        disk = rng.choice(self.disks[node_id - 1])
        events: list[Callable[[], None]] = [
            *[lambda: self._wait(rng.choice((0.0, 0.1, 1.0, 10.0, 100.0)))] * 3,
            lambda: self._wait(rng.choice((1e4, 1e6))),
            *[self._recover] * 2,
            lambda: cluster.stop(node_id),
            lambda: cluster.start(node_id),
            lambda: cluster.fail(log_dir),
            lambda: setattr(log_dir, "is_full", True),
            lambda: setattr(disk, "is_broken", True),
            lambda: self._move(node_id),
            self._add_rule,
            cluster.rules.clear,
            self._disconnect,
        ]
        rng.choice(events)()

    def _disconnect(self) -> None:
        """Let a client go, and what it waits for."""
        parked = self.rng.choice([None, *self.parked])
        if parked is not None:
            self.parked.pop(parked)
            self.cluster.waiting.forget(parked)
        place = self.rng.randrange(len(self.sessions))
        self.cluster.shares.disconnected(self.sessions[place])
        self.sessions[place] = self._session()

    def _move(self, node_id: int) -> None:
        """Move a leader, or change an ISR, as far as that is possible."""
        partition = self.rng.choice(list(self.cluster.controller.partitions()))
        with suppress(ValueError):  # it is out of sync, or the only one
            match self.rng.randrange(3):
                case 0:
                    self.cluster.move_leader(partition, node_id)
                case 1:
                    self.cluster.shrink_isr(partition, [node_id])
                case _:
                    self.cluster.expand_isr(partition)

    def _add_rule(self) -> None:
        rng, table = self.rng, self.cluster.table
        names = [name for name, api in table.items() if api.finds_errors]
        code = rng.choice([one for one in ErrorCode if one])
        topic = rng.choice((None, *TOPICS))
        rule = FaultRule(rng.choice(names), topic=topic, action=ERROR, code=int(code), times=rng.choice((None, 1, 5)))
        self.cluster.rules.add(rule)
