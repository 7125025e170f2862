"""Plans for replicas on a live cluster: applied in batches, throttled, monitored and cancelled (KIP-455).

A plan lists the replicas of partitions. The caller waits between the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from ..cluster import ClusterState
from ..errors import CallError
from .cluster_client import ClusterClient, Key, Plan, check_response, check_row, group_by_topic, live_brokers
from .replication_throttle import ReplicationThrottle

MOST_IDLE = 30  # checks of the progress without any, after which a plan is given up


@dataclass(slots=True)
class Progress:
    """The progress of a plan.

    Attributes:
        done: the partitions that match the plan.
        moving: the partitions that are being reassigned.
        waiting: all others.
        misled: of `done`, those that another replica leads than the first, though the first one is in sync.
        down: the brokers without which partitions that are moving cannot be done.
    """

    done: list[Key] = field(default_factory=list)
    moving: list[Key] = field(default_factory=list)
    waiting: list[Key] = field(default_factory=list)
    misled: list[Key] = field(default_factory=list)
    down: set[int] = field(default_factory=set)

    @property
    def is_complete(self) -> bool:
        """Whether all partitions match the plan; their leaders may be other replicas still."""
        return not self.moving and not self.waiting


def under_way(cluster: ClusterClient) -> dict[Key, list[int]]:
    """Return the partitions that are being reassigned, with their target replicas."""
    message = check_response(cluster.ask("ListPartitionReassignmentsRequest", {"topics": None}))
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
    live = live_brokers(state)
    progress = Progress()
    moving = under_way(cluster)
    current = {(partition.topic, partition.index): partition for partition in state.partitions()}
    for key, replicas in plan.items():
        partition = current.get(key)
        if key in moving and set(moving[key]) == set(replicas):
            progress.moving.append(key)
            progress.down |= set(replicas) - live
        elif key not in moving and partition is not None and list(partition.replicas) == list(replicas):
            progress.done.append(key)
            if partition.leader != partition.preferred and partition.preferred in partition.isr:
                progress.misled.append(key)
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
    notify: Callable[[str], None] = lambda line: None,
) -> Progress:
    """Carry out a plan: create missing topics and partitions, reassign others batch by batch, elect first replicas.

    Partitions that already match the plan are skipped, so an interrupted run can be repeated. Brokers may be down: what
    needs them waits for them, and the other partitions do not.

    Args:
        cluster: the cluster to change.
        plan: the target replicas of partitions.
        wait: called repeatedly while a batch is in progress; returns when progress should be checked again.
        batch: how many partitions are reassigned at a time.
        throttle: bytes per second that a broker may copy; removed at the end.
        notify: takes a line about what is not as it should be, such as a broker that is down.

    Raises:
        CallError: a broker refuses a request, or does not respond, or accepts the plan and moves nothing. If no
            partition of the plan is being reassigned then, the throttle is removed.
    """
    state = cluster.state()
    current = {(partition.topic, partition.index): list(partition.replicas) for partition in state.partitions()}
    _create_partitions(cluster, {key: plan[key] for key in plan if key not in current}, current)
    limit = ReplicationThrottle(cluster, plan, notify)
    if throttle is not None:
        limit.start(throttle)
    try:
        progress = _reassign_in_batches(cluster, plan, wait, batch, limit)
        if progress.misled:
            _elect_first_replicas(cluster, progress.misled)
    except CallError:
        if throttle is not None:
            _remove_idle_throttle(cluster, plan, limit)
        raise
    if throttle is not None and (refusal := limit.remove()):
        raise refusal
    return progress


def _remove_idle_throttle(cluster: ClusterClient, plan: Plan, throttle: ReplicationThrottle) -> None:
    """Remove the throttle after a failure if it limits nothing, as far as the cluster still responds."""
    with suppress(CallError):
        if not under_way(cluster).keys() & plan.keys():
            throttle.remove()


def _reassign_in_batches(
    cluster: ClusterClient,
    plan: Plan,
    wait: Callable[[Progress], None],
    batch: int,
    throttle: ReplicationThrottle,
) -> Progress:
    """Reassign the partitions of a plan, batch by batch, until it is complete; see `apply_plan`.

    A batch follows when the one before is done, or waits for brokers that are down only.
    """
    done = -1  # partitions that were done at the last check
    idle = 0  # checks in a row during which nothing moved
    progress = progress_of(cluster, plan)
    while not progress.is_complete:
        idle = idle + 1 if not progress.moving and len(progress.done) == done else 0
        if idle == MOST_IDLE:
            raise CallError("the controller", "it accepts the plan and moves nothing", "see kwire cluster, and its log")
        done = len(progress.done)
        if progress.waiting and not any(progress.down.isdisjoint(plan[key]) for key in progress.moving):
            _alter_reassignments(cluster, {key: plan[key] for key in progress.waiting[:batch]})
        wait(progress)
        state = cluster.state()
        throttle.extend(state)
        progress = progress_of(cluster, plan, state)
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


def _create_partitions(cluster: ClusterClient, new: Plan, current: Plan) -> None:
    """Create topics, and additional partitions of existing topics."""
    known = {topic for topic, _ in current}
    for topic, rows in group_by_topic(new):
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
            check_row(row, f"topic {topic}")


def _alter_reassignments(cluster: ClusterClient, replicas: Mapping[Key, Sequence[int] | None]) -> None:
    topics = [
        {
            "name": topic,
            "partitions": [
                {"partitionIndex": row, "replicas": None if (ids := replicas[topic, row]) is None else list(ids)}
                for row in rows
            ],
        }
        for topic, rows in group_by_topic(replicas)
    ]
    message = check_response(cluster.ask("AlterPartitionReassignmentsRequest", {"timeoutMs": 60000, "topics": topics}))
    for topic in message.responses:
        for partition in topic.partitions:
            check_row(partition, f"partition {topic.name}-{partition.partition_index}")


def _elect_first_replicas(cluster: ClusterClient, keys: Iterable[Key]) -> None:
    """Elect the first replica of each partition, its preferred leader."""
    named = [{"topic": topic, "partitions": rows} for topic, rows in group_by_topic(keys)]
    members = {"electionType": 0, "topicPartitions": named, "timeoutMs": 60000}
    message = check_response(cluster.ask("ElectLeadersRequest", members))
    for topic in message.replica_election_results:
        for partition in topic.partition_result:
            check_row(partition, f"leader of {topic.topic}-{partition.partition_id}")
