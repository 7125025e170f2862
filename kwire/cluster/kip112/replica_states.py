"""Values of the ZooKeeper-era controller: leaders, replica states, and differences between KIP-112 and releases.

Requests of the controller and responses of brokers are created here as messages in the layout of their version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import total_ordering
from typing import Any, Final, Literal

from ... import messages
from ...errors import UnknownMessage
from ..state import NO_LEADER as NO_LEADER
from ..state import Broker

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
        """Return the assignment during its reassignment to other replicas (KIP-455).

        >>> ReplicaAssignment((1, 2)).reassign_to((2, 3))
        ReplicaAssignment(replicas=(2, 3, 1), adding=(3,), removing=(1,))
        """
        origin = self.origin
        return ReplicaAssignment(
            tuple(dict.fromkeys((*target, *origin))),
            tuple(one for one in target if one not in origin),
            tuple(one for one in origin if one not in target),
        )


Name = Literal["kip", "released"]


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The behaviour of a controller and brokers, for each difference between KIP-112's text and released Kafka.

    `any_error_is_offline`: an error other than KAFKA_STORAGE_ERROR also makes a replica offline.
    `stale_is_error`: the response to a request with nothing newer for a replica is STALE_CONTROLLER_EPOCH.
    `storage_error_seen`: for a failed directory, clients receive error 56 instead of an unknown partition.
    `delete_event_first`: the znode of the notification is deleted before the broker receives a request.
    `stop_fails_offline`: StopReplica of an offline replica fails even if nothing is to be deleted.
    `stop_needs_newer`: StopReplica is fenced unless its leader epoch is above the replica's epoch.
    `metadata_of_all`: an UpdateMetadata for no particular partition lists all partitions.
    `adding_replicas`: reassignments have adding and removing replicas, and send the new epoch (KIP-455).
    `metadata_to_new`: new live brokers are sent to the known brokers first; partitions only to new brokers.
    `bad_dir_spoils_delete`: a broker with a bad directory answers all deletions with 56, also of good replicas.
    `offline_is_ineligible`: the deletion of a replica that was offline from the start is retried too.
    `stops_deleted`: a controlled shutdown also stops replicas of topics that are being deleted.
    `dead_stay_in_sync`: a new controller leaves offline replicas in the ISR of partitions with a live leader.
    `metadata_of_deleted`: the partitions sent to new brokers include those of topics being deleted.
    `raises_unchanged_epoch`: a preferred election increases the leader epoch even if the preferred replica leads.
    `informs_leaving`: a broker that shuts down receives the new leaders, like the other replicas.
    """

    any_error_is_offline: bool
    stale_is_error: bool
    storage_error_seen: bool
    delete_event_first: bool
    stop_fails_offline: bool = True
    stop_needs_newer: bool = False
    metadata_of_all: bool = False
    adding_replicas: bool = True
    metadata_to_new: bool = True
    bad_dir_spoils_delete: bool = False
    offline_is_ineligible: bool = True
    stops_deleted: bool = False
    dead_stay_in_sync: bool = False
    metadata_of_deleted: bool = False
    raises_unchanged_epoch: bool = False
    informs_leaving: bool = True


KIP: Final = Behaviour(True, False, False, True)
# by the first release with this behaviour
RELEASED: Final = {
    (1, 0): Behaviour(
        False, True, True, False, stop_fails_offline=False, metadata_of_all=True, adding_replicas=False,
        metadata_to_new=False, bad_dir_spoils_delete=True, stops_deleted=True, dead_stay_in_sync=True,
        raises_unchanged_epoch=True, informs_leaving=False, offline_is_ineligible=False,
    ),
    (2, 2): Behaviour(
        False, True, True, False, stop_fails_offline=False, adding_replicas=False, metadata_of_deleted=True
    ),
    (2, 4): Behaviour(False, True, True, False, stop_fails_offline=False, metadata_of_deleted=True),
    (2, 6): Behaviour(False, True, True, False, stop_needs_newer=True),
    (3, 0): Behaviour(False, True, True, False),
}  # fmt: skip


def behaviour_for(name: Name, release: str = "3.9") -> Behaviour:
    """Return a behaviour: `"kip"` is the text of KIP-112, `"released"` what the brokers of a release do.

    Raises UnknownMessage for another name, or a release before KIP-112.

    >>> behaviour_for("kip").any_error_is_offline, behaviour_for("released", "1.1").stop_fails_offline
    (True, False)
    """
    if name == "kip":
        return KIP
    number = release_number(release)
    first = max((known for known in RELEASED if known <= number), default=None)
    if name != "released" or first is None:
        raise UnknownMessage("behaviour", f"{name} {release}", ["kip", "released 1.0", "released 3.9"])
    return RELEASED[first]


@total_ordering
@dataclass(frozen=True, slots=True)
class InterBrokerProtocol:
    """The versions of requests between brokers with one `inter.broker.protocol.version`."""

    since: tuple[int, ...]
    leader_and_isr: int
    update_metadata: int
    stop_replica: int

    def __lt__(self, other: InterBrokerProtocol) -> bool:
        return self.since < other.since

    @property
    def knows_disk_failure(self) -> bool:
        """Whether KIP-112's fields are sent. Without them, a broker halts when a directory fails."""
        return self.leader_and_isr >= 1


