"""Why a partition is as it is: what happened to it, its replicas and their brokers since it was well.

The answer is as good as the history of the model: a live broker tells the present state only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from .activity.cluster_events import OFFLINE_WORDS, state_differences
from .events.event import ReportedState
from .history.partition_timeline import Moment, PartitionTimeline, TimelineEntry
from .history.rows import OfflineReplica
from .model import ClusterModel
from .state import ClusterState, Partition

Key = tuple[str, int]


@dataclass(frozen=True, slots=True, order=True)
class Cause:
    """One thing that happened, in order of time.

    Attributes:
        time: seconds since 1970; 0 if unknown.
        text: what happened.
        source: the message, record or znode that tells it; empty if it follows from several.
    """

    time: float
    text: str
    source: str


@dataclass(slots=True)
class Explanation:
    """Why a partition is as it is.

    Attributes:
        partition: its present state.
        offline: its offline replicas.
        causes: what happened since it was well, in order.
        reasons: what keeps it from being well, each in a sentence.
    """

    partition: Partition
    offline: tuple[int, ...]
    causes: list[Cause] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)


def explain_partition(model: ClusterModel, state: ClusterState, key: Key) -> Explanation:
    """Explain the state of a partition.

    Args:
        model: the model with its history.
        state: the state of this model.
        key: topic and index of a partition in this state.
    """
    partition = state.topics[key[0]][key[1]]
    explanation = Explanation(partition, state.offline(partition))
    timeline = model.timelines.get(key)
    if timeline is not None and timeline.entries:
        explanation.causes = sorted(set(_causes(model, key, timeline)))
    explanation.reasons = list(_reasons(state, partition))
    return explanation


def _causes(model: ClusterModel, key: Key, timeline: PartitionTimeline) -> Iterator[Cause]:
    """Yield what happened after the last state in which the partition was well."""
    first = _last_well(timeline)
    entries = timeline.entries[first:]
    for before, after in pairwise(entries):
        for _, text, _ in state_differences(before.state, after.state):
            yield Cause(after.since.time or 0.0, text, after.source)
    since = entries[0].since
    for outage in model.outages():
        if (outage.topic, outage.partition) == key:
            yield from _of_outage(outage, since)
    yield from _of_brokers(model, entries, since)


def _of_brokers(model: ClusterModel, entries: list[TimelineEntry], since: Moment) -> Iterator[Cause]:
    """Yield when brokers of the replicas came and went."""
    replicas = {node_id for entry in entries for node_id in entry.state.replicas or ()}
    for life in model.brokers.lives:
        node_id = life.broker.node_id
        if node_id not in replicas:
            continue
        others = [other for other in model.brokers.lives if other.broker.node_id == node_id]
        was_there = any(other.until == life.since for other in others)
        if since <= life.since != model.brokers.first and not was_there:
            yield Cause(life.since.time or 0.0, f"broker {node_id} is up", life.source)
        stays = any(other.since == life.until for other in others)
        if life.until is not None and since <= life.until and not stays:
            yield Cause(life.until.time or 0.0, f"broker {node_id} is gone", "")


def _of_outage(outage: OfflineReplica, since: Moment) -> Iterator[Cause]:
    start = since.time or 0.0
    if (outage.offline_to or start) < start:
        return
    words = f"replica on broker {outage.broker}"
    cause = OFFLINE_WORDS.get(outage.cause, "")
    yield Cause(outage.offline_from or 0.0, f"{words} goes offline{cause}", outage.source)
    if outage.offline_to is not None:
        ended = {"online": "is online again", "removed": "is removed"}.get(outage.ended_by or "", "ends with its topic")
        yield Cause(outage.offline_to, f"{words} {ended}", "")


def _last_well(timeline: PartitionTimeline) -> int:
    """Return the index of the last entry in which the partition was well, before the present trouble; 0 if none was."""
    entries = timeline.entries
    if _is_well(entries[-1]):
        return len(entries) - 1
    return next((number for number in range(len(entries) - 1, -1, -1) if _is_well(entries[number])), 0)


def _is_well(entry: TimelineEntry) -> bool:
    state: ReportedState = entry.state
    replicas = state.replicas or ()
    is_led = bool(replicas) and state.leader == replicas[0]
    return is_led and set(replicas) <= set(state.isr or ()) and not state.offline and not state.is_deleting


def _reasons(state: ClusterState, partition: Partition) -> Iterator[str]:
    """Yield what keeps a partition from being well."""
    offline = state.offline(partition)
    if partition.deleting is not None:
        waits_for = [node_id for node_id in partition.deleting if node_id in offline] or partition.deleting
        yield f"its deletion waits for replica {_nodes(waits_for)}" if waits_for else "its deletion is ending"
    if not partition.has_leader and partition.deleting is None:
        yield _leaderless_reason(partition, offline)
    lagging = [node_id for node_id in partition.replicas if node_id not in partition.isr]
    down = [node_id for node_id in lagging if node_id in offline]
    if down and partition.has_leader:
        yield f"under-replicated: {'; '.join(_offline_reasons(state, down))}"
    behind = [node_id for node_id in lagging if node_id not in offline and node_id not in (partition.adding or ())]
    if behind and partition.has_leader:
        yield f"under-replicated: {_replicas(behind)} online and behind leader {partition.leader}"
    if partition.is_reassigned:
        yield f"being reassigned: adds {_nodes(partition.adding or ())}, removes {_nodes(partition.removing or ())}"
    if partition.has_leader and partition.leader != partition.preferred:
        is_ready = partition.preferred in partition.isr and partition.preferred not in offline
        waits = "an election of preferred leaders changes that" if is_ready else "it is not in sync"
        yield f"not led by its first replica {partition.preferred}: {waits}"
    minimum = state.least_in_sync(partition)
    if partition.has_leader and len(partition.isr) < minimum:
        yield f"refuses writes with acks=all: {len(partition.isr)} in sync, min.insync.replicas is {minimum}"


def _leaderless_reason(partition: Partition, offline: tuple[int, ...]) -> str:
    candidates = tuple(dict.fromkeys((*partition.isr, *(partition.elr or ()))))
    if not candidates:
        return "no leader: no replica is in sync or eligible"
    if set(candidates) <= set(offline):
        return f"no leader: {_replicas(candidates)} offline, and no other replica has all records"
    return f"no leader, though {_nodes(candidates)} could lead: the controller has not elected it"


def _offline_reasons(state: ClusterState, offline: list[int]) -> Iterator[str]:
    """Yield why replicas are offline: those of brokers that are down, then those of brokers that are not."""
    brokers = state.brokers or {}
    gone = [node_id for node_id in offline if node_id not in brokers or brokers[node_id].fenced]
    if gone:
        broker = f"broker {_nodes(gone)} is" if len(gone) == 1 else f"brokers {_nodes(gone)} are"
        yield f"{_replicas(gone)} offline, for {broker} down"
    failed = [node_id for node_id in offline if node_id not in gone]
    if failed:
        yield f"{_replicas(failed)} offline, for a log directory failed"


def _replicas(nodes: Sequence[int]) -> str:
    return f"replica {nodes[0]} is" if len(nodes) == 1 else f"replicas {_nodes(nodes)} are"


def _nodes(nodes: Sequence[int]) -> str:
    return ", ".join(map(str, nodes)) or "none"
