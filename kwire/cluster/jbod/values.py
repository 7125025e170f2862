"""What the machines of KIP-112 hold: who leads a partition, who is to host it, and the states of both.

Plain values in Kafka's words; knows no messages, no znodes and no machine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

TopicPartition = tuple[str, int]

NO_LEADER = -1
LEADER_DURING_DELETE = -2
EPOCH_DURING_DELETE = -2
NO_EPOCH = -1

NONE = 0
UNKNOWN_TOPIC_OR_PARTITION = 3
NOT_LEADER_OR_FOLLOWER = 6
STALE_CONTROLLER_EPOCH = 11
KAFKA_STORAGE_ERROR = 56
FENCED_LEADER_EPOCH = 74


class ReplicaState(Enum):
    """What the controller thinks of a replica; the names are Kafka's."""

    NON_EXISTENT = "NonExistentReplica"
    NEW = "NewReplica"
    ONLINE = "OnlineReplica"
    OFFLINE = "OfflineReplica"
    DELETION_STARTED = "ReplicaDeletionStarted"
    DELETION_SUCCESSFUL = "ReplicaDeletionSuccessful"
    DELETION_INELIGIBLE = "ReplicaDeletionIneligible"


class PartitionStates(Enum):
    """What the controller thinks of a partition."""

    NON_EXISTENT = "NonExistentPartition"
    NEW = "NewPartition"
    ONLINE = "OnlinePartition"
    OFFLINE = "OfflinePartition"


@dataclass(frozen=True, slots=True)
class LeaderAndIsr:
    """Who leads a partition and who is in sync, as its state znode has it; `zk_version` is that of the znode."""

    leader: int
    isr: tuple[int, ...]
    leader_epoch: int = 0
    controller_epoch: int = 0
    zk_version: int = 0

    def next(self, leader: int, isr: tuple[int, ...]) -> LeaderAndIsr:
        """Return what follows: another leader or ISR, under the next leader epoch.

        >>> LeaderAndIsr(1, (1, 2)).next(2, (2,))
        LeaderAndIsr(leader=2, isr=(2,), leader_epoch=1, controller_epoch=0, zk_version=0)
        """
        return replace(self, leader=leader, isr=isr, leader_epoch=self.leader_epoch + 1)

    def without(self, replica: int) -> LeaderAndIsr:
        """Return what is left when a replica is offline: the last one in sync stays in the ISR, but leads no more.

        >>> LeaderAndIsr(1, (1, 2)).without(2).isr, LeaderAndIsr(1, (1,)).without(1).isr
        ((1,), (1,))
        """
        isr = self.isr if len(self.isr) == 1 else tuple(one for one in self.isr if one != replica)
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
        return tuple(one for one in self.replicas if one not in self.removing)

    @property
    def origin(self) -> tuple[int, ...]:
        """The replicas before the reassignment."""
        return tuple(one for one in self.replicas if one not in self.adding)

    def reassign_to(self, target: tuple[int, ...]) -> ReplicaAssignment:
        """Return the assignment while it is changed into another (KIP-455).

        >>> ReplicaAssignment((1, 2)).reassign_to((2, 3))
        ReplicaAssignment(replicas=(2, 3, 1), adding=(3,), removing=(1,))
        """
        origin = self.origin
        return ReplicaAssignment(
            tuple(dict.fromkeys((*target, *origin))),
            tuple(one for one in target if one not in origin),
            tuple(one for one in origin if one not in target),
        )
