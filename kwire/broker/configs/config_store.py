"""The values of broker configs: set in a file or by a test, altered at run time, or defaults; and where each is from.

As Kafka's DynamicBrokerConfig and ConfigHelper do it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ...values import ConfigResourceType, ConfigSource, ConfigType
from .definitions import BROKER, CLIENT_METRICS, GROUP, TOPIC, Definition, definitions_of
from .effects import BOUNDS

ANY_NODE = -1
BROKER_DEFAULT = ""  # the name of the resource with the configs of all brokers
# Broker configs that mean the same in several units (DynamicBrokerConfig.brokerConfigSynonyms).
SYNONYMS = (
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
)
# Quotas of replication are dynamic configs of brokers, and no part of the static ones (kafka.server.DynamicConfig).
QUOTA_ABOUT = "How many bytes a second are copied or moved."
QUOTAS = (
    "follower.replication.throttled.rate",
    "leader.replication.throttled.rate",
    "replica.alter.log.dirs.io.max.bytes.per.second",
)
QUOTA_DEFINITIONS = {
    name: Definition(name, ConfigType("LONG"), None, "[0,...]", "cluster", {}, True, QUOTA_ABOUT) for name in QUOTAS
}


FIRST_OF_4_4 = "consumer.assignment.interval.ms"  # a group config that releases from 4.4 on have
OTHER_GROUP_NAMES = {"streams.assignor.name": "group.streams.assignors"}


class ConfigSynonym(NamedTuple):
    """A value of a config, by the name under which it is set, with its source (of `ConfigSource`)."""

    name: str
    value: str | None
    source: int


class ConfigStore:
    """The configs of brokers.

    Args:
        static: the configs that are set when a broker starts, by broker.
        own_defaults: kwire's defaults where they differ from Kafka's.
        release: the release whose configs there are; None for the newest.

    Attributes:
        definitions, topic_definitions, group_definitions, client_metrics_definitions: the configs that there are.
        dynamic: the configs that were altered at run time, by broker id as text, and of all brokers by "".
        client_metrics: the configs of client metrics subscriptions, by name.
        version: the number of changes of dynamic configs.

    >>> store = ConfigStore({1: {"log.retention.hours": "2"}}, {}, None)
    >>> store.topic_default("retention.ms", 1)
    '7200000'
    """

    def __init__(
        self, static: Mapping[int, Mapping[str, str]], own_defaults: Mapping[str, str], release: str | None
    ) -> None:
        self.static = static
        self.definitions: Mapping[str, Definition] = QUOTA_DEFINITIONS | dict(definitions_of(BROKER, release))
        self.topic_definitions: Mapping[str, Definition] = definitions_of(TOPIC, release)
        self.group_definitions: Mapping[str, Definition] = definitions_of(GROUP, release)
        self.client_metrics_definitions: Mapping[str, Definition] = definitions_of(CLIENT_METRICS, release)
        self.dynamic: dict[str, dict[str, str]] = {}
        self.client_metrics: dict[str, dict[str, str]] = {}
        self.version: int = 0
        self._own_defaults = own_defaults
        self._topic_defaults: dict[tuple[str, int], str] = {}
        self._group_defaults: dict[str, str] = {}
        self._observers: list[Callable[[], None]] = []

    def observe(self, act: Callable[[], None]) -> None:
        """Call a function after each change of dynamic configs."""
        self._observers.append(act)

    def restore(self, dynamic: Mapping[str, dict[str, str]], client_metrics: Mapping[str, dict[str, str]]) -> None:
        """Take over what clients have set before a restart."""
        self.dynamic.update({resource: own for resource, own in dynamic.items() if own})
        self.client_metrics.update({name: own for name, own in client_metrics.items() if own})
        self._topic_defaults.clear()
        self.version += 1

    def alter(self, resource: str, configs: Mapping[str, str]) -> None:
        """Replace the dynamic configs of a broker, or of all brokers (`BROKER_DEFAULT`)."""
        self.dynamic[resource] = dict(configs)
        if not configs:
            del self.dynamic[resource]
        self._topic_defaults.clear()
        self._group_defaults.clear()
        self.version += 1
        for act in self._observers:
            act()

    def resources(self) -> tuple[tuple[int, dict[str, dict[str, str]]], ...]:
        """Return what clients have set, by type of resource and name."""
        return (ConfigResourceType.BROKER, self.dynamic), (ConfigResourceType.CLIENT_METRICS, self.client_metrics)

    def default(self, name: str) -> str | None:
        """Return the default of a broker config: kwire's own, or Kafka's."""
        definition = self.definitions.get(name)
        return self._own_defaults.get(name, definition.default if definition is not None else None)

    def synonyms(self, name: str, node_id: int) -> list[ConfigSynonym]:
        """Return the values of a config at a broker, the effective one first, as from the most special source."""
        # Kafka: ConfigHelper.configSynonyms
        if node_id == ANY_NODE:  # where no certain broker is asked
            node_id = min(self.static, default=ANY_NODE)
        names = next((names for names in SYNONYMS if name in names), (name,))
        sources = (
            (self.dynamic.get(str(node_id), {}), ConfigSource.DYNAMIC_BROKER_CONFIG),
            (self.dynamic.get(BROKER_DEFAULT, {}), ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
            (self.static.get(node_id, {}), ConfigSource.STATIC_BROKER_CONFIG),
        )
        synonyms = [
            ConfigSynonym(synonym, values[synonym], source)
            for values, source in sources
            for synonym in names
            if synonym in values
        ]
        for synonym in names:
            value = self.default(synonym)
            if value is not None:
                synonyms.append(ConfigSynonym(synonym, value, ConfigSource.DEFAULT_CONFIG))
        return synonyms

    def value(self, name: str, node_id: int) -> str | None:
        """Return the effective value of a broker config, in its own unit."""
        synonyms = [synonym for synonym in self.synonyms(name, node_id) if synonym.name == name]
        return synonyms[0].value if synonyms else None

    def topic_synonyms(self, name: str, node_id: int) -> list[ConfigSynonym]:
        """Return the values that a topic config has if the topic does not set it, the effective one first."""
        first = next(iter(self.topic_definitions[name].synonyms), None)
        return [] if first is None else self.synonyms(first, node_id)

    def topic_default(self, name: str, node_id: int) -> str:
        """Return the value of a topic config if the topic does not set it, at a broker."""
        key = name, node_id
        if key not in self._topic_defaults:
            self._topic_defaults[key] = self._find_topic_default(name, node_id)
        return self._topic_defaults[key]

    def _find_topic_default(self, name: str, node_id: int) -> str:
        definition = self.topic_definitions[name]
        synonyms = self.topic_synonyms(name, node_id)
        if not synonyms or synonyms[0].value is None:
            return definition.default or ""
        factor = definition.synonyms.get(synonyms[0].name, 1)
        value = synonyms[0].value.strip()
        return value if factor == 1 or value.startswith("-") else str(int(value) * factor)

    def group_defaults(self) -> Mapping[str, str]:
        """Return the values of group configs that a group does not set, also of those that its release lacks."""
        if not self._group_defaults:
            self._group_defaults = {name: self._find_group_default(name) for name in definitions_of(GROUP, None)}
        return self._group_defaults

    def _find_group_default(self, name: str, node_id: int = ANY_NODE) -> str:
        of_brokers = OTHER_GROUP_NAMES.get(name, f"group.{name}")
        broker_value = self.value(of_brokers, node_id)
        return broker_value if broker_value is not None else definitions_of(GROUP, None)[name].default or ""

    def group_synonyms(self, name: str, node_id: int) -> list[ConfigSynonym]:
        """Return the values that a group config has if the group does not set it; from 4.4 on, those of brokers."""
        of_brokers = OTHER_GROUP_NAMES.get(name, f"group.{name}")
        if FIRST_OF_4_4 in self.group_definitions and of_brokers in self.definitions:
            return self.synonyms(of_brokers, node_id)
        return [ConfigSynonym(name, self.group_defaults()[name], ConfigSource.DEFAULT_CONFIG)]

    def group_bounds(self, name: str, node_id: int = ANY_NODE) -> tuple[int, int] | None:
        """Return the lowest and the highest value that a group may set; None if brokers do not limit it."""
        # Kafka: GroupConfig.validateValues
        names = BOUNDS.get(name)
        if names is None:
            return None
        limits = (None if config is None else self.value(config, node_id) for config in names)
        low, high = (None if limit is None else int(limit) for limit in limits)
        return low or 0, (2**31 - 1 if high is None else high)
