"""Tables of a cluster's history, derived from timelines, and of its consumer groups.

The fields of a row class are the columns of its table.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ..events.event import State
from ..placement.multi_level import RackRule
from ..state import Broker
from .timeline import Brokers, Entry, Moment, Timeline

Nodes = tuple[int, ...]
DONE, CANCELLED = "done", "cancelled"


@dataclass(frozen=True, slots=True)
class PartitionState:
    """An interval in which a partition does not change.

    Attributes:
        leader: -1 for none.
        leader_epoch, partition_epoch: -1 if unknown.
        offline_replicas: in ascending order; None if no message lists them (before Kafka 1.0): see the live brokers.
        source: the first message that contained this state.
    """

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: Nodes
    replicas: Nodes
    offline_replicas: Nodes | None
    valid_from: float | None
    valid_to: float | None
    source: str


@dataclass(frozen=True, slots=True)
class BrokerLife:
    """An interval in which a broker is alive and does not change; `host` and `port` are those of its first endpoint."""

    broker: int
    host: str
    port: int
    rack: str | None
    endpoints: tuple[str, ...]
    valid_from: float | None
    valid_to: float | None
    source: str


@dataclass(frozen=True, slots=True)
class OfflineReplica:
    """An interval in which a replica is offline (KIP-112).

    Attributes:
        broker: the broker of the replica.
        cause: `log directory` or `broker`; None if unknown.
        leader_before: the previous leader; -1 for none, None if unknown.
        leader_after: the leader afterwards; None if it was not captured.
        offline_from, offline_to: the start and end. A replica is online again when its broker answers a LeaderAndIsr
            request for it without KAFKA_STORAGE_ERROR, or when it is in the ISR again. A newly elected controller has
            no record of failed directories, so its requests do not end an outage until then.
        ended_by: `online` if it came back, `removed` if it is no longer a replica, `deletion begun` (leader -2) or
            `deleted` with its topic.
        source: the name of the message; `brokers` if derived from the live brokers.
    """

    topic: str
    partition: int
    broker: int
    cause: str | None
    leader_before: int | None
    leader_after: int | None
    offline_from: float | None
    offline_to: float | None
    ended_by: str | None
    source: str


@dataclass(frozen=True, slots=True)
class RackViolation:
    """An interval in which replicas violate a rack rule.

    Attributes:
        racks: in the order of the replicas.
        rule: `KIP-36`, Kafka's rule: two replicas are on one rack while another rack has none. `KIP-879`, a draft that
            was never adopted: replicas are not spread as evenly as possible at every level of rack paths.
    """

    topic: str
    partition: int
    replicas: Nodes
    racks: tuple[str | None, ...]
    rule: str
    valid_from: float | None
    valid_to: float | None


@dataclass(frozen=True, slots=True)
class IsrShrink:
    """The removal of replicas from the ISR; `leader` is the leader afterwards."""

    topic: str
    partition: int
    time: float | None
    leader: int
    leader_epoch: int
    isr_before: Nodes
    isr_after: Nodes
    removed: Nodes
    source: str


@dataclass(frozen=True, slots=True)
class Reassignment:
    """An interval with a reassignment of a partition's replicas (KIP-455).

    Attributes:
        replicas: the replicas at the start.
        adding, removing: the replicas to be added and removed.
        ended_by: `done` or `cancelled`, derived from the resulting replicas; None while it lasts.
    """

    topic: str
    partition: int
    replicas: Nodes
    adding: Nodes
    removing: Nodes
    valid_from: float | None
    valid_to: float | None
    ended_by: str | None
    source: str


@dataclass(frozen=True, slots=True)
class Metric:
    """An interval in which a KIP-112 metric of a live broker is constant.

    Attributes:
        metric: `OfflineReplicaCount` or `OfflineLogDirectoryCount`.
    """

    broker: int
    metric: str
    value: int
    valid_from: float | None
    valid_to: float | None


@dataclass(frozen=True, slots=True)
class Conflict:
    """A contradiction between a source and another one that has more authority, at equal epochs.

    Attributes:
        source: the rejected source; `leader` and `isr` are its values.
        believed: the accepted source.
    """

    topic: str
    partition: int
    time: float | None
    leader: int | None
    leader_epoch: int | None
    isr: Nodes
    source: str
    believed: str


@dataclass(frozen=True, slots=True)
class Source:
    """The messages of one type in one file that contributed to the history.

    Attributes:
        source: the name of the message.
        file: the file name; empty if unknown.
        messages: the number of messages that were read.
        undecodable: the number of further messages that could not be decoded, so that the history lacks their content.
        first, last: the times of the first and the last message.
        cluster_ids: the cluster ids in them; more than one in a history is an error.
        note: what the history cannot contain; None if nothing is missing.
    """

    source: str
    file: str
    messages: int
    undecodable: int
    first: float | None
    last: float | None
    cluster_ids: tuple[str, ...] = ()
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Tables:
    """The history of a cluster.

    Rows are sorted by topic, partition and time; rows of brokers by broker and time; sources by name. Without messages
    about the cluster, there are no sources.
    """

    partition_states: tuple[PartitionState, ...] = ()
    brokers: tuple[BrokerLife, ...] = ()
    offline_replicas: tuple[OfflineReplica, ...] = ()
    rack_violations: tuple[RackViolation, ...] = ()
    isr_shrinks: tuple[IsrShrink, ...] = ()
    reassignments: tuple[Reassignment, ...] = ()
    metrics: tuple[Metric, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    sources: tuple[Source, ...] = ()


ROWS: dict[str, type] = {
    "partition_states": PartitionState,
    "brokers": BrokerLife,
    "offline_replicas": OfflineReplica,
    "rack_violations": RackViolation,
    "isr_shrinks": IsrShrink,
    "reassignments": Reassignment,
    "metrics": Metric,
    "conflicts": Conflict,
    "sources": Source,
}


_Finding = tuple[Nodes, tuple[str | None, ...], str]  # replicas, their racks, the violated rule


def states(topic: str, partition: int, timeline: Timeline) -> Iterator[PartitionState]:
    """Yield the states of a partition."""
    for entry, end in _periods(timeline):
        state = entry.state
        yield PartitionState(
            topic,
            partition,
            _epoch(state.leader),
            _epoch(state.leader_epoch),
            _epoch(state.partition_epoch),
            state.isr or (),
            state.replicas or (),
            state.offline,
            entry.since.time,
            _time(end),
            entry.source,
        )


def shrinks(topic: str, partition: int, timeline: Timeline) -> Iterator[IsrShrink]:
    """Yield the times when replicas left the ISR of a partition."""
    for before, after in zip(timeline.entries, timeline.entries[1:], strict=False):
        old, new = before.state.isr or (), after.state.isr or ()
        removed = tuple(one for one in old if one not in new)
        if removed and not after.state.is_deleted:
            now, state = after.since.time, after.state
            yield IsrShrink(
                topic, partition, now, _epoch(state.leader), _epoch(state.leader_epoch), old, new, removed, after.source
            )


def reassignments(topic: str, partition: int, timeline: Timeline) -> Iterator[Reassignment]:
    """Yield the reassignments of a partition."""
    begun: Entry | None = None
    for entry in timeline.entries:
        state = entry.state
        if begun is not None and _goal(begun.state) != _goal(state):
            yield _reassignment(topic, partition, begun, entry)
            begun = None
        if begun is None and (state.adding or state.removing) and not state.is_deleted:
            begun = entry
    if begun is not None:
        yield _reassignment(topic, partition, begun, None)


def _goal(state: State) -> tuple[set[int], set[int]]:
    return set(state.adding or ()), set(state.removing or ())


def _reassignment(topic: str, partition: int, begun: Entry, end: Entry | None) -> Reassignment:
    adding, removing = begun.state.adding or (), begun.state.removing or ()
    ended_by = None
    if end is not None:
        left = set(end.state.replicas or ())
        ended_by = DONE if set(adding) <= left and not left & set(removing) else CANCELLED
    return Reassignment(
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
    for life in sorted(brokers.lives, key=lambda one: (one.broker.node_id, one.since)):
        broker = life.broker.broker
        rest = (broker.rack, life.broker.endpoints, life.since.time, _time(life.until), life.source)
        yield BrokerLife(broker.node_id, broker.host, broker.port, *rest)


class Racks:
    """The rack rules over time: one rule from each change of racks on.

    Args:
        brokers: the brokers of the cluster.
    """

    def __init__(self, brokers: Brokers) -> None:
        self._times = [since for since, _ in brokers.racks]
        self._rules = [(racks, RackRule(_on(racks))) for _, racks in brokers.racks]

    def violations(self, topic: str, partition: int, timeline: Timeline) -> Iterator[RackViolation]:
        """Yield the rack violations of a partition."""
        begun: tuple[_Finding, Moment] | None = None
        for moment, found in self._turns(timeline):
            if begun is not None and begun[0] != found:
                yield RackViolation(topic, partition, *begun[0], begun[1].time, moment.time)
                begun = None
            if begun is None and found is not None:
                begun = found, moment
        if begun is not None:
            yield RackViolation(topic, partition, *begun[0], begun[1].time, None)

    def _turns(self, timeline: Timeline) -> Iterator[tuple[Moment, _Finding | None]]:
        """Yield the violation, or None, at each change of replicas or racks."""
        for place, entry in enumerate(timeline.entries):
            replicas = () if entry.state.is_deleted else entry.state.replicas or ()
            first = bisect_right(self._times, entry.since)
            last = len(self._times)
            if place + 1 < len(timeline.entries):
                last = bisect_left(self._times, timeline.entries[place + 1].since)
            yield entry.since, self._wrong(replicas, first - 1)
            for rule in range(first, last):
                yield self._times[rule], self._wrong(replicas, rule)

    def _wrong(self, replicas: Nodes, number: int) -> _Finding | None:
        """Return the violation of the rule with this index; None before the first rule."""
        if number < 0 or not replicas:
            return None
        racks, rule = self._rules[number]
        broken = rule.broken_by(replicas)
        return None if broken is None else (replicas, tuple(racks.get(node_id) for node_id in replicas), broken)


def _on(racks: dict[int, str | None]) -> dict[int, Broker]:
    return {node_id: Broker(node_id, rack=rack) for node_id, rack in racks.items()}


def _periods(timeline: Timeline) -> Iterator[tuple[Entry, Moment | None]]:
    """Yield the states in which the partition exists, each with its end."""
    for place, entry in enumerate(timeline.entries):
        if not entry.state.is_deleted:
            yield entry, timeline.entries[place + 1].since if place + 1 < len(timeline.entries) else None


def _time(moment: Moment | None) -> float | None:
    return moment.time if moment else None


def _epoch(epoch: int | None) -> int:
    return -1 if epoch is None else epoch


class MemberRow(NamedTuple):
    """A member of a group, with the partitions that it had in an interval.

    `since` and `until` are seconds since 1970; `until` is None while the interval lasts; both are None if no frame had
    a time.

    `local_partitions` counts the partitions with a replica in the member's rack; None if this rack or a broker's rack
    is unknown. `read_partitions` counts the partitions that the member was seen to read, `read_across` those of them
    that it read from a broker in another rack; `bytes_read` and `bytes_across` are the bytes of records in these
    responses. `lag` is the sum over the partitions whose lag is known.
    """

    group: str
    protocol: str
    generation: int | None
    assignor: str | None
    member_id: str
    instance_id: str | None
    client_id: str | None
    host: str | None
    rack: str | None
    topics: tuple[str, ...] | None
    partitions: tuple[str, ...] | None
    lag: int | None
    local_partitions: int | None
    read_partitions: int
    read_across: int | None
    bytes_read: int
    bytes_across: int | None
    since: float | None
    until: float | None = None


class PartitionRow(NamedTuple):
    """A partition of a group: its member, its committed and end offsets, and the brokers from which it is read."""

    group: str
    topic: str
    partition: int
    member_id: str | None
    rack: str | None
    committed: int | None
    end: int | None
    lag: int | None
    leader: int | None
    replica_racks: tuple[str | None, ...] | None
    read_from: tuple[int, ...]
    is_across: bool | None
