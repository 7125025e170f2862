"""Converts responses of brokers to events: views of clients, new ISRs, reassignments.

Sources: KIP-112 (offline replicas), KIP-455 (reassignments), KIP-497 (AlterPartition), KIP-966 (ELR).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..state import NO_LEADER, ClusterState
from .draft_names import Body, offline_replicas_in
from .event import DELETED, Event, ReportedState, known_topic_id

UNKNOWN_TOPIC, LEADER_NOT_AVAILABLE, REPLICA_NOT_AVAILABLE, LISTENER_NOT_FOUND = 3, 5, 9, 72


def events_of_view(body: Body) -> Iterator[Event]:
    """Yield the events of a Metadata or DescribeTopicPartitions response: the view of one broker, for one client.

    A leader without the client's listener (error 72) is unknown. In versions without internal topics, the lists omit
    offline brokers.
    """
    for topic in body.message.topics:
        if topic.error_code == UNKNOWN_TOPIC and topic.name is not None:
            yield Event(topic.name, None, DELETED)
        for partition in topic.partitions:
            if partition.error_code in (0, LEADER_NOT_AVAILABLE, REPLICA_NOT_AVAILABLE, LISTENER_NOT_FOUND):
                name = topic.name or bytes(topic.topic_id).hex()
                yield Event(name, partition.partition_index, _state_in_view(body, partition, bytes(topic.topic_id)))


def _state_in_view(body: Body, partition: Any, topic_id: bytes) -> ReportedState:
    says_lists = "topics.is_internal" in body.fields or partition.error_code == 0
    # Before 2.4, brokers list no ISR if there is no leader, even if there is one.
    says_isr = says_lists and not (partition.error_code and not partition.isr_nodes and partition.leader_epoch < 0)
    leader = max(partition.leader_id, NO_LEADER)
    leaders = {0: leader, LEADER_NOT_AVAILABLE: NO_LEADER, REPLICA_NOT_AVAILABLE: leader}
    elr = getattr(partition, "eligible_leader_replicas", None)
    last_known = getattr(partition, "last_known_elr", None)
    return ReportedState(
        leaders.get(partition.error_code),
        partition.leader_epoch if partition.leader_epoch >= 0 else None,
        None,
        tuple(partition.isr_nodes) if says_isr else None,
        tuple(partition.replica_nodes) if says_lists else None,
        offline_replicas_in(body, partition),
        known_topic_id(topic_id),
        elr=None if elr is None else tuple(elr),
        last_known_elr=None if last_known is None else tuple(last_known),
    )


def events_of_leader(body: Body, names: Mapping[bytes, str]) -> Iterator[Event]:
    """Yield the events of an AlterPartition response: the controller's decision about a leader's new ISR (KIP-497)."""
    for topic in body.message.topics:
        topic_id = known_topic_id(bytes(topic.topic_id))
        name = topic.topic_name or names.get(topic_id or b"", "") or bytes(topic.topic_id).hex()
        for partition in topic.partitions:
            if not partition.error_code:
                epochs = partition.leader_epoch, partition.partition_epoch
                yield Event(
                    name,
                    partition.partition_index,
                    ReportedState(partition.leader_id, *epochs, tuple(partition.isr), topic_id=topic_id),
                )


def events_of_reassignments(body: Body, known: ClusterState) -> Iterator[Event]:
    """Yield the reassignments that a request starts, or that a response lists as in progress (KIP-455).

    Args:
        body: a request that was not refused, or a ListPartitionReassignments response.
        known: the replicas of partitions, which a request does not contain.
    """
    for topic in body.message.topics:
        for partition in topic.partitions:
            if hasattr(partition, "adding_replicas"):
                lists = tuple(partition.replicas), tuple(partition.adding_replicas), tuple(partition.removing_replicas)
                state = ReportedState(None, replicas=lists[0], adding=lists[1], removing=lists[2])
                yield Event(topic.name, partition.partition_index, state)
                continue
            before = known.topics.get(topic.name, {}).get(partition.partition_index)
            if before is not None and partition.replicas is not None:
                target = tuple(partition.replicas)
                adding = tuple(node for node in target if node not in before.replicas)
                removing = tuple(node for node in before.replicas if node not in target)
                yield Event(
                    topic.name, partition.partition_index, ReportedState(None, adding=adding, removing=removing)
                )
