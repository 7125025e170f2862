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


APIS = {  # what each version has changed
    # 1: endpoint types, of brokers and controllers (KIP-919)
    # 2: fenced brokers (KIP-1073)
    "DescribeCluster": ServedApi(0, 2, describe_cluster),
}