PROTOCOLS: Final = (
    InterBrokerProtocol((0, 8), 0, 0, 0),
    InterBrokerProtocol((0, 9), 0, 1, 0),
    InterBrokerProtocol((0, 10, 0), 0, 2, 0),
    InterBrokerProtocol((0, 10, 2), 0, 3, 0),
    InterBrokerProtocol((1, 0), 1, 4, 0),
    InterBrokerProtocol((2, 2), 2, 5, 1),
    InterBrokerProtocol((2, 4, 0), 3, 5, 1),  # 2.4-IV0
    InterBrokerProtocol((2, 4, 1), 4, 6, 2),
    InterBrokerProtocol((2, 6), 4, 6, 3),
    InterBrokerProtocol((2, 8), 5, 7, 3),
    InterBrokerProtocol((3, 2), 6, 7, 3),
    InterBrokerProtocol((3, 4), 7, 8, 4),
)


def protocol_for(text: str) -> InterBrokerProtocol:
    """Return the request versions of an `inter.broker.protocol.version`.

    >>> [protocol_for(text).leader_and_isr for text in ("0.10.2", "1.1", "2.4-IV0", "2.4", "3.9")]
    [0, 1, 3, 4, 7]
    """
    base, _, internal = text.partition("-IV")
    number = release_number(base)
    if number[:2] == (2, 4):
        number = (2, 4, min(int(internal), 1) if internal else 1)
    return max(row for row in PROTOCOLS if row.since <= number)


def release_number(text: str) -> tuple[int, ...]:
    """Return a release as comparable numbers.

    >>> release_number("0.10.2"), release_number("3.9.1")
    ((0, 10, 2), (3, 9, 1))
    """
    return tuple(int(part) for part in text.split("."))


SECURITY_PLAINTEXT = 0


def leader_and_isr_request(
    version: int,
    controller: tuple[int, int],
    broker_epoch: int,
    states: Mapping[TopicPartition, tuple[LeaderAndIsr, ReplicaAssignment, bool]],
    live: Iterable[Broker],
    topic_ids: Mapping[str, bytes],
) -> Any:
    """Return a LeaderAndIsrRequest for one broker.

    Args:
        version: the version of the request; version 0 has no `is_new_replica`.
        controller: id and epoch of the controller.
        broker_epoch: epoch of the broker.
        states: for each partition: state, replicas, and whether the broker's replica is new (KIP-112).
        live: the live brokers; those that lead a partition are listed in `live_leaders`.
        topic_ids: the ids of topics (KIP-516).
    """
    leaders = {state.leader for state, _, _ in states.values()}
    rows = {partition: _leader_and_isr_row(version, partition, *row) for partition, row in states.items()}
    topic = messages.LeaderAndIsrRequest.LeaderAndIsrTopicState
    live_leader = messages.LeaderAndIsrRequest.LeaderAndIsrLiveLeader
    return messages.LeaderAndIsrRequest(
        controller_id=controller[0],
        controller_epoch=controller[1],
        broker_epoch=broker_epoch,
        live_leaders=tuple(
            live_leader(broker_id=one.node_id, host_name=one.host, port=one.port)
            for one in live
            if one.node_id in leaders
        ),
        **_by_topic(rows, version, 2, lambda name, found: topic(name, topic_ids.get(name, bytes(16)), found)),
    )


def _leader_and_isr_row(
    version: int, partition: TopicPartition, state: LeaderAndIsr, assignment: ReplicaAssignment, is_new: bool
) -> Any:
    return messages.LeaderAndIsrRequest.LeaderAndIsrPartitionState(
        topic_name=partition[0] if version < 2 else "",
        partition_index=partition[1],
        controller_epoch=state.controller_epoch,
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        isr=state.isr,
        partition_epoch=state.zk_version,
        replicas=assignment.replicas,
        adding_replicas=assignment.adding,
        removing_replicas=assignment.removing,
        is_new_replica=is_new,
    )


def update_metadata_request(
    version: int,
    controller: tuple[int, int],
    broker_epoch: int,
    states: Mapping[TopicPartition, tuple[LeaderAndIsr, ReplicaAssignment, tuple[int, ...]]],
    live: Iterable[Broker],
    topic_ids: Mapping[str, bytes],
) -> Any:
    """Return an UpdateMetadataRequest: for each partition its state, replicas and offline replicas (from version 4).

    For the arguments see `leader_and_isr_request`.
    """
    rows = {
        partition: messages.UpdateMetadataRequest.UpdateMetadataPartitionState(
            topic_name=partition[0] if version < 5 else "",
            partition_index=partition[1],
            controller_epoch=state.controller_epoch,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            isr=state.isr,
            zk_version=state.zk_version,
            replicas=assignment.replicas,
            offline_replicas=offline if version >= 4 else (),
        )
        for partition, (state, assignment, offline) in states.items()
    }
    topic = messages.UpdateMetadataRequest.UpdateMetadataTopicState
    return messages.UpdateMetadataRequest(
        controller_id=controller[0],
        controller_epoch=controller[1],
        broker_epoch=broker_epoch,
        live_brokers=tuple(_live_broker(one, version) for one in live),
        **_by_topic(rows, version, 5, lambda name, found: topic(name, topic_ids.get(name, bytes(16)), found)),
    )


