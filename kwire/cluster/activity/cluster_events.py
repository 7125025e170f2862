"""Events of partitions and brokers, from the history that a `ClusterModel` has: leaders, ISRs, replicas, disks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from ..events.event import ReportedState
from ..history.broker_lives import Life
from ..history.offline_metrics import DIRECTORIES
from ..history.partition_timeline import Moment, TimelineEntry
from ..history.rows import Metric, OfflineReplica
from ..model import ClusterModel
from .activity_event import BROKER, TOPIC, ActivityEvent, subject

OFFLINE_WORDS: dict[str | None, str] = {
    None: "",
    "broker": " (its broker is down)",
    "log directory": " (its log directory failed)",
}
LISTED = 8  # partitions that the text of an event names


class FramePlace(NamedTuple):
    """Where a message stands: its file, and the number of its frame or its offset."""

    file: str = ""
    frame: int | None = None


class _Change(NamedTuple):
    kind: str
    text: str
    time: float | None
    shown: FramePlace
    brokers: frozenset[int]


def cluster_events(
    model: ClusterModel, shown: Mapping[int, FramePlace], at_time: Mapping[float | None, FramePlace]
) -> Iterator[ActivityEvent]:
    """Yield the events of a model's history; equal changes of several partitions in one message are one event.

    Args:
        model: the model, after all observations.
        shown: the places of observations by their number, as `Moment.order` counts them.
        at_time: the places of observations by their time.
    """
    changes: dict[_Change, list[tuple[str, int]]] = {}
    outages = model.outages()
    for key, change in _partition_changes(model, shown):
        changes.setdefault(change, []).append(key)
    for outage in outages:
        for change in _outage_changes(outage, at_time):
            changes.setdefault(change, []).append((outage.topic, outage.partition))
    for change, partitions in changes.items():
        yield _event_of(change, sorted(partitions))
    yield from _broker_events(model.brokers.lives, model.brokers.first, shown)
    yield from _disk_events(model.metrics(outages), at_time)


def _partition_changes(
    model: ClusterModel, shown: Mapping[int, FramePlace]
) -> Iterator[tuple[tuple[str, int], _Change]]:
    for key, timeline in model.timelines.items():
        for before, after in pairwise(_lasting(timeline.entries)):
            frame_place = shown.get(after.since.order, FramePlace())
            for kind, text, nodes in state_differences(before.state, after.state):
                brokers = frozenset(node for node in nodes if node >= 0)
                yield key, _Change(kind, text, after.since.time, frame_place, brokers)


def _lasting(entries: Iterable[TimelineEntry]) -> Iterator[TimelineEntry]:
    """Yield the entries of a partition without those that a controller still writes while it deletes the topic.

    `TopicDeletionManager` of Kafka takes the partitions offline first, which writes a state without a leader
    (`ZkPartitionStateMachine`; from memory) after brokers were asked to delete it.
    """
    is_deleted = False
    for entry in entries:
        leader = entry.state.leader
        if is_deleted and not entry.state.is_deleted and leader is not None and leader < 0:
            continue
        is_deleted = entry.state.is_deleted
        yield entry


def _disk_events(metrics: Iterable[Metric], at_time: Mapping[float | None, FramePlace]) -> Iterator[ActivityEvent]:
    counts: dict[int, int] = {}
    for metric in metrics:
        before = counts.get(metric.broker, 0)
        if metric.metric != DIRECTORIES or metric.value == before:
            continue
        counts[metric.broker] = metric.value
        text = f"broker {metric.broker}: log directories offline: {before} -> {metric.value}"
        time = metric.valid_from
        yield ActivityEvent(
            "disk", text, time, *at_time.get(time, FramePlace()), frozenset(subject(BROKER, metric.broker))
        )


def _event_of(change: _Change, partitions: list[tuple[str, int]]) -> ActivityEvent:
    names = [f"{topic}-{index}" for topic, index in partitions]
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    subjects = {*subject(TOPIC, *(topic for topic, _ in partitions)), *subject(BROKER, *change.brokers)}
    text = f"{', '.join(names[:LISTED])}{more}: {change.text}"
    return ActivityEvent(change.kind, text, change.time, *change.shown, frozenset(subjects))


def state_differences(before: ReportedState, after: ReportedState) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """Yield kind, text and brokers of what changed between two states of a partition."""
    if after.is_deleted:
        if not before.is_deleted:
            yield "topic", "deleted", ()
        return
    if before.is_deleted or (before.is_deleting and not after.is_deleting):
        yield "topic", f"created, leader {after.leader}", after.replicas or ()
        return
    if after.is_deleting and not before.is_deleting:
        yield "topic", "its deletion begins", ()
    if before.leader != after.leader and before.leader is not None and after.leader is not None:
        epoch = "" if after.leader_epoch is None else f" (leader epoch {after.leader_epoch})"
        yield "leader", f"leader {_node(before.leader)} -> {_node(after.leader)}{epoch}", (before.leader, after.leader)
    yield from _set_difference("isr", "ISR", before.isr, after.isr)
    yield from _set_difference("replicas", "replicas", before.replicas, after.replicas)


def _set_difference(
    kind: str, word: str, before: tuple[int, ...] | None, after: tuple[int, ...] | None
) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    if before is None or after is None or set(before) == set(after):
        return
    yield kind, f"{word} {_nodes(before)} -> {_nodes(after)}", tuple(set(before) ^ set(after))


def _node(node: int) -> str:
    return "none" if node < 0 else str(node)


def _nodes(nodes: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, nodes))}]"


def _outage_changes(outage: OfflineReplica, at_time: Mapping[float | None, FramePlace]) -> Iterator[_Change]:
    nodes = frozenset((outage.broker,))
    begun = outage.offline_from
    text = f"replica on broker {outage.broker} goes offline{OFFLINE_WORDS.get(outage.cause, '')}"
    yield _Change("offline", text, begun, at_time.get(begun, FramePlace()), nodes)
    if outage.offline_to is not None:
        words = {"online": "is online again", "removed": "is removed"}
        ended = words.get(outage.ended_by or "", "ends with its topic")
        end = outage.offline_to
        yield _Change(
            "offline", f"replica on broker {outage.broker} {ended}", end, at_time.get(end, FramePlace()), nodes
        )


def _broker_events(lives: list[Life], first: Moment | None, shown: Mapping[int, FramePlace]) -> Iterator[ActivityEvent]:
    """Yield when brokers came, changed and went; those of the first list were there before."""
    if first is None:
        return
    ends: dict[int, Moment | None] = {}
    for life in lives:
        node = life.broker.node_id
        was_alive = node in ends and ends[node] == life.since
        if life.since != first:
            yield _broker_event(node, "changes its listeners or rack" if was_alive else "is up", life.since, shown)
        ends[node] = life.until
        is_followed = any(other.since == life.until and other.broker.node_id == node for other in lives)
        if life.until is not None and not is_followed:
            yield _broker_event(node, "is gone", life.until, shown)


def _broker_event(node: int, text: str, moment: Moment, shown: Mapping[int, FramePlace]) -> ActivityEvent:
    frame_place = shown.get(moment.order, FramePlace())
    subjects = frozenset(subject(BROKER, node))
    return ActivityEvent("broker", f"broker {node} {text}", moment.time, *frame_place, subjects)
