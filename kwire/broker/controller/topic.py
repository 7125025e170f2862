"""A topic of a served cluster: its partitions and configs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ...runtime.caches import once
from ..configs.config_store import ANY_NODE, ConfigStore
from ..log.replica_log import SegmentLimits
from .partition import Partition

NO_TOPIC_ID = bytes(16)  # the defaults


@once
def _kafkas_defaults() -> ConfigStore:
    return ConfigStore({}, {}, None)


class AppendConfigs(NamedTuple):
    """What the configs of a topic say about batches that a broker appends; and the configs that say so.

    Attributes:
        configs, version: the configs of the topic, and the version of the defaults.
        is_compacted: whether each record must have a key.
        uses_append_time: whether batches get the time of the broker.
    """

    configs: Mapping[str, str]
    version: int
    max_message_bytes: int
    min_insync_replicas: int
    is_compacted: bool
    uses_append_time: bool
    timestamp_before_max_ms: int
    timestamp_after_max_ms: int
    retention_bytes: int


@dataclass(slots=True)
class Topic:
    """A topic. `partitions` are in the order of their indexes; `configs` contains only configs that are set for the
    topic; `store` has the defaults of the others, which may differ between brokers.
    """

    name: str
    topic_id: bytes
    partitions: list[Partition] = field(default_factory=list)
    configs: dict[str, str] = field(default_factory=dict)
    store: ConfigStore = field(default_factory=_kafkas_defaults)
    _append_configs: dict[int, AppendConfigs] = field(default_factory=dict, repr=False, compare=False)

    def text(self, config: str, node_id: int = ANY_NODE) -> str:
        """Return the topic's value of a config, or its default at a broker."""
        value = self.configs.get(config)
        return self.store.topic_default(config, node_id) if value is None else value

    def number(self, config: str, node_id: int = ANY_NODE) -> int:
        """Return the topic's value of a numeric config, or its default at a broker."""
        return int(self.text(config, node_id))

    def flag(self, config: str) -> bool:
        """Return the topic's value of a config that is true or false."""
        return self.text(config).lower() == "true"

    def has_policy(self, policy: str) -> bool:
        """Return whether `cleanup.policy` includes a policy, `delete` or `compact`."""
        return policy in self.text("cleanup.policy").replace(" ", "").split(",")

    def append_configs(self, node_id: int) -> AppendConfigs:
        """Return what a broker looks at for each batch, which is read once after each change of configs."""
        known = self._append_configs.get(node_id)
        if known is not None and known.configs is self.configs and known.version == self.store.version:
            return known
        read = self._append_configs[node_id] = AppendConfigs(
            self.configs,
            self.store.version,
            self.number("max.message.bytes", node_id),
            self.number("min.insync.replicas", node_id),
            self.has_policy("compact"),
            self.text("message.timestamp.type") == "LogAppendTime",
            self.number("message.timestamp.before.max.ms", node_id),
            self.number("message.timestamp.after.max.ms", node_id),
            self.number("retention.bytes"),
        )
        return read

    def lacks_in_sync(self, partition: Partition) -> bool:
        """Return whether fewer replicas are in sync than writes need that all acknowledge (`acks=-1`).

        Where a partition has fewer replicas than `min.insync.replicas`, all of them are enough.
        """
        # Kafka: Partition.appendRecordsToLeader with acks=-1, as of producers, coordinators and transaction markers;
        # Partition.effectiveMinIsr (since 3.7)
        needed = min(self.append_configs(partition.leader).min_insync_replicas, len(partition.replicas))
        return len(partition.isr) < needed

    @property
    def limits(self) -> SegmentLimits:
        """The limits of the topic's segments."""
        return SegmentLimits(self.number("segment.bytes"), self.number("segment.ms"), self.number("flush.messages"))
