"""The partitions in requests of the controller and in their responses, in any version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..state import NO_EPOCH


def partition_states(request: Any) -> Iterator[tuple[tuple[str, int], Any]]:
    """Yield the partition states in a LeaderAndIsr or UpdateMetadata request of any version."""
    for partition in request.ungrouped_partition_states:
        yield (partition.topic_name, partition.partition_index), partition
    for topic in request.topic_states:
        for partition in topic.partition_states:
            yield (topic.topic_name, partition.partition_index), partition


def topic_ids_in(request: Any) -> dict[str, bytes]:
    """Return the topic ids in a LeaderAndIsr or UpdateMetadata request."""
    return {topic.topic_name: bytes(topic.topic_id) for topic in request.topic_states}


def stopped_partitions(request: Any) -> Iterator[tuple[tuple[str, int], bool, int]]:
    """Yield the partitions in a StopReplica request, whether to delete each, and its leader epoch (-1: unknown)."""
    for partition in request.ungrouped_partitions:
        yield (partition.topic_name, partition.partition_index), request.delete_partitions, NO_EPOCH
    for topic in request.topics:
        for index in topic.partition_indexes:
            yield (topic.name, index), request.delete_partitions, NO_EPOCH
    for topic in request.topic_states:
        for partition in topic.partition_states:
            yield (topic.topic_name, partition.partition_index), partition.delete_partition, partition.leader_epoch


def partition_errors(response: Any, names: Mapping[bytes, str]) -> dict[tuple[str, int], int]:
    """Return the error of each partition in a response; `names` maps topic ids to names."""
    errors = {
        (partition.topic_name, partition.partition_index): partition.error_code
        for partition in response.partition_errors
    }
    for topic in getattr(response, "topics", ()):
        for partition in topic.partition_errors:
            errors[names.get(bytes(topic.topic_id), ""), partition.partition_index] = partition.error_code
    return errors
