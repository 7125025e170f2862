"""What changed between two states of a cluster, as events: for readers that see states one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from .activity.activity_event import BROKER, TOPIC, ActivityEvent, subject
from .activity.cluster_events import state_differences
from .events.event import DELETED, ReportedState, state_of
from .state import ClusterState, Partition


def changes_between(before: ClusterState, after: ClusterState, time: float | None) -> Iterator[ActivityEvent]:
    """Yield what changed, as the kinds of events that `kwire timeline` has.

    Args:
        before, after: the states.
        time: when the later state was read, in seconds since 1970.

    >>> before, after = ClusterState(), ClusterState()
    >>> before.put(Partition("orders", 0, leader=1, replicas=(1, 2), isr=(1, 2)))
    >>> after.put(Partition("orders", 0, leader=2, replicas=(1, 2), isr=(2,), leader_epoch=1))
    >>> [event.text for event in changes_between(before, after, None)]
    ['orders-0: leader 1 -> 2 (leader epoch 1)', 'orders-0: ISR [1, 2] -> [2]']
    """
    if before.controller_id != after.controller_id:
        text = f"controller {_node(before.controller_id)} -> {_node(after.controller_id)}"
        yield ActivityEvent("broker", text, time, subjects=frozenset(subject(BROKER, after.controller_id)))
    yield from _broker_changes(before, after, time)
    yield from _partition_changes(before, after, time)
    yield from _disk_changes(before, after, time)


def _broker_changes(before: ClusterState, after: ClusterState, time: float | None) -> Iterator[ActivityEvent]:
    old, new = (
        {node_id: broker.fenced for node_id, broker in (state.brokers or {}).items()} for state in (before, after)
    )
    for node_id in sorted(old.keys() | new.keys()):
        was_up, is_up = (states.get(node_id) is False for states in (old, new))
        if was_up != is_up:
            text = f"broker {node_id} is {'up' if is_up else 'fenced' if node_id in new else 'gone'}"
            yield ActivityEvent("broker", text, time, subjects=frozenset(subject(BROKER, node_id)))


def _partition_changes(before: ClusterState, after: ClusterState, time: float | None) -> Iterator[ActivityEvent]:
    keys = {(partition.topic, partition.index) for state in (before, after) for partition in state.partitions()}
    for topic, index in sorted(keys):
        old, new = (state.topics.get(topic, {}).get(index) for state in (before, after))
        for kind, text, nodes in state_differences(_reported_state(old), _reported_state(new)):
            subjects = {*subject(TOPIC, topic), *subject(BROKER, *(node_id for node_id in nodes if node_id >= 0))}
            yield ActivityEvent(kind, f"{topic}-{index}: {text}", time, subjects=frozenset(subjects))
        was_offline = set(before.offline(old)) if old is not None else set()
        is_offline = set(after.offline(new)) if new is not None else set()
        for node_id in sorted(was_offline ^ is_offline):
            if new is not None and node_id in new.replicas:
                state = "goes offline" if node_id in is_offline else "is online again"
                subjects = {*subject(TOPIC, topic), *subject(BROKER, node_id)}
                text = f"{topic}-{index}: replica on broker {node_id} {state}"
                yield ActivityEvent("offline", text, time, subjects=frozenset(subjects))


def _reported_state(partition: Partition | None) -> ReportedState:
    if partition is None:
        return DELETED
    return state_of(partition, None)._replace(is_deleting=partition.deleting is not None)


def _disk_changes(before: ClusterState, after: ClusterState, time: float | None) -> Iterator[ActivityEvent]:
    for node_id in sorted(before.offline_dirs.keys() | after.offline_dirs.keys()):
        old, new = before.offline_dirs.get(node_id, 0), after.offline_dirs.get(node_id, 0)
        if old != new:
            text = f"broker {node_id}: log directories offline: {old} -> {new}"
            yield ActivityEvent("disk", text, time, subjects=frozenset(subject(BROKER, node_id)))


def _node(node_id: int) -> str:
    return "none" if node_id < 0 else str(node_id)
