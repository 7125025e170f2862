"""DescribeConfigs: the configs of topics, brokers and groups, with where each value comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from .... import messages
from ....errors.refused import InvalidRequest, Refused
from ....values import AclOperation, ConfigResourceType, ConfigSource, ErrorCode, ResourceType
from ...api import ServedApi
from ...broker_configs import BROKER_CONFIGS, topic_defaults
from ...configs import DYNAMIC_CONFIGS, GROUP_CONFIGS, TOPIC_CONFIGS
from ...request_context import RequestContext
from ...security.api_permissions import CLUSTER_NAME, DENIALS
from ...settings import Settings

FIRST_WITH_SOURCES = 1  # of DescribeConfigs; version 0 only marks default values
_GIVEN = ("advertised.listeners", "broker.id", "broker.rack", "listeners", "log.dirs")


class ConfigValue(NamedTuple):
    """The value of a config; `synonyms` are tuples (name, value, source), the effective one first."""

    name: str
    type: int
    read_only: bool
    synonyms: Sequence[tuple[str, str | None, int]]


class ConfigResource(Protocol):
    """An element of a request that names a resource with configs."""

    @property
    def resource_type(self) -> int:
        """The type of the resource."""

    @property
    def resource_name(self) -> str:
        """The name of the resource."""


def describe_configs(request: RequestContext[messages.DescribeConfigsRequest]) -> messages.DescribeConfigsResponse:
    """Handle DescribeConfigs."""
    return messages.DescribeConfigsResponse(
        results=tuple(_describe_resource(request, row) for row in request.message.resources)
    )


def _describe_resource(
    request: RequestContext[messages.DescribeConfigsRequest],
    row: messages.DescribeConfigsRequest.DescribeConfigsResource,
) -> messages.DescribeConfigsResponse.DescribeConfigsResult:
    result = messages.DescribeConfigsResponse.DescribeConfigsResult
    named: dict[str, Any] = {"resource_type": row.resource_type, "resource_name": row.resource_name}
    if code := config_denial(request, row, AclOperation.DESCRIBE_CONFIGS):
        return result(**named, **request.describe_denial(code))
    try:
        values = list(_values(request, row))
    except Refused as error:
        return result(**named, error_code=error.error_code, error_message=str(error))
    wanted = set(row.configuration_keys or ())
    configs = tuple(_config_row(request, value) for value in values if not wanted or value.name in wanted)
    return result(**named, error_message=None, configs=configs)


def config_denial(request: RequestContext[object], row: ConfigResource, operation: int) -> int:
    """Return the error code if the principal may not perform an operation on the configs of a resource; 0 if it may."""
    kinds: dict[int, ResourceType] = {
        ConfigResourceType.TOPIC: ResourceType.TOPIC,
        ConfigResourceType.GROUP: ResourceType.GROUP,
    }
    kind = kinds.get(row.resource_type, ResourceType.CLUSTER)
    name = CLUSTER_NAME if kind == ResourceType.CLUSTER else row.resource_name
    return ErrorCode.NONE if request.allows(operation, kind, name) else DENIALS[kind]


def _values(
    request: RequestContext[messages.DescribeConfigsRequest],
    row: messages.DescribeConfigsRequest.DescribeConfigsResource,
) -> Iterator[ConfigValue]:
    if row.resource_type == ConfigResourceType.TOPIC:
        return _topic_values(request, row.resource_name)
    if row.resource_type == ConfigResourceType.GROUP:
        return _group_values(request, row.resource_name)
    if row.resource_type != ConfigResourceType.BROKER:
        raise InvalidRequest("unknown_resource_type", type=row.resource_type)
    if row.resource_name not in ("", str(request.node_id)):
        raise InvalidRequest("not_this_broker", asked=row.resource_name, node_id=request.node_id)
    return _broker_values(request) if row.resource_name else iter(())


def _topic_values(request: RequestContext[messages.DescribeConfigsRequest], name: str) -> Iterator[ConfigValue]:
    own = request.cluster.controller.known(name).configs
    usual = topic_defaults(Settings())
    for config, default in topic_defaults(request.cluster.settings).items():
        set_here = [(config, own[config], ConfigSource.TOPIC_CONFIG)] if config in own else []
        is_usual = default == usual[config]
        otherwise = (config, default, ConfigSource.DEFAULT_CONFIG if is_usual else ConfigSource.STATIC_BROKER_CONFIG)
        yield ConfigValue(config, TOPIC_CONFIGS[config].type, False, [*set_here, otherwise])


def _broker_values(request: RequestContext[messages.DescribeConfigsRequest]) -> Iterator[ConfigValue]:
    node = request.cluster.controller.nodes[request.node_id]
    settings = request.cluster.settings
    usual = Settings()
    for config, (type_, value_of) in BROKER_CONFIGS.items():
        value = value_of(node, settings)
        is_set = value is not None and (config in _GIVEN or value != value_of(node, usual))
        source = ConfigSource.STATIC_BROKER_CONFIG if is_set else ConfigSource.DEFAULT_CONFIG
        yield ConfigValue(config, type_, True, [(config, value, source)])
    for config, dynamic in DYNAMIC_CONFIGS.items():
        own = node.configs.get(config)
        set_here = [] if own is None else [(config, own, ConfigSource.DYNAMIC_BROKER_CONFIG)]
        yield ConfigValue(
            config, dynamic.type, False, [*set_here, (config, dynamic.default, ConfigSource.DEFAULT_CONFIG)]
        )


def _group_values(request: RequestContext[messages.DescribeConfigsRequest], name: str) -> Iterator[ConfigValue]:
    own = request.cluster.controller.group_configs.get(name, {})
    for config, (type_, default, _) in GROUP_CONFIGS.items():
        set_here = [(config, own[config], ConfigSource.GROUP_CONFIG)] if config in own else []
        yield ConfigValue(config, type_, False, [*set_here, (config, default, ConfigSource.DEFAULT_CONFIG)])


def _config_row(
    request: RequestContext[messages.DescribeConfigsRequest], value: ConfigValue
) -> messages.DescribeConfigsResponse.DescribeConfigsResourceResult:
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


APIS = {  # what each version has changed
    # 0: marks default values
    # 1: sources and synonyms of values (KIP-226)
    # 2: the response is sent before the client is throttled (KIP-219)
    # 3: types and documentation (KIP-569)
    # 4: flexible (KIP-482)
    "DescribeConfigs": ServedApi(0, 4, describe_configs),
}
