"""DescribeConfigs: the configs of topics, brokers and groups, with where each value comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import dropwhile
from typing import Any, NamedTuple, Protocol

from .... import messages
from ....errors.refused import InvalidRequest, Refused
from ....values import AclOperation, ConfigResourceType, ConfigSource, ConfigType, ErrorCode, ResourceType
from ...api import ServedApi
from ...configs import BROKER_DEFAULT, ConfigStore, ConfigSynonym, Definition
from ...configs.config_store import QUOTAS
from ...controller.topic_names import check_name
from ...request_context import RequestContext
from ...security.api_permissions import CLUSTER_NAME, DENIALS

FIRST_WITH_SOURCES = 1  # of DescribeConfigs; version 0 only marks default values
UNKNOWN_TYPE = 0  # of ConfigType


class ConfigValue(NamedTuple):
    """The value of a config; `synonyms` are its values from all sources, the effective one first."""

    name: str
    value: str | None
    definition: Definition | None
    read_only: bool
    synonyms: Sequence[ConfigSynonym]
    source: int | None = None

    @property
    def effective_source(self) -> int:
        """Where the value comes from."""
        if self.source is not None:
            return self.source
        return self.synonyms[0].source if self.synonyms else ConfigSource.DEFAULT_CONFIG

    @property
    def is_sensitive(self) -> bool:
        """Whether the value is a secret, or may be one because the config is unknown (ConfigHelper.maybeSensitive)."""
        return self.source is None and (self.definition is None or self.definition.type == ConfigType.PASSWORD)


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
) -> Iterable[ConfigValue]:
    # Kafka: ConfigHelper.describeConfigs
    controller, name = request.cluster.controller, row.resource_name
    kind = row.resource_type
    if kind == ConfigResourceType.TOPIC:
        check_name(name, ())
        return topic_values(controller.configs, controller.known(name).configs, request.node_id)
    if kind == ConfigResourceType.BROKER and not name:
        return _default_values(controller.configs)
    if kind in (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER):
        if name != str(request.node_id):
            raise InvalidRequest("not_this_broker", asked=name, node_id=request.node_id)
        if kind == ConfigResourceType.BROKER:
            return _broker_values(controller.configs, request.node_id)
        return _logger_levels(controller.nodes[request.node_id].logger_levels)
    if kind in (ConfigResourceType.GROUP, ConfigResourceType.CLIENT_METRICS):
        return _values_of_clients(request, row)
    raise InvalidRequest("unknown_resource_type", type=kind)


def _values_of_clients(
    request: RequestContext[messages.DescribeConfigsRequest],
    row: messages.DescribeConfigsRequest.DescribeConfigsResource,
) -> Iterable[ConfigValue]:
    """Return the configs of a group, or of a subscription of client metrics."""
    controller, name = request.cluster.controller, row.resource_name
    if not name:
        raise InvalidRequest("no_default_resource")
    if row.resource_type == ConfigResourceType.GROUP:
        own = controller.group_configs.get(name, {})
        defaults, definitions = controller.configs.group_defaults(), controller.configs.group_definitions
        synonyms = partial(controller.configs.group_synonyms, node_id=request.node_id)
        return _resource_values(own, defaults, definitions, ConfigSource.GROUP_CONFIG, synonyms)
    own, definitions = (
        controller.configs.client_metrics.get(name, {}),
        controller.configs.client_metrics_definitions,
    )
    usual = {config: definition.default or "" for config, definition in definitions.items()}
    return _resource_values(own, usual, definitions, ConfigSource.CLIENT_METRICS_CONFIG)


def topic_values(store: ConfigStore, own: Mapping[str, str], node_id: int) -> Iterator[ConfigValue]:
    """Yield the configs of a topic: what it sets itself, and its defaults at a broker."""
    # Kafka: ConfigHelper.createTopicConfigEntry
    for name, definition in store.topic_definitions.items():
        if definition.is_internal and name not in own:
            continue
        synonyms = store.topic_synonyms(name, node_id)
        if definition.synonyms:
            synonyms = _from_name(synonyms, next(iter(definition.synonyms)))
        if name in own:
            synonyms = [ConfigSynonym(name, own[name], ConfigSource.TOPIC_CONFIG), *synonyms]
        value = own.get(name, store.topic_default(name, node_id))
        yield ConfigValue(name, value, definition, False, synonyms)


def _broker_values(store: ConfigStore, node_id: int) -> Iterator[ConfigValue]:
    # Kafka: ConfigHelper.createBrokerConfigEntry
    names = [name for name, definition in store.definitions.items() if not definition.is_internal]
    given = [*store.static[node_id], *store.dynamic.get(str(node_id), ()), *store.dynamic.get(BROKER_DEFAULT, ())]
    for name in dict.fromkeys([*names, *given]):
        yield _broker_value(store, name, _from_name(store.synonyms(name, node_id), name))


def _from_name(synonyms: Sequence[ConfigSynonym], name: str) -> list[ConfigSynonym]:
    """Return the synonyms from the first one with the config's own name on (ConfigHelper.configSynonyms)."""
    return list(dropwhile(lambda synonym: synonym.name != name, synonyms))


