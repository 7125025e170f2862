"""The partitions of a request by topic, each once, as Kafka's maps have them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

Part_co = TypeVar("Part_co", covariant=True)
Part = TypeVar("Part")


class TopicPartitionRow(Protocol[Part_co]):
    """A row of a request with the partitions of a topic."""

    @property
    def name(self) -> str:
        """The topic."""

    @property
    def partitions(self) -> Sequence[Part_co]:
        """The rows of its partitions."""


def merge_partitions(rows: Iterable[TopicPartitionRow[Part]], index_of: Callable[[Part], int]) -> dict[str, list[Part]]:
    """Return the partitions of each topic; of one that is there twice, the last row. Topics without partitions are left
    out.
    """
    topics: dict[str, dict[int, Part]] = {}
    for row in rows:
        for part in row.partitions:
            topics.setdefault(row.name, {})[index_of(part)] = part
    return {name: list(parts.values()) for name, parts in topics.items()}
