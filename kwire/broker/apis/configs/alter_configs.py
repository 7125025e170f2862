"""IncrementalAlterConfigs (KIP-339) and AlterConfigs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .... import messages
from ....errors.refused import InvalidConfig, InvalidRequest, PolicyViolation, Refused
from ....values import AclOperation, AlterConfigOp, ConfigResourceType, ConfigType
from ...broker_configs import topic_defaults
from ...configs import DYNAMIC_CONFIGS, GROUP_CONFIGS, TOPIC_CONFIGS, Config, check_configs
from ...request_context import RequestContext
from .describe_configs import config_denial


def incremental_alter_configs(request: RequestContext) -> Any:
    """Handle IncrementalAlterConfigs (KIP-339): apply the changes of each resource completely or not at all."""
    response = messages.IncrementalAlterConfigsResponse
    return response(responses=tuple(_alter_resource(request, row) for row in request.message.resources))


def alter_configs(request: RequestContext) -> Any:
    """Handle AlterConfigs: replace all configs of a resource by those in the request."""
    return messages.AlterConfigsResponse(
        responses=tuple(_alter_resource(request, row, anew=True) for row in request.message.resources)
    )


def _alter_resource(request: RequestContext, row: Any, *, anew: bool = False) -> Any:
    result: Any = messages.IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
    if anew:
        result = messages.AlterConfigsResponse.AlterConfigsResourceResponse
    named = {"resource_type": row.resource_type, "resource_name": row.resource_name}
    if code := config_denial(request, row, AclOperation.ALTER_CONFIGS) or request.error():
        return result(**named, **request.denied(code))
    try:
        if not row.resource_name and row.resource_type in (ConfigResourceType.TOPIC, ConfigResourceType.GROUP):
            raise InvalidRequest("no_default_resource")
        if row.resource_type == ConfigResourceType.BROKER:
            _alter_broker(request, row, anew)
        elif row.resource_type == ConfigResourceType.TOPIC:
            _alter_topic(request, row, anew)
        elif row.resource_type == ConfigResourceType.GROUP:
            _alter_group(request, row, anew)
        else:
            raise InvalidRequest("not_to_be_altered", type=row.resource_type)
    except Refused as error:
        return result(**named, error_code=error.error_code, error_message=str(error))
    return result(**named, error_message=None)


def _alter_topic(request: RequestContext, row: Any, anew: bool) -> None:
    topic = request.cluster.controller.known(row.resource_name)
    defaults = topic_defaults(request.cluster.settings)
    after = _replace_configs(row.configs) if anew else _change_configs(topic.configs, defaults, row.configs)
    configs = check_configs(after.items())
    if not request.message.validate_only:
        request.cluster.controller.configure(topic, configs)


def _alter_broker(request: RequestContext, row: Any, anew: bool) -> None:
    nodes = {str(node_id): node for node_id, node in request.cluster.controller.nodes.items()}
    if row.resource_name not in nodes:
        raise InvalidRequest("no_such_broker", broker=row.resource_name)
    node = nodes[row.resource_name]
    defaults = {name: config.default for name, config in DYNAMIC_CONFIGS.items()}
    after = (
        _replace_configs(row.configs) if anew else _change_configs(node.configs, defaults, row.configs, DYNAMIC_CONFIGS)
    )
    configs = check_configs(after.items(), DYNAMIC_CONFIGS)
    if not request.message.validate_only:
        node.configs = configs


def _alter_group(request: RequestContext, row: Any, anew: bool) -> None:
    controller = request.cluster.controller
    own, most = controller.group_configs, request.cluster.settings.most_groups
    if row.resource_name not in own and len(own) >= most:
        raise PolicyViolation("too_many_group_configs", most=most)
    defaults = {name: config.default for name, config in GROUP_CONFIGS.items()}
    before = own.get(row.resource_name, {})
    after = _replace_configs(row.configs) if anew else _change_configs(before, defaults, row.configs, GROUP_CONFIGS)
    configs = check_configs(after.items(), GROUP_CONFIGS)
    if not request.message.validate_only:
        controller.configure_group(row.resource_name, configs)


def _replace_configs(configs: Sequence[Any]) -> dict[str, str | None]:
    for name, count in Counter(config.name for config in configs).items():
        if count > 1:
            raise InvalidRequest("in_request_twice", name=name)
    return {config.name: config.value for config in configs}


def _change_configs(
    own: dict[str, str],
    defaults: dict[str, str],
    changes: Sequence[Any],
    configs: Mapping[str, Config] = TOPIC_CONFIGS,
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


def _change_list(change: Any, config: Config, value: str) -> str:
    """Return the value of a list config after adding or removing values."""
    operations = (AlterConfigOp.APPEND, AlterConfigOp.SUBTRACT)
    if config.type != ConfigType.LIST or change.config_operation not in operations:
        raise InvalidConfig("bad_config_operation", config=change.name, operation=change.config_operation)
    items, given = filter(None, value.split(",")), change.value.split(",")
    if change.config_operation == AlterConfigOp.SUBTRACT:
        return ",".join(item for item in items if item not in given)
    return ",".join(dict.fromkeys([*items, *given]))
