"""Plans for replicas on a live cluster: applied in batches, throttled, monitored and cancelled (KIP-455).

A plan lists the replicas of partitions. The caller waits between the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..cluster import ClusterState
from ..errors import CallError
from ..values import ErrorCode

MOST_IDLE = 30  # checks of the progress without any, after which a plan is given up
Key = tuple[str, int]
Plan = Mapping[Key, Sequence[int]]
TOPIC, BROKER = 2, 4  # types of config resources
SET, DELETE = 0, 1
RATES = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
THROTTLED = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"
HARMLESS = {"ELECTION_NOT_NEEDED", "NO_REASSIGNMENT_IN_PROGRESS"}


class ClusterClient(Protocol):
    """An interface that sends requests to the brokers of a cluster."""

    def state(self) -> ClusterState:
        """Return the current brokers and partitions."""

    def ask(self, name: str, members: Mapping[str, Any], node_id: int | None = None) -> Any:
        """Send a request to a broker, or to the controller, and return the response message."""


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


def under_way(cluster: ClusterClient) -> dict[Key, list[int]]:
    """Return the partitions that are being reassigned, with their target replicas."""
    message = _check_response(cluster.ask("ListPartitionReassignmentsRequest", {"topics": None}))
    targets: dict[Key, list[int]] = {}
    for topic in message.topics:
        for partition in topic.partitions:
            removing = partition.removing_replicas
            targets[topic.name, partition.partition_index] = [id_ for id_ in partition.replicas if id_ not in removing]
    return targets


def progress_of(cluster: ClusterClient, plan: Plan, state: ClusterState | None = None) -> Progress:
    """Compare a plan with the current state of the cluster.

    Args:
        cluster: the cluster to ask.
        plan: the target replicas of partitions.
        state: the cluster's state, if it was just read.
    """
    state = state or cluster.state()
    progress = Progress()
    moving = under_way(cluster)
    current = {(partition.topic, partition.index): list(partition.replicas) for partition in state.partitions()}
    for key, replicas in plan.items():
        if key in moving and set(moving[key]) == set(replicas):
            progress.moving.append(key)
        elif key not in moving and current.get(key) == list(replicas):
            progress.done.append(key)
        else:
            progress.waiting.append(key)
    return progress


def apply_plan(
    cluster: ClusterClient,
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
    current = {(partition.topic, partition.index): list(partition.replicas) for partition in state.partitions()}
    _create_partitions(cluster, {key: plan[key] for key in plan if key not in current}, current)
    progress = progress_of(cluster, plan)
    if throttle is not None:
        set_throttle(cluster, plan, current, throttle)
    progress = _reassign_in_batches(cluster, plan, progress, wait, batch)
    _elect_preferred_leaders(cluster, plan)
    if throttle is not None and (refusal := remove_throttle(cluster, plan)):
        raise refusal
    return progress


def _reassign_in_batches(
    cluster: ClusterClient, plan: Plan, progress: Progress, wait: Callable[[Progress], None], batch: int
) -> Progress:
    """Reassign the partitions of a plan, batch by batch, until it is complete; see `apply_plan`."""
    done = -1  # partitions that were done at the last check
    idle = 0  # checks in a row during which nothing moved
    while not progress.is_complete:
        idle = idle + 1 if not progress.moving and len(progress.done) == done else 0
        if idle == MOST_IDLE:
            raise CallError("the controller", "it accepts the plan and moves nothing", "see kwire cluster, and its log")
        done = len(progress.done)
        if not progress.moving:
            _alter_reassignments(cluster, {key: plan[key] for key in progress.waiting[:batch]})
        wait(progress)
        progress = progress_of(cluster, plan)
    return progress


def cancel_plan(cluster: ClusterClient, plan: Plan) -> list[Key]:
    """Cancel the reassignments of a plan, and return the partitions; they keep their previous replicas.

    Raises:
        CallError: a broker refuses this, or does not respond.
    """
    cluster.state()
    moving = under_way(cluster)
    keys = [key for key in plan if key in moving]
    if keys:
        _alter_reassignments(cluster, dict.fromkeys(keys))
    return keys


def set_throttle(cluster: ClusterClient, plan: Plan, current: Plan, rate: int) -> None:
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
        gained = [replica for replica in replicas if replica not in before]
        if gained:
            leaders, followers = lists.setdefault(topic, ([], []))
            leaders += [f"{index}:{replica}" for replica in before]
            followers += [f"{index}:{replica}" for replica in gained]
    for node_id in cluster.state().brokers or {}:
        _configure(cluster, BROKER, str(node_id), dict.fromkeys(RATES, str(rate)), node_id)
    for topic, both in lists.items():
        _configure(cluster, TOPIC, topic, dict(zip(THROTTLED, map(",".join, both), strict=True)))


def remove_throttle(cluster: ClusterClient, plan: Plan) -> CallError | None:
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
    cluster: ClusterClient, kind: int, name: str, configs: Mapping[str, str | None], node_id: int | None = None
) -> None:
    changes = [
        {"name": config, "configOperation": DELETE if value is None else SET, "value": value}
        for config, value in configs.items()
    ]
    resource = {"resourceType": kind, "resourceName": name, "configs": changes}
    message = cluster.ask("IncrementalAlterConfigsRequest", {"resources": [resource], "validateOnly": False}, node_id)
    for row in message.responses:
        _check(row, f"configs of {'broker' if kind == BROKER else 'topic'} {row.resource_name}")


def _create_partitions(cluster: ClusterClient, new: Plan, current: Plan) -> None:
    """Create topics, and additional partitions of existing topics."""
    known = {topic for topic, _ in current}
    for topic, rows in _group_by_topic(new):
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
            results = message.results
        else:
            lists = [{"partitionIndex": row, "brokerIds": list(new[topic, row])} for row in rows]
            made = {"name": topic, "numPartitions": -1, "replicationFactor": -1, "assignments": lists, "configs": []}
            message = cluster.ask("CreateTopicsRequest", {"topics": [made], "timeoutMs": 60000, "validateOnly": False})
            results = message.topics
        for row in results:
            _check(row, f"topic {topic}")


def _alter_reassignments(cluster: ClusterClient, replicas: Mapping[Key, Sequence[int] | None]) -> None:
    topics = [
        {
            "name": topic,
            "partitions": [
                {"partitionIndex": row, "replicas": None if (ids := replicas[topic, row]) is None else list(ids)}
                for row in rows
            ],
        }
        for topic, rows in _group_by_topic(replicas)
    ]
    message = _check_response(cluster.ask("AlterPartitionReassignmentsRequest", {"timeoutMs": 60000, "topics": topics}))
    for topic in message.responses:
        for partition in topic.partitions:
            _check(partition, f"partition {topic.name}-{partition.partition_index}")


def _elect_preferred_leaders(cluster: ClusterClient, plan: Plan) -> None:
    """Elect the preferred leaders of partitions whose leader is another replica."""
    keys: list[Key] = []
    for partition in cluster.state().partitions():
        key = partition.topic, partition.index
        if key in plan and partition.leader != partition.preferred and partition.preferred in partition.isr:
            keys.append(key)
    if not keys:
        return
    named = [{"topic": topic, "partitions": rows} for topic, rows in _group_by_topic(keys)]
    members = {"electionType": 0, "topicPartitions": named, "timeoutMs": 60000}
    message = _check_response(cluster.ask("ElectLeadersRequest", members))
    for topic in message.replica_election_results:
        for partition in topic.partition_result:
            _check(partition, f"leader of {topic.topic}-{partition.partition_id}")


def _group_by_topic(keys: Iterable[Key]) -> Iterator[tuple[str, list[int]]]:
    topics: dict[str, list[int]] = {}
    for topic, index in keys:
        topics.setdefault(topic, []).append(index)
    yield from topics.items()


def _check_response(message: Any) -> Any:
    _check(message, "the request")
    return message


def _check(row: Any, what: str) -> None:
    """Raise CallError if a row of a response has an error code."""
    code = getattr(row, "error_code", 0)
    if code and ErrorCode(code).name not in HARMLESS:
        words = getattr(row, "error_message", None)
        raise CallError(what, f"refused with {ErrorCode(code)}" + (f": {words}" if words else ""), "see kwire errors")
