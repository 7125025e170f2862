"""ListConfigResources: groups, topics and brokers with configs (KIP-714, KIP-1142)."""

from __future__ import annotations

from .... import messages
from ....values import ConfigResourceType, ErrorCode
from ...api import ServedApi
from ...request_context import RequestContext

SUPPORTED = frozenset(
    int(ConfigResourceType(name)) for name in ("TOPIC", "BROKER", "BROKER_LOGGER", "CLIENT_METRICS", "GROUP")
)
FIRST_WITH_TYPES = 1  # types of resources in ListConfigResources


def list_config_resources(
    request: RequestContext[messages.ListConfigResourcesRequest],
) -> messages.ListConfigResourcesResponse:
    """Handle ListConfigResources (KIP-1142): return the topics, brokers and groups with configs. Version 0 lists only
    client metrics."""
    response = messages.ListConfigResourcesResponse
    kinds = set(request.message.resource_types)
    if request.version < FIRST_WITH_TYPES:
        kinds = {int(ConfigResourceType.CLIENT_METRICS)}
    elif not kinds <= SUPPORTED:  # Kafka: KafkaApis.handleListConfigResources
        return response(error_code=ErrorCode.UNSUPPORTED_VERSION)
    controller = request.cluster.controller
    names = [(ConfigResourceType.TOPIC, name) for name in controller.topics]
    names += [(ConfigResourceType.BROKER, str(node_id)) for node_id in controller.nodes]
    names += [(ConfigResourceType.GROUP, group_id) for group_id in controller.group_configs]
    names += [(ConfigResourceType.BROKER_LOGGER, str(node_id)) for node_id in controller.nodes]
    names += [(ConfigResourceType.CLIENT_METRICS, name) for name in controller.configs.client_metrics]
    rows = (response.ConfigResource(resource_name=name, resource_type=kind) for kind, name in names)
    return response(config_resources=tuple(row for row in rows if not kinds or row.resource_type in kinds))


APIS = {  # what each version has changed
    # 0: client metrics only, as ListClientMetricsResources (KIP-714)
    # 1: types of resources (KIP-1142)
    "ListConfigResources": ServedApi(0, 1, list_config_resources),
}
