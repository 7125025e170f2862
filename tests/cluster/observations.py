"""Short ways to say what controllers, brokers and views say."""

from __future__ import annotations

from typing import Any

from kwire import messages
from kwire.cluster import Observation

Update, Leader, Metadata = messages.UpdateMetadataRequest, messages.LeaderAndIsrRequest, messages.MetadataResponse
Nodes = tuple[int, ...]


def update(
    time: float | None,
    to: int = 1,
    leader: int = 1,
    isr: Nodes = (1, 2),
    offline: Nodes = (),
    epochs: tuple[int, int] = (0, 0),
    *,
    term: int = 1,
    live: dict[int, str] | None = None,
    replicas: Nodes = (1, 2),
    topic_id: bytes = bytes(16),
    version: int = 8,
    number: int = 0,
    kind: int = 0,
) -> Observation:
    """An UpdateMetadata request about the partition t-0, or about brokers alone where there is no leader 0 to tell."""
    state = Update.UpdateMetadataPartitionState(
        topic_name="t" if version < 5 else "",
        partition_index=0,
        leader=leader,
        leader_epoch=epochs[0],
        isr=isr,
        zk_version=epochs[1],
        replicas=replicas,
        offline_replicas=offline,
    )
    topic = Update.UpdateMetadataTopicState(topic_name="t", topic_id=topic_id, partition_states=(state,))
    message = Update(
        controller_epoch=term,
        type=kind,
        live_brokers=tuple(broker(node_id, rack) for node_id, rack in (live or {}).items()),
        topic_states=(topic,) if version >= 5 else (),
        ungrouped_partition_states=(state,) if version < 5 else (),
    )
    return Observation(message, version, time, "c:1", f"b{to}:9", number)


def broker(node_id: int, rack: str | None) -> Any:
    endpoint = Update.UpdateMetadataEndpoint(host=f"b{node_id}", port=9, listener="L")
    return Update.UpdateMetadataBroker(id=node_id, endpoints=(endpoint,), rack=rack)


def brokers(time: float | None, live: dict[int, str], to: int = 1) -> Observation:
    """An UpdateMetadata request that lists brokers only."""
    message = Update(controller_epoch=1, live_brokers=tuple(broker(node_id, rack) for node_id, rack in live.items()))
    return Observation(message, 8, time, "c:1", f"b{to}:9")


def leader_and_isr(
    time: float | None, to: int = 1, leader: int = 1, isr: Nodes = (1, 2), epochs: tuple[int, int] = (0, 0), **more: Any
) -> Observation:
    """A LeaderAndIsr request about the partition t-0."""
    state = Leader.LeaderAndIsrPartitionState(
        partition_index=0,
        leader=leader,
        leader_epoch=epochs[0],
        isr=isr,
        partition_epoch=epochs[1],
        replicas=(1, 2),
    )
    topic = Leader.LeaderAndIsrTopicState(topic_name="t", topic_id=bytes([7] * 16), partition_states=(state,))
    message = Leader(controller_epoch=more.get("term", 1), topic_states=(topic,))
    return Observation(message, 7, time, "c:1", f"b{to}:9", more.get("number", 0))


def refusal(time: float | None, to: int = 1, error: int = 11, partition_error: int = 0, number: int = 0) -> Observation:
    """The answer to a LeaderAndIsr request about t-0."""
    kind = messages.LeaderAndIsrResponse
    errors = (kind.LeaderAndIsrPartitionError(partition_index=0, error_code=partition_error),)
    topics = (kind.LeaderAndIsrTopicError(topic_id=bytes([7] * 16), partition_errors=errors),)
    return Observation(kind(error_code=error, topics=topics), 7, time, "c:1", f"b{to}:9", number)


def view(
    time: float | None,
    of: int = 1,
    leader: int = 1,
    isr: Nodes = (1, 2),
    offline: Nodes = (),
    epoch: int = 0,
    *,
    live: tuple[int, ...] = (),
    error: int = 0,
    topic_error: int = 0,
    version: int = 12,
    topic_id: bytes = bytes(16),
) -> Observation:
    """A Metadata response about t-0."""
    one = Metadata.MetadataResponsePartition(
        partition_index=0,
        error_code=error,
        leader_id=leader,
        leader_epoch=epoch if version >= 7 else -1,
        isr_nodes=isr,
        replica_nodes=(1, 2),
        offline_replicas=offline,
    )
    found = () if topic_error else (one,)
    topic = Metadata.MetadataResponseTopic(name="t", topic_id=topic_id, error_code=topic_error, partitions=found)
    listed = tuple(Metadata.MetadataResponseBroker(node_id=node_id, host=f"b{node_id}", port=9) for node_id in live)
    return Observation(Metadata(brokers=listed, topics=(topic,)), version, time, "u:1", f"b{of}:9")
