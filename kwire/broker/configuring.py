"""DescribeConfigs and IncrementalAlterConfigs: what topics and brokers are set to; topics can be set otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .. import messages
from ..refusals import InvalidConfig, InvalidRequest, Refused
from ..values import AlterConfigOp, ConfigResourceType, ConfigSource, ConfigType
from .asks import Ask
from .configs import BROKER_CONFIGS, TOPIC_CONFIGS, checked, topic_defaults
from .settings import Settings

FIRST_WITH_SOURCES = 1  # before, a config is a default or it is not
_GIVEN = ("broker.id", "broker.rack", "listeners", "log.dirs")


class Value(NamedTuple):
    """What one config is set to; `synonyms` are (name, value, source), the one that holds first."""

    name: str
    type: int
    read_only: bool
    synonyms: Sequence[tuple[str, str | None, int]]


def describe_configs(ask: Ask) -> Any:
    """Answer DescribeConfigs."""
    return messages.DescribeConfigsResponse(results=tuple(_resource(ask, row) for row in ask.message.resources))


def _resource(ask: Ask, row: Any) -> Any:
    result = messages.DescribeConfigsResponse.DescribeConfigsResult
    named = {"resource_type": row.resource_type, "resource_name": row.resource_name}
    try:
        values = list(_values(ask, row))
    except Refused as error:
        return result(**named, error_code=error.error_code, error_message=str(error))
    wanted = set(row.configuration_keys or ())
    configs = tuple(_row(ask, value) for value in values if not wanted or value.name in wanted)
    return result(**named, error_message=None, configs=configs)


def _values(ask: Ask, row: Any) -> Iterator[Value]:
    if row.resource_type == ConfigResourceType.TOPIC:
        return _topic(ask, row.resource_name)
    if row.resource_type != ConfigResourceType.BROKER:
        raise InvalidRequest("unknown_resource_type", type=row.resource_type)
    if row.resource_name not in ("", str(ask.node_id)):
        raise InvalidRequest("not_this_broker", asked=row.resource_name, node_id=ask.node_id)
    return _broker(ask) if row.resource_name else iter(())


def _topic(ask: Ask, name: str) -> Iterator[Value]:
    own = ask.cluster.controller.known(name).configs
    for config, default in topic_defaults(ask.cluster.settings).items():
        set_here = [(config, own[config], ConfigSource.TOPIC_CONFIG)] if config in own else []
        otherwise = (config, default, ConfigSource.DEFAULT_CONFIG)
        yield Value(config, TOPIC_CONFIGS[config].type, False, [*set_here, otherwise])


def _broker(ask: Ask) -> Iterator[Value]:
    node, settings, usual = ask.cluster.controller.nodes[ask.node_id], ask.cluster.settings, Settings()
    for config, (type_, value_of) in BROKER_CONFIGS.items():
        value = value_of(node, settings)
        is_set = value is not None and (config in _GIVEN or value != value_of(node, usual))
        source = ConfigSource.STATIC_BROKER_CONFIG if is_set else ConfigSource.DEFAULT_CONFIG
        yield Value(config, type_, True, [(config, value, source)])


def _row(ask: Ask, value: Value) -> Any:
    response = messages.DescribeConfigsResponse
    _, text, source = value.synonyms[0]
    is_old = ask.version < FIRST_WITH_SOURCES
    synonyms = value.synonyms if ask.message.include_synonyms else []
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


def incremental_alter_configs(ask: Ask) -> Any:
    """Answer IncrementalAlterConfigs (KIP-339), for topics; each resource is changed as a whole or not at all."""
    response = messages.IncrementalAlterConfigsResponse
    return response(responses=tuple(_altered(ask, row) for row in ask.message.resources))


def _altered(ask: Ask, row: Any) -> Any:
    result = messages.IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
    named = {"resource_type": row.resource_type, "resource_name": row.resource_name}
    try:
        if row.resource_type != ConfigResourceType.TOPIC:
            raise InvalidRequest("not_to_be_altered", type=row.resource_type)
        topic = ask.cluster.controller.known(row.resource_name)
        defaults = topic_defaults(ask.cluster.settings)
        configs = checked(_after(topic.configs, defaults, row.configs).items())
        if not ask.message.validate_only:
            ask.cluster.controller.configure(topic, configs)
    except Refused as error:
        return result(**named, error_code=error.error_code, error_message=str(error))
    return result(**named, error_message=None)


def _after(own: dict[str, str], defaults: dict[str, str], changes: Sequence[Any]) -> dict[str, str | None]:
    """Return what a topic is set to after some changes."""
    names = Counter(change.name for change in changes)
    after: dict[str, str | None] = dict(own)
    for change in changes:
        if names[change.name] > 1:
            raise InvalidRequest("in_request_twice", name=change.name)
        if change.name not in TOPIC_CONFIGS:
            raise InvalidConfig("unknown_config", config=change.name)
        if change.value is None and change.config_operation != AlterConfigOp.DELETE:
            raise InvalidRequest("config_without_value", config=change.name)
        if change.config_operation == AlterConfigOp.SET:
            after[change.name] = change.value
        elif change.config_operation == AlterConfigOp.DELETE:
            after.pop(change.name, None)
        else:
            after[change.name] = _listed(change, own.get(change.name, defaults[change.name]))
    return after


def _listed(change: Any, value: str) -> str:
    """Add to a list, or take out of it."""
    operations = (AlterConfigOp.APPEND, AlterConfigOp.SUBTRACT)
    if TOPIC_CONFIGS[change.name].type != ConfigType.LIST or change.config_operation not in operations:
        takes = "to be set or deleted" if TOPIC_CONFIGS[change.name].type != ConfigType.LIST else "operations 0 to 3"
        raise InvalidConfig("bad_config_value", config=change.name, value=change.value, takes=takes)
    items, given = filter(None, value.split(",")), change.value.split(",")
    if change.config_operation == AlterConfigOp.SUBTRACT:
        return ",".join(item for item in items if item not in given)
    return ",".join(dict.fromkeys([*items, *given]))
