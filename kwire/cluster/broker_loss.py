"""What becomes of a cluster without some of its brokers: which partitions lose their leader, their quorum, their data.

The answer follows from the ISR, the eligible leader replicas (KIP-966) and `min.insync.replicas`, as a controller
decides; it assumes that no other broker changes meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .state import NO_LEADER, ClusterState, Partition

Key = tuple[str, int]


@dataclass(slots=True)
class BrokerLoss:
    """The effects of losing brokers. Partitions that are unavailable or below their minimum already are not listed.

    Attributes:
        brokers: the lost brokers, in ascending order.
        leaders: the partitions that they lead, each with its next leader.
        leaderless: the partitions without a leader until a broker is back.
        under_min_isr: the partitions that have a leader and refuse writes with `acks=all`.
        without_replicas: the partitions whose replicas are all on lost brokers.
        is_quorum_lost: whether most of the voting controllers are lost; None if the voters are not known.
    """

    brokers: tuple[int, ...]
    leaders: dict[Key, int] = field(default_factory=dict)
    leaderless: list[Key] = field(default_factory=list)
    under_min_isr: list[Key] = field(default_factory=list)
    without_replicas: list[Key] = field(default_factory=list)
    is_quorum_lost: bool | None = None

    @property
    def is_safe(self) -> bool:
        """Whether every partition stays available and writable, and the controllers keep their quorum."""
        return not (self.leaderless or self.under_min_isr or self.is_quorum_lost)


def effects_of_loss(state: ClusterState, brokers: Iterable[int]) -> BrokerLoss:
    """Compute the effects of losing brokers.

    Args:
        state: the state of the cluster now.
        brokers: the ids of the brokers that are lost together.

    >>> state = ClusterState()
    >>> state.put(Partition("orders", 0, leader=1, replicas=(1, 2), isr=(1, 2)))
    >>> state.put(Partition("orders", 1, leader=1, replicas=(1, 3), isr=(1,)))
    >>> loss = effects_of_loss(state, [1])
    >>> loss.leaders, loss.leaderless, loss.is_safe
    ({('orders', 0): 2}, [('orders', 1)], False)
    """
    lost = frozenset(brokers)
    loss = BrokerLoss(tuple(sorted(lost)))
    for partition in state.partitions():
        if not lost.isdisjoint(partition.replicas):
            _add_effects(loss, state, partition, lost)
    voters = state.settings.voters
    if voters:
        loss.is_quorum_lost = 2 * len(voters.keys() - lost) <= len(voters)
    return loss


def drain_order(state: ClusterState, brokers: Iterable[int]) -> tuple[list[int], list[int]]:
    """Return in which order brokers can be stopped, one after the other, without starting any of them again.

    A broker whose loss, with those before it, would leave partitions without a leader or below `min.insync.replicas`,
    or the controllers without a quorum, is left out, and another one comes first.

    Args:
        state: the state of the cluster now.
        brokers: the ids of the brokers to stop.

    Returns:
        The brokers that can be stopped, in order, and the others.

    >>> state = ClusterState()
    >>> state.put(Partition("orders", 0, leader=1, replicas=(1, 2), isr=(1, 2)))
    >>> drain_order(state, [1, 2])
    ([2], [1])
    """
    order: list[int] = []
    remaining = sorted(set(brokers))
    leaders = [partition.leader for partition in state.partitions()]
    while remaining:
        safe = [node_id for node_id in remaining if effects_of_loss(state, [*order, node_id]).is_safe]
        if not safe:
            break
        order.append(min(safe, key=lambda node_id: (leaders.count(node_id), node_id)))
        remaining.remove(order[-1])
    return order, remaining


def _add_effects(loss: BrokerLoss, state: ClusterState, partition: Partition, lost: frozenset[int]) -> None:
    """Add the effects on a partition that has replicas on lost brokers."""
    key = partition.topic, partition.index
    if lost.issuperset(partition.replicas):
        loss.without_replicas.append(key)
    if not partition.has_leader:
        return
    leader = next_leader(state, partition, lost)
    if leader == NO_LEADER:
        loss.leaderless.append(key)
        return
    if leader != partition.leader:
        loss.leaders[key] = leader
    minimum = state.least_in_sync(partition)
    if len(set(partition.isr) - lost) < minimum <= len(partition.isr):
        loss.under_min_isr.append(key)


def next_leader(state: ClusterState, partition: Partition, lost: frozenset[int]) -> int:
    """Return the leader of a partition after the loss of brokers; -1 for none.

    1. The leader stays if it is not lost.
    2. The first live replica that is in the ISR leads.
    3. Otherwise an eligible leader replica, which has all committed records (KIP-966).
    """
    # Kafka: PartitionChangeBuilder.electAnyLeader; ZooKeeper mode: PartitionLeaderElectionAlgorithms
    if partition.leader not in lost:
        return partition.leader
    offline = set(state.offline(partition)) | lost
    for candidates in (partition.isr, partition.elr or ()):
        for node_id in partition.replicas:
            if node_id in candidates and node_id not in offline:
                return node_id
    return NO_LEADER
