"""DescribeConfigs: the configs of topics and brokers, with their sources and synonyms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ... import messages
from ...errors.refused import InvalidRequest, Refused
from ...values import AclOperation, ConfigResourceType, ConfigSource, ResourceType
from .. import codes
from ..authorizer import CLUSTER_NAME, DENIALS, denied
from ..cluster import RequestContext
from ..configs import BROKER_CONFIGS, DYNAMIC_CONFIGS, TOPIC_CONFIGS, Settings, topic_defaults

FIRST_WITH_TYPES = 1  # of ListConfigResources
FIRST_WITH_SOURCES = 1  # older versions only distinguish defaults from other values
_GIVEN = ("advertised.listeners", "broker.id", "broker.rack", "listeners", "log.dirs")


class Value(NamedTuple):
    """The value of a config; `synonyms` are (name, value, source), the effective one first."""

    name: str
    type: int
    read_only: bool
    synonyms: Sequence[tuple[str, str | None, int]]


def describe_configs(request: RequestContext) -> Any:
    """Answer DescribeConfigs."""
    return messages.DescribeConfigsResponse(results=tuple(_resource(request, row) for row in request.message.resources))


def _resource(request: RequestContext, row: Any) -> Any:
    result = messages.DescribeConfigsResponse.DescribeConfigsResult
    named = {"resource_type": row.resource_type, "resource_name": row.resource_name}
    if code := config_denial(request, row, AclOperation.DESCRIBE_CONFIGS):
        return result(**named, **denied(code))
    try:
        values = list(_values(request, row))
    except Refused as error:
        return result(**named, error_code=error.error_code, error_message=str(error))
    wanted = set(row.configuration_keys or ())
    configs = tuple(_row(request, value) for value in values if not wanted or value.name in wanted)
    return result(**named, error_message=None, configs=configs)


def config_denial(request: RequestContext, row: Any, operation: int) -> int:
    """Return the error code if the principal may not do this to the configs of a resource; 0 if it may."""
    kinds = {ConfigResourceType.TOPIC: ResourceType.TOPIC, ConfigResourceType.GROUP: ResourceType.GROUP}
    kind = kinds.get(row.resource_type, ResourceType.CLUSTER)
    name = CLUSTER_NAME if kind == ResourceType.CLUSTER else row.resource_name
    return codes.NONE if request.allows(operation, kind, name) else DENIALS[kind]


def _values(request: RequestContext, row: Any) -> Iterator[Value]:
    if row.resource_type == ConfigResourceType.TOPIC:
        return _topic(request, row.resource_name)
    if row.resource_type != ConfigResourceType.BROKER:
        raise InvalidRequest("unknown_resource_type", type=row.resource_type)
    if row.resource_name not in ("", str(request.node_id)):
        raise InvalidRequest("not_this_broker", asked=row.resource_name, node_id=request.node_id)
    return _broker(request) if row.resource_name else iter(())


def _topic(request: RequestContext, name: str) -> Iterator[Value]:
    own, usual = request.cluster.controller.known(name).configs, topic_defaults(Settings())
    for config, default in topic_defaults(request.cluster.settings).items():
        set_here = [(config, own[config], ConfigSource.TOPIC_CONFIG)] if config in own else []
        is_usual = default == usual[config]
        otherwise = (config, default, ConfigSource.DEFAULT_CONFIG if is_usual else ConfigSource.STATIC_BROKER_CONFIG)
        yield Value(config, TOPIC_CONFIGS[config].type, False, [*set_here, otherwise])


def _broker(request: RequestContext) -> Iterator[Value]:
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


def _row(request: RequestContext, value: Value) -> Any:
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
    """Answer ListConfigResources (KIP-1142): topics and brokers; version 0 is about client metrics: there are none."""
    response, kinds = messages.ListConfigResourcesResponse, set(request.message.resource_types)
    if request.version < FIRST_WITH_TYPES:
        return response()
    controller = request.cluster.controller
    names = [(ConfigResourceType.TOPIC, name) for name in controller.topics]
    names += [(ConfigResourceType.BROKER, str(node_id)) for node_id in controller.nodes]
    rows = (response.ConfigResource(resource_name=name, resource_type=kind) for kind, name in names)
    return response(config_resources=tuple(row for row in rows if not kinds or row.resource_type in kinds))
