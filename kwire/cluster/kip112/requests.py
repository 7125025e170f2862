"""Requests of the controller and responses of brokers, in the layout of their version.

LeaderAndIsr, UpdateMetadata and StopReplica, as ControllerChannelManager creates them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ... import messages
from ..state import Broker
from .values import LeaderAndIsr, ReplicaAssignment, TopicPartition

SECURITY_PLAINTEXT = 0


def leader_and_isr_request(
    version: int,
    controller: tuple[int, int],
    broker_epoch: int,
    states: Mapping[TopicPartition, tuple[LeaderAndIsr, ReplicaAssignment, bool]],
    live: Iterable[Broker],
    topic_ids: Mapping[str, bytes],
) -> Any:
    """Return a LeaderAndIsrRequest for one broker.

    Args:
        version: the version of the request; version 0 has no `is_new_replica`.
        controller: id and epoch of the controller.
        broker_epoch: epoch of the broker.
        states: for each partition: state, replicas, and whether the broker's replica is new (KIP-112).
        live: the live brokers; those that lead a partition are listed in `live_leaders`.
        topic_ids: the ids of topics (KIP-516).
    """
    leaders = {state.leader for state, _, _ in states.values()}
    rows = {partition: _leader_and_isr_row(version, partition, *row) for partition, row in states.items()}
    topic = messages.LeaderAndIsrRequest.LeaderAndIsrTopicState
    live_leader = messages.LeaderAndIsrRequest.LeaderAndIsrLiveLeader
    return messages.LeaderAndIsrRequest(
        controller_id=controller[0],
        controller_epoch=controller[1],
        broker_epoch=broker_epoch,
        live_leaders=tuple(
            live_leader(broker_id=broker.node_id, host_name=broker.host, port=broker.port)
            for broker in live
            if broker.node_id in leaders
        ),
        **_by_topic(rows, version, 2, lambda name, partitions: topic(name, topic_ids.get(name, bytes(16)), partitions)),
    )


def _leader_and_isr_row(
    version: int, partition: TopicPartition, state: LeaderAndIsr, assignment: ReplicaAssignment, is_new: bool
) -> Any:
    return messages.LeaderAndIsrRequest.LeaderAndIsrPartitionState(
        topic_name=partition[0] if version < 2 else "",
        partition_index=partition[1],
        controller_epoch=state.controller_epoch,
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        isr=state.isr,
        partition_epoch=state.zk_version,
        replicas=assignment.replicas,
        adding_replicas=assignment.adding,
        removing_replicas=assignment.removing,
        is_new_replica=is_new,
    )


def update_metadata_request(
    version: int,
    controller: tuple[int, int],
    broker_epoch: int,
    states: Mapping[TopicPartition, tuple[LeaderAndIsr, ReplicaAssignment, tuple[int, ...]]],
    live: Iterable[Broker],
    topic_ids: Mapping[str, bytes],
) -> Any:
    """Return an UpdateMetadataRequest: for each partition its state, replicas and offline replicas (from version 4).

    For the arguments see `leader_and_isr_request`.
    """
    rows = {
        partition: messages.UpdateMetadataRequest.UpdateMetadataPartitionState(
            topic_name=partition[0] if version < 5 else "",
            partition_index=partition[1],
            controller_epoch=state.controller_epoch,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            isr=state.isr,
            zk_version=state.zk_version,
            replicas=assignment.replicas,
            offline_replicas=offline if version >= 4 else (),
        )
        for partition, (state, assignment, offline) in states.items()
    }
    topic = messages.UpdateMetadataRequest.UpdateMetadataTopicState
    return messages.UpdateMetadataRequest(
        controller_id=controller[0],
        controller_epoch=controller[1],
        broker_epoch=broker_epoch,
        live_brokers=tuple(_live_broker(broker, version) for broker in live),
        **_by_topic(rows, version, 5, lambda name, partitions: topic(name, topic_ids.get(name, bytes(16)), partitions)),
    )


def stop_replica_requests(
    version: int,
    controller: tuple[int, int],
    broker_epoch: int,
    partitions: Mapping[TopicPartition, tuple[bool, int]],
) -> list[Any]:
    """Return StopReplicaRequests with the deletion flag and the leader epoch of each partition (version 3).

    Below version 3, a request deletes either all or none of its partitions, so up to two requests are returned.
    """
    if version >= 3:
        return [_stop_with_epochs(controller, broker_epoch, partitions)]
    return [
        _stop(version, controller, broker_epoch, delete, matching)
        for delete in (False, True)
        if (matching := [partition for partition, (wanted, _) in partitions.items() if wanted is delete])
    ]


def _stop_with_epochs(
    controller: tuple[int, int], broker_epoch: int, partitions: Mapping[TopicPartition, tuple[bool, int]]
) -> Any:
    state = messages.StopReplicaRequest.StopReplicaPartitionState
    rows = {partition: state(partition[1], epoch, delete) for partition, (delete, epoch) in partitions.items()}
    grouped = _by_topic(
        rows, 3, 3, lambda name, partitions: messages.StopReplicaRequest.StopReplicaTopicState(name, partitions)
    )
    return messages.StopReplicaRequest(
        controller_id=controller[0], controller_epoch=controller[1], broker_epoch=broker_epoch, **grouped
    )


def _stop(
    version: int, controller: tuple[int, int], broker_epoch: int, delete: bool, partitions: list[TopicPartition]
) -> Any:
    ungrouped = tuple(messages.StopReplicaRequest.StopReplicaPartitionV0(*partition) for partition in partitions)
    indexes: dict[str, list[int]] = {}
    for name, index in partitions:
        indexes.setdefault(name, []).append(index)
    topics = tuple(
        messages.StopReplicaRequest.StopReplicaTopicV1(name, tuple(numbers)) for name, numbers in indexes.items()
    )
    return messages.StopReplicaRequest(
        controller_id=controller[0],
        controller_epoch=controller[1],
        broker_epoch=broker_epoch,
        delete_partitions=delete,
        **({"ungrouped_partitions": ungrouped} if version == 0 else {"topics": topics}),
    )


def _by_topic(rows: Mapping[TopicPartition, Any], version: int, grouped_since: int, topic: Any) -> dict[str, Any]:
    if version < grouped_since:
        return {"ungrouped_partition_states": tuple(rows.values())}
    names: dict[str, list[Any]] = {}
    for (name, _), row in rows.items():
        names.setdefault(name, []).append(row)
    return {"topic_states": tuple(topic(name, tuple(rows_of_topic)) for name, rows_of_topic in names.items())}


def _live_broker(broker: Broker, version: int) -> Any:
    live = messages.UpdateMetadataRequest.UpdateMetadataBroker
    if version == 0:
        return live(id=broker.node_id, v0_host=broker.host, v0_port=broker.port)
    endpoint = messages.UpdateMetadataRequest.UpdateMetadataEndpoint(
        port=broker.port,
        host=broker.host,
        listener="PLAINTEXT" if version >= 3 else "",
        security_protocol=SECURITY_PLAINTEXT,
    )
    return live(id=broker.node_id, endpoints=(endpoint,), rack=broker.rack if version >= 2 else None)


def leader_and_isr_response(
    version: int, error_code: int, errors: Mapping[TopicPartition, int], topic_ids: Mapping[str, bytes]
) -> Any:
    """Return a LeaderAndIsrResponse.

    It has one error for the whole request, or one per partition (KIP-112: 56 for a failed directory).
    """
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
        topics=tuple(
            topic(topic_ids.get(name, bytes(16)), tuple(rows_of_topic)) for name, rows_of_topic in topics.items()
        ),
    )


def stop_replica_response(error_code: int, errors: Mapping[TopicPartition, int]) -> Any:
    """Return a StopReplicaResponse."""
    row = messages.StopReplicaResponse.StopReplicaPartitionError
    return messages.StopReplicaResponse(
        error_code=error_code, partition_errors=tuple(row(name, index, code) for (name, index), code in errors.items())
    )
