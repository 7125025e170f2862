"""DescribeCluster (KIP-700): the brokers with their racks; DescribeQuorum, and voters that never change."""

from __future__ import annotations

from typing import Any

from ... import messages
from ...values import EndpointType, ResourceType
from .. import codes
from ..authorizer import CLUSTER_NAME, UNASKED, operations
from ..cluster import RequestContext
from ..topics import RESERVED


def describe_cluster(request: RequestContext) -> Any:
    """Answer DescribeCluster (KIP-700); controller endpoints (KIP-919) are not supported."""
    response = messages.DescribeClusterResponse
    asked, controller = request.message, request.cluster.controller
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
    return response(
        cluster_id=request.cluster.cluster_id,
        controller_id=controller.controller_id,
        brokers=tuple(brokers),
        cluster_authorized_operations=operations(request, ResourceType.CLUSTER, CLUSTER_NAME)
        if asked.include_cluster_authorized_operations
        else UNASKED,
    )


def describe_quorum(request: RequestContext) -> Any:
    """Answer DescribeQuorum (KIP-595): the controller is the only voter of the metadata log."""
    response, controller = messages.DescribeQuorumResponse, request.cluster.controller
    end = controller.journals.end
    voter = response.ReplicaState(replica_id=controller.controller_id, log_end_offset=end)
    rows = []
    for topic in request.message.topics:
        parts = []
        for part in topic.partitions:
            is_there = topic.topic_name == RESERVED and part.partition_index == 0
            found: dict[str, Any] = {"error_code": codes.UNKNOWN_TOPIC_OR_PARTITION}
            if is_there:
                found = {"leader_id": controller.controller_id, "high_watermark": end, "current_voters": (voter,)}
            parts.append(response.PartitionData(partition_index=part.partition_index, error_message=None, **found))
        rows.append(response.TopicData(topic_name=topic.topic_name, partitions=tuple(parts)))
    node = controller.nodes.get(controller.controller_id)
    nodes = []
    if node is not None:
        listener = response.Listener(name="CONTROLLER", host=node.host, port=node.port)
        nodes.append(response.Node(node_id=node.node_id, listeners=(listener,)))
    return response(error_message=None, topics=tuple(rows), nodes=tuple(nodes))


def unregister_broker(request: RequestContext) -> Any:
    """Answer UnregisterBroker: a running broker cannot be unregistered."""
    response, node_id = messages.UnregisterBrokerResponse, request.message.broker_id
    if node_id not in request.cluster.controller.nodes:
        missing = f"Broker ID {node_id} is not currently registered"
        return response(error_code=codes.BROKER_ID_NOT_REGISTERED, error_message=missing)
    return response(error_code=codes.INVALID_REQUEST, error_message=f"Broker ID {node_id} is served; stop it instead")


def add_raft_voter(request: RequestContext) -> Any:
    """Answer AddRaftVoter (KIP-853): the voters are fixed."""
    fixed = "Cluster doesn't support adding voter because the kraft.version feature is 0"
    return messages.AddRaftVoterResponse(error_code=codes.UNSUPPORTED_VERSION, error_message=fixed)


def remove_raft_voter(request: RequestContext) -> Any:
    """Answer RemoveRaftVoter (KIP-853): the voters are fixed."""
    fixed = "Cluster doesn't support removing voter because the kraft.version feature is 0"
    return messages.RemoveRaftVoterResponse(error_code=codes.UNSUPPORTED_VERSION, error_message=fixed)
