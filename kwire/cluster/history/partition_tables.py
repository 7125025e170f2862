"""Tables derived from timelines: states of partitions, shrinks of ISRs, reassignments, lives of brokers."""

from __future__ import annotations

from collections.abc import Iterator

from ..events.event import ReportedState
from .broker_lives import Brokers
from .partition_timeline import Moment, PartitionTimeline, TimelineEntry
from .rows import CANCELLED, DONE, BrokerLife, IsrShrink, PartitionStateRow, ReassignmentRow


def states(topic: str, partition: int, timeline: PartitionTimeline) -> Iterator[PartitionStateRow]:
    """Yield the states of a partition."""
    for entry, end in periods_of(timeline):
        state = entry.state
        yield PartitionStateRow(
            topic,
            partition,
            epoch_of(state.leader),
            epoch_of(state.leader_epoch),
            epoch_of(state.partition_epoch),
            state.isr or (),
            state.replicas or (),
            state.offline,
            entry.since.time,
            time_of(end),
            entry.source,
            bool(state.is_deleting),
        )


def shrinks(topic: str, partition: int, timeline: PartitionTimeline) -> Iterator[IsrShrink]:
    """Yield the times when replicas left the ISR of a partition."""
    for before, after in zip(timeline.entries, timeline.entries[1:], strict=False):
        old, new = before.state.isr or (), after.state.isr or ()
        removed = tuple(node_id for node_id in old if node_id not in new)
        if removed and not after.state.is_deleted:
            state = after.state
            yield IsrShrink(
                topic,
                partition,
                after.since.time,
                epoch_of(state.leader),
                epoch_of(state.leader_epoch),
                old,
                new,
                removed,
                after.source,
            )


def reassignments(topic: str, partition: int, timeline: PartitionTimeline) -> Iterator[ReassignmentRow]:
    """Yield the reassignments of a partition."""
    begun: TimelineEntry | None = None
    for entry in timeline.entries:
        state = entry.state
        if begun is not None and _goal(begun.state) != _goal(state):
            yield _reassignment_row(topic, partition, begun, entry)
            begun = None
        if begun is None and (state.adding or state.removing) and not state.is_deleted:
            begun = entry
    if begun is not None:
        yield _reassignment_row(topic, partition, begun, None)


def _goal(state: ReportedState) -> tuple[set[int], set[int]]:
    return set(state.adding or ()), set(state.removing or ())


def _reassignment_row(topic: str, partition: int, begun: TimelineEntry, end: TimelineEntry | None) -> ReassignmentRow:
    adding, removing = begun.state.adding or (), begun.state.removing or ()
    ended_by = None
    if end is not None:
        replicas = set(end.state.replicas or ())
        is_done = replicas.issuperset(adding) and replicas.isdisjoint(removing)
        ended_by = DONE if is_done else CANCELLED
    return ReassignmentRow(
        topic,
        partition,
        begun.state.replicas or (),
        adding,
        removing,
        begun.since.time,
        end.since.time if end else None,
        ended_by,
        begun.source,
    )


def lives(brokers: Brokers) -> Iterator[BrokerLife]:
    """Yield the lifetimes of brokers."""
    for life in sorted(brokers.lives, key=lambda life: (life.broker.node_id, life.since)):
        broker = life.broker.broker
        rest = (broker.rack, life.broker.endpoints, life.since.time, time_of(life.until), life.source)
        yield BrokerLife(broker.node_id, broker.host, broker.port, *rest)


def periods_of(timeline: PartitionTimeline) -> Iterator[tuple[TimelineEntry, Moment | None]]:
    """Yield the states in which the partition exists, each with its end."""
    for position, entry in enumerate(timeline.entries):
        if not entry.state.is_deleted:
            yield entry, timeline.entries[position + 1].since if position + 1 < len(timeline.entries) else None


def time_of(moment: Moment | None) -> float | None:
    """Return the time of a moment, in seconds since 1970."""
    return moment.time if moment else None


def epoch_of(epoch: int | None) -> int:
    """Return an epoch; -1 for an unknown one."""
    return -1 if epoch is None else epoch
