"""Converts one message to events about partitions and brokers; each type of message has a small adapter.

Released messages and drafts of KIPs are read by the meaning of their fields. `body_of` converts the body of a draft to
the released message and lists the fields that its version carries, so that readers test for a field instead of a
version number. Records of the metadata log are read by `metadata_log`, znodes by `znode_events`. Sources: KIP-36,
KIP-112, KIP-455, KIP-497, KIP-858, KIP-966.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache
from typing import Any, NamedTuple

from ...codecs import Codec
from ...messages.classes import message_class
from ...protocol import Request, Response, Result
from ...redaction.masking import is_of_metadata_log
from ...sensitive_fields import is_sensitive
from ...spec import MessageSpec, StructSpec
from ...spec.catalog import catalog_for
from ...values import ConfigResourceType, ConfigSource, ErrorCode
from ..state import (
    EPOCH_DURING_DELETE,
    LEADER_DURING_DELETE,
    MIN_ISR,
    NO_EPOCH,
    NO_LEADER,
    Broker,
    ClusterState,
    LogDir,
    Partition,
    Settings,
)
from .metadata_log import HIDDEN, RECORDS

# message of a draft -> the released message with the same content
RELEASED = {"TopicMetadataResponse": "MetadataResponse"}
# (struct of a draft, its attribute) -> attribute of the released message, if the names differ
RENAMED = {
    ("TopicMetadataResponse", "broker_end_points"): "brokers",
    ("TopicMetadataResponse", "topics_meta_data"): "topics",
    ("BrokerEndPoint", "broker_id"): "node_id",
    ("TopicMetadata", "topic"): "name",
    ("TopicMetadata", "partitions_meta_data"): "partitions",
    ("PartitionMetadata", "partition_id"): "partition_index",
    ("PartitionMetadata", "leader"): "leader_id",
    ("PartitionMetadata", "replicas"): "replica_nodes",
    ("PartitionMetadata", "isr"): "isr_nodes",
}


class Body(NamedTuple):
    """A message of a released class, also if it was converted from a draft or an early-access release.

    Attributes:
        message: the message; fields that its version does not carry have Kafka's default.
        fields: paths of the fields that its version carries, such as `topics.partitions.offline_replicas`.
    """

    message: Any
    fields: frozenset[str]


def body_of(message: Any, codec: Codec | int) -> Body:
    """Return a decoded message with the released names.

    Args:
        message: a decoded body.
        codec: the codec that decoded it; for a released message the version is enough.

    Raises:
        UnknownMessage, UnsupportedVersion: `codec` is a number, and Kafka released no such message or version.

    >>> import kwire
    >>> codec = kwire.codec("MetadataResponse", 3, profile="KIP-112")
    >>> "topics.partitions.offline_replicas" in body_of(codec.message_class(controller_id=1), codec).fields
    True
    >>> "topics.partitions.offline_replicas" in body_of(kwire.messages.MetadataResponse(), 3).fields
    False
    """
    name = type(message).__name__
    catalog = catalog_for()
    spec = codec.spec if isinstance(codec, Codec) else catalog.spec(name, codec)
    version = codec.version if isinstance(codec, Codec) else codec
    released = RELEASED.get(name, name)
    if released in catalog and spec is not catalog.spec(released):
        message = _rebuilt(message, spec.struct, catalog.spec(released).struct, message_class(catalog.spec(released)))
    return Body(message, _fields(spec, version))


@cache
def _fields(spec: MessageSpec, version: int) -> frozenset[str]:
    return frozenset(_paths(spec.struct, version, ""))


def _paths(struct: StructSpec, version: int, before: str) -> Iterator[str]:
    for field in struct.fields:
        if version in field.versions:
            path = before + _name(struct, field.attribute)
            yield path
            if field.struct is not None:
                yield from _paths(field.struct, version, f"{path}.")


def _name(struct: StructSpec, attribute: str) -> str:
    return RENAMED.get((struct.name, attribute), attribute)


def _rebuilt(value: Any, source: StructSpec, target: StructSpec, classes: Any) -> Any:
    """Build a struct of a released message from a struct of a draft; fields without a counterpart are left out.

    Args:
        value: the decoded struct.
        source: the spec of the decoded struct.
        target: the spec of the released struct.
        classes: the class of the released message, which has the classes of its structs as attributes.
    """
    known = {field.attribute: field for field in target.fields}
    values: dict[str, Any] = {}
    for field in source.fields:
        goal = known.get(_name(source, field.attribute))
        if goal is None or goal.is_array != field.is_array or (goal.struct is None) != (field.struct is None):
            continue
        one = getattr(value, field.attribute)
        if one is not None and field.struct is not None and goal.struct is not None:
            inner = field.struct, goal.struct, classes
            one = tuple(_rebuilt(item, *inner) for item in one) if field.is_array else _rebuilt(one, *inner)
        values[goal.attribute] = one
    cls = classes if classes.__name__ == target.name else getattr(classes, target.name)
    return cls(**values)


_WITH_CONFIGS = {ConfigResourceType.TOPIC: "topic", ConfigResourceType.BROKER: "broker"}
_SET = ConfigSource.TOPIC_CONFIG, ConfigSource.DYNAMIC_BROKER_CONFIG, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
_OF_ALL_BROKERS = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, ConfigSource.STATIC_BROKER_CONFIG
FULL = 2  # the type of an UpdateMetadata request that lists all partitions
UNKNOWN_TOPIC, LEADER_NOT_AVAILABLE, REPLICA_NOT_AVAILABLE, LISTENER_NOT_FOUND = 3, 5, 9, 72
# paths of the lists of offline replicas (KIP-112)
OFFLINE = (
    "topics.partitions.offline_replicas",
    "ungrouped_partition_states.offline_replicas",
    "topic_states.partition_states.offline_replicas",
)
_NO_ID = bytes(16)
_NOWHERE = -3  # a leader id that Kafka does not use


class Authority(IntEnum):
    """The authority of a source; if epochs are equal, the source with the higher authority is accepted.

    A broker's response to a client may be outdated, and so may the broker itself. A controller makes decisions; the
    metadata log and ZooKeeper store them.
    """

    CLIENT = 0
    BROKER = 1
    CONTROLLER = 2
    RECORD = 3


class State(NamedTuple):
    """The state of a partition in a message; None for fields that the message lacks. `offline` is in ascending
    order.
    """

    leader: int | None
    leader_epoch: int | None = None
    partition_epoch: int | None = None
    isr: tuple[int, ...] | None = None
    replicas: tuple[int, ...] | None = None
    offline: tuple[int, ...] | None = None
    topic_id: bytes | None = None
    adding: tuple[int, ...] | None = None
    removing: tuple[int, ...] | None = None
    elr: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    directories: tuple[bytes, ...] | None = None

    @property
    def is_deleted(self) -> bool:
        """Whether the partition is deleted, or its deletion has begun."""
        return self.leader in (LEADER_DURING_DELETE, _NOWHERE)

    def agrees(self, other: State) -> bool:
        """Whether two states are equal in all fields that both have.

        >>> State(1, isr=(1,)).agrees(State(1, leader_epoch=4)), State(1, isr=(1,)).agrees(State(1, isr=(1, 2)))
        (True, False)
        """
        if self == other:
            return True
        if self.is_deleted or other.is_deleted:
            return False
        return all(mine is None or theirs is None or mine == theirs for mine, theirs in zip(self, other, strict=True))

    def is_older(self, other: State) -> bool:
        """Whether this state is older by its epochs; at equal leader epochs, the partition epoch decides."""
        if self.leader_epoch is None or other.leader_epoch is None:
            return False
        if self.leader_epoch != other.leader_epoch or self.partition_epoch is None or other.partition_epoch is None:
            return self.leader_epoch < other.leader_epoch
        return self.partition_epoch < other.partition_epoch

    def filled(self, other: State) -> State:
        """Return this state, completed by the fields that only the other state has."""
        pairs: Iterator[Any] = zip(self, other, strict=True)
        return State(*(theirs if mine is None else mine for mine, theirs in pairs))


# Leader -2 marks the beginning of a deletion, which waits for offline replicas. A topic that is no longer listed is
# deleted.
DELETION_BEGUN, DELETED = State(LEADER_DURING_DELETE), State(_NOWHERE)


class Event(NamedTuple):
    """An event of one partition, or of a whole topic if `partition` is None."""

    topic: str
    partition: int | None
    state: State


@dataclass(frozen=True, slots=True)
class Listed:
    """A live broker. `endpoints` are `LISTENER://host:port`, without the listener if it is unknown."""

    node_id: int
    rack: str | None
    endpoints: tuple[str, ...]
    fenced: bool = False

    @property
    def broker(self) -> Broker:
        """The broker, with its first endpoint."""
        host, port = split_address(self.endpoints[0]) if self.endpoints else ("", -1)
        return Broker(self.node_id, host, port, self.rack, self.fenced)


def partition_states(request: Any) -> Iterator[tuple[tuple[str, int], Any]]:
    """Yield the partition states in a LeaderAndIsr or UpdateMetadata request of any version."""
    for one in request.ungrouped_partition_states:
        yield (one.topic_name, one.partition_index), one
    for topic in request.topic_states:
        for one in topic.partition_states:
            yield (topic.topic_name, one.partition_index), one


def topic_ids_in(request: Any) -> dict[str, bytes]:
    """Return the topic ids in a LeaderAndIsr or UpdateMetadata request."""
    return {topic.topic_name: bytes(topic.topic_id) for topic in request.topic_states}


def stopped_partitions(request: Any) -> Iterator[tuple[tuple[str, int], bool, int]]:
    """Yield the partitions in a StopReplica request, whether to delete each, and its leader epoch (-1: unknown)."""
    for one in request.ungrouped_partitions:
        yield (one.topic_name, one.partition_index), request.delete_partitions, NO_EPOCH
    for topic in request.topics:
        for index in topic.partition_indexes:
            yield (topic.name, index), request.delete_partitions, NO_EPOCH
    for topic in request.topic_states:
        for one in topic.partition_states:
            yield (topic.topic_name, one.partition_index), one.delete_partition, one.leader_epoch


def partition_errors(response: Any, names: Mapping[bytes, str]) -> dict[tuple[str, int], int]:
    """Return the error of each partition in a response; `names` maps topic ids to names."""
    errors = {(one.topic_name, one.partition_index): one.error_code for one in response.partition_errors}
    for topic in getattr(response, "topics", ()):
        for one in topic.partition_errors:
            errors[names.get(bytes(topic.topic_id), ""), one.partition_index] = one.error_code
    return errors


def state_of(one: Partition, offline: tuple[int, ...] | None) -> State:
    """Return the state of a partition in a record."""
    return State(
        one.leader,
        one.leader_epoch,
        one.partition_epoch,
        one.isr,
        one.replicas,
        None if offline is None else tuple(sorted(offline)),
        one.topic_id,
        one.adding,
        one.removing,
        one.elr,
        one.last_known_elr,
        one.directories,
    )


def partition_of(topic: str, index: int, state: State) -> Partition:
    """Return a partition with a state.

    Offline replicas are in the order of the replicas; missing fields are -1 or empty.
    """
    order = {node: place for place, node in enumerate(state.replicas or ())}
    offline = (
        None if state.offline is None else tuple(sorted(state.offline, key=lambda one: order.get(one, len(order))))
    )
    return Partition(
        topic,
        index,
        NO_LEADER if state.leader is None else state.leader,
        state.replicas or (),
        state.isr or (),
        offline,
        -1 if state.leader_epoch is None else state.leader_epoch,
        state.directories,
        -1 if state.partition_epoch is None else state.partition_epoch,
        state.elr,
        state.last_known_elr,
        state.adding,
        state.removing,
        state.topic_id,
    )


def _merged(before: Partition | None, event: Event, index: int) -> Partition:
    """Return a partition updated by an event; fields missing in the event are kept, except offline replicas."""
    fresh = partition_of(event.topic, index, event.state)
    if before is None:
        return fresh
    unsaid = {name: getattr(before, name) for name in _SAME if getattr(event.state, name) is None}
    return replace(fresh, **unsaid)


_SAME = tuple(name for name in State._fields if name not in ("offline", "leader_epoch", "partition_epoch"))


def events_of_controller(body: Body) -> Iterator[Event]:
    """Yield the events of a LeaderAndIsr, UpdateMetadata or StopReplica request."""
    message = body.message
    if type(message).__name__ == "StopReplicaRequest":
        for (topic, index), _, epoch in stopped_partitions(message):
            if epoch == EPOCH_DURING_DELETE:
                yield Event(topic, index, DELETION_BEGUN)
        return
    ids = topic_ids_in(message)
    for (topic, index), one in partition_states(message):
        state = State(
            one.leader,
            one.leader_epoch,
            one.zk_version if hasattr(one, "zk_version") else one.partition_epoch,
            tuple(one.isr),
            tuple(one.replicas),
            _offline(body, one),
            _known(ids.get(topic)),
            *_reassignment(body, one),
        )
        yield Event(topic, index, DELETION_BEGUN if state.is_deleted else state)


def _reassignment(body: Body, one: Any) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    """Return the adding and removing replicas in a LeaderAndIsr request (KIP-455)."""
    has_lists = any(path.endswith("partition_states.adding_replicas") for path in body.fields)
    return (tuple(one.adding_replicas), tuple(one.removing_replicas)) if has_lists else (None, None)


def events_of_view(body: Body) -> Iterator[Event]:
    """Yield the events of a Metadata or DescribeTopicPartitions response: the view of one broker, for one client.

    A leader without the client's listener (error 72) is unknown. In versions without internal topics, the lists omit
    offline brokers.
    """
    for topic in body.message.topics:
        if topic.error_code == UNKNOWN_TOPIC and topic.name is not None:
            yield Event(topic.name, None, DELETED)
        for one in topic.partitions:
            if one.error_code in (0, LEADER_NOT_AVAILABLE, REPLICA_NOT_AVAILABLE, LISTENER_NOT_FOUND):
                name = topic.name or bytes(topic.topic_id).hex()
                yield Event(name, one.partition_index, _seen(body, one, bytes(topic.topic_id)))


def _seen(body: Body, one: Any, topic_id: bytes) -> State:
    says_lists = "topics.is_internal" in body.fields or one.error_code == 0
    # Before 2.4, brokers list no ISR if there is no leader, even if there is one.
    says_isr = says_lists and not (one.error_code and not one.isr_nodes and one.leader_epoch < 0)
    leaders = {0: one.leader_id, LEADER_NOT_AVAILABLE: NO_LEADER, REPLICA_NOT_AVAILABLE: one.leader_id}
    elr = getattr(one, "eligible_leader_replicas", None)
    last_known = getattr(one, "last_known_elr", None)
    return State(
        leaders.get(one.error_code),
        one.leader_epoch if one.leader_epoch >= 0 else None,
        None,
        tuple(one.isr_nodes) if says_isr else None,
        tuple(one.replica_nodes) if says_lists else None,
        _offline(body, one),
        _known(topic_id),
        elr=None if elr is None else tuple(elr),
        last_known_elr=None if last_known is None else tuple(last_known),
    )


def events_of_leader(body: Body, names: Mapping[bytes, str]) -> Iterator[Event]:
    """Yield the events of an AlterPartition response: the controller's decision about a leader's new ISR (KIP-497)."""
    for topic in body.message.topics:
        topic_id = _known(bytes(topic.topic_id))
        name = topic.topic_name or names.get(topic_id or b"", "") or bytes(topic.topic_id).hex()
        for one in topic.partitions:
            if not one.error_code:
                epochs = one.leader_epoch, one.partition_epoch
                yield Event(name, one.partition_index, State(one.leader_id, *epochs, tuple(one.isr), topic_id=topic_id))


def events_of_reassignments(body: Body, known: ClusterState) -> Iterator[Event]:
    """Yield the reassignments that a request starts, or that a response lists as in progress (KIP-455).

    Args:
        body: a request that was not refused, or a ListPartitionReassignments response.
        known: the replicas of partitions, which a request does not contain.
    """
    for topic in body.message.topics:
        for one in topic.partitions:
            if hasattr(one, "adding_replicas"):
                lists = tuple(one.replicas), tuple(one.adding_replicas), tuple(one.removing_replicas)
                state = State(None, replicas=lists[0], adding=lists[1], removing=lists[2])
                yield Event(topic.name, one.partition_index, state)
                continue
            before = known.topics.get(topic.name, {}).get(one.partition_index)
            if before is not None and one.replicas is not None:
                goal, there = tuple(one.replicas), before.replicas
                adding = tuple(node for node in goal if node not in there)
                removing = tuple(node for node in there if node not in goal)
                yield Event(topic.name, one.partition_index, State(None, adding=adding, removing=removing))


def log_dirs_of(body: Body) -> dict[str, LogDir] | None:
    """Return the log directories in a DescribeLogDirs response, by path; None if the broker refused the request."""
    if getattr(body.message, "error_code", 0):
        return None
    found = {}
    for one in body.message.results:
        rows = [(topic.name, part) for topic in one.topics for part in topic.partitions]
        here = {(name, part.partition_index): part.partition_size for name, part in rows if not part.is_future_key}
        future = {(name, part.partition_index): part.partition_size for name, part in rows if part.is_future_key}
        found[one.log_dir] = LogDir(one.log_dir, one.error_code, one.total_bytes, one.usable_bytes, here, future)
    return found


def learn_configs(settings: Settings, body: Body) -> None:
    """Update settings from the configurations of topics and brokers in a DescribeConfigs response.

    If a topic's `min.insync.replicas` comes from its broker's configuration file, it is used as the default of all
    brokers.
    """
    for one in body.message.results:
        if one.error_code or one.resource_type not in _WITH_CONFIGS:
            continue
        kind = _WITH_CONFIGS[one.resource_type]
        for row in one.configs:
            key = kind, one.resource_name
            if row.config_source in _OF_ALL_BROKERS and row.name == MIN_ISR:
                key = "broker", ""
            is_set = row.config_source in _SET if "results.configs.config_source" in body.fields else not row.is_default
            configs = settings.configs.setdefault(key, {})
            if (is_set or key == ("broker", "")) and row.value is not None:
                configs[row.name] = HIDDEN if row.is_sensitive or is_sensitive(row.name) else row.value
            else:
                configs.pop(row.name, None)
            if not configs:
                del settings.configs[key]


def offline_count(log_dirs: dict[str, LogDir]) -> int:
    """Return the number of offline log directories."""
    return sum(one.error_code == ErrorCode.KAFKA_STORAGE_ERROR for one in log_dirs.values())


def _offline(body: Body, one: Any) -> tuple[int, ...] | None:
    return tuple(sorted(one.offline_replicas)) if body.fields.intersection(OFFLINE) else None


def listed_by_controller(body: Body) -> tuple[Listed, ...]:
    """Return the live brokers that an UpdateMetadata request lists."""
    brokers = body.message.live_brokers
    if "live_brokers.endpoints" not in body.fields:
        return tuple(Listed(one.id, None, (address_of(one.v0_host, one.v0_port),)) for one in brokers)
    return tuple(
        Listed(one.id, one.rack or None, tuple(_endpoint(where) for where in one.endpoints)) for one in brokers
    )


def listed_by_view(body: Body) -> tuple[Listed, ...]:
    """Return the brokers in a Metadata or DescribeCluster response, including fenced brokers.

    Each has the endpoint of the client's listener.
    """
    brokers = getattr(body.message, "brokers", ())  # DescribeTopicPartitions lists no brokers
    if getattr(body.message, "endpoint_type", BROKERS) != BROKERS:
        return ()
    return tuple(
        Listed(
            one.broker_id if hasattr(one, "broker_id") else one.node_id,
            one.rack or None,
            (address_of(one.host, one.port),),
            getattr(one, "is_fenced", False),
        )
        for one in brokers
    )


def _endpoint(one: Any) -> str:
    address = address_of(one.host, one.port)
    return f"{one.listener}://{address}" if one.listener else address


def address_of(host: str, port: int) -> str:
    """Return `host:port`, an IPv6 host in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def split_address(endpoint: str) -> tuple[str, int]:
    """Return the host and port of an endpoint.

    >>> split_address("CLIENT://[::1]:9092"), split_address("b1:9092")
    (('::1', 9092), ('b1', 9092))
    """
    host, _, port = endpoint.rpartition("://")[2].rpartition(":")
    return host.strip("[]"), int(port) if re.fullmatch(r"-?\d{1,9}", port) else -1


