"""Whether the leader of a group asks for a rebalance, because partitions or racks changed (KIP-881).

Ports ConsumerCoordinator.MetadataSnapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..state import ClusterState
from .by_name import knows_racks
from .releases import NEWEST, rules_of


class ReplicaRack(NamedTuple):
    """A replica of a partition. An offline replica is on a broker that metadata does not list; its rack is unknown."""

    node_id: int
    rack: str | None = None
    online: bool = True


class MetadataSnapshot(NamedTuple):
    """Topics at one time: topic -> the replicas of each partition. `version` increases with each update."""

    version: int
    topics: Mapping[str, Sequence[Sequence[ReplicaRack]]]


def snapshot_of(state: ClusterState, version: int) -> MetadataSnapshot:
    """Return a snapshot of a cluster's state, as the leader stores it.

    >>> from kwire.cluster import Broker, Partition
    >>> state = ClusterState(brokers={1: Broker(1, rack="a")})
    >>> state.put(Partition("orders", 0, replicas=(1, 2)))
    >>> snapshot_of(state, 7).topics["orders"][0]
    [ReplicaRack(node_id=1, rack='a', online=True), ReplicaRack(node_id=2, rack=None, online=False)]
    """
    brokers = state.brokers or {}

    def replica(node: int) -> ReplicaRack:
        return ReplicaRack(node, brokers[node].rack) if node in brokers else ReplicaRack(node, online=False)

    topics = {name: state.partitions(name) for name in state.topics}
    replicas = {
        name: [[replica(node) for node in partition.replicas] for partition in partitions]
        for name, partitions in topics.items()
    }
    return MetadataSnapshot(version, replicas)


def asks_for_rebalance(
    subscribed: Iterable[str],
    at_assignment: MetadataSnapshot,
    now: MetadataSnapshot,
    *,
    client_rack: str | None = None,
    release: str = NEWEST,
) -> bool:
    """Return whether the group's leader requests a rebalance because metadata changed (KIP-881).

    Args:
        subscribed: the topics of the group; others are ignored.
        at_assignment, now: the metadata when the group was assigned, and the current metadata.
        client_rack: `client.rack` of the leader; without one, racks are ignored.
        release: Kafka release of the leader. Before 4.4, brokers that go offline or come back change the racks.

    Returns:
        True if a topic was added or deleted, its number of partitions changed, or the racks of a partition changed.

    Raises:
        UnknownMessage: the release is unknown, or has no rack-aware assignors.

    >>> before = MetadataSnapshot(1, {"orders": [[ReplicaRack(1, "a")]]})
    >>> after = MetadataSnapshot(2, {"orders": [[ReplicaRack(2, "b")]]})
    >>> asks_for_rebalance(["orders"], before, after, client_rack="a")
    True
    >>> asks_for_rebalance(["orders"], before, after)
    False
    """
    same_racks = _covers_both_ways if rules_of(release).offline_keeps_rack else _same
    if at_assignment.version == now.version:
        return False
    for topic in set(subscribed):
        former = at_assignment.topics.get(topic, ())
        present = now.topics.get(topic, ())
        if len(former) != len(present):
            return True
        if client_rack and not all(map(same_racks, former, present)):
            return True
    return False


def _same(former: Sequence[ReplicaRack], present: Sequence[ReplicaRack]) -> bool:
    return {replica.rack for replica in former} == {replica.rack for replica in present}


def _covers_both_ways(former: Sequence[ReplicaRack], present: Sequence[ReplicaRack]) -> bool:
    return _covers(present, former) and _covers(former, present)


def _covers(present: Sequence[ReplicaRack], former: Sequence[ReplicaRack]) -> bool:
    """Whether each rack of the former replicas is still present, or belongs to an offline broker that may return."""
    racks = {replica.rack for replica in present if replica.online}
    offline = {replica.node_id for replica in present if not replica.online}
    racked = (replica for replica in former if replica.online and replica.rack is not None)
    return all(replica.rack in racks or replica.node_id in offline for replica in racked)


def leader_rebalances(
    subscribed: Iterable[str],
    before: MetadataSnapshot,
    now: MetadataSnapshot,
    *,
    client_rack: str | None,
    release: str = NEWEST,
) -> bool:
    """Return the result of `asks_for_rebalance` for any release: before 3.5, racks are ignored."""
    if knows_racks(release):
        return asks_for_rebalance(subscribed, before, now, client_rack=client_rack, release=release)
    return asks_for_rebalance(subscribed, before, now)
