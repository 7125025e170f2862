"""IncrementalAlterConfigs (KIP-339) and AlterConfigs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from .... import messages
from ....errors.refused import InvalidConfig, InvalidRequest, PolicyViolation, Refused
from ....values import AclOperation, AlterConfigOp, ConfigResourceType, ConfigType, ErrorCode
from ...api import ServedApi
from ...broker_configs import topic_defaults
from ...configs import DYNAMIC_CONFIGS, GROUP_CONFIGS, TOPIC_CONFIGS, Config, check_configs
from ...request_context import RequestContext
from .describe_configs import config_denial

AlterRequest: TypeAlias = (
    "RequestContext[messages.AlterConfigsRequest] | RequestContext[messages.IncrementalAlterConfigsRequest]"
)
AlteredResource: TypeAlias = (
    "messages.AlterConfigsRequest.AlterConfigsResource | messages.IncrementalAlterConfigsRequest.AlterConfigsResource"
)


def incremental_alter_configs(
    request: RequestContext[messages.IncrementalAlterConfigsRequest],
) -> messages.IncrementalAlterConfigsResponse:
    """Handle IncrementalAlterConfigs (KIP-339): apply the changes of each resource completely or not at all."""
    # Kafka: ConfigurationControlManager.incrementalAlterConfigs
    response = messages.IncrementalAlterConfigsResponse
    rows = []
    for resource in request.message.resources:
        row = response.AlterConfigsResourceResponse
        outcome = _alter_resource(request, resource)
        rows.append(row(resource_type=resource.resource_type, resource_name=resource.resource_name, **outcome))
    return response(responses=tuple(rows))


def alter_configs(request: RequestContext[messages.AlterConfigsRequest]) -> messages.AlterConfigsResponse:
    """Handle AlterConfigs: replace all configs of a resource by those in the request."""
    # Kafka: ConfigurationControlManager.legacyAlterConfigs
    response = messages.AlterConfigsResponse
    rows = []
    for resource in request.message.resources:
        row = response.AlterConfigsResourceResponse
        outcome = _alter_resource(request, resource)
        rows.append(row(resource_type=resource.resource_type, resource_name=resource.resource_name, **outcome))
    return response(responses=tuple(rows))


def _alter_resource(request: AlterRequest, resource: AlteredResource) -> dict[str, Any]:
    """Alter the configs of a resource; return the fields of the response that say whether it was done."""
    if code := config_denial(request, resource, AclOperation.ALTER_CONFIGS) or request.error():
        return request.describe_denial(code)
    resource_type = resource.resource_type
    try:
        if not resource.resource_name and resource_type in (ConfigResourceType.TOPIC, ConfigResourceType.GROUP):
            raise InvalidRequest("no_default_resource")
        if resource_type == ConfigResourceType.BROKER:
            _alter_broker(request, resource)
        elif resource_type == ConfigResourceType.TOPIC:
            _alter_topic(request, resource)
        elif resource_type == ConfigResourceType.GROUP:
            _alter_group(request, resource)
        else:
            raise InvalidRequest("not_to_be_altered", type=resource_type)
    except Refused as error:
        return {"error_code": error.error_code, "error_message": str(error)}
    return {"error_code": ErrorCode.NONE, "error_message": None}


def _alter_topic(request: AlterRequest, resource: AlteredResource) -> None:
    topic = request.cluster.controller.known(resource.resource_name)
    defaults = topic_defaults(request.cluster.settings)
    configs = check_configs(_configs_after(resource, topic.configs, defaults, TOPIC_CONFIGS).items())
    if not request.message.validate_only:
        request.cluster.controller.configure(topic, configs)


def _alter_broker(request: AlterRequest, resource: AlteredResource) -> None:
    nodes = {str(node_id): node for node_id, node in request.cluster.controller.nodes.items()}
    if resource.resource_name not in nodes:
        raise InvalidRequest("no_such_broker", broker=resource.resource_name)
    node = nodes[resource.resource_name]
    defaults = {name: config.default for name, config in DYNAMIC_CONFIGS.items()}
    after = _configs_after(resource, node.configs, defaults, DYNAMIC_CONFIGS)
    configs = check_configs(after.items(), DYNAMIC_CONFIGS)
    if not request.message.validate_only:
        node.configs = configs


def _alter_group(request: AlterRequest, resource: AlteredResource) -> None:
    controller = request.cluster.controller
    own = controller.group_configs
    limit = request.cluster.settings.most_groups
    if resource.resource_name not in own and len(own) >= limit:
        raise PolicyViolation("too_many_group_configs", most=limit)
    defaults = {name: config.default for name, config in GROUP_CONFIGS.items()}
    before = own.get(resource.resource_name, {})
    after = _configs_after(resource, before, defaults, GROUP_CONFIGS)
    configs = check_configs(after.items(), GROUP_CONFIGS)
    if not request.message.validate_only:
        controller.configure_group(resource.resource_name, configs)


def _configs_after(
    resource: AlteredResource, own: dict[str, str], defaults: dict[str, str], configs: Mapping[str, Config]
) -> dict[str, str | None]:
    """Return the configs of a resource after the request: AlterConfigs replaces all, IncrementalAlterConfigs some."""
    if isinstance(resource, messages.AlterConfigsRequest.AlterConfigsResource):
        return _replace_configs(resource.configs)
    return _change_configs(own, defaults, resource.configs, configs)


def _replace_configs(configs: Sequence[messages.AlterConfigsRequest.AlterableConfig]) -> dict[str, str | None]:
    for name, count in Counter(config.name for config in configs).items():
        if count > 1:
            raise InvalidRequest("in_request_twice", name=name)
    return {config.name: config.value for config in configs}


def _change_configs(
    own: dict[str, str],
    defaults: dict[str, str],
    changes: Sequence[messages.IncrementalAlterConfigsRequest.AlterableConfig],
    configs: Mapping[str, Config],
) -> dict[str, str | None]:
    """Return the configs of a resource after some changes."""
    names = Counter(change.name for change in changes)
    after: dict[str, str | None] = dict(own)
    for change in changes:
        if names[change.name] > 1:
            raise InvalidRequest("in_request_twice", name=change.name)
        if change.name not in configs and change.config_operation != AlterConfigOp.DELETE:
            check_configs([(change.name, change.value)], configs)
        if change.value is None and change.config_operation != AlterConfigOp.DELETE:
            raise InvalidRequest("config_without_value", config=change.name)
        if change.config_operation == AlterConfigOp.SET:
            after[change.name] = change.value
        elif change.config_operation == AlterConfigOp.DELETE:
            after.pop(change.name, None)
        else:
            after[change.name] = _change_list(change, configs[change.name], own.get(change.name, defaults[change.name]))
    return after


def _change_list(change: messages.IncrementalAlterConfigsRequest.AlterableConfig, config: Config, value: str) -> str:
    """Return the value of a list config after adding or removing values."""
    operations = (AlterConfigOp.APPEND, AlterConfigOp.SUBTRACT)
    if config.type != ConfigType.LIST or change.config_operation not in operations:
        raise InvalidConfig("bad_config_operation", config=change.name, operation=change.config_operation)
    items = [item for item in value.split(",") if item]
    changed = (change.value or "").split(",")
    if change.config_operation == AlterConfigOp.SUBTRACT:
        return ",".join(item for item in items if item not in changed)
    return ",".join(dict.fromkeys([*items, *changed]))


APIS = {  # what each version has changed
    # 1: flexible (KIP-482)
    "IncrementalAlterConfigs": ServedApi(0, 1, incremental_alter_configs),
    # 1: the response is sent before the client is throttled (KIP-219)
    # 2: flexible (KIP-482)
    "AlterConfigs": ServedApi(0, 2, alter_configs),
}
