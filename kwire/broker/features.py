"""The features of a served cluster, with their levels in each release (KIP-584)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..schema.releases import release


class Feature(NamedTuple):
    """A feature of the cluster (KIP-584): its range of levels, and the level in new clusters; 0 is none."""

    first: int
    last: int
    level: int


# From Kafka 4.0 on: `metadata.version` of the newest stable MetadataVersion (4.1.0 and 4.4.0 as brokers answered), and
# the other features by the first release that has them. Share groups are on by default, in Kafka from 4.2 on.
METADATA = {(4, 0): 25, (4, 1): 27, (4, 2): 29, (4, 3): 30, (4, 4): 33}
OTHERS: dict[str, tuple[tuple[int, int], Feature]] = {
    "eligible.leader.replicas.version": ((4, 0), Feature(0, 1, 1)),  # KIP-966
    "group.version": ((4, 0), Feature(0, 1, 1)),  # KIP-848
    "kraft.version": ((4, 0), Feature(0, 1, 0)),  # KIP-853; 0 with static voters
    "share.version": ((4, 1), Feature(0, 1, 1)),  # KIP-932
    "streams.version": ((4, 2), Feature(0, 1, 1)),  # KIP-1071
    "transaction.version": ((4, 0), Feature(0, 2, 2)),  # KIP-890
}
# Later levels, which are those of new clusters at once: dead letters of share groups (KIP-1191; ShareVersion.SV_2).
LATER: dict[str, tuple[tuple[int, int], Feature]] = {"share.version": ((4, 4), Feature(0, 2, 2))}
FIRST_WITH_DEAD_LETTERS = 2  # the first level of share.version
OLDEST_METADATA = 7  # IBP_3_3_IV3
LATEST_DEFAULTS = {"eligible.leader.replicas.version": (4, 1)}  # the first release in which new clusters have it


def features_of(name: str | None) -> Mapping[str, Feature]:
    """Return the features of a release, by name; none before Kafka 4.0.

    Args:
        name: the release, such as `4.1`; None for the newest one.

    >>> features_of("4.1")["metadata.version"], sorted(features_of("3.9"))
    (Feature(first=7, last=27, level=27), [])
    """
    newest = max(METADATA)
    number = newest if name is None else _number(release(name).name)
    if number < min(METADATA):
        return {}
    level = METADATA[max(known for known in METADATA if known <= number)]
    features = {"metadata.version": Feature(OLDEST_METADATA, level, level)}
    for feature, (since, levels) in (*OTHERS.items(), *LATER.items()):
        if number >= since:
            is_off = number < LATEST_DEFAULTS.get(feature, since)
            features[feature] = levels._replace(level=0) if is_off else levels
    return dict(sorted(features.items()))


def _number(name: str) -> tuple[int, int]:
    major, minor = name.split(".")[:2]
    return int(major), int(minor)
