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
        leader_after: who led when it had gone; None if that was not captured.
        offline_from, offline_to: since when, until when. It is back when its broker answers a LeaderAndIsr request for
            it without KAFKA_STORAGE_ERROR, or when it is in the ISR again; a controller that has just been elected
            knows nothing of failed directories, and what it announces until then ends nothing.
        ended_by: `online` if it came back, `removed` if it is no replica any more, `deletion begun` (leader -2) or
            `deleted` with its topic.
        source: the message that said so; `brokers` where it follows from which brokers live.
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
    """Replicas that do not lie on racks as they should.

    Attributes:
        racks: in the order of the replicas.
        rule: `KIP-36`, which Kafka places by: two replicas on a rack while another has none. `KIP-879`, a draft that
            Kafka never took: not as even as can be at every level of racks that are paths.
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
class Source:
    """The messages of one kind in one file that the history is made of.

    Attributes:
        source: the name of the message.
        file: where they are; empty where that is not known.
        messages: how many were read.
        undecodable: how many more could not be decoded, so that the history lacks what they said.
        first, last: when the first and the last were sent.
        cluster_ids: the ids of clusters that they name; more than one in a history is a mistake.
        note: what the history cannot know from them; None where there is nothing to say.
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
    """What became of a cluster. Rows are by topic, partition and time; those of brokers by broker and time; those
    of sources by name, and none where no message told of the cluster."""

    partition_states: tuple[PartitionState, ...] = ()
    brokers: tuple[BrokerLife, ...] = ()
    offline_replicas: tuple[OfflineReplica, ...] = ()
    rack_violations: tuple[RackViolation, ...] = ()
    isr_shrinks: tuple[IsrShrink, ...] = ()
    sources: tuple[Source, ...] = ()


ROWS: dict[str, type] = {
    "partition_states": PartitionState,
    "brokers": BrokerLife,
    "offline_replicas": OfflineReplica,
    "rack_violations": RackViolation,
    "isr_shrinks": IsrShrink,
    "sources": Source,
}
