"""IncrementalAlterConfigs (KIP-339) and AlterConfigs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from .... import messages
from ....errors.refused import InvalidConfig, InvalidRequest, PolicyViolation, Refused, UnknownServerError
from ....values import AclOperation, AlterConfigOp, ConfigResourceType, ConfigType, ErrorCode
from ...api import ServedApi
from ...client_metrics import MOST_SUBSCRIPTIONS, check_subscription
from ...configs import Definition, check_configs
from ...configs.config_store import QUOTAS
from ...configs.definitions import CLIENT_METRICS
from ...configs.values import describe_valid
from ...controller.topic_names import check_name
from ...request_context import RequestContext
from ...share_groups.dead_letter_queue import INTERNAL_PREFIX, TOPIC_NAME
from .describe_configs import config_denial

LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF")  # of loggers
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
    # Kafka: ConfigAdminManager.preprocess, ConfigurationControlManager.incrementalAlterConfigs
    response = messages.IncrementalAlterConfigsResponse
    rows = [response.AlterConfigsResourceResponse(**row) for row in _alter_resources(request)]
    return response(responses=tuple(rows))


def alter_configs(request: RequestContext[messages.AlterConfigsRequest]) -> messages.AlterConfigsResponse:
    """Handle AlterConfigs: replace all configs of a resource by those in the request."""
    # Kafka: ConfigAdminManager.preprocess, ConfigurationControlManager.legacyAlterConfigs
    response = messages.AlterConfigsResponse
    rows = [response.AlterConfigsResourceResponse(**row) for row in _alter_resources(request)]
    return response(responses=tuple(rows))


def _alter_resources(request: AlterRequest) -> Iterator[dict[str, Any]]:
    """Alter the configs of each resource; yield the fields of its row in the response."""
    counts = Counter((resource.resource_type, resource.resource_name) for resource in request.message.resources)
    for resource in request.message.resources:
        if counts[resource.resource_type, resource.resource_name] > 1:
            error = InvalidRequest("in_request_twice", name=resource.resource_name)
            outcome = {"error_code": error.error_code, "error_message": str(error)}
        else:
            outcome = _alter_resource(request, resource)
        yield {"resource_type": resource.resource_type, "resource_name": resource.resource_name, **outcome}


def _alter_resource(request: AlterRequest, resource: AlteredResource) -> dict[str, Any]:
    """Alter the configs of a resource; return the fields of the response that say whether it was done."""
    if code := config_denial(request, resource, AclOperation.ALTER_CONFIGS) or request.error():
        return request.describe_denial(code)
    alter = ALTERATIONS.get(resource.resource_type)
    try:
        if alter is None:
            raise InvalidRequest("not_to_be_altered", type=resource.resource_type)
        if not resource.resource_name and resource.resource_type != ConfigResourceType.BROKER:
            raise InvalidRequest("no_default_resource")
        _check_operations(resource)
        alter(request, resource)
    except Refused as error:
        return {"error_code": error.error_code, "error_message": str(error)}
    return {"error_code": ErrorCode.NONE, "error_message": None}


def _check_operations(resource: AlteredResource) -> None:
    """Check what the names and operations of configs can be, whatever the resource is."""
    for name, count in Counter(config.name for config in resource.configs).items():
        if count > 1:
            raise InvalidRequest("in_request_twice", name=name)
    for config in resource.configs:
        operation = getattr(config, "config_operation", AlterConfigOp.SET)
        if operation not in list(AlterConfigOp):
            raise UnknownServerError("unknown_config_operation", config=config.name, operation=operation)
        if config.value is None and operation != AlterConfigOp.DELETE:
            raise InvalidRequest("config_without_value", config=config.name)


def _alter_topic(request: AlterRequest, resource: AlteredResource) -> None:
    controller = request.cluster.controller
    check_name(resource.resource_name, ())
    topic = controller.known(resource.resource_name)
    definitions = controller.configs.topic_definitions
    defaults = {name: controller.configs.topic_default(name, request.node_id) for name in definitions}
    configs = check_configs(_configs_after(resource, topic.configs, defaults, definitions).items(), definitions)
    check_tiers(configs)
    if not request.message.validate_only:
        controller.configure(topic, configs)


def check_tiers(configs: Mapping[str, str]) -> None:
    """Raise InvalidConfig if a topic is to use tiered storage, which brokers do not have."""
    # Kafka: LogConfig.validateRemoteStorageOnlyIfSystemEnabled
    if configs.get("remote.storage.enable", "").lower() == "true":
        raise InvalidConfig("no_tiered_storage")


def _alter_broker(request: AlterRequest, resource: AlteredResource) -> None:
    # Kafka: ConfigAdminManager.validateBrokerConfigChange, DynamicBrokerConfig.validateConfigs
    controller, store = request.cluster.controller, request.cluster.controller.configs
    if resource.resource_name not in ("", str(request.node_id)):
        raise InvalidRequest("not_this_broker", asked=resource.resource_name, node_id=request.node_id)
    own = store.dynamic.get(resource.resource_name, {})
    defaults = {name: store.value(name, request.node_id) or "" for name in store.definitions}
    configs = {name: value or "" for name, value in _configs_after(resource, own, defaults, store.definitions).items()}
    for name, value in configs.items():
        definition = store.definitions.get(name)
        if definition is None:
            continue  # Kafka takes configs of plugins
        if not definition.dynamic and name not in QUOTAS:
            raise InvalidRequest("not_dynamic", config=name)
        if definition.dynamic == "broker" and not resource.resource_name:
            raise InvalidRequest("only_of_one_broker", config=name)
        if takes := describe_valid(definition, value):
            raise InvalidRequest("bad_config_value", config=name, value=value, takes=takes)
    if not request.message.validate_only:
        controller.configure_brokers(resource.resource_name, configs)


def _alter_logger(request: AlterRequest, resource: AlteredResource) -> None:
    # Kafka: ConfigAdminManager.validateLogLevelConfigs, Log4jController
    if resource.resource_name != str(request.node_id):
        raise InvalidRequest("not_this_broker", asked=resource.resource_name, node_id=request.node_id)
    if isinstance(resource, messages.AlterConfigsRequest.AlterConfigsResource):
        raise InvalidRequest("not_to_be_altered", type=resource.resource_type)
    levels = request.cluster.controller.nodes[request.node_id].logger_levels
    for config in resource.configs:
        _check_level(config, levels)
    if not request.message.validate_only:
        levels |= {config.name: config.value or levels["root"] for config in resource.configs}


def _check_level(config: messages.IncrementalAlterConfigsRequest.AlterableConfig, levels: Mapping[str, str]) -> None:
    """Raise an error for a logger that there is not, or a level that it cannot have."""
    if config.name not in levels:
        raise InvalidConfig("unknown_logger", logger=config.name)
    if config.config_operation == AlterConfigOp.SET:
        if config.value not in LEVELS:
            raise InvalidConfig("bad_config_value", config=config.name, value=config.value, takes=", ".join(LEVELS))
    elif config.config_operation != AlterConfigOp.DELETE:
        raise InvalidRequest("bad_config_operation", config=config.name, operation=config.config_operation)
    elif config.name == "root":
        raise InvalidRequest("root_logger")


def _alter_group(request: AlterRequest, resource: AlteredResource) -> None:
    # Kafka: GroupConfig.validate
    controller = request.cluster.controller
    own, store = controller.group_configs, controller.configs
    limit = request.cluster.settings.most_groups
    if resource.resource_name not in own and len(own) >= limit:
        raise PolicyViolation("too_many_group_configs", most=limit)
    before = own.get(resource.resource_name, {})
    after = _configs_after(resource, before, store.group_defaults(), store.group_definitions)
    configs = check_configs(after.items(), store.group_definitions, "group")
    if (name := configs.get(TOPIC_NAME, "")).startswith(INTERNAL_PREFIX):
        takes = f"a name that does not begin with {INTERNAL_PREFIX}"
        raise InvalidConfig("bad_config_value", config=TOPIC_NAME, value=name, takes=takes)
    for name, value in configs.items():
        bounds = store.group_bounds(name)
        if bounds is not None and not bounds[0] <= int(value) <= bounds[1]:
            takes = f"a number from {bounds[0]} to {bounds[1]}"
            raise InvalidConfig("bad_config_value", config=name, value=value, takes=takes)
    if not request.message.validate_only:
        controller.configure_group(resource.resource_name, configs)


def _alter_client_metrics(request: AlterRequest, resource: AlteredResource) -> None:
    # Kafka: ClientMetricsConfigs.validate
    controller, store = request.cluster.controller, request.cluster.controller.configs
    before = store.client_metrics.get(resource.resource_name, {})
    if not before and len(store.client_metrics) >= MOST_SUBSCRIPTIONS:
        raise PolicyViolation("too_many_subscriptions", most=MOST_SUBSCRIPTIONS)
    definitions = store.client_metrics_definitions
    if unknown := [config.name for config in resource.configs if config.name not in definitions]:
        raise InvalidRequest("unknown_client_metrics_config", config=unknown[0])
    defaults = {name: definition.default or "" for name, definition in definitions.items()}
    configs = check_configs(
        _configs_after(resource, before, defaults, definitions).items(), definitions, CLIENT_METRICS
    )
    check_subscription(configs)
    if not request.message.validate_only:
        controller.configure_client_metrics(resource.resource_name, configs)


ALTERATIONS: Mapping[int, Callable[[AlterRequest, AlteredResource], None]] = {
    ConfigResourceType.TOPIC: _alter_topic,
    ConfigResourceType.BROKER: _alter_broker,
    ConfigResourceType.BROKER_LOGGER: _alter_logger,
    ConfigResourceType.CLIENT_METRICS: _alter_client_metrics,
    ConfigResourceType.GROUP: _alter_group,
}


def _configs_after(
    resource: AlteredResource,
    own: Mapping[str, str],
    defaults: Mapping[str, str],
    definitions: Mapping[str, Definition],
) -> dict[str, str | None]:
    """Return the configs of a resource after the request: AlterConfigs replaces all, IncrementalAlterConfigs some."""
    if isinstance(resource, messages.AlterConfigsRequest.AlterConfigsResource):
        return {config.name: config.value for config in resource.configs}
    after: dict[str, str | None] = dict(own)
    for change in resource.configs:
        if change.config_operation == AlterConfigOp.SET:
            after[change.name] = change.value
        elif change.config_operation == AlterConfigOp.DELETE:
            after.pop(change.name, None)
        else:
            value = own.get(change.name, defaults.get(change.name, ""))
            after[change.name] = _change_list(change, definitions.get(change.name), value)
    return after


def _change_list(
    change: messages.IncrementalAlterConfigsRequest.AlterableConfig, definition: Definition | None, value: str
) -> str:
    """Return the value of a list config after adding or removing values."""
    if definition is None or definition.type != ConfigType.LIST:
        raise InvalidConfig("bad_config_operation", config=change.name, operation=change.config_operation)
    items = [item.strip() for item in value.split(",") if item.strip()]
    changed = [item.strip() for item in (change.value or "").split(",")]
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