def _known(topic_id: bytes | None) -> bytes | None:
    return None if topic_id == _NO_ID else topic_id


BROKERS = 1  # KIP-919: otherwise, the endpoints of a DescribeCluster response are controllers
CONTROLLER = "LeaderAndIsrRequest", "UpdateMetadataRequest", "StopReplicaRequest"
ANSWERS = "LeaderAndIsrResponse", "UpdateMetadataResponse", "StopReplicaResponse"
VIEWS = "MetadataResponse", "DescribeTopicPartitionsResponse", "DescribeClusterResponse"
DIRECTORIES = "BrokerHeartbeatRequest", "BrokerRegistrationRequest", "AssignReplicasToDirsRequest"
REASSIGNMENTS = (
    "AlterPartitionReassignmentsRequest",
    "AlterPartitionReassignmentsResponse",
    "ListPartitionReassignmentsResponse",
)
LOG = "FetchResponse", "FetchSnapshotResponse"  # responses with parts of the metadata log
OTHERS = "AlterPartitionResponse", "DescribeLogDirsResponse", "DescribeConfigsResponse"
MESSAGES = (
    *CONTROLLER,
    *ANSWERS,
    *VIEWS,
    *DIRECTORIES,
    *REASSIGNMENTS,
    *LOG,
    *OTHERS,
)  # the messages that a model uses