def _default_values(store: ConfigStore) -> Iterator[ConfigValue]:
    for name, value in store.dynamic.get(BROKER_DEFAULT, {}).items():
        synonym = ConfigSynonym(name, value, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)
        yield _broker_value(store, name, [synonym])


def _broker_value(store: ConfigStore, name: str, synonyms: Sequence[ConfigSynonym]) -> ConfigValue:
    definition = store.definitions.get(name)
    is_dynamic = name in QUOTAS or bool(definition and definition.dynamic)
    value = next((synonym.value for synonym in synonyms if synonym.name == name), None)
    return ConfigValue(name, value, definition, not is_dynamic, synonyms)


def _resource_values(
    own: Mapping[str, str],
    defaults: Mapping[str, str],
    definitions: Mapping[str, Definition],
    source: int,
    others: Callable[[str], Iterable[ConfigSynonym]] = lambda name: (),
) -> Iterator[ConfigValue]:
    for name, definition in definitions.items():
        if definition.is_internal and name not in own:
            continue
        synonyms = [ConfigSynonym(name, own[name], source), *others(name)] if name in own else list(others(name))
        yield ConfigValue(name, own.get(name, defaults[name]), definition, False, synonyms)


def _logger_levels(levels: Mapping[str, str]) -> Iterator[ConfigValue]:
    for name, level in levels.items():
        yield ConfigValue(name, level, None, False, (), ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG)


def _config_row(
    request: RequestContext[messages.DescribeConfigsRequest], value: ConfigValue
) -> messages.DescribeConfigsResponse.DescribeConfigsResourceResult:
    response = messages.DescribeConfigsResponse
    source = value.effective_source
    is_old = request.version < FIRST_WITH_SOURCES
    synonyms = value.synonyms if request.message.include_synonyms else []
    about = value.definition.about if value.definition is not None else None
    return response.DescribeConfigsResourceResult(
        name=value.name,
        value=None if value.is_sensitive else value.value,
        read_only=value.read_only,
        is_default=is_old and source == ConfigSource.DEFAULT_CONFIG,
        config_source=source,
        is_sensitive=value.is_sensitive,
        config_type=value.definition.type if value.definition is not None else UNKNOWN_TYPE,
        synonyms=tuple(
            response.DescribeConfigsSynonym(
                name=synonym.name, value=None if value.is_sensitive else synonym.value, source=synonym.source
            )
            for synonym in synonyms
        ),
        documentation=about if request.message.include_documentation else None,
    )


APIS = {  # what each version has changed
    # 0: marks default values
    # 1: sources and synonyms of values (KIP-226)
    # 2: the response is sent before the client is throttled (KIP-219)
    # 3: types and documentation (KIP-569)
    # 4: flexible (KIP-482)
    "DescribeConfigs": ServedApi(0, 4, describe_configs),
}
