"""DescribeConfigs, IncrementalAlterConfigs (KIP-339), AlterConfigs, ListConfigResources; client quotas (KIP-546);
client metrics (KIP-714).

The broker never requests client metrics: as in Kafka without a metrics receiver, ApiVersions omits the apis of KIP-714,
but requests with them are handled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ... import messages
from ...errors.refused import InvalidConfig, InvalidRequest, PolicyViolation, Refused
from ...values import AclOperation, AlterConfigOp, ConfigResourceType, ConfigSource, ConfigType, ErrorCode, ResourceType
from ..authentication_and_acls import CLUSTER_NAME, DENIALS
from ..cluster_state import RequestContext
from ..partition_leader_and_isr import NO_ID
from ..settings_and_quotas import (
    BROKER_CONFIGS,
    CLIENT,
    DYNAMIC_CONFIGS,
    GROUP_CONFIGS,
    KEYS,
    MOST_QUOTAS,
    TOPIC_CONFIGS,
    USER,
    Config,
    Entity,
    Settings,
    checked,
    topic_defaults,
)

FIRST_WITH_TYPES = 1  # types of resources in ListConfigResources
FIRST_WITH_SOURCES = 1  # of DescribeConfigs; version 0 only marks default values
_GIVEN = ("advertised.listeners", "broker.id", "broker.rack", "listeners", "log.dirs")
EXACT, DEFAULT = 0, 1  # how a component of a quota filter matches


class Value(NamedTuple):
    """The value of a config; `synonyms` are tuples (name, value, source), the effective one first."""

    name: str
    type: int
    read_only: bool
    synonyms: Sequence[tuple[str, str | None, int]]


def describe_configs(request: RequestContext) -> Any:
    """Handle DescribeConfigs."""
    return messages.DescribeConfigsResponse(
        results=tuple(_described(request, row) for row in request.message.resources)
    )


def _described(request: RequestContext, row: Any) -> Any:
    result = messages.DescribeConfigsResponse.DescribeConfigsResult
    named = {"resource_type": row.resource_type, "resource_name": row.resource_name}
    if code := config_denial(request, row, AclOperation.DESCRIBE_CONFIGS):
        return result(**named, **request.denied(code))
    try:
        values = list(_values(request, row))
    except Refused as error:
        return result(**named, error_code=error.error_code, error_message=str(error))
    wanted = set(row.configuration_keys or ())
    configs = tuple(_config_row(request, value) for value in values if not wanted or value.name in wanted)
    return result(**named, error_message=None, configs=configs)


def config_denial(request: RequestContext, row: Any, operation: int) -> int:
    """Return the error code if the principal may not perform an operation on the configs of a resource; 0 if it may."""
    kinds = {ConfigResourceType.TOPIC: ResourceType.TOPIC, ConfigResourceType.GROUP: ResourceType.GROUP}
    kind = kinds.get(row.resource_type, ResourceType.CLUSTER)
    name = CLUSTER_NAME if kind == ResourceType.CLUSTER else row.resource_name
    return ErrorCode.NONE if request.allows(operation, kind, name) else DENIALS[kind]


def _values(request: RequestContext, row: Any) -> Iterator[Value]:
    if row.resource_type == ConfigResourceType.TOPIC:
        return _topic_values(request, row.resource_name)
    if row.resource_type == ConfigResourceType.GROUP:
        return _group_values(request, row.resource_name)
    if row.resource_type != ConfigResourceType.BROKER:
        raise InvalidRequest("unknown_resource_type", type=row.resource_type)
    if row.resource_name not in ("", str(request.node_id)):
        raise InvalidRequest("not_this_broker", asked=row.resource_name, node_id=request.node_id)
    return _broker_values(request) if row.resource_name else iter(())


def _topic_values(request: RequestContext, name: str) -> Iterator[Value]:
    own, usual = request.cluster.controller.known(name).configs, topic_defaults(Settings())
    for config, default in topic_defaults(request.cluster.settings).items():
        set_here = [(config, own[config], ConfigSource.TOPIC_CONFIG)] if config in own else []
        is_usual = default == usual[config]
        otherwise = (config, default, ConfigSource.DEFAULT_CONFIG if is_usual else ConfigSource.STATIC_BROKER_CONFIG)
        yield Value(config, TOPIC_CONFIGS[config].type, False, [*set_here, otherwise])


def _broker_values(request: RequestContext) -> Iterator[Value]:
    node, settings, usual = request.cluster.controller.nodes[request.node_id], request.cluster.settings, Settings()
    for config, (type_, value_of) in BROKER_CONFIGS.items():
        value = value_of(node, settings)
        is_set = value is not None and (config in _GIVEN or value != value_of(node, usual))
        source = ConfigSource.STATIC_BROKER_CONFIG if is_set else ConfigSource.DEFAULT_CONFIG
        yield Value(config, type_, True, [(config, value, source)])
    for config, dynamic in DYNAMIC_CONFIGS.items():
        own = node.configs.get(config)
        set_here = [] if own is None else [(config, own, ConfigSource.DYNAMIC_BROKER_CONFIG)]
        yield Value(config, dynamic.type, False, [*set_here, (config, dynamic.default, ConfigSource.DEFAULT_CONFIG)])


def _group_values(request: RequestContext, name: str) -> Iterator[Value]:
    own = request.cluster.controller.group_configs.get(name, {})
    for config, (type_, default, _) in GROUP_CONFIGS.items():
        set_here = [(config, own[config], ConfigSource.GROUP_CONFIG)] if config in own else []
        yield Value(config, type_, False, [*set_here, (config, default, ConfigSource.DEFAULT_CONFIG)])


def _config_row(request: RequestContext, value: Value) -> Any:
    response = messages.DescribeConfigsResponse
    _, text, source = value.synonyms[0]
    is_old = request.version < FIRST_WITH_SOURCES
    synonyms = value.synonyms if request.message.include_synonyms else []
    return response.DescribeConfigsResourceResult(
        name=value.name,
        value=text,
        read_only=value.read_only,
        is_default=is_old and source == ConfigSource.DEFAULT_CONFIG,
        config_source=source,
        config_type=value.type,
        synonyms=tuple(
            response.DescribeConfigsSynonym(name=name, value=text, source=source) for name, text, source in synonyms
        ),
        documentation=None,
    )


def list_config_resources(request: RequestContext) -> Any:
    """Handle ListConfigResources (KIP-1142): return the topics, brokers and groups with configs. Version 0 lists only
    client metrics, of which there are none."""
    response, kinds = messages.ListConfigResourcesResponse, set(request.message.resource_types)
    if request.version < FIRST_WITH_TYPES:
        return response()
    controller = request.cluster.controller
    names = [(ConfigResourceType.TOPIC, name) for name in controller.topics]
    names += [(ConfigResourceType.BROKER, str(node_id)) for node_id in controller.nodes]
    names += [(ConfigResourceType.GROUP, group_id) for group_id in controller.group_configs]
    rows = (response.ConfigResource(resource_name=name, resource_type=kind) for kind, name in names)
    return response(config_resources=tuple(row for row in rows if not kinds or row.resource_type in kinds))


def incremental_alter_configs(request: RequestContext) -> Any:
    """Handle IncrementalAlterConfigs (KIP-339): apply the changes of each resource completely or not at all."""
    response = messages.IncrementalAlterConfigsResponse
    return response(responses=tuple(_altered(request, row) for row in request.message.resources))


def alter_configs(request: RequestContext) -> Any:
    """Handle AlterConfigs: replace all configs of a resource by those in the request."""
    return messages.AlterConfigsResponse(
        responses=tuple(_altered(request, row, anew=True) for row in request.message.resources)
    )


def _altered(request: RequestContext, row: Any, *, anew: bool = False) -> Any:
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


def _alter_group(request: RequestContext, row: Any, anew: bool) -> None:
    controller = request.cluster.controller
    own, most = controller.group_configs, request.cluster.settings.most_groups
    if row.resource_name not in own and len(own) >= most:
        raise PolicyViolation("too_many_group_configs", most=most)
    defaults = {name: config.default for name, config in GROUP_CONFIGS.items()}
    before = own.get(row.resource_name, {})
    after = _anew(row.configs) if anew else _after(before, defaults, row.configs, GROUP_CONFIGS)
    configs = checked(after.items(), GROUP_CONFIGS)
    if not request.message.validate_only:
        controller.configure_group(row.resource_name, configs)


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
    """Return the configs of a resource after some changes."""
    names = Counter(change.name for change in changes)
    after: dict[str, str | None] = dict(own)
    for change in changes:
        if names[change.name] > 1:
            raise InvalidRequest("in_request_twice", name=change.name)
        if change.name not in configs and change.config_operation != AlterConfigOp.DELETE:
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
    """Return the value of a list config after adding or removing values."""
    operations = (AlterConfigOp.APPEND, AlterConfigOp.SUBTRACT)
    if config.type != ConfigType.LIST or change.config_operation not in operations:
        raise InvalidConfig("bad_config_operation", config=change.name, operation=change.config_operation)
    items, given = filter(None, value.split(",")), change.value.split(",")
    if change.config_operation == AlterConfigOp.SUBTRACT:
        return ",".join(item for item in items if item not in given)
    return ",".join(dict.fromkeys([*items, *given]))


def alter_client_quotas(request: RequestContext) -> Any:
    """Handle AlterClientQuotas."""
    response = messages.AlterClientQuotasResponse
    rows = []
    refused = request.error()
    for entry in request.message.entries:
        problem = request.denied(refused)["error_message"] if refused else _quota_problem(request, entry)
        if not problem and not request.message.validate_only:
            _set_quotas(request, entry)
        entity = tuple(
            response.EntityData(entity_type=one.entity_type, entity_name=one.entity_name) for one in entry.entity
        )
        code = refused or (ErrorCode.INVALID_REQUEST if problem else ErrorCode.NONE)
        rows.append(response.EntryData(error_code=code, error_message=problem or None, entity=entity))
    return response(entries=tuple(rows))


def _entity(entry: Any) -> Entity:
    return frozenset((one.entity_type, one.entity_name) for one in entry.entity)


def _quota_problem(request: RequestContext, entry: Any) -> str:
    kinds = [one.entity_type for one in entry.entity]
    if not kinds or len(set(kinds)) < len(kinds) or not set(kinds) <= {USER, CLIENT}:
        return f"an entity must have a {USER}, a {CLIENT} or both, not {kinds}"
    if any(one.entity_name == "" for one in entry.entity):
        return "an entity name is empty"
    if unknown := [op.key for op in entry.ops if op.key not in KEYS]:
        return f"unknown quota {unknown[0]!r}"
    if len(request.cluster.quotas.values) >= MOST_QUOTAS:
        return f"the limit of {MOST_QUOTAS} quotas is reached"
    is_right = all(op.remove or op.value > 0 for op in entry.ops)
    return "" if is_right else "a quota must be positive"


def _set_quotas(request: RequestContext, entry: Any) -> None:
    for op in entry.ops:
        request.cluster.controller.set_quota(_entity(entry), op.key, None if op.remove else op.value)


def describe_client_quotas(request: RequestContext) -> Any:
    """Handle DescribeClientQuotas."""
    response, asked = messages.DescribeClientQuotasResponse, request.message
    kinds = [one.entity_type for one in asked.components]
    if len(set(kinds)) < len(kinds):
        return response(
            error_code=ErrorCode.INVALID_REQUEST, error_message="the filter has an entity type twice", entries=None
        )
    if not set(kinds) <= {USER, CLIENT, "ip"}:
        message = f"an entity type must be {USER} or {CLIENT}"
        return response(error_code=ErrorCode.UNSUPPORTED_VERSION, error_message=message, entries=None)
    rows = []
    for entity, values in request.cluster.quotas.values.items():
        if all(_matches(dict(entity), one) for one in asked.components) and (
            not asked.strict or len(entity) == len(kinds)
        ):
            names = tuple(
                response.EntityData(entity_type=kind, entity_name=name)
                for kind, name in sorted(entity, key=lambda one: one[0])
            )
            found = tuple(response.ValueData(key=key, value=value) for key, value in sorted(values.items()))
            rows.append(response.EntryData(entity=names, values=found))
    return response(error_message=None, entries=tuple(rows))


def _matches(entity: dict[str, str | None], component: Any) -> bool:
    if component.entity_type not in entity:
        return False
    name = entity[component.entity_type]
    if component.match_type == EXACT:
        return name is not None and name == component.match
    return name is None if component.match_type == DEFAULT else True


INTERVAL_MS = 300_000
MOST_BYTES = 1 << 20  # the default of Kafka's telemetry.max.bytes
SUBSCRIPTION = 1
NONE, ACCEPTED = 0, (4, 3, 1, 2)  # values of `kwire.values.CompressionType`, in Kafka's order


def get_telemetry_subscriptions(request: RequestContext) -> Any:
    """Handle GetTelemetrySubscriptions: assign an id to a client that has none."""
    return messages.GetTelemetrySubscriptionsResponse(
        client_instance_id=_instance_id(request),
        subscription_id=SUBSCRIPTION,
        accepted_compression_types=ACCEPTED,
        push_interval_ms=INTERVAL_MS,
        telemetry_max_bytes=MOST_BYTES,
        delta_temporality=True,
    )


def _instance_id(request: RequestContext) -> bytes:
    given = bytes(request.message.client_instance_id)
    return request.cluster.rng.randbytes(16) if given == NO_ID else given


def push_telemetry(request: RequestContext) -> Any:
    """Handle PushTelemetry: validate and discard the metrics."""
    asked, response = request.message, messages.PushTelemetryResponse
    if asked.client_instance_id == NO_ID:
        return response(error_code=ErrorCode.INVALID_REQUEST)
    if asked.subscription_id != SUBSCRIPTION:
        return response(error_code=ErrorCode.UNKNOWN_SUBSCRIPTION_ID)
    if asked.compression_type not in (NONE, *ACCEPTED):
        return response(error_code=ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    is_large = len(asked.metrics) > MOST_BYTES
    return response(error_code=ErrorCode.TELEMETRY_TOO_LARGE if is_large else ErrorCode.NONE)
