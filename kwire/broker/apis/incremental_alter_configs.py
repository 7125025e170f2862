"""IncrementalAlterConfigs (KIP-339): sets, deletes, appends to and removes from configs; AlterConfigs sets all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ... import messages
from ...errors.refused import InvalidConfig, InvalidRequest, Refused
from ...values import AclOperation, AlterConfigOp, ConfigResourceType, ConfigType
from ..authorizer import denied
from ..cluster import RequestContext
from ..configs import DYNAMIC_CONFIGS, TOPIC_CONFIGS, Config, checked, topic_defaults
from .describe_configs import config_denial


def incremental_alter_configs(request: RequestContext) -> Any:
    """Answer IncrementalAlterConfigs (KIP-339) for topics and brokers; each is changed completely or not at all."""
    response = messages.IncrementalAlterConfigsResponse
    return response(responses=tuple(_altered(request, row) for row in request.message.resources))


def alter_configs(request: RequestContext) -> Any:
    """Answer AlterConfigs: a topic has these configs from now on, and no others of its own."""
    return messages.AlterConfigsResponse(
        responses=tuple(_altered(request, row, anew=True) for row in request.message.resources)
    )


def _altered(request: RequestContext, row: Any, *, anew: bool = False) -> Any:
    result: Any = messages.IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
    if anew:
        result = messages.AlterConfigsResponse.AlterConfigsResourceResponse
    named = {"resource_type": row.resource_type, "resource_name": row.resource_name}
    if code := config_denial(request, row, AclOperation.ALTER_CONFIGS):
        return result(**named, **denied(code))
    try:
        if row.resource_type == ConfigResourceType.BROKER:
            _alter_broker(request, row, anew)
        elif row.resource_type == ConfigResourceType.TOPIC:
            _alter_topic(request, row, anew)
        else:
            raise InvalidRequest("not_to_be_altered", type=row.resource_type)
    except Refused as error:
        return result(**named, error_code=error.error_code, error_message=str(error))
    return result(**named, error_message=None)


def _alter_topic(request: RequestContext, row: Any, anew: bool) -> None:
    topic = request.cluster.controller.known(row.resource_name)
    defaults = topic_defaults(request.cluster.settings)
    after = _anew(row.configs) if anew else _after(topic.configs, defaults, row.configs)
    configs = checked(after.items())
    if not request.message.validate_only:
        request.cluster.controller.configure(topic, configs)


def _alter_broker(request: RequestContext, row: Any, anew: bool) -> None:
    nodes = {str(node_id): node for node_id, node in request.cluster.controller.nodes.items()}
    if row.resource_name not in nodes:
        raise InvalidRequest("no_such_broker", broker=row.resource_name)
    node = nodes[row.resource_name]
    defaults = {name: config.default for name, config in DYNAMIC_CONFIGS.items()}
    after = _anew(row.configs) if anew else _after(node.configs, defaults, row.configs, DYNAMIC_CONFIGS)
    configs = checked(after.items(), DYNAMIC_CONFIGS)
    if not request.message.validate_only:
        node.configs = configs


def _anew(configs: Sequence[Any]) -> dict[str, str | None]:
    for name, count in Counter(config.name for config in configs).items():
        if count > 1:
            raise InvalidRequest("in_request_twice", name=name)
    return {config.name: config.value for config in configs}


def _after(
    own: dict[str, str],
    defaults: dict[str, str],
    changes: Sequence[Any],
    configs: Mapping[str, Config] = TOPIC_CONFIGS,
) -> dict[str, str | None]:
    """Return the configs of a topic, or of what has these configs, after some changes."""
    names = Counter(change.name for change in changes)
    after: dict[str, str | None] = dict(own)
    for change in changes:
        if names[change.name] > 1:
            raise InvalidRequest("in_request_twice", name=change.name)
        if change.name not in configs:
            checked([(change.name, change.value)], configs)
        if change.value is None and change.config_operation != AlterConfigOp.DELETE:
            raise InvalidRequest("config_without_value", config=change.name)
        if change.config_operation == AlterConfigOp.SET:
            after[change.name] = change.value
        elif change.config_operation == AlterConfigOp.DELETE:
            after.pop(change.name, None)
        else:
            after[change.name] = _listed(change, configs[change.name], own.get(change.name, defaults[change.name]))
    return after


def _listed(change: Any, config: Config, value: str) -> str:
    """Add values to a list, or remove them."""
    operations = (AlterConfigOp.APPEND, AlterConfigOp.SUBTRACT)
    if config.type != ConfigType.LIST or change.config_operation not in operations:
        takes = "to be set or deleted" if config.type != ConfigType.LIST else "operations 0 to 3"
        raise InvalidConfig("bad_config_value", config=change.name, value=change.value, takes=takes)
    items, given = filter(None, value.split(",")), change.value.split(",")
    if change.config_operation == AlterConfigOp.SUBTRACT:
        return ",".join(item for item in items if item not in given)
    return ",".join(dict.fromkeys([*items, *given]))
