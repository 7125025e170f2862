"""An event of a partition: its state in a message, and who reported it.

A message carries a part of the state only; `ReportedState.filled` completes it, epochs order states.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from ..state import NO_LEADER, Partition

NO_TOPIC_ID = bytes(16)
_NOWHERE = -3  # a leader id that Kafka does not use


class ReportedState(NamedTuple):
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
    is_deleting: bool | None = None  # whether its deletion has begun, which may wait for offline replicas

    @property
    def is_deleted(self) -> bool:
        """Whether the partition does not exist any more."""
        return self.leader == _NOWHERE

    def agrees(self, other: ReportedState) -> bool:
        """Whether a later state is equal in all fields that both have; a deletion that it begins is a difference.

        >>> state = ReportedState(1, isr=(1,))
        >>> state.agrees(ReportedState(1, leader_epoch=4)), state.agrees(ReportedState(1, isr=(1, 2)))
        (True, False)
        """
        if self == other:
            return True
        if self.is_deleted or other.is_deleted or (other.is_deleting and not self.is_deleting):
            return False
        return all(mine is None or theirs is None or mine == theirs for mine, theirs in zip(self, other, strict=True))

    def is_older(self, other: ReportedState) -> bool:
        """Whether this state is older by its epochs; at equal leader epochs, the partition epoch decides."""
        if self.leader_epoch is None or other.leader_epoch is None:
            return False
        if self.leader_epoch != other.leader_epoch or self.partition_epoch is None or other.partition_epoch is None:
            return self.leader_epoch < other.leader_epoch
        return self.partition_epoch < other.partition_epoch

    def complete_from(self, other: ReportedState) -> ReportedState:
        """Return this state, completed by the fields that only the other state has."""
        pairs: Iterator[Any] = zip(self, other, strict=True)
        return ReportedState(*(theirs if mine is None else mine for mine, theirs in pairs))


# A deletion begins with leader -2 and waits for offline replicas. A topic that is no longer listed is deleted.
DELETION_BEGUN, DELETED = ReportedState(None, is_deleting=True), ReportedState(_NOWHERE)


class Event(NamedTuple):
    """An event of one partition, or of a whole topic if `partition` is None."""

    topic: str
    partition: int | None
    state: ReportedState


def state_of(partition: Partition, offline: tuple[int, ...] | None) -> ReportedState:
    """Return the state of a partition in a record."""
    return ReportedState(
        partition.leader,
        partition.leader_epoch,
        partition.partition_epoch,
        partition.isr,
        partition.replicas,
        None if offline is None else tuple(sorted(offline)),
        partition.topic_id,
        partition.adding,
        partition.removing,
        partition.elr,
        partition.last_known_elr,
        partition.directories,
    )


def partition_of(topic: str, index: int, state: ReportedState) -> Partition:
    """Return a partition with a state.

    Offline replicas are in the order of the replicas; missing fields are -1 or empty.
    """
    order = {node: position for position, node in enumerate(state.replicas or ())}
    offline = (
        None if state.offline is None else tuple(sorted(state.offline, key=lambda node: order.get(node, len(order))))
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
        (state.replicas or ()) if state.is_deleting else None,
    )


def merge_event(before: Partition | None, event: Event, index: int) -> Partition:
    """Return a partition updated by an event; fields missing in the event are kept, except offline replicas."""
    fresh = partition_of(event.topic, index, event.state)
    if before is None:
        return fresh
    unsaid = {name: getattr(before, name) for name in _SAME if getattr(event.state, name) is None}
    return replace(fresh, **unsaid)


_OWN = "offline", "leader_epoch", "partition_epoch", "is_deleting"  # of each event
_SAME = tuple(name for name in ReportedState._fields if name not in _OWN)


def known_topic_id(topic_id: bytes | None) -> bytes | None:
    """Return a topic id; None for the zero id, which stands for a missing one (KIP-516)."""
    return None if topic_id == NO_TOPIC_ID else topic_id
