"""A valid request of each api, whose odd variants are asked, with what must be there before."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import kwire

from .recorder import Case

M = kwire.messages
NOW = int(time.time() * 1000) - 60_000  # old records a real broker deletes


class Base(NamedTuple):
    """The versions that are asked, and what makes the request for a case."""

    versions: tuple[int, ...]
    make: Callable[[Case], Any]


def records(*values: bytes, **fields: Any) -> bytes:
    rows = [kwire.Record(place, NOW + place, b"k", value) for place, value in enumerate(values)]
    return kwire.build_batch(rows, **fields)


def with_topic(case: Case, partitions: int = 2, **configs: str) -> str:
    """Create the topic of a case, wait until it is led, and return its name."""
    row = M.CreateTopicsRequest.CreatableTopic
    own = tuple(M.CreateTopicsRequest.CreatableTopicConfig(name=name, value=value) for name, value in configs.items())
    topic = row(name=case.label, num_partitions=partitions, replication_factor=1, configs=own)
    case.prepare(M.CreateTopicsRequest(topics=(topic,), timeout_ms=10_000), 5)
    wanted = (M.MetadataRequest.MetadataRequestTopic(name=case.label),)

    def is_led(answer: Any) -> bool:
        (found,) = answer.topics
        return not found.error_code and all(part.leader_id >= 0 and not part.error_code for part in found.partitions)

    found = case.prepare(M.MetadataRequest(topics=wanted, allow_auto_topic_creation=False), 12, is_led)
    case.topic_id = found.topics[0].topic_id  # type: ignore[attr-defined]
    case.prepare(_offsets(case, -1), 7, lambda answer: not answer.topics[0].partitions[0].error_code)
    return case.label


def with_records(case: Case) -> str:
    """Create the topic of a case, with three records in partition 0."""
    name = with_topic(case)
    case.prepare(produce(name, records(b"a", b"b")), 9)
    case.prepare(produce(name, records(b"c")), 9)
    return name


def with_group(case: Case) -> str:
    """Find the coordinator of a group, and commit an offset."""
    with_topic(case)
    coordinator(case, 0)
    case.prepare(commit(case), 8, lambda answer: not answer.topics[0].partitions[0].error_code)
    return case.label


def coordinator(case: Case, kind: int) -> None:
    request = M.FindCoordinatorRequest(key_type=kind, coordinator_keys=(case.label,))
    case.prepare(request, 4, lambda answer: not answer.coordinators[0].error_code)


def produce(topic: str, data: bytes | None, acks: int = -1, transactional_id: str | None = None, index: int = 0) -> Any:
    request = M.ProduceRequest
    part = request.PartitionProduceData(index=index, records=data)
    rows = (request.TopicProduceData(name=topic, partition_data=(part,)),)
    return request(acks=acks, timeout_ms=5000, topic_data=rows, transactional_id=transactional_id)


def fetch(topic: str, offset: int = 0, **fields: Any) -> Any:
    request = M.FetchRequest
    part = request.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=10_000)
    part = kwire_replace(part, {name: fields.pop(name) for name in list(fields) if hasattr(part, name)})
    rows = (request.FetchTopic(topic=topic, partitions=(part,)),)
    return request(**{"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 10_000, "topics": rows, **fields})


def kwire_replace(value: Any, changes: Mapping[str, Any]) -> Any:
    return type(value)(**{name: getattr(value, name) for name in value.__struct_fields__} | dict(changes))


def commit(case: Case, **fields: Any) -> Any:
    request = M.OffsetCommitRequest
    part = request.OffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata="m")
    rows = (request.OffsetCommitRequestTopic(name=case.label, partitions=(part,)),)
    return request(**{"group_id": case.label, "topics": rows, **fields})


def _offsets(case: Case, timestamp: int) -> Any:
    request = M.ListOffsetsRequest
    part = request.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    return request(topics=(request.ListOffsetsTopic(name=case.label, partitions=(part,)),))


def list_offsets(case: Case) -> Any:
    with_records(case)
    return _offsets(case, NOW + 1)


def epoch_end(case: Case) -> Any:
    request = M.OffsetForLeaderEpochRequest
    part = request.OffsetForLeaderPartition(partition=0, current_leader_epoch=0, leader_epoch=0)
    return request(topics=(request.OffsetForLeaderTopic(topic=with_records(case), partitions=(part,)),))


def delete_records(case: Case) -> Any:
    request = M.DeleteRecordsRequest
    part = request.DeleteRecordsPartition(partition_index=0, offset=1)
    return request(topics=(request.DeleteRecordsTopic(name=with_records(case), partitions=(part,)),), timeout_ms=5000)


def create_topics(case: Case) -> Any:
    request = M.CreateTopicsRequest
    config = request.CreatableTopicConfig(name="segment.ms", value="5000")
    row = request.CreatableTopic(name=case.label, num_partitions=2, replication_factor=1, configs=(config,))
    return request(topics=(row,), timeout_ms=5000)


def create_assigned(case: Case) -> Any:
    request = M.CreateTopicsRequest
    rows = tuple(request.CreatableReplicaAssignment(partition_index=index, broker_ids=(1,)) for index in range(2))
    row = request.CreatableTopic(name=case.label, num_partitions=-1, replication_factor=-1, assignments=rows)
    return request(topics=(row,), timeout_ms=5000)


def delete_topics(case: Case) -> Any:
    row = M.DeleteTopicsRequest.DeleteTopicState(name=with_topic(case))
    return M.DeleteTopicsRequest(topics=(row,), timeout_ms=5000)


def create_partitions(case: Case) -> Any:
    request = M.CreatePartitionsRequest
    row = request.CreatePartitionsTopic(name=with_topic(case), count=3, assignments=None)
    return request(topics=(row,), timeout_ms=5000)


def metadata(case: Case) -> Any:
    row = M.MetadataRequest.MetadataRequestTopic(name=with_topic(case))
    return M.MetadataRequest(topics=(row,), allow_auto_topic_creation=False)


def describe_topic_partitions(case: Case) -> Any:
    request = M.DescribeTopicPartitionsRequest
    return request(topics=(request.TopicRequest(name=with_topic(case)),), response_partition_limit=1)


def describe_configs(case: Case) -> Any:
    request = M.DescribeConfigsRequest
    row = request.DescribeConfigsResource(
        resource_type=2, resource_name=with_topic(case), configuration_keys=("retention.bytes", "segment.ms")
    )
    return request(resources=(row,), include_synonyms=True)


def incremental_alter_configs(case: Case) -> Any:
    request = M.IncrementalAlterConfigsRequest
    config = request.AlterableConfig(name="flush.ms", config_operation=0, value="7")
    return request(
        resources=(request.AlterConfigsResource(resource_type=2, resource_name=with_topic(case), configs=(config,)),)
    )


def alter_configs(case: Case) -> Any:
    request = M.AlterConfigsRequest
    config = request.AlterableConfig(name="flush.ms", value="7")
    return request(
        resources=(request.AlterConfigsResource(resource_type=2, resource_name=with_topic(case), configs=(config,)),)
    )


def elect(case: Case) -> Any:
    row = M.ElectLeadersRequest.TopicPartitions(topic=with_topic(case), partitions=(0,))
    return M.ElectLeadersRequest(election_type=0, topic_partitions=(row,), timeout_ms=5000)


def reassign(case: Case) -> Any:
    request = M.AlterPartitionReassignmentsRequest
    part = request.ReassignablePartition(partition_index=0, replicas=(1,))
    row = request.ReassignableTopic(name=with_topic(case), partitions=(part,))
    return request(topics=(row,), timeout_ms=5000)


def list_reassignments(case: Case) -> Any:
    request = M.ListPartitionReassignmentsRequest
    row = request.ListPartitionReassignmentsTopics(name=with_topic(case), partition_indexes=(0,))
    return request(topics=(row,), timeout_ms=5000)


def find_coordinator(case: Case) -> Any:
    coordinator(case, 0)
    return M.FindCoordinatorRequest(key_type=0, coordinator_keys=(case.label,))


def join_group(case: Case) -> Any:
    coordinator(case, 0)
    row = M.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"m")
    return M.JoinGroupRequest(
        group_id=case.label,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=(row,),
    )


def offset_commit(case: Case) -> Any:
    with_group(case)
    return commit(case)


def offset_fetch(case: Case) -> Any:
    with_group(case)
    request = M.OffsetFetchRequest
    row = request.OffsetFetchRequestTopics(name=case.label, partition_indexes=(0,))
    return request(groups=(request.OffsetFetchRequestGroup(group_id=case.label, topics=(row,)),))


def offset_delete(case: Case) -> Any:
    with_group(case)
    request = M.OffsetDeleteRequest
    part = request.OffsetDeleteRequestPartition(partition_index=0)
    row = request.OffsetDeleteRequestTopic(name=case.label, partitions=(part,))
    return request(group_id=case.label, topics=(row,))


def init_producer_id(case: Case) -> Any:
    coordinator(case, 1)
    case.prepare(
        M.InitProducerIdRequest(transactional_id=case.label, transaction_timeout_ms=60_000),
        4,
        lambda answer: not answer.error_code,
    )
    return M.InitProducerIdRequest(transactional_id=case.label, transaction_timeout_ms=60_000)


def end_txn(case: Case) -> Any:
    init_producer_id(case)
    return M.EndTxnRequest(transactional_id=case.label, producer_id=10**9, producer_epoch=0, committed=True)


def consumer_heartbeat(case: Case) -> Any:
    with_group(case)
    return M.ConsumerGroupHeartbeatRequest(
        group_id=f"{case.label}-c",
        member_id="AAAAAAAAAAAAAAAAAAAAAA",
        member_epoch=0,
        rebalance_timeout_ms=10_000,
        subscribed_topic_names=(case.label,),
        topic_partitions=(),
    )


def alter_quotas(case: Case) -> Any:
    request = M.AlterClientQuotasRequest
    entity = request.EntityData(entity_type="client-id", entity_name=case.label)
    op = request.OpData(key="producer_byte_rate", value=1e6)
    return request(entries=(request.EntryData(entity=(entity,), ops=(op,)),))


def describe_quotas(case: Case) -> Any:
    component = M.DescribeClientQuotasRequest.ComponentData(entity_type="client-id", match_type=0, match=case.label)
    return M.DescribeClientQuotasRequest(components=(component,))


def list_groups(case: Case) -> Any:
    return M.ListGroupsRequest(states_filter=("Dead",))


def describe_groups(case: Case) -> Any:
    with_group(case)
    return M.DescribeGroupsRequest(groups=(case.label,))


def list_transactions(case: Case) -> Any:
    return M.ListTransactionsRequest(state_filters=("Dead",))


def describe_transactions(case: Case) -> Any:
    init_producer_id(case)
    return M.DescribeTransactionsRequest(transactional_ids=(case.label,))


def describe_producers(case: Case) -> Any:
    row = M.DescribeProducersRequest.TopicRequest(name=with_records(case), partition_indexes=(0,))
    return M.DescribeProducersRequest(topics=(row,))


def list_config_resources(case: Case) -> Any:
    return M.ListConfigResourcesRequest(resource_types=(16,))


def describe_cluster(case: Case) -> Any:
    return M.DescribeClusterRequest()


def api_versions(case: Case) -> Any:
    return M.ApiVersionsRequest(client_software_name="conformance", client_software_version="1")


def leave_group(case: Case) -> Any:
    with_group(case)
    member = M.LeaveGroupRequest.MemberIdentity(member_id="nobody")
    return M.LeaveGroupRequest(group_id=case.label, members=(member,))


def heartbeat(case: Case) -> Any:
    with_group(case)
    return M.HeartbeatRequest(group_id=case.label, generation_id=1, member_id="nobody")


def sync_group(case: Case) -> Any:
    with_group(case)
    return M.SyncGroupRequest(group_id=case.label, generation_id=1, member_id="nobody")


def delete_groups(case: Case) -> Any:
    with_group(case)
    return M.DeleteGroupsRequest(groups_names=(case.label,))


def produced(case: Case) -> Any:
    return produce(with_topic(case), records(b"a"))


def fetched(case: Case) -> Any:
    return fetch(with_records(case))


BASES: Mapping[str, Base] = {
    "ApiVersions": Base((0, 3, 4), api_versions),
    "Produce": Base((3, 7, 9, 12), produced),
    "Fetch": Base((4, 9, 12), fetched),
    "ListOffsets": Base((1, 4, 7, 10), list_offsets),
    "OffsetForLeaderEpoch": Base((2, 4), epoch_end),
    "DeleteRecords": Base((0, 2), delete_records),
    "CreateTopics": Base((2, 5, 7), create_topics),
    "CreateTopics assigned": Base((7,), create_assigned),
    "DeleteTopics": Base((6,), delete_topics),
    "CreatePartitions": Base((0, 3), create_partitions),
    "Metadata": Base((4, 12), metadata),
    "DescribeTopicPartitions": Base((0,), describe_topic_partitions),
    "DescribeConfigs": Base((1, 4), describe_configs),
    "IncrementalAlterConfigs": Base((0, 1), incremental_alter_configs),
    "AlterConfigs": Base((0, 2), alter_configs),
    "ElectLeaders": Base((1, 2), elect),
    "AlterPartitionReassignments": Base((0,), reassign),
    "ListPartitionReassignments": Base((0,), list_reassignments),
    "FindCoordinator": Base((4, 6), find_coordinator),
    "JoinGroup": Base((3, 5, 9), join_group),
    "SyncGroup": Base((3, 5), sync_group),
    "Heartbeat": Base((3, 4), heartbeat),
    "LeaveGroup": Base((3, 5), leave_group),
    "DeleteGroups": Base((0, 2), delete_groups),
    "DescribeGroups": Base((0, 5), describe_groups),
    "ListGroups": Base((4, 5), list_groups),
    "OffsetCommit": Base((2, 8, 9), offset_commit),
    "OffsetFetch": Base((8, 9), offset_fetch),
    "OffsetDelete": Base((0,), offset_delete),
    "InitProducerId": Base((0, 4, 5), init_producer_id),
    "EndTxn": Base((3, 5), end_txn),
    "ConsumerGroupHeartbeat": Base((0, 1), consumer_heartbeat),
    "AlterClientQuotas": Base((1,), alter_quotas),
    "DescribeClientQuotas": Base((1,), describe_quotas),
    "DescribeProducers": Base((0,), describe_producers),
    "DescribeTransactions": Base((0,), describe_transactions),
    "ListTransactions": Base((0, 1), list_transactions),
    "ListConfigResources": Base((1,), list_config_resources),
    "DescribeCluster": Base((0, 2), describe_cluster),
}
