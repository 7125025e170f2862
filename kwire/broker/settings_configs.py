"""Settings from Kafka's broker configs, and back: which configs are set, and which defaults differ from Kafka's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ..errors import suggestion
from ..errors.refused import InvalidConfig
from ..values import ConfigType
from .configs.config_store import ConfigStore
from .configs.definitions import BROKER, Definition, definitions_of
from .configs.effects import FIELDS, INTERNAL_MIN_ISR, Effect, effect_of, refusal
from .configs.values import describe_valid
from .node import Node
from .settings import Settings

# Heartbeats every 5 s are too long for tests; these defaults follow the one of consumer groups.
_HEARTBEATS = tuple(
    f"group.{kind}.{name}heartbeat.interval.ms" for kind in ("consumer", "share", "streams") for name in ("", "min.")
)
_AT_ONCE = {  # nor do groups wait for anything before they assign partitions
    **{f"group.{kind}.assignment.interval.ms": "0" for kind in ("consumer", "share", "streams")},
    "group.streams.initial.rebalance.delay.ms": "0",
}
# Settings that are as Kafka's if clusters shall be realistic.
_REALISTIC: Mapping[str, Any] = {"initial_rebalance_delay": 3.0, "consumer_heartbeat_interval": 5.0}
_NEVER_KAFKAS = ("fetch.max.bytes", "socket.request.max.bytes")  # memory that each slow client may take
_OF_AUTHORIZER = ("allow.everyone.if.no.acl.found", "super.users")  # no configs of KafkaConfig


def settings_from(configs: Mapping[str, str], *, realistic: bool = False, **given: Any) -> Settings:
    """Return the settings for broker configs.

    Args:
        configs: the configs by their names of Kafka, such as `message.max.bytes`.
        realistic: whether defaults are Kafka's where kwire has others, which suit tests.
        given: fields of `Settings`, which win over configs.

    Raises:
        InvalidConfig: a value is invalid, or one that kwire cannot act upon.

    >>> settings_from({"num.partitions": "3"}).num_partitions
    3
    """
    definitions = definitions_of(BROKER, given.get("release"))
    values: dict[str, Any] = dict(_REALISTIC) if realistic else {}
    for name, text in configs.items():
        check_broker_config(name, text, definitions)
        if name in FIELDS:
            field_name, factor = FIELDS[name]
            values[field_name] = _parse(field_name, text.strip(), factor)
    if "replica.selector.class" in configs:
        values["rack_aware_fetch"] = "RackAware" in configs["replica.selector.class"]
    if configs.get("authorizer.class.name"):
        values["authorizer"] = True
    if "super.users" in configs:
        values["super_users"] = tuple(filter(None, map(str.strip, configs["super.users"].split(";"))))
    return Settings(**{**values, **given}, realistic=realistic, configs=dict(configs))


def check_broker_config(name: str, text: str, definitions: Mapping[str, Definition]) -> None:
    """Raise InvalidConfig if a value of a broker config is invalid, or one that kwire cannot act upon."""
    if reason := refusal(name, text):
        raise InvalidConfig("refused_config", config=name, value=text, why=reason)
    definition = definitions.get(name)
    if (
        definition is not None
        and definition.type != ConfigType.PASSWORD
        and (takes := describe_valid(definition, text))
    ):
        raise InvalidConfig("bad_config_value", config=name, value=text, takes=takes)
    if name == "allow.everyone.if.no.acl.found" and text.strip().lower() not in ("true", "false"):
        raise InvalidConfig("bad_config_value", config=name, value=text, takes="true or false")


def _parse(field_name: str, text: str, factor: int) -> Any:
    usual = getattr(Settings(), field_name)
    if isinstance(usual, bool):
        return text.lower() == "true"
    if isinstance(usual, str):
        return text.lower()
    return int(text) / factor if isinstance(usual, float) else int(text)


def _format(value: Any, factor: int) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value * factor)) if isinstance(value, int | float) else str(value)


def list_without_effect(configs: Mapping[str, str], release: str | None = None) -> tuple[list[str], list[str]]:
    """Return the names of configs that have no effect, and of those that Kafka does not have."""
    effects = {name: effect_of(name, release) for name in configs}
    idle = [name for name, effect in effects.items() if effect is Effect.NONE]
    return sorted(idle), sorted(name for name, effect in effects.items() if effect is Effect.UNKNOWN)


def describe_unknown(name: str) -> str:
    """Return what the user may have meant by an unknown config; empty without a guess."""
    return suggestion(name, [*definitions_of(BROKER, None), *_OF_AUTHORIZER])


def store_for(nodes: list[Node], settings: Settings) -> ConfigStore:
    """Return the store of the brokers' configs."""
    usual = {
        setting.name: getattr(Settings(), setting.name) for setting in fields(Settings) if setting.name != "configs"
    }
    usual |= _REALISTIC if settings.realistic else {}
    set_in_code = {
        name: _format(getattr(settings, field_name), factor)
        for name, (field_name, factor) in FIELDS.items()
        if getattr(settings, field_name) != usual[field_name] and name not in _OF_AUTHORIZER
    }
    static: dict[int, Mapping[str, str]] = {
        node.node_id: _addresses(node, settings) | set_in_code | dict(settings.configs) | node.static_configs
        for node in nodes
    }
    return ConfigStore(static, own_defaults(settings), settings.release)


def _addresses(node: Node, settings: Settings) -> dict[str, str]:
    """Return the configs that every broker has of its own."""
    configs = {
        "advertised.listeners": _listener(settings, *node.address),
        "broker.id": str(node.node_id),
        "listeners": _listener(settings, node.host, node.port),
        "log.dirs": ",".join(log_dir.path for log_dir in node.log_dirs),
        "node.id": str(node.node_id),
    }
    return configs if node.rack is None else configs | {"broker.rack": node.rack}


def _listener(settings: Settings, host: str, port: int) -> str:
    return f"{settings.protocol}://{host}:{port}"


def own_defaults(settings: Settings | None = None) -> dict[str, str]:
    """Return kwire's defaults of broker configs where they differ from Kafka's."""
    usual = Settings()
    settings = usual if settings is None else settings
    names = FIELDS if not settings.realistic else _NEVER_KAFKAS
    own = {name: _format(getattr(usual, FIELDS[name][0]), FIELDS[name][1]) for name in names}
    if not settings.realistic:
        own |= dict.fromkeys(_HEARTBEATS, own["group.consumer.heartbeat.interval.ms"]) | _AT_ONCE
        # 2 in Kafka; here, brokers may be stopped in tests until one is left, unless all topics need more
        own |= dict.fromkeys(INTERNAL_MIN_ISR.values(), str(settings.min_insync_replicas))
    definitions = definitions_of(BROKER, settings.release)
    return {name: value for name, value in own.items() if name not in definitions or definitions[name].default != value}
