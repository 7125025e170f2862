"""A topic of a served cluster: its partitions and configs."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..log.replica_log import NEVER, SEGMENT, SegmentLimits
from .partition import Partition

NO_TOPIC_ID = bytes(16)  # the defaults


@dataclass(slots=True)
class Topic:
    """A topic. `partitions` are in the order of their indexes; `configs` contains only configs that are set for the
    topic.
    """

    name: str
    topic_id: bytes
    partitions: list[Partition] = field(default_factory=list)
    configs: dict[str, str] = field(default_factory=dict)

    def number(self, config: str, default: int) -> int:
        """Return the topic's value of a numeric config, or a default if it is not set."""
        return int(self.configs.get(config, default))

    def has_policy(self, policy: str) -> bool:
        """Return whether `cleanup.policy` includes a policy, `delete` or `compact`."""
        return policy in self.configs.get("cleanup.policy", "delete").split(",")

    @property
    def limits(self) -> SegmentLimits:
        """The limits of the topic's segments."""
        week = 7 * 24 * 3600 * 1000
        return SegmentLimits(
            self.number("segment.bytes", SEGMENT),
            self.number("segment.ms", week),
            self.number("flush.messages", NEVER),
        )
