"""A topic of a served cluster: its partitions and configs."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...runtime.caches import once
from ..configs.config_store import ANY_NODE, ConfigStore
from ..log.replica_log import SegmentLimits
from .partition import Partition

NO_TOPIC_ID = bytes(16)  # the defaults


@once
def _kafkas_defaults() -> ConfigStore:
    return ConfigStore({}, {}, None)


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

    @property
    def limits(self) -> SegmentLimits:
        """The limits of the topic's segments."""
        return SegmentLimits(self.number("segment.bytes"), self.number("segment.ms"), self.number("flush.messages"))
