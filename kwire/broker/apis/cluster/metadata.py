"""Metadata: brokers, topics and partitions; missing topics may be created. Also TopicMetadata of the draft KIP-36."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from .... import messages
from ....errors.refused import Refused
from ....values import AclOperation, ErrorCode, ResourceType
from ...api import ServedApi
from ...controller.partition import Partition
from ...controller.topic import Topic
from ...controller.topic_names import INTERNAL, check_name
from ...request_context import RequestContext
from ...security.api_permissions import CLUSTER_NAME, UNASKED, operations

FIRST_WITH_IDS = 12  # the first version of Metadata that finds topics by id (KIP-516; v10 and v11 only have the field)
KIP_36 = "KIP-36"  # the profile that serves it


def metadata(request: RequestContext[messages.MetadataRequest]) -> messages.MetadataResponse:
    """Handle Metadata."""
    # Kafka: KafkaApis.handleTopicMetadataRequest
    response = messages.MetadataResponse
    # KafkaApis.handleTopicMetadataRequest: v10 and v11 have ids, but cannot be asked by them
    topics = request.message.topics or ()
    if request.version < FIRST_WITH_IDS and any(row.name is None or any(row.topic_id) for row in topics):
        return request.failed(ErrorCode.INVALID_REQUEST)
    if any(row.name is None and not any(row.topic_id) for row in topics):  # Kafka fails at such a row
        return request.failed(ErrorCode.UNKNOWN_SERVER_ERROR)
    controller = request.cluster.controller
    brokers = tuple(
        response.MetadataResponseBroker(node_id=broker.node_id, host=broker.host, port=broker.port, rack=broker.rack)
        for broker in controller.brokers()
    )
    return response(
        brokers=brokers,
        cluster_id=request.cluster.cluster_id,
        controller_id=controller.controller_id,
        topics=tuple(_topics(request)),
        cluster_authorized_operations=operations(request.allows, ResourceType.CLUSTER, CLUSTER_NAME)
        if request.message.include_cluster_authorized_operations
        else UNASKED,
    )


def topic_metadata(request: RequestContext[Any]) -> Any:
    """Handle TopicMetadata v1 as proposed by KIP-36: Metadata v0 with racks. An empty list of topics requests all
    topics."""
    rows = tuple(messages.MetadataRequest.MetadataRequestTopic(name=name) for name in request.message.topics)
    answer = metadata(replace(request, message=messages.MetadataRequest(topics=rows), version=0))
    response: Any = getattr(messages, KIP_36).TopicMetadataResponse
    brokers = (
        response.BrokerEndPoint(broker_id=broker.node_id, host=broker.host, port=broker.port, rack=broker.rack)
        for broker in answer.brokers
    )
    topics = []
    for topic in answer.topics:
        parts = tuple(
            response.PartitionMetadata(
                error_code=partition.error_code,
                partition_id=partition.partition_index,
                leader=partition.leader_id,
                replicas=partition.replica_nodes,
                isr=partition.isr_nodes,
            )
            for partition in topic.partitions
        )
        row = response.TopicMetadata
        topics.append(row(error_code=topic.error_code, topic=topic.name, partitions_meta_data=parts))
    return response(broker_end_points=tuple(brokers), topics_meta_data=tuple(topics))


def _topics(request: RequestContext[messages.MetadataRequest]) -> list[messages.MetadataResponse.MetadataResponseTopic]:
    topics = request.message.topics
    if topics is None or (request.version == 0 and not topics):
        return [_topic(request, topic) for topic in list_visible_topics(request)]
    unique = {(row.name, bytes(row.topic_id)): row for row in topics}
    return [_describe_topic(request, row) for row in unique.values()]


def list_visible_topics(
    request: RequestContext[messages.DescribeTopicPartitionsRequest | messages.MetadataRequest],
) -> list[Topic]:
    """Return the topics that the principal may describe."""
    topics = request.cluster.controller.topics.values()
    return [topic for topic in topics if request.allows(AclOperation.DESCRIBE, ResourceType.TOPIC, topic.name)]


def _describe_topic(
    request: RequestContext[messages.MetadataRequest], row: messages.MetadataRequest.MetadataRequestTopic
) -> messages.MetadataResponse.MetadataResponseTopic:
    controller = request.cluster.controller
    is_by_id = any(row.topic_id)  # which then counts, whatever the name is
    topic = controller.find(None if is_by_id else row.name, row.topic_id)
    failure = messages.MetadataResponse.MetadataResponseTopic
    if topic is not None:
        if request.error(topic.name) == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            # Kafka discloses neither the id of a name nor the name of an id (KafkaApis.handleTopicMetadataRequest)
            topic_id = row.topic_id if row.name is None else bytes(16)
            return failure(name=row.name, topic_id=topic_id, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        return _topic(request, topic)
    if row.name is None or is_by_id:
        return failure(name=None, topic_id=row.topic_id, error_code=ErrorCode.UNKNOWN_TOPIC_ID)
    if code := request.error(row.name) or _creation_error(request, row.name):
        return failure(name=row.name, error_code=code)
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    try:
        check_name(row.name, controller.topics)
        if _creates(request):
            topic = controller.create(row.name, controller.place(-1, -1, unasked=True))
            # Kafka: AutoTopicCreationManager lets the controller create it, and answers before it is there
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return (
                failure(name=row.name, error_code=code)
                if request.cluster.settings.realistic
                else _topic(request, topic)
            )
    except Refused as error:
        code = error.error_code
    return failure(name=row.name, error_code=code)


def _creates(request: RequestContext[messages.MetadataRequest]) -> bool:
    settings = request.cluster.settings
    return bool(request.message.allow_auto_topic_creation and settings.auto_create_topics and not settings.read_only)


def _creation_error(request: RequestContext[messages.MetadataRequest], name: str) -> int:
    """Return the error code if a missing topic may not be created by the principal; 0 if it may."""
    return ErrorCode.NONE if request.may_create(name) or not _creates(request) else ErrorCode.TOPIC_AUTHORIZATION_FAILED


def _topic(
    request: RequestContext[messages.MetadataRequest], topic: Topic
) -> messages.MetadataResponse.MetadataResponseTopic:
    row = messages.MetadataResponse.MetadataResponseTopic
    named: dict[str, Any] = {"name": topic.name, "topic_id": topic.topic_id, "is_internal": topic.name in INTERNAL}
    if code := request.error(topic.name):
        return row(**named, error_code=code)
    if request.message.include_topic_authorized_operations:
        named["topic_authorized_operations"] = operations(request.allows, ResourceType.TOPIC, topic.name)
    return row(**named, partitions=tuple(_partition(request, partition) for partition in topic.partitions))


def _partition(
    request: RequestContext[messages.MetadataRequest], partition: Partition
) -> messages.MetadataResponse.MetadataResponsePartition:
    code = request.error(partition.topic, partition.index)
    return messages.MetadataResponse.MetadataResponsePartition(
        error_code=code or (ErrorCode.NONE if partition.leader >= 0 else ErrorCode.LEADER_NOT_AVAILABLE),
        partition_index=partition.index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=tuple(partition.replicas),
        isr_nodes=tuple(partition.isr),
        offline_replicas=partition.offline,
    )


APIS = {  # what each version has changed
    # 0: an empty list stands for all topics
    # 1: null stands for all topics; racks, the controller, and internal topics
    # 2: the cluster id (KIP-78)
    # 3: the throttle time (KIP-124)
    # 4: the client may forbid the creation of missing topics
    # 5: offline replicas (KIP-112)
    # 6: the response is sent before the client is throttled (KIP-219)
    # 7: leader epochs (KIP-320)
    # 8: authorized operations (KIP-430)
    # 9: flexible (KIP-482)
    # 10: topic ids in responses (KIP-516)
    # 11: no authorized operations of the cluster, which DescribeCluster has (KIP-700)
    # 12: topics are found by id, too (KIP-516)
    # 13: an error code for the whole request (KIP-1102)
    "Metadata": ServedApi(0, 13, metadata, finds_errors=True),
}

DRAFT_APIS = {
    "TopicMetadata": ServedApi(1, 1, topic_metadata, finds_errors=True),
}  # of a draft, served with its profile
