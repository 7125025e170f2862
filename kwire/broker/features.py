"""The features of a served cluster, with their levels (KIP-584)."""

from __future__ import annotations

from typing import NamedTuple


class Feature(NamedTuple):
    """A feature of the cluster (KIP-584): its range of levels, the level in new clusters, an api that requires it."""

    first: int
    last: int
    level: int
    api: str


FEATURES: dict[str, Feature] = {
    "group.version": Feature(0, 1, 1, "ConsumerGroupHeartbeat"),  # KIP-848
    "metadata.version": Feature(7, 27, 27, "ConsumerGroupHeartbeat"),  # as Kafka 4.1
    "share.version": Feature(0, 1, 1, "ShareGroupHeartbeat"),  # KIP-932
    "streams.version": Feature(0, 1, 1, "StreamsGroupHeartbeat"),  # KIP-1071
    "transaction.version": Feature(0, 2, 2, "ConsumerGroupHeartbeat"),  # KIP-890
}
