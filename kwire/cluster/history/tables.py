"""The rows of the history's tables, each a plain value; their fields are the columns, in order.

Times are seconds since 1970; None where nobody wrote them down, and as an end where nothing has ended.
"""

from __future__ import annotations

from dataclasses import dataclass

Nodes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PartitionState:
    """A partition while nothing about it changes.

    Attributes:
        leader: -1 for none.
        leader_epoch, partition_epoch: -1 where nobody said them.
        offline_replicas: in ascending order; None where no message says it (before Kafka 1.0), see the brokers.
        source: the message that first said so.
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
    """A broker while it lives and nothing about it changes; `host` and `port` are those of its first endpoint."""

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
    """A replica that cannot be served, from when to when (KIP-112).

    Attributes:
        broker: which one holds it.
        cause: `log directory` or `broker`; None where it cannot be told.
        leader_before: who led; -1 for none, None if that was not heard.
        leader_after: who led when it had gone.
        offline_from, offline_to: since when, until when.
        ended_by: `online` if it came back, `removed` if it is no replica any more, `deleted` with its topic.
        source: the message that said so; `brokers` where it follows from which brokers live.
    """

    topic: str
    partition: int
    broker: int
    cause: str | None
    leader_before: int | None
    leader_after: int
    offline_from: float | None
    offline_to: float | None
    ended_by: str | None
    source: str


@dataclass(frozen=True, slots=True)
class RackViolation:
    """Replicas that do not lie on racks as they should (KIP-36, KIP-879); `racks` in the order of the replicas."""

    topic: str
    partition: int
    replicas: Nodes
    racks: tuple[str | None, ...]
    valid_from: float | None
    valid_to: float | None


@dataclass(frozen=True, slots=True)
class IsrShrink:
    """A moment when replicas left the ISR; `leader` is who leads from then on."""

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
class Tables:
    """What became of a cluster. Rows are by topic, partition and time; those of brokers by broker and time."""

    partition_states: tuple[PartitionState, ...] = ()
    brokers: tuple[BrokerLife, ...] = ()
    offline_replicas: tuple[OfflineReplica, ...] = ()
    rack_violations: tuple[RackViolation, ...] = ()
    isr_shrinks: tuple[IsrShrink, ...] = ()


ROWS: dict[str, type] = {
    "partition_states": PartitionState,
    "brokers": BrokerLife,
    "offline_replicas": OfflineReplica,
    "rack_violations": RackViolation,
    "isr_shrinks": IsrShrink,
}
