"""Values of the ZooKeeper-era controller: partitions, leaders, replica states and assignments; error codes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from ..state import NO_LEADER

TopicPartition = tuple[str, int]
NONE = 0
UNKNOWN_TOPIC_OR_PARTITION = 3
NOT_LEADER_OR_FOLLOWER = 6
STALE_CONTROLLER_EPOCH = 11
KAFKA_STORAGE_ERROR = 56
FENCED_LEADER_EPOCH = 74


class ReplicaState(Enum):
    """The state of a replica in the controller; the names are Kafka's."""

    NON_EXISTENT = "NonExistentReplica"
    NEW = "NewReplica"
    ONLINE = "OnlineReplica"
    OFFLINE = "OfflineReplica"
    DELETION_STARTED = "ReplicaDeletionStarted"
    DELETION_SUCCESSFUL = "ReplicaDeletionSuccessful"
    DELETION_INELIGIBLE = "ReplicaDeletionIneligible"


class PartitionStates(Enum):
    """The states of a partition in the controller."""

    NON_EXISTENT = "NonExistentPartition"
    NEW = "NewPartition"
    ONLINE = "OnlinePartition"
    OFFLINE = "OfflinePartition"


@dataclass(frozen=True, slots=True)
class LeaderAndIsr:
    """The leader and ISR of a partition, as in its state znode; `zk_version` is the version of the znode."""

    leader: int
    isr: tuple[int, ...]
    leader_epoch: int = 0
    controller_epoch: int = 0
    zk_version: int = 0

    def next(self, leader: int, isr: tuple[int, ...]) -> LeaderAndIsr:
        """Return the next state: another leader or ISR, with the next leader epoch.

        >>> LeaderAndIsr(1, (1, 2)).next(2, (2,))
        LeaderAndIsr(leader=2, isr=(2,), leader_epoch=1, controller_epoch=0, zk_version=0)
        """
        return replace(self, leader=leader, isr=isr, leader_epoch=self.leader_epoch + 1)

    def without(self, replica: int) -> LeaderAndIsr:
        """Return the state without an offline replica.

        The last in-sync replica stays in the ISR, but is no longer the leader.

        >>> LeaderAndIsr(1, (1, 2)).without(2).isr, LeaderAndIsr(1, (1,)).without(1).isr
        ((1,), (1,))
        """
        isr = self.isr if len(self.isr) == 1 else tuple(node for node in self.isr if node != replica)
        return self.next(NO_LEADER if replica == self.leader else self.leader, isr)


@dataclass(frozen=True, slots=True)
class ReplicaAssignment:
    """The replicas of a partition, the preferred leader first; `adding` and `removing` while it is reassigned."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas after the reassignment."""
        return tuple(node for node in self.replicas if node not in self.removing)

    @property
    def origin(self) -> tuple[int, ...]:
        """The replicas before the reassignment."""
        return tuple(node for node in self.replicas if node not in self.adding)

    def reassign_to(self, target: tuple[int, ...]) -> ReplicaAssignment:
        """Return the assignment during its reassignment to other replicas (KIP-455).

        >>> ReplicaAssignment((1, 2)).reassign_to((2, 3))
        ReplicaAssignment(replicas=(2, 3, 1), adding=(3,), removing=(1,))
        """
        origin = self.origin
        return ReplicaAssignment(
            tuple(dict.fromkeys((*target, *origin))),
            tuple(node for node in target if node not in origin),
            tuple(node for node in origin if node not in target),
        )