def stop_replica_requests(
    version: int,
    controller: tuple[int, int],
    broker_epoch: int,
    partitions: Mapping[TopicPartition, tuple[bool, int]],
) -> list[Any]:
    """Return StopReplicaRequests with the deletion flag and the leader epoch of each partition (version 3).

    Below version 3, a request deletes either all or none of its partitions, so up to two requests are returned.
    """
    if version >= 3:
        return [_stop_with_epochs(controller, broker_epoch, partitions)]
    return [
        _stop(version, controller, broker_epoch, delete, found)
        for delete in (False, True)
        if (found := [partition for partition, (wanted, _) in partitions.items() if wanted is delete])
    ]


def _stop_with_epochs(
    controller: tuple[int, int], broker_epoch: int, partitions: Mapping[TopicPartition, tuple[bool, int]]
) -> Any:
    state = messages.StopReplicaRequest.StopReplicaPartitionState
    rows = {one: state(one[1], epoch, delete) for one, (delete, epoch) in partitions.items()}
    grouped = _by_topic(rows, 3, 3, lambda name, found: messages.StopReplicaRequest.StopReplicaTopicState(name, found))
    return messages.StopReplicaRequest(
        controller_id=controller[0], controller_epoch=controller[1], broker_epoch=broker_epoch, **grouped
    )


def _stop(
    version: int, controller: tuple[int, int], broker_epoch: int, delete: bool, partitions: list[TopicPartition]
) -> Any:
    ungrouped = tuple(messages.StopReplicaRequest.StopReplicaPartitionV0(*one) for one in partitions)
    indexes: dict[str, list[int]] = {}
    for name, index in partitions:
        indexes.setdefault(name, []).append(index)
    topics = tuple(
        messages.StopReplicaRequest.StopReplicaTopicV1(name, tuple(found)) for name, found in indexes.items()
    )
    return messages.StopReplicaRequest(
        controller_id=controller[0],
        controller_epoch=controller[1],
        broker_epoch=broker_epoch,
        delete_partitions=delete,
        **({"ungrouped_partitions": ungrouped} if version == 0 else {"topics": topics}),
    )


def _by_topic(rows: Mapping[TopicPartition, Any], version: int, grouped_since: int, topic: Any) -> dict[str, Any]:
    if version < grouped_since:
        return {"ungrouped_partition_states": tuple(rows.values())}
    names: dict[str, list[Any]] = {}
    for (name, _), row in rows.items():
        names.setdefault(name, []).append(row)
    return {"topic_states": tuple(topic(name, tuple(found)) for name, found in names.items())}


def _live_broker(broker: Broker, version: int) -> Any:
    live = messages.UpdateMetadataRequest.UpdateMetadataBroker
    if version == 0:
        return live(id=broker.node_id, v0_host=broker.host, v0_port=broker.port)
    endpoint = messages.UpdateMetadataRequest.UpdateMetadataEndpoint(
        port=broker.port,
        host=broker.host,
        listener="PLAINTEXT" if version >= 3 else "",
        security_protocol=SECURITY_PLAINTEXT,
    )
    return live(id=broker.node_id, endpoints=(endpoint,), rack=broker.rack if version >= 2 else None)


def leader_and_isr_response(
    version: int, error_code: int, errors: Mapping[TopicPartition, int], topic_ids: Mapping[str, bytes]
) -> Any:
    """Return a LeaderAndIsrResponse.

    It has one error for the whole request, or one per partition (KIP-112: 56 for a failed directory).
    """
    row = messages.LeaderAndIsrResponse.LeaderAndIsrPartitionError
    if version < 5:
        rows = tuple(row(name, index, code) for (name, index), code in errors.items())
        return messages.LeaderAndIsrResponse(error_code=error_code, partition_errors=rows)
    topics: dict[str, list[Any]] = {}
    for (name, index), code in errors.items():
        topics.setdefault(name, []).append(row("", index, code))
    topic = messages.LeaderAndIsrResponse.LeaderAndIsrTopicError
    return messages.LeaderAndIsrResponse(
        error_code=error_code,
        topics=tuple(topic(topic_ids.get(name, bytes(16)), tuple(found)) for name, found in topics.items()),
    )


def stop_replica_response(error_code: int, errors: Mapping[TopicPartition, int]) -> Any:
    """Return a StopReplicaResponse."""
    row = messages.StopReplicaResponse.StopReplicaPartitionError
    return messages.StopReplicaResponse(
        error_code=error_code, partition_errors=tuple(row(name, index, code) for (name, index), code in errors.items())
    )
