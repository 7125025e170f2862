"""DescribeCluster (KIP-700): the brokers with their racks, optionally fenced ones."""

from __future__ import annotations

from typing import Any

from ... import messages
from ...values import EndpointType
from .. import codes
from ..cluster import RequestContext


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
        cluster_id=request.cluster.cluster_id, controller_id=controller.controller_id, brokers=tuple(brokers)
    )
