"""Administrators' requests: CreateReplicaAssignment (KIP-879), the cluster's state from Metadata and DescribeCluster,
and plans for replicas on a live cluster: applied in batches, monitored and cancelled (KIP-455).

A plan lists the replicas of partitions. The caller waits between the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..cluster import ClusterModel, ClusterState, Observation
from ..cluster.placement.create_replica_assignment import DEFAULT_TIMEOUT_MS
from ..cluster.placement.create_replica_assignment import create_replica_assignment as asking
from ..cluster.placement.rack_aware import Assignment
from ..codecs import codec_in
from ..errors import CallError
from ..spec.catalog import catalog_for
from ..values import ConfigResourceType, ErrorCode
from .client import PLAINTEXT, Address, BrokerConnection, Security
from .client import address as read_address
from .deadline import Deadline

MOST_IDLE = 30  # checks of the progress without any, after which a plan is given up
AT_ONCE = 8  # brokers that are asked at a time
PAGE = 2000  # partitions in an answer
TOPICS = 500  # in an answer with their configs
Members = dict[str, Any] | Callable[[int], dict[str, Any]]  # of a request as JSON, or what makes them for a version


class Admin:
    """Sends an administrator's requests to one broker.

    Args:
        address: the broker's address: an `Address`, or text such as `localhost:9092`.
        timeout: seconds for the connection, and again for each request with its response.
        security: TLS and SASL; by default neither.

    Raises:
        CallError: the text is not an address, nothing listens there, the broker does not respond in time, or TLS or
            SASL fails.

    >>> Admin("localhost:9092:1")
    Traceback (most recent call last):
        ...
    kwire.errors.CallError: localhost:9092:1: this is not an address
    """

    def __init__(self, address: Address | str, timeout: float = 10.0, security: Security = PLAINTEXT) -> None:
        where = read_address(address) if isinstance(address, str) else address
        self._broker = BrokerConnection(where, timeout=timeout, catalog=catalog_for("KIP-879"), security=security)

    def __enter__(self) -> Admin:
        return self

    def __exit__(self, *failure: object) -> None:
        self._broker.close()

    def create_replica_assignment(
        self,
        num_partitions: int,
        replication_factor: int,
        node_ids: Sequence[int] = (),
        force_simple_assignment: bool = False,
        timeout_ms: int = DEFAULT_TIMEOUT_MS,
    ) -> Assignment:
        """Return where the cluster would place replicas (KIP-879); nothing is created.

        Args:
            num_partitions: the number of partitions; they are numbered from 0.
            replication_factor: the number of replicas of each partition.
            node_ids: ids of the brokers to choose from; empty means all live brokers.
            force_simple_assignment: whether to ignore the broker's assignor and racks.
            timeout_ms: milliseconds after which the broker gives up.

        Returns:
            The broker ids of each partition, the preferred leader first.

        Raises:
            ReplicaAssignmentRefused: the broker refused, with an empty array; the text names the possible causes.
            CallError: the connection broke, no response arrived in time, or the broker does not support this draft.
        """
        call = asking(num_partitions, replication_factor, node_ids, force_simple_assignment, timeout_ms)
        answer = self._broker.ask(codec_in(self._broker.catalog, "CreateReplicaAssignmentRequest", 0), call.request)
        assert answer is not None
        return call.assignment(answer.message)


def ask_cluster(broker: BrokerConnection) -> ClusterState:
    """Request brokers, racks and partitions from a broker; see `ask_model`."""
    return ask_model(broker).state()


def ask_model(broker: BrokerConnection) -> ClusterModel:
    """Request brokers, racks, partitions, reassignments and configs from a broker, and log directories from each one.

    Args:
        broker: a connection to any broker of the cluster.

    Raises:
        CallError: the connection breaks, the broker is too slow, or it supports no version of Metadata that kwire
            supports.
        DecodeError: a response does not decode.

    All requests together end with the connection's `deadline`, or after its `timeout`. Log directories of brokers that
    have not responded by then are left out.
    """
    deadline = broker.deadline or Deadline(broker.timeout)
    with broker.within(deadline):
        return _ask_all(broker, deadline)


def _ask_all(broker: BrokerConnection, deadline: Deadline) -> ClusterModel:
    model = ClusterModel()
    if not _ask(broker, model, "MetadataRequest", _of_all_topics):
        raise CallError(str(broker.address), "it supports no version of Metadata that kwire knows", "is it a broker?")
    _ask(broker, model, "DescribeClusterRequest", _with_fenced_brokers)
    _ask(broker, model, "ListPartitionReassignmentsRequest", {"topics": None})
    _ask_elr(broker, model)
    _ask_configs(broker, model)
    if broker.newest("DescribeLogDirsRequest") is not None:
        nodes = (model.state().brokers or {}).values()
        _ask_log_dirs(broker, model, [Address(node.host, node.port) for node in nodes if not node.fenced], deadline)
    return model


def _ask_elr(broker: BrokerConnection, model: ClusterModel) -> None:
    """Request the eligible leader replicas (KIP-966), page by page."""
    topics = [{"name": name} for name in sorted(model.state().topics)]
    cursor: dict[str, Any] | None = None
    while topics:
        members = {"topics": topics, "responsePartitionLimit": PAGE, "cursor": cursor}
        answer = _answer(broker, model, "DescribeTopicPartitionsRequest", members)
        following = getattr(answer, "next_cursor", None)
        if following is None:
            return
        cursor = {"topicName": following.topic_name, "partitionIndex": following.partition_index}


def _ask_configs(broker: BrokerConnection, model: ClusterModel) -> None:
    """Request the configs of all topics, in batches, and the brokers' default configs."""
    names = sorted(model.state().topics)
    asked = [(ConfigResourceType.BROKER, ""), *((ConfigResourceType.TOPIC, name) for name in names)]
    for start in range(0, len(asked), TOPICS):
        part = asked[start : start + TOPICS]
        rows = [{"resourceType": int(kind), "resourceName": name, "configurationKeys": None} for kind, name in part]
        _ask(broker, model, "DescribeConfigsRequest", {"resources": rows})