@dataclass(frozen=True, slots=True)
class Observation:
    """One message of `MESSAGES`.

    Attributes:
        message: the decoded body, which may be of a draft's class; None if it could not be decoded.
        codec: the codec of the message; for a released message the version is enough.
        time: seconds since 1970; None if unknown.
        client, broker: the endpoints of the connection as `ip:port`; empty if unknown.
        correlation_id: the correlation id in the header.
        file: the file that contains the message.
    """

    message: Any
    codec: Codec | int
    time: float | None = None
    client: str = ""
    broker: str = ""
    correlation_id: int | None = None
    file: str = ""

    @property
    def name(self) -> str:
        """The name of the released message, such as `UpdateMetadataRequest`."""
        name = self.codec.name if isinstance(self.codec, Codec) else type(self.message).__name__
        return RELEASED.get(name, name)

    @property
    def body(self) -> Body:
        """The message with its released names, and the fields that it carries."""
        return body_of(self.message, self.codec)

    @property
    def connection(self) -> str:
        """The identity of the connection."""
        return f"{self.client}>{self.broker}"


def observed(result: Result) -> Observation | None:
    """Return the observation in a decoded frame, also inside an Envelope (KIP-590); None for irrelevant frames."""
    if not isinstance(result, Request | Response):
        return None
    source, inside = result.frame.source, result.inside
    forwarded = inside if isinstance(inside, Request | Response) else result
    found = Observation(
        forwarded.message,
        forwarded.codec,
        source.time,
        source.client or "",
        source.broker or "",
        result.correlation_id,
        source.file or "",
    )
    if found.name not in MESSAGES or (found.name in LOG and not is_of_metadata_log(found.message)):
        return None
    return found


