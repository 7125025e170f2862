"""What the messages of brokers say of a cluster, written into its state; records of the metadata log too, of which
`metadata` tells. Knows messages by their attributes, and by the fields that their version carries (`bodies`), so that
drafts of KIPs are read as what Kafka released.

The last word goes: a message that lists all live brokers replaces them, a partition is as its newest message has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..codecs import Codec
from . import metadata_records as metadata
from .draft_fields import RELEASED, Body, body_of
from .state import Broker, ClusterState, Partition

UNKNOWN_TOPIC = 3
DELETED = -2  # the leader of a partition that is being deleted
# KIP-112: the paths of the lists of offline replicas, in the messages that have one.
OFFLINE = (
    "topics.partitions.offline_replicas",
    "ungrouped_partition_states.offline_replicas",
    "topic_states.partition_states.offline_replicas",
)


def learn(state: ClusterState, message: Any, codec: Codec | int) -> bool:
    """Write into a state what a message says.

    Args:
        state: is changed.
        message: any decoded message, a draft's too.
        codec: what decoded it, which decides what it can carry; of a released message its version is enough.

    Returns:
        Whether the message is one that tells of the cluster.

    >>> from kwire import messages
    >>> state = ClusterState()
    >>> learn(state, messages.UpdateMetadataRequest(controller_id=7), 4), state.controller_id
    (True, 7)
    """
    name = type(message).__name__
    if (record := metadata.LESSONS.get(name)) is not None:
        record(state, message)
        return True
    lesson = LESSONS.get(RELEASED.get(name, name))
    if lesson is None:
        return False
    body = body_of(message, codec)
    if getattr(body.message, "error_code", 0) and not body.message.brokers:
        return False
    lesson(state, body)
    return True


def _metadata(state: ClusterState, body: Body) -> None:
    message = body.message
    _list_brokers(state, ((one.node_id, one.host, one.port, one.rack) for one in message.brokers))
    state.cluster_id = message.cluster_id or state.cluster_id
    if "controller_id" in body.fields:
        state.controller_id = message.controller_id
    _topics(state, body)


def _topics(state: ClusterState, body: Body) -> None:
    for topic in body.message.topics:
        if topic.error_code == UNKNOWN_TOPIC and topic.name is not None:
            state.drop(topic.name)
        for one in topic.partitions:
            name = topic.name or topic.topic_id.hex()
            rest = one.replica_nodes, one.isr_nodes, offline_in(body, one), one.leader_epoch
            state.put(Partition(name, one.partition_index, one.leader_id, *rest))


def _update_metadata(state: ClusterState, body: Body) -> None:
    has_endpoints = "live_brokers.endpoints" in body.fields
    brokers = body.message.live_brokers
    _list_brokers(state, ((one.id, *_address(one, has_endpoints), one.rack) for one in brokers))
    _states(state, body)


def _states(state: ClusterState, body: Body) -> None:
    message = body.message
    state.controller_id = message.controller_id
    ungrouped = ((one.topic_name, one) for one in message.ungrouped_partition_states)
    grouped = ((topic.topic_name, one) for topic in message.topic_states for one in topic.partition_states)
    for name, one in (*ungrouped, *grouped):
        if one.leader == DELETED:
            state.drop(name, one.partition_index)
            continue
        offline = offline_in(body, one)
        state.put(Partition(name, one.partition_index, one.leader, one.replicas, one.isr, offline, one.leader_epoch))


def _describe_cluster(state: ClusterState, body: Body) -> None:
    message = body.message
    if message.endpoint_type != 1:  # KIP-919: these are controllers
        state.controller_id = message.controller_id
        return
    fenced = {one.broker_id for one in message.brokers if one.is_fenced}
    _list_brokers(state, ((one.broker_id, one.host, one.port, one.rack) for one in message.brokers), fenced)
    state.cluster_id, state.controller_id = message.cluster_id, message.controller_id


LESSONS: dict[str, Callable[[ClusterState, Body], None]] = {
    "MetadataResponse": _metadata,
    "UpdateMetadataRequest": _update_metadata,
    "LeaderAndIsrRequest": _states,
    "DescribeClusterResponse": _describe_cluster,
    "DescribeTopicPartitionsResponse": _topics,
}


def _list_brokers(
    state: ClusterState,
    rows: Iterator[tuple[int, str, int, str | None]],
    fenced: set[int] | frozenset[int] = frozenset(),
) -> None:
    brokers = [Broker(node_id, host, port, rack or None, node_id in fenced) for node_id, host, port, rack in rows]
    if brokers:
        state.brokers = {broker.node_id: broker for broker in brokers}


def _address(broker: Any, has_endpoints: bool) -> tuple[str, int]:
    if not has_endpoints:
        return broker.v0_host, broker.v0_port
    first = broker.endpoints[0] if broker.endpoints else None
    return (first.host, first.port) if first else ("", -1)


def offline_in(body: Body, partition: Any) -> tuple[int, ...] | None:
    """Return the offline replicas of a partition, in the order of the wire; None where its body cannot list them."""
    return tuple(partition.offline_replicas) if body.fields.intersection(OFFLINE) else None
