"""DescribeCluster: brokers, controller and cluster id (KIP-700)."""

from __future__ import annotations

from .... import messages
from ....values import EndpointType, ErrorCode, ResourceType
from ...api import ServedApi
from ...request_context import RequestContext
from ...security.api_permissions import CLUSTER_NAME, UNASKED, operations


def describe_cluster(request: RequestContext[messages.DescribeClusterRequest]) -> messages.DescribeClusterResponse:
    """Handle DescribeCluster (KIP-700); controller endpoints (KIP-919) are not supported."""
    response = messages.DescribeClusterResponse
    message = request.message
    controller = request.cluster.controller
    if message.endpoint_type != EndpointType.BROKER:
        code = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
        if message.endpoint_type == EndpointType.CONTROLLER:
            code = ErrorCode.MISMATCHED_ENDPOINT_TYPE
        return response(
            error_code=code,
            error_message="this endpoint belongs to a broker; controller endpoints are not served",
        )
    nodes = [node.broker() for node in controller.nodes.values() if node.is_alive or message.include_fenced_brokers]
    row = response.DescribeClusterBroker
    brokers = (
        row(broker_id=node.node_id, host=node.host, port=node.port, rack=node.rack, is_fenced=node.fenced)
        for node in nodes
    )
    return response(
        cluster_id=request.cluster.cluster_id,
        controller_id=controller.controller_id,
        brokers=tuple(brokers),
        cluster_authorized_operations=operations(request.allows, ResourceType.CLUSTER, CLUSTER_NAME)
        if message.include_cluster_authorized_operations
        else UNASKED,
    )


APIS = {  # what each version has changed
    # 1: endpoint types, of brokers and controllers (KIP-919)
    # 2: fenced brokers (KIP-1073)
    "DescribeCluster": ServedApi(0, 2, describe_cluster),
}
