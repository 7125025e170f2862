"""The brokers' answers to the controller, made and read in the form their version has.

As `requests`: knows the fields of messages; decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import messages
from .values import TopicPartition


def leader_and_isr_response(
    version: int, error_code: int, errors: Mapping[TopicPartition, int], topic_ids: Mapping[str, bytes]
) -> Any:
    """Return a LeaderAndIsrResponse: an error for all, or one per partition (KIP-112: 56 for a failed directory)."""
    row = messages.LeaderAndIsrResponse.LeaderAndIsrPartitionError
    if version < 5:
        rows = tuple(row(name, index, code) for (name, index), code in errors.items())
        return messages.LeaderAndIsrResponse(error_code=error_code, partition_errors=rows)
    topics: dict[str, list[Any]] = {}
    for (name, index), code in errors.items():
        topics.setdefault(name, []).append(row("", index, code))
    topic = messages.LeaderAndIsrResponse.LeaderAndIsrTopicError
    return messages.LeaderAndIsrResponse(
        error_code=error_code,
        topics=tuple(topic(topic_ids.get(name, bytes(16)), tuple(found)) for name, found in topics.items()),
    )


def stop_replica_response(error_code: int, errors: Mapping[TopicPartition, int]) -> Any:
    """Return a StopReplicaResponse."""
    row = messages.StopReplicaResponse.StopReplicaPartitionError
    return messages.StopReplicaResponse(
        error_code=error_code, partition_errors=tuple(row(name, index, code) for (name, index), code in errors.items())
    )


def partition_errors(response: Any, names: Mapping[bytes, str]) -> dict[TopicPartition, int]:
    """Return the error of each partition in an answer; `names` are those of topic ids."""
    errors = {(one.topic_name, one.partition_index): one.error_code for one in response.partition_errors}
    for topic in getattr(response, "topics", ()):
        for one in topic.partition_errors:
            errors[names.get(bytes(topic.topic_id), ""), one.partition_index] = one.error_code
    return errors