def _ask_log_dirs(
    broker: BrokerConnection, model: ClusterModel, addresses: Sequence[Address], deadline: Deadline
) -> None:
    """Request the log directories of brokers, some at a time; ignore brokers that do not respond.

    A broker can name any number of others, and a few that do not respond must not take the time of the others.
    """

    def ask(address: Address) -> Observation | None:
        with suppress(CallError, TimeoutError):
            deadline.left()  # without time, not even the files of TLS are read
            with broker.to(address, deadline) as other:
                return _observe(other, "DescribeLogDirsRequest", {"topics": None})
        return None

    with ThreadPoolExecutor(AT_ONCE, "kwire log directories") as pool:
        for seen in pool.map(ask, addresses):
            if seen is not None:
                model.take(seen)


def _of_all_topics(version: int) -> dict[str, Any]:
    creating = {"allowAutoTopicCreation": False} if version >= 4 else {}
    return {"topics": None if version >= 1 else [], **creating}


def _with_fenced_brokers(version: int) -> dict[str, Any]:
    return {"includeFencedBrokers": True} if version >= 2 else {}


def _ask(broker: BrokerConnection, model: ClusterModel, name: str, members: Members) -> bool:
    """Send a request in the newest version, and apply the response to a model. Returns whether the broker responded."""
    return _answer(broker, model, name, members) is not None


def _answer(broker: BrokerConnection, model: ClusterModel, name: str, members: Members) -> Any:
    """Return the response; None if the broker did not respond, or refused the request."""
    seen = _observe(broker, name, members)
    return seen.message if seen is not None and model.take(seen) else None


def _observe(broker: BrokerConnection, name: str, members: Members) -> Observation | None:
    """Send a request in the newest version; return the response, None if the broker does not know the request."""
    version = broker.newest(name)
    if version is None:
        return None
    codec = codec_in(broker.catalog, name, version)
    answer = broker.ask(codec, codec.from_json(members(version) if callable(members) else members, defaults=True))
    if answer is None:
        return None
    return Observation(answer.message, answer.codec, broker=str(broker.address), file=str(broker.address))


Key = tuple[str, int]
Plan = Mapping[Key, Sequence[int]]
TOPIC, BROKER = 2, 4  # types of config resources
SET, DELETE = 0, 1
RATES = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
THROTTLED = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"
HARMLESS = {"ELECTION_NOT_NEEDED", "NO_REASSIGNMENT_IN_PROGRESS"}


