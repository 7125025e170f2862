"""The rows of the tables of a cluster's history. The fields of a class are the columns of its table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...runtime.earlier_pickles import restore_slots

Nodes = tuple[int, ...]
DONE, CANCELLED = "done", "cancelled"


@dataclass(frozen=True, slots=True)
class PartitionStateRow:
    """An interval in which a partition does not change.

    Attributes:
        leader: -1 for none.
        leader_epoch, partition_epoch: -1 if unknown.
        offline_replicas: in ascending order; None if no message lists them (before Kafka 1.0): see the live brokers.
        source: the first message that contained this state.
        being_deleted: whether its deletion has begun, which waits for offline replicas (ZooKeeper mode).
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
    being_deleted: bool = False

    def __setstate__(self, state: Sequence[object]) -> None:
        """Load a pickle, also of a version with fewer fields."""
        restore_slots(self, state)


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
        ended_by: `online` if it came back, `removed` if it is no longer a replica, `deleted` with its topic, whose
            deletion waits for it until then.
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
class ReassignmentRow:
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
class SourceRow:
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

    partition_states: tuple[PartitionStateRow, ...] = ()
    brokers: tuple[BrokerLife, ...] = ()
    offline_replicas: tuple[OfflineReplica, ...] = ()
    rack_violations: tuple[RackViolation, ...] = ()
    isr_shrinks: tuple[IsrShrink, ...] = ()
    reassignments: tuple[ReassignmentRow, ...] = ()
    metrics: tuple[Metric, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    sources: tuple[SourceRow, ...] = ()


ROWS: dict[str, type] = {
    "partition_states": PartitionStateRow,
    "brokers": BrokerLife,
    "offline_replicas": OfflineReplica,
    "rack_violations": RackViolation,
    "isr_shrinks": IsrShrink,
    "reassignments": ReassignmentRow,
    "metrics": Metric,
    "conflicts": Conflict,
    "sources": SourceRow,
}
