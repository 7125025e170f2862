"""The partitions in requests of the controller and in their responses, in any version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..state import NO_EPOCH


def partition_states(request: Any) -> Iterator[tuple[tuple[str, int], Any]]:
    """Yield the partition states in a LeaderAndIsr or UpdateMetadata request of any version."""
    for one in request.ungrouped_partition_states:
        yield (one.topic_name, one.partition_index), one
    for topic in request.topic_states:
        for one in topic.partition_states:
            yield (topic.topic_name, one.partition_index), one


def topic_ids_in(request: Any) -> dict[str, bytes]:
    """Return the topic ids in a LeaderAndIsr or UpdateMetadata request."""
    return {topic.topic_name: bytes(topic.topic_id) for topic in request.topic_states}


def stopped_partitions(request: Any) -> Iterator[tuple[tuple[str, int], bool, int]]:
    """Yield the partitions in a StopReplica request, whether to delete each, and its leader epoch (-1: unknown)."""
    for one in request.ungrouped_partitions:
        yield (one.topic_name, one.partition_index), request.delete_partitions, NO_EPOCH
    for topic in request.topics:
        for index in topic.partition_indexes:
            yield (topic.name, index), request.delete_partitions, NO_EPOCH
    for topic in request.topic_states:
        for one in topic.partition_states:
            yield (topic.topic_name, one.partition_index), one.delete_partition, one.leader_epoch


def partition_errors(response: Any, names: Mapping[bytes, str]) -> dict[tuple[str, int], int]:
    """Return the error of each partition in a response; `names` maps topic ids to names."""
    errors = {(one.topic_name, one.partition_index): one.error_code for one in response.partition_errors}
    for topic in getattr(response, "topics", ()):
        for one in topic.partition_errors:
            errors[names.get(bytes(topic.topic_id), ""), one.partition_index] = one.error_code
    return errors