class Cluster(Protocol):
    """An interface that sends requests to the brokers of a cluster."""

    def state(self) -> ClusterState:
        """Return the current brokers and partitions."""

    def ask(self, name: str, members: Mapping[str, Any], node_id: int | None = None) -> Any:
        """Send a request to a broker, or to the controller, and return the response message."""


class LiveCluster:
    """A live cluster, found through one of its brokers; connects to a broker with the first request to it.

    Args:
        address: the address of any broker.
        timeout: seconds for a reading of the state, with the requests that follow to brokers by id, because the cluster
            says how many brokers there are; and for each request to the controller.
        security: TLS and SASL; by default neither.
    """

    def __init__(self, address: Address, timeout: float = 10.0, security: Security = PLAINTEXT) -> None:
        self.address: Address = address
        self.timeout: float = timeout
        self.security: Security = security
        self._connections: dict[Address, BrokerConnection] = {}
        self._known = ClusterState()
        self._deadline = Deadline(timeout)  # of the reading of `_known`

    def __enter__(self) -> LiveCluster:
        return self

    def __exit__(self, *failure: object) -> None:
        for connection in self._connections.values():
            connection.close()

    def state(self) -> ClusterState:
        """Return the current brokers and partitions.

        Raises:
            CallError, DecodeError: see `ask_cluster`.
        """
        self._deadline = Deadline(self.timeout)
        connection = self._connection(self.address, self._deadline)
        with connection.within(self._deadline):
            self._known = ask_cluster(connection)
        return self._known

    def ask(self, name: str, members: Mapping[str, Any], node_id: int | None = None) -> Any:
        """Send a request in the newest version that both sides support, and return the response message.

        Args:
            name: the request, such as `AlterPartitionReassignmentsRequest`.
            members: the fields, in Kafka's JSON; fields that the version lacks are left out.
            node_id: the broker to ask; by default the controller.

        Raises:
            CallError: no response arrived, or the broker does not support the request.
        """
        deadline = Deadline(self.timeout) if node_id is None else self._deadline
        broker = (self._known.brokers or {}).get(self._known.controller_id if node_id is None else node_id)
        where = self.address if broker is None else Address(broker.host, broker.port)
        connection = self._connection(where, deadline)
        with connection.within(deadline):
            return _ask_known_fields(connection, name, members)

    def _connection(self, address: Address, deadline: Deadline) -> BrokerConnection:
        if address not in self._connections:
            self._connections[address] = BrokerConnection(
                address, timeout=self.timeout, security=self.security, deadline=deadline
            )
        return self._connections[address]


def _ask_known_fields(connection: BrokerConnection, name: str, members: Mapping[str, Any]) -> Any:
    """Send a request with those of the fields that its version has, and return the response message."""
    version = connection.newest(name)
    if version is None:
        raise CallError(str(connection.address), f"it does not answer {name}", "this needs Kafka 2.4 or newer")
    codec = codec_in(connection.catalog, name, version)
    fields = {field.json_name for field in codec.schema.all_fields}
    known = {name: value for name, value in members.items() if name in fields}
    answer = connection.ask(codec, codec.from_json(known, defaults=True))
    assert answer is not None
    return answer.message


