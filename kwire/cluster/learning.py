"""What the messages of brokers say of a cluster, written into its state; records of the metadata log too, of which
`metadata` tells. Knows messages by their attributes.

The last word goes: a message that lists all live brokers replaces them, a partition is as its newest message has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from . import metadata
from .state import Broker, ClusterState, Partition

UNKNOWN_TOPIC = 3
DELETED = -2  # the leader of a partition that is being deleted
# The first version that lists offline replicas (KIP-112).
OFFLINE_SINCE = {"MetadataResponse": 5, "UpdateMetadataRequest": 4, "DescribeTopicPartitionsResponse": 0}


def learn(state: ClusterState, message: Any, version: int) -> bool:
    """Write into a state what a message says.

    Args:
        state: is changed.
        message: any decoded message.
        version: the version of its body, which decides what it could say.

    Returns:
        Whether the message is one that tells of the cluster.

    >>> from kwire import messages
    >>> state = ClusterState()
    >>> learn(state, messages.UpdateMetadataRequest(controller_id=7), 4), state.controller_id
    (True, 7)
    """
    lesson = LESSONS.get(type(message).__name__)
    if lesson is None or (getattr(message, "error_code", None) and not message.brokers):
        return False
    lesson(state, message, version)
    return True


def _metadata(state: ClusterState, message: Any, version: int) -> None:
    _list_brokers(state, ((one.node_id, one.host, one.port, one.rack) for one in message.brokers))
    state.cluster_id = message.cluster_id or state.cluster_id
    if version >= 1:
        state.controller_id = message.controller_id
    _topics(state, message, version)


def _topics(state: ClusterState, message: Any, version: int) -> None:
    for topic in message.topics:
        if topic.error_code == UNKNOWN_TOPIC and topic.name is not None:
            state.drop(topic.name)
        for one in topic.partitions:
            name = topic.name or topic.topic_id.hex()
            offline = _offline(message, one, version)
            state.put(
                Partition(
                    name,
                    one.partition_index,
                    one.leader_id,
                    one.replica_nodes,
                    one.isr_nodes,
                    offline,
                    one.leader_epoch,
                )
            )


def _update_metadata(state: ClusterState, message: Any, version: int) -> None:
    state.controller_id = message.controller_id
    _list_brokers(state, ((one.id, *_address(one, version), one.rack) for one in message.live_brokers))
    _states(state, message, version)


def _leader_and_isr(state: ClusterState, message: Any, version: int) -> None:
    state.controller_id = message.controller_id
    _states(state, message, version)


def _states(state: ClusterState, message: Any, version: int) -> None:
    ungrouped = ((one.topic_name, one) for one in message.ungrouped_partition_states)
    grouped = ((topic.topic_name, one) for topic in message.topic_states for one in topic.partition_states)
    for name, one in (*ungrouped, *grouped):
        if one.leader == DELETED:
            state.drop(name, one.partition_index)
            continue
        offline = _offline(message, one, version)
        state.put(Partition(name, one.partition_index, one.leader, one.replicas, one.isr, offline, one.leader_epoch))


def _describe_cluster(state: ClusterState, message: Any, version: int) -> None:
    if version >= 1 and message.endpoint_type != 1:  # KIP-919: these are controllers
        state.controller_id = message.controller_id
        return
    fenced = {one.broker_id for one in message.brokers if one.is_fenced}
    _list_brokers(state, ((one.broker_id, one.host, one.port, one.rack) for one in message.brokers), fenced)
    state.cluster_id, state.controller_id = message.cluster_id, message.controller_id


def _recorded(
    lesson: Callable[[ClusterState, Any], None],
) -> Callable[[ClusterState, Any, int], None]:
    """Return a lesson of the metadata log, whose records say the same in every version."""
    return lambda state, record, version: lesson(state, record)


LESSONS: dict[str, Callable[[ClusterState, Any, int], None]] = {
    "MetadataResponse": _metadata,
    "UpdateMetadataRequest": _update_metadata,
    "LeaderAndIsrRequest": _leader_and_isr,
    "DescribeClusterResponse": _describe_cluster,
    "DescribeTopicPartitionsResponse": _topics,
    **{name: _recorded(lesson) for name, lesson in metadata.LESSONS.items()},
}


def _list_brokers(
    state: ClusterState,
    rows: Iterator[tuple[int, str, int, str | None]],
    fenced: set[int] | frozenset[int] = frozenset(),
) -> None:
    brokers = [Broker(node_id, host, port, rack or None, node_id in fenced) for node_id, host, port, rack in rows]
    if brokers:
        state.brokers = {broker.node_id: broker for broker in brokers}


def _address(broker: Any, version: int) -> tuple[str, int]:
    if version == 0:
        return broker.v0_host, broker.v0_port
    first = broker.endpoints[0] if broker.endpoints else None
    return (first.host, first.port) if first else ("", -1)


def _offline(message: Any, partition: Any, version: int) -> tuple[int, ...] | None:
    since = OFFLINE_SINCE.get(type(message).__name__)
    return tuple(partition.offline_replicas) if since is not None and version >= since else None
