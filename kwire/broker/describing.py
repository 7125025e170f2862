"""Metadata: brokers with their racks, topics with their leaders and what is offline; topics made when asked for.
DescribeCluster: the brokers alone, on request those too that are at their end.
"""

from __future__ import annotations

from typing import Any

from .. import messages
from ..refusals import Refused
from ..values import EndpointType
from . import codes
from .asks import Ask
from .partitions import Partition
from .topics import INTERNAL, Topic, check_name


def metadata(ask: Ask) -> Any:
    """Answer Metadata."""
    response = messages.MetadataResponse
    controller = ask.cluster.controller
    brokers = tuple(
        response.MetadataResponseBroker(node_id=one.node_id, host=one.host, port=one.port, rack=one.rack)
        for one in controller.brokers()
    )
    return response(
        brokers=brokers,
        cluster_id=ask.cluster.cluster_id,
        controller_id=controller.controller_id,
        topics=tuple(_topics(ask)),
    )


def describe_cluster(ask: Ask) -> Any:
    """Answer DescribeCluster (KIP-700); there are no endpoints of controllers (KIP-919)."""
    response = messages.DescribeClusterResponse
    asked, controller = ask.message, ask.cluster.controller
    if asked.endpoint_type != EndpointType.BROKER:
        code = codes.UNSUPPORTED_ENDPOINT_TYPE
        if asked.endpoint_type == EndpointType.CONTROLLER:
            code = codes.MISMATCHED_ENDPOINT_TYPE
        return response(
            error_code=code, error_message="this is an endpoint of brokers", endpoint_type=asked.endpoint_type
        )
    nodes = [node for node in controller.nodes.values() if node.is_alive or asked.include_fenced_brokers]
    row = response.DescribeClusterBroker
    brokers = (
        row(broker_id=one.node_id, host=one.host, port=one.port, rack=one.rack, is_fenced=not one.is_alive)
        for one in nodes
    )
    return response(cluster_id=ask.cluster.cluster_id, controller_id=controller.controller_id, brokers=tuple(brokers))


def _topics(ask: Ask) -> list[Any]:
    asked = ask.message.topics
    if asked is None or (ask.version == 0 and not asked):
        return [_topic(topic) for topic in ask.cluster.controller.topics.values()]
    return [_asked_topic(ask, row) for row in asked]


def _asked_topic(ask: Ask, row: Any) -> Any:
    controller = ask.cluster.controller
    topic = controller.find(row.name, row.topic_id)
    if topic is not None:
        return _topic(topic)
    failure = messages.MetadataResponse.MetadataResponseTopic
    if row.name is None:
        return failure(name=None, topic_id=row.topic_id, error_code=codes.UNKNOWN_TOPIC_ID)
    code = codes.UNKNOWN_TOPIC_OR_PARTITION
    try:
        check_name(row.name, controller.topics)
        if ask.message.allow_auto_topic_creation and ask.cluster.settings.auto_create_topics:
            return _topic(controller.create(row.name, controller.place(-1, -1, unasked=True)))
    except Refused as error:
        code = error.error_code
    return failure(name=row.name, error_code=code)


def _topic(topic: Topic) -> Any:
    return messages.MetadataResponse.MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in INTERNAL,
        partitions=tuple(_partition(one) for one in topic.partitions),
    )


def _partition(partition: Partition) -> Any:
    return messages.MetadataResponse.MetadataResponsePartition(
        error_code=codes.NONE if partition.leader >= 0 else codes.LEADER_NOT_AVAILABLE,
        partition_index=partition.index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=tuple(partition.replicas),
        isr_nodes=tuple(partition.isr),
        offline_replicas=partition.offline,
    )