@dataclass(slots=True)
class Progress:
    """The progress of a plan: partitions that match it, partitions that are being reassigned, and all others."""

    done: list[Key] = field(default_factory=list)
    moving: list[Key] = field(default_factory=list)
    waiting: list[Key] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether all partitions match the plan."""
        return not self.moving and not self.waiting


def under_way(cluster: Cluster) -> dict[Key, list[int]]:
    """Return the partitions that are being reassigned, with their target replicas."""
    message = _checked(cluster.ask("ListPartitionReassignmentsRequest", {"topics": None}))
    return {
        (topic.name, one.partition_index): [each for each in one.replicas if each not in one.removing_replicas]
        for topic in message.topics
        for one in topic.partitions
    }


def progress_of(cluster: Cluster, plan: Plan, state: ClusterState | None = None) -> Progress:
    """Compare a plan with the current state of the cluster.

    Args:
        cluster: the cluster to ask.
        plan: the target replicas of partitions.
        state: the cluster's state, if it was just read.
    """
    state, found = state or cluster.state(), Progress()
    moving = under_way(cluster)
    current = {(one.topic, one.index): list(one.replicas) for one in state.partitions()}
    for key, replicas in plan.items():
        if key in moving:
            (found.moving if set(moving[key]) == set(replicas) else found.waiting).append(key)
        else:
            (found.done if current.get(key) == list(replicas) else found.waiting).append(key)
    return found


def apply_plan(
    cluster: Cluster,
    plan: Plan,
    wait: Callable[[Progress], None],
    *,
    batch: int = 100,
    throttle: int | None = None,
) -> Progress:
    """Carry out a plan: create missing topics and partitions, and reassign others, batch by batch.

    Partitions that already match the plan are skipped, so an interrupted run can be repeated.

    Args:
        cluster: the cluster to change.
        plan: the target replicas of partitions.
        wait: called repeatedly while a batch is in progress; returns when progress should be checked again.
        batch: how many partitions are reassigned at a time.
        throttle: bytes per second that a broker may copy; removed at the end.

    Raises:
        CallError: a broker refuses a request, or does not respond, or accepts the plan and moves nothing.
    """
    state = cluster.state()
    current = {(one.topic, one.index): list(one.replicas) for one in state.partitions()}
    _create(cluster, {key: plan[key] for key in plan if key not in current}, current)
    progress = progress_of(cluster, plan)
    if throttle is not None:
        set_throttle(cluster, plan, current, throttle)
    progress = _move(cluster, plan, progress, wait, batch)
    _elect(cluster, plan)
    if throttle is not None and (refusal := remove_throttle(cluster, plan)):
        raise refusal
    return progress


def _move(cluster: Cluster, plan: Plan, progress: Progress, wait: Callable[[Progress], None], batch: int) -> Progress:
    """Reassign the partitions of a plan, batch by batch, until it is complete; see `apply_plan`."""
    done, idle = -1, 0  # partitions that were done, and checks since then during which nothing moved
    while not progress.is_complete:
        idle = idle + 1 if not progress.moving and len(progress.done) == done else 0
        if idle == MOST_IDLE:
            raise CallError("the controller", "it accepts the plan and moves nothing", "see kwire cluster, and its log")
        done = len(progress.done)
        if not progress.moving:
            _alter(cluster, {key: plan[key] for key in progress.waiting[:batch]})
        wait(progress)
        progress = progress_of(cluster, plan)
    return progress


def cancel_plan(cluster: Cluster, plan: Plan) -> list[Key]:
    """Cancel the reassignments of a plan, and return the partitions; they keep their previous replicas.

    Raises:
        CallError: a broker refuses this, or does not respond.
    """
    cluster.state()
    moving = under_way(cluster)
    keys = [key for key in plan if key in moving]
    if keys:
        _alter(cluster, dict.fromkeys(keys))
    return keys


def set_throttle(cluster: Cluster, plan: Plan, current: Plan, rate: int) -> None:
    """Limit the bytes per second that brokers copy for a plan, as kafka-reassign-partitions --throttle does.

    Args:
        cluster: the cluster; the configs of all its brokers and of the plan's topics are changed.
        plan: the target replicas of partitions.
        current: the current replicas of partitions.
        rate: bytes per second, for each broker.
    """
    lists: dict[str, tuple[list[str], list[str]]] = {}
    for (topic, index), replicas in plan.items():
        before = current.get((topic, index), replicas)
        gained = [one for one in replicas if one not in before]
        if gained:
            leaders, followers = lists.setdefault(topic, ([], []))
            leaders += [f"{index}:{one}" for one in before]
            followers += [f"{index}:{one}" for one in gained]
    for node_id in cluster.state().brokers or {}:
        _configure(cluster, BROKER, str(node_id), dict.fromkeys(RATES, str(rate)), node_id)
    for topic, both in lists.items():
        _configure(cluster, TOPIC, topic, dict(zip(THROTTLED, map(",".join, both), strict=True)))


def remove_throttle(cluster: Cluster, plan: Plan) -> CallError | None:
    """Remove the throttles of a plan's topics and of all brokers, if they have any.

    Returns:
        The first refusal, after which some throttles remain; None if all were removed.
    """
    resources: list[tuple[int, str, tuple[str, str], int | None]] = [
        (BROKER, str(node_id), RATES, node_id) for node_id in cluster.state().brokers or {}
    ]
    resources += [(TOPIC, topic, THROTTLED, None) for topic in dict.fromkeys(topic for topic, _ in plan)]
    refusal = None
    for kind, name, configs, node_id in resources:
        try:
            _configure(cluster, kind, name, dict.fromkeys(configs), node_id)
        except CallError as error:
            refusal = refusal or error
    return refusal


def _configure(
    cluster: Cluster, kind: int, name: str, configs: Mapping[str, str | None], node_id: int | None = None
) -> None:
    changes = [
        {"name": config, "configOperation": DELETE if value is None else SET, "value": value}
        for config, value in configs.items()
    ]
    resource = {"resourceType": kind, "resourceName": name, "configs": changes}
    message = cluster.ask("IncrementalAlterConfigsRequest", {"resources": [resource], "validateOnly": False}, node_id)
    for row in message.responses:
        _check(row, f"configs of {'broker' if kind == BROKER else 'topic'} {row.resource_name}")


def _create(cluster: Cluster, new: Plan, current: Plan) -> None:
    """Create topics, and additional partitions of existing topics."""
    known = {topic for topic, _ in current}
    for topic, rows in _by_topic(new):
        rows = sorted(rows)
        if topic in known:
            count = rows[-1] + 1
            added = {
                "name": topic,
                "count": count,
                "assignments": [{"brokerIds": list(new[topic, row])} for row in rows],
            }
            message = cluster.ask(
                "CreatePartitionsRequest", {"topics": [added], "timeoutMs": 60000, "validateOnly": False}
            )
            found = message.results
        else:
            lists = [{"partitionIndex": row, "brokerIds": list(new[topic, row])} for row in rows]
            made = {"name": topic, "numPartitions": -1, "replicationFactor": -1, "assignments": lists, "configs": []}
            message = cluster.ask("CreateTopicsRequest", {"topics": [made], "timeoutMs": 60000, "validateOnly": False})
            found = message.topics
        for row in found:
            _check(row, f"topic {topic}")


def _alter(cluster: Cluster, replicas: Mapping[Key, Sequence[int] | None]) -> None:
    topics = [
        {
            "name": topic,
            "partitions": [
                {"partitionIndex": row, "replicas": None if (ids := replicas[topic, row]) is None else list(ids)}
                for row in rows
            ],
        }
        for topic, rows in _by_topic(replicas)
    ]
    message = _checked(cluster.ask("AlterPartitionReassignmentsRequest", {"timeoutMs": 60000, "topics": topics}))
    for topic in message.responses:
        for one in topic.partitions:
            _check(one, f"partition {topic.name}-{one.partition_index}")


def _elect(cluster: Cluster, plan: Plan) -> None:
    """Elect the preferred leaders of partitions whose leader is another replica."""
    state = cluster.state()
    keys = [
        (one.topic, one.index)
        for one in state.partitions()
        if (one.topic, one.index) in plan and one.leader != one.preferred and one.preferred in one.isr
    ]
    if not keys:
        return
    named = [{"topic": topic, "partitions": rows} for topic, rows in _by_topic(keys)]
    members = {"electionType": 0, "topicPartitions": named, "timeoutMs": 60000}
    message = _checked(cluster.ask("ElectLeadersRequest", members))
    for topic in message.replica_election_results:
        for one in topic.partition_result:
            _check(one, f"leader of {topic.topic}-{one.partition_id}")


def _by_topic(keys: Iterable[Key]) -> Iterator[tuple[str, list[int]]]:
    topics: dict[str, list[int]] = {}
    for topic, index in keys:
        topics.setdefault(topic, []).append(index)
    yield from topics.items()


def _checked(message: Any) -> Any:
    _check(message, "the request")
    return message


def _check(row: Any, what: str) -> None:
    """Raise CallError if a row of a response has an error code."""
    code = getattr(row, "error_code", 0)
    if code and ErrorCode(code).name not in HARMLESS:
        words = getattr(row, "error_message", None)
        raise CallError(what, f"refused with {ErrorCode(code)}" + (f": {words}" if words else ""), "see kwire errors")
