"""Cluster metadata: ApiVersions, Metadata, DescribeTopicPartitions, DescribeCluster (KIP-700), DescribeQuorum (KIP-595)
and UpdateFeatures. Brokers and voters cannot be added or removed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ... import messages
from ...errors.refused import Refused
from ...values import AclOperation, EndpointType, ErrorCode, FeatureUpgradeType, ResourceType
from ..authentication_and_acls import CLUSTER_NAME, UNASKED, operations
from ..cluster_state import FEATURES, Api, Cluster, Feature, RequestContext
from ..partition_leader_and_isr import INTERNAL, RESERVED, Partition, Topic, check_name

FIRST_WITH_SOFTWARE = 3  # the first version of ApiVersions with the client's software name
FIRST_WITH_ZERO = 4  # the first version for clients that accept features whose lowest level is 0 (KIP-1022)
FIRST_WITH_KINDS, LAST_WITH_RESULTS = 1, 1  # versions of UpdateFeatures
FIRST_WITH_NODES = 2  # the first version of DescribeQuorum with the addresses of nodes (KIP-853)
FIRST_WITH_IDS = 12  # the first version of Metadata that finds topics by id (KIP-516; v10 and v11 only have the field)
DOWNGRADES = (FeatureUpgradeType.SAFE_DOWNGRADE, FeatureUpgradeType.UNSAFE_DOWNGRADE)
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")


def api_versions(request: RequestContext) -> Any:
    """Handle ApiVersions. Software names must consist of letters, digits, dots and hyphens (KIP-511)."""
    names = request.message.client_software_name, request.message.client_software_version
    if request.version >= FIRST_WITH_SOFTWARE and not all(map(_SOFTWARE.fullmatch, names)):
        return messages.ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    cluster = request.cluster
    features = features_of(cluster)
    if request.version < FIRST_WITH_ZERO:
        features = {name: one for name, one in features.items() if one.first}
    return versions_response(cluster.apis, 0, features, cluster.feature_levels, cluster.controller.journals.end)


def features_of(cluster: Cluster) -> Mapping[str, Feature]:
    """Return the features that the brokers support: none if they serve the apis of a release before Kafka 4.0."""
    return {name: one for name, one in FEATURES.items() if one.api in cluster.table}


def versions_response(
    apis: Mapping[int, Api],
    error_code: int = 0,
    features: Mapping[str, Feature] | None = None,
    levels: Mapping[str, int] | None = None,
    epoch: int = -1,
) -> Any:
    """Return the ApiVersions response with apis and, except in old versions, features.

    Args:
        apis: the served apis by key.
        error_code: the error code of the response.
        features: the features that the brokers support.
        levels: the finalized levels of features.
        epoch: the epoch of the finalized levels.
    """
    response = messages.ApiVersionsResponse
    advertised = sorted((key, api) for key, api in apis.items() if api.is_advertised)
    rows = (response.ApiVersion(api_key=key, min_version=api.first, max_version=api.last) for key, api in advertised)
    supported, finalized = response.SupportedFeatureKey, response.FinalizedFeatureKey
    return response(
        error_code=error_code,
        api_keys=tuple(rows),
        supported_features=tuple(
            supported(name=name, min_version=one.first, max_version=one.last) for name, one in (features or {}).items()
        ),
        finalized_features_epoch=epoch,
        finalized_features=tuple(
            finalized(name=name, min_version_level=level, max_version_level=level)
            for name, level in (levels or {}).items()
        ),
    )


def update_features(request: RequestContext) -> Any:
    """Handle UpdateFeatures (KIP-584): update all feature levels, or none."""
    response, asked = messages.UpdateFeaturesResponse, request.message
    levels = dict(request.cluster.feature_levels)
    for update in asked.feature_updates:
        name, level = update.feature, update.max_version_level
        if problem := _feature_problem(request, update, levels.get(name, 0)):
            failed = "The update failed for all features since the following feature had an error"
            message = f"{failed}: Invalid update version {level} for feature {name}. {problem}"
            return response(error_code=ErrorCode.INVALID_UPDATE_VERSION, error_message=message)
        levels[name] = level
    if not asked.validate_only:
        request.cluster.feature_levels = {name: level for name, level in levels.items() if level}
    if request.version > LAST_WITH_RESULTS:
        return response(error_message=None)
    rows = (response.UpdatableFeatureResult(feature=one.feature, error_message="NONE") for one in asked.feature_updates)
    return response(error_message=None, results=tuple(rows))


def _feature_problem(request: RequestContext, update: Any, before: int) -> str:
    """Return why the level of a feature cannot be updated; the empty string if it can."""
    node_id, level = request.cluster.controller.controller_id, update.max_version_level
    feature = features_of(request.cluster).get(update.feature)
    if feature is None:
        return f"Local controller {node_id} does not support this feature."
    if not feature.first <= level <= feature.last:
        return f"Local controller {node_id} only supports versions {feature.first}-{feature.last}"
    kind = update.upgrade_type
    if request.version < FIRST_WITH_KINDS:
        kind = FeatureUpgradeType.SAFE_DOWNGRADE if update.allow_downgrade else FeatureUpgradeType.UPGRADE
    if kind not in (FeatureUpgradeType.UPGRADE, *DOWNGRADES):
        return "The controller does not support the given upgrade type."
    if level < before and kind not in DOWNGRADES:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe "
            "downgrade."
        )
    return ""


KIP_36 = "KIP-36"  # the profile that serves it
MOST_DESCRIBED = 2000  # the default of Kafka's max.request.partition.size.limit


def metadata(request: RequestContext) -> Any:
    """Handle Metadata."""
    response = messages.MetadataResponse
    # KafkaApis.handleTopicMetadataRequest: v10 and v11 have ids, but cannot be asked by them
    asked = request.message.topics or ()
    if request.version < FIRST_WITH_IDS and any(row.name is None or any(row.topic_id) for row in asked):
        return request.failed(ErrorCode.INVALID_REQUEST)
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
        cluster_authorized_operations=operations(request.allows, ResourceType.CLUSTER, CLUSTER_NAME)
        if request.message.include_cluster_authorized_operations
        else UNASKED,
    )


def topic_metadata(request: RequestContext) -> Any:
    """Handle TopicMetadata v1 as proposed by KIP-36: Metadata v0 with racks. An empty list of topics requests all
    topics."""
    rows = tuple(messages.MetadataRequest.MetadataRequestTopic(name=name) for name in request.message.topics)
    found = metadata(replace(request, message=messages.MetadataRequest(topics=rows), version=0))
    response: Any = getattr(messages, KIP_36).TopicMetadataResponse
    brokers = (
        response.BrokerEndPoint(broker_id=one.node_id, host=one.host, port=one.port, rack=one.rack)
        for one in found.brokers
    )
    topics = []
    for topic in found.topics:
        parts = tuple(
            response.PartitionMetadata(
                error_code=one.error_code,
                partition_id=one.partition_index,
                leader=one.leader_id,
                replicas=one.replica_nodes,
                isr=one.isr_nodes,
            )
            for one in topic.partitions
        )
        row = response.TopicMetadata
        topics.append(row(error_code=topic.error_code, topic=topic.name, partitions_meta_data=parts))
    return response(broker_end_points=tuple(brokers), topics_meta_data=tuple(topics))


def _topics(request: RequestContext) -> list[Any]:
    asked = request.message.topics
    if asked is None or (request.version == 0 and not asked):
        return [_topic(request, topic) for topic in _seen(request)]
    return [_asked_topic(request, row) for row in asked]


def _seen(request: RequestContext) -> list[Topic]:
    """Return the topics that the principal may describe."""
    topics = request.cluster.controller.topics.values()
    return [one for one in topics if request.allows(AclOperation.DESCRIBE, ResourceType.TOPIC, one.name)]


def describe_topic_partitions(request: RequestContext) -> Any:
    """Handle DescribeTopicPartitions (KIP-966): return a limited number of partitions, with topics in the order of
    their names."""
    response, asked = messages.DescribeTopicPartitionsResponse, request.message
    topics = request.cluster.controller.topics
    names = sorted({row.name for row in asked.topics} or {topic.name for topic in _seen(request)})
    cursor = asked.cursor
    first = cursor.partition_index if cursor is not None else 0
    names = [name for name in names if cursor is None or name >= cursor.topic_name]
    left = min(max(1, asked.response_partition_limit), MOST_DESCRIBED)
    rows = []
    for name in names:
        topic, code = topics.get(name), request.error(name)
        if topic is None or code:
            code = code or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            rows.append(response.DescribeTopicPartitionsResponseTopic(name=name, error_code=code))
            continue
        begin = first if cursor is not None and name == cursor.topic_name else 0
        if not left:
            return response(topics=tuple(rows), next_cursor=response.Cursor(topic_name=name, partition_index=begin))
        chosen = topic.partitions[begin : begin + left]
        rows.append(_described(request, topic, chosen))
        left -= len(chosen)
        if begin + len(chosen) < len(topic.partitions):
            behind = response.Cursor(topic_name=name, partition_index=begin + len(chosen))
            return response(topics=tuple(rows), next_cursor=behind)
    return response(topics=tuple(rows), next_cursor=None)


def _described(request: RequestContext, topic: Topic, partitions: Sequence[Partition]) -> Any:
    response = messages.DescribeTopicPartitionsResponse
    rows = []
    for one in partitions:
        code = request.error(one.topic, one.index)
        rows.append(
            response.DescribeTopicPartitionsResponsePartition(
                error_code=code or (ErrorCode.NONE if one.leader >= 0 else ErrorCode.LEADER_NOT_AVAILABLE),
                partition_index=one.index,
                leader_id=one.leader,
                leader_epoch=one.leader_epoch,
                replica_nodes=tuple(one.replicas),
                isr_nodes=tuple(one.isr),
                eligible_leader_replicas=(),
                last_known_elr=(),
                offline_replicas=one.offline,
            )
        )
    return response.DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in INTERNAL,
        partitions=tuple(rows),
        topic_authorized_operations=operations(request.allows, ResourceType.TOPIC, topic.name),
    )


def _asked_topic(request: RequestContext, row: Any) -> Any:
    controller = request.cluster.controller
    topic = controller.find(row.name, row.topic_id)
    failure = messages.MetadataResponse.MetadataResponseTopic
    if topic is not None:
        if request.error(topic.name) == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            # Kafka discloses neither the id of a name nor the name of an id (KafkaApis.handleTopicMetadataRequest)
            topic_id = row.topic_id if row.name is None else bytes(16)
            return failure(name=row.name, topic_id=topic_id, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        return _topic(request, topic)
    if row.name is None:
        return failure(name=None, topic_id=row.topic_id, error_code=ErrorCode.UNKNOWN_TOPIC_ID)
    if code := request.error(row.name) or _creation_error(request, row.name):
        return failure(name=row.name, error_code=code)
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    try:
        check_name(row.name, controller.topics)
        if _creates(request):
            return _topic(request, controller.create(row.name, controller.place(-1, -1, unasked=True)))
    except Refused as error:
        code = error.error_code
    return failure(name=row.name, error_code=code)


def _creates(request: RequestContext) -> bool:
    settings = request.cluster.settings
    return bool(request.message.allow_auto_topic_creation and settings.auto_create_topics and not settings.read_only)


def _creation_error(request: RequestContext, name: str) -> int:
    """Return the error code if a missing topic may not be created by the principal; 0 if it may."""
    return ErrorCode.NONE if request.may_create(name) or not _creates(request) else ErrorCode.TOPIC_AUTHORIZATION_FAILED


def _topic(request: RequestContext, topic: Topic) -> Any:
    row = messages.MetadataResponse.MetadataResponseTopic
    named: dict[str, Any] = {"name": topic.name, "topic_id": topic.topic_id, "is_internal": topic.name in INTERNAL}
    if code := request.error(topic.name):
        return row(**named, error_code=code)
    if request.message.include_topic_authorized_operations:
        named["topic_authorized_operations"] = operations(request.allows, ResourceType.TOPIC, topic.name)
    return row(**named, partitions=tuple(_partition(request, one) for one in topic.partitions))


def _partition(request: RequestContext, partition: Partition) -> Any:
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


def describe_cluster(request: RequestContext) -> Any:
    """Handle DescribeCluster (KIP-700); controller endpoints (KIP-919) are not supported."""
    response = messages.DescribeClusterResponse
    asked, controller = request.message, request.cluster.controller
    if asked.endpoint_type != EndpointType.BROKER:
        code = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
        if asked.endpoint_type == EndpointType.CONTROLLER:
            code = ErrorCode.MISMATCHED_ENDPOINT_TYPE
        return response(
            error_code=code,
            error_message="this endpoint belongs to a broker; controller endpoints are not served",
            endpoint_type=asked.endpoint_type,
        )
    nodes = [node.broker() for node in controller.nodes.values() if node.is_alive or asked.include_fenced_brokers]
    row = response.DescribeClusterBroker
    brokers = (
        row(broker_id=one.node_id, host=one.host, port=one.port, rack=one.rack, is_fenced=one.fenced) for one in nodes
    )
    return response(
        cluster_id=request.cluster.cluster_id,
        controller_id=controller.controller_id,
        brokers=tuple(brokers),
        cluster_authorized_operations=operations(request.allows, ResourceType.CLUSTER, CLUSTER_NAME)
        if asked.include_cluster_authorized_operations
        else UNASKED,
    )


def describe_quorum(request: RequestContext) -> Any:
    """Handle DescribeQuorum (KIP-595): the controller is the only voter of the metadata log."""
    response, controller = messages.DescribeQuorumResponse, request.cluster.controller
    end = controller.journals.end
    voter = response.ReplicaState(replica_id=controller.controller_id, log_end_offset=end)
    rows = []
    for topic in request.message.topics:
        parts = []
        for part in topic.partitions:
            is_there = topic.topic_name == RESERVED and part.partition_index == 0
            found: dict[str, Any] = {"error_code": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
            if is_there:
                found = {"leader_id": controller.controller_id, "high_watermark": end, "current_voters": (voter,)}
            parts.append(response.PartitionData(partition_index=part.partition_index, error_message=None, **found))
        rows.append(response.TopicData(topic_name=topic.topic_name, partitions=tuple(parts)))
    node = controller.nodes.get(controller.controller_id)
    nodes = []
    if node is not None and request.version >= FIRST_WITH_NODES:
        listener = response.Listener(name="CONTROLLER", host=node.host, port=node.port)
        nodes.append(response.Node(node_id=node.node_id, listeners=(listener,)))
    return response(error_message=None, topics=tuple(rows), nodes=tuple(nodes))


def unregister_broker(request: RequestContext) -> Any:
    """Handle UnregisterBroker: a running broker cannot be unregistered."""
    response, node_id = messages.UnregisterBrokerResponse, request.message.broker_id
    if node_id not in request.cluster.controller.nodes:
        missing = f"Broker ID {node_id} is not currently registered"
        return response(error_code=ErrorCode.BROKER_ID_NOT_REGISTERED, error_message=missing)
    return response(
        error_code=ErrorCode.INVALID_REQUEST, error_message=f"Broker ID {node_id} is served; stop it instead"
    )


def add_raft_voter(request: RequestContext) -> Any:
    """Handle AddRaftVoter (KIP-853): the voters are fixed."""
    fixed = "Cluster doesn't support adding voter because the kraft.version feature is 0"
    return messages.AddRaftVoterResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, error_message=fixed)


def remove_raft_voter(request: RequestContext) -> Any:
    """Handle RemoveRaftVoter (KIP-853): the voters are fixed."""
    fixed = "Cluster doesn't support removing voter because the kraft.version feature is 0"
    return messages.RemoveRaftVoterResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, error_message=fixed)