def learn(state: ClusterState, message: Any, codec: Codec | int) -> bool:
    """Apply a message to a state, overwriting earlier values: for readers with a single source.

    Args:
        state: the state to change.
        message: any decoded message, also of a draft or in a record of the metadata log.
        codec: the codec of the message, which determines its fields; for a released message the version is enough.

    Returns:
        Whether the message contains information about the cluster.

    >>> from kwire import messages
    >>> state = ClusterState()
    >>> learn(state, messages.UpdateMetadataRequest(controller_id=7), 4), state.controller_id
    (True, 7)
    """
    name = type(message).__name__
    if (record := RECORDS.get(name)) is not None:
        record(state, message)
        return True
    adapter = _ADAPTERS.get(RELEASED.get(name, name))
    if adapter is None:
        return False
    body = body_of(message, codec)
    if is_refusal(body):
        return False
    events, brokers = adapter(body)
    for event in events:
        _apply(state, event)
    if brokers:
        state.brokers = {one.node_id: one.broker for one in brokers}
    learn_facts(state, body)
    return True


def is_refusal(body: Body) -> bool:
    """Whether a response contains an error instead of the requested data."""
    return bool(getattr(body.message, "error_code", 0)) and not getattr(body.message, "brokers", ())


def learn_facts(state: ClusterState, body: Body) -> None:
    """Copy the ids of the cluster and its controller, and the names of topics, from a message to a state."""
    message = body.message
    state.cluster_id = getattr(message, "cluster_id", None) or state.cluster_id
    if "controller_id" in body.fields:
        state.controller_id = message.controller_id
    for topic in (*getattr(message, "topics", ()), *getattr(message, "topic_states", ())):
        name = getattr(topic, "name", None) or getattr(topic, "topic_name", None)
        topic_id = _known(bytes(getattr(topic, "topic_id", b"")) or None)
        if name and topic_id:
            state.topic_names[topic_id] = name


def _apply(state: ClusterState, event: Event) -> None:
    if event.partition is None or event.state.is_deleted:
        state.drop(event.topic, event.partition)
        return
    before = state.topics.get(event.topic, {}).get(event.partition)
    state.put(_merged(before, event, event.partition))


def _of_controller(body: Body) -> tuple[Iterator[Event], tuple[Listed, ...]]:
    is_list = type(body.message).__name__ == "UpdateMetadataRequest"
    return events_of_controller(body), listed_by_controller(body) if is_list else ()


def _of_view(body: Body) -> tuple[Iterator[Event], tuple[Listed, ...]]:
    return events_of_view(body) if hasattr(body.message, "topics") else iter(()), listed_by_view(body)


_ADAPTERS: dict[str, Callable[[Body], tuple[Iterator[Event], tuple[Listed, ...]]]] = {
    "LeaderAndIsrRequest": _of_controller,
    "UpdateMetadataRequest": _of_controller,
    **dict.fromkeys(VIEWS, _of_view),
}
