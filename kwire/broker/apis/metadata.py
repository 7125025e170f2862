"""Metadata: brokers with their racks, topics with leaders, ISR and offline replicas; creates topics on request."""

from __future__ import annotations

from typing import Any

from ... import messages
from ...errors.refused import Refused
from .. import codes
from ..cluster import RequestContext
from ..topics import INTERNAL, Partition, Topic, check_name


def metadata(request: RequestContext) -> Any:
    """Answer Metadata."""
    response = messages.MetadataResponse
    controller = request.cluster.controller
    brokers = tuple(
        response.MetadataResponseBroker(node_id=one.node_id, host=one.host, port=one.port, rack=one.rack)
        for one in controller.brokers()
    )
    return response(
        brokers=brokers,
        cluster_id=request.cluster.cluster_id,
        controller_id=controller.controller_id,
        topics=tuple(_topics(request)),
    )


def _topics(request: RequestContext) -> list[Any]:
    asked = request.message.topics
    if asked is None or (request.version == 0 and not asked):
        return [_topic(request, topic) for topic in request.cluster.controller.topics.values()]
    return [_asked_topic(request, row) for row in asked]


def _asked_topic(request: RequestContext, row: Any) -> Any:
    controller = request.cluster.controller
    topic = controller.find(row.name, row.topic_id)
    if topic is not None:
        return _topic(request, topic)
    failure = messages.MetadataResponse.MetadataResponseTopic
    if row.name is None:
        return failure(name=None, topic_id=row.topic_id, error_code=codes.UNKNOWN_TOPIC_ID)
    code = codes.UNKNOWN_TOPIC_OR_PARTITION
    try:
        check_name(row.name, controller.topics)
        if request.message.allow_auto_topic_creation and request.cluster.settings.auto_create_topics:
            return _topic(request, controller.create(row.name, controller.place(-1, -1, unasked=True)))
    except Refused as error:
        code = error.error_code
    return failure(name=row.name, error_code=code)


def _topic(request: RequestContext, topic: Topic) -> Any:
    row = messages.MetadataResponse.MetadataResponseTopic
    named: dict[str, Any] = {"name": topic.name, "topic_id": topic.topic_id, "is_internal": topic.name in INTERNAL}
    if code := request.error(topic.name):
        return row(**named, error_code=code)
    return row(**named, partitions=tuple(_partition(request, one) for one in topic.partitions))


def _partition(request: RequestContext, partition: Partition) -> Any:
    code = request.error(partition.topic, partition.index)
    return messages.MetadataResponse.MetadataResponsePartition(
        error_code=code or (codes.NONE if partition.leader >= 0 else codes.LEADER_NOT_AVAILABLE),
        partition_index=partition.index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=tuple(partition.replicas),
        isr_nodes=tuple(partition.isr),
        offline_replicas=partition.offline,
    )
