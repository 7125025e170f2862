"""Converts LeaderAndIsr, UpdateMetadata and StopReplica requests to events of partitions.

Sources: KIP-112 (offline replicas), KIP-455 (reassignments), KIP-516 (topic ids).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..state import EPOCH_DURING_DELETE, LEADER_DURING_DELETE
from .draft_names import Body, offline_replicas_in
from .event import DELETION_BEGUN, Event, ReportedState, known_topic_id
from .partition_states import partition_states, stopped_partitions, topic_ids_in

FULL = 2  # the type of an UpdateMetadata request that lists all partitions


def events_of_controller(body: Body) -> Iterator[Event]:
    """Yield the events of a LeaderAndIsr, UpdateMetadata or StopReplica request."""
    message = body.message
    if type(message).__name__ == "StopReplicaRequest":
        for (topic, index), _, epoch in stopped_partitions(message):
            if epoch == EPOCH_DURING_DELETE:
                yield Event(topic, index, DELETION_BEGUN)
        return
    ids = topic_ids_in(message)
    is_view = type(message).__name__ == "UpdateMetadataRequest"  # with leader -2 for all topics that are being deleted
    for (topic, index), partition in partition_states(message):
        state = ReportedState(
            partition.leader,
            partition.leader_epoch,
            partition.zk_version if hasattr(partition, "zk_version") else partition.partition_epoch,
            tuple(partition.isr),
            tuple(partition.replicas),
            offline_replicas_in(body, partition),
            known_topic_id(ids.get(topic)),
            *_reassignment(body, partition),
        )
        if partition.leader == LEADER_DURING_DELETE:  # its epochs are those of a new partition
            state = DELETION_BEGUN._replace(
                replicas=state.replicas or None, offline=state.offline, topic_id=state.topic_id
            )
        elif is_view:  # Kafka: ControllerBrokerRequestBatch.addUpdateMetadataRequestForBrokers
            state = state._replace(is_deleting=False)
        yield Event(topic, index, state)


def _reassignment(body: Body, partition: Any) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    """Return the adding and removing replicas in a LeaderAndIsr request (KIP-455)."""
    has_lists = any(path.endswith("partition_states.adding_replicas") for path in body.fields)
    return (tuple(partition.adding_replicas), tuple(partition.removing_replicas)) if has_lists else (None, None)
