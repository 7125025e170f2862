"""The partitions that a broker leads, follows or has lost with a directory (KIP-112). Ports ReplicaManager."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ..events.partition_states import partition_states, stopped_partitions, topic_ids_in
from ..state import EPOCH_DURING_DELETE, NO_EPOCH, NO_LEADER
from .kafka_zk_client import KafkaZkClient
from .log_manager import LogManager, PartitionLog, Record
from .releases import Behaviour
from .requests import leader_and_isr_response, stop_replica_response
from .values import (
    FENCED_LEADER_EPOCH,
    KAFKA_STORAGE_ERROR,
    NONE,
    NOT_LEADER_OR_FOLLOWER,
    STALE_CONTROLLER_EPOCH,
    UNKNOWN_TOPIC_OR_PARTITION,
    LeaderAndIsr,
    TopicPartition,
)


@dataclass(frozen=True, slots=True)
class Fetch:
    """A follower's request to its leader: its leader epoch, the end of its log, and the epoch of its last record."""

    replica: int
    leader_epoch: int
    offset: int
    last_epoch: int


@dataclass(frozen=True, slots=True)
class Fetched:
    """The leader's response: records after the follower's end, or the offset to which the follower must truncate."""

    records: tuple[Record, ...] = ()
    high_watermark: int = 0
    cut_at: int | None = None


@dataclass(slots=True)
class Partition:
    """A replica that a broker serves or will serve: its log is None until it is created."""

    broker_id: int
    log: PartitionLog | None = None
    leader: int = NO_LEADER
    leader_epoch: int = NO_EPOCH
    replicas: tuple[int, ...] = ()
    state: LeaderAndIsr = field(default_factory=lambda: LeaderAndIsr(NO_LEADER, ()))
    ends: dict[int, int] = field(default_factory=dict)
    epoch_start: int = 0

    @property
    def is_leader(self) -> bool:
        """Whether this replica is the leader."""
        return self.leader == self.broker_id

    def become(self, state: LeaderAndIsr, replicas: tuple[int, ...]) -> None:
        """Become leader or follower, according to a LeaderAndIsrRequest."""
        self.leader = state.leader
        self.leader_epoch = state.leader_epoch
        self.replicas = replicas
        self.state = state
        self.ends = {}
        self.epoch_start = self.log.end_offset if self.log is not None else 0
        self._advance()

    def append(self, values: list[Any]) -> int:
        """Write records as the leader; return the offset of the first."""
        assert self.log is not None
        first = self.log.end_offset
        self.log.append([(self.leader_epoch, value) for value in values])
        self._advance()
        return first

    def fetch(self) -> Fetch:
        """Return the next request to the leader."""
        assert self.log is not None
        return Fetch(self.broker_id, self.leader_epoch, self.log.end_offset, self.log.last_epoch)

    def answer(self, request: Fetch) -> Fetched | None:
        """Return the response to a follower; None if this replica is not the leader in the follower's epoch."""
        if not self.is_leader or self.log is None or request.leader_epoch != self.leader_epoch:
            return None
        if not self.log.agrees_at(request.offset, request.last_epoch):
            return Fetched(cut_at=min(self.log.end_offset_for(request.last_epoch), request.offset - 1))
        self.ends[request.replica] = request.offset
        self._advance()
        return Fetched(tuple(self.log.records[request.offset :]), self.log.high_watermark)

    def follow(self, request: Fetch, response: Fetched) -> bool:
        """Apply the leader's response; return whether it answered the current request of this replica."""
        if self.log is None or self.is_leader or request != self.fetch():
            return False
        if response.cut_at is not None:
            self.log.truncate(response.cut_at)
            return True
        self.log.append(response.records)
        self.log.high_watermark = max(self.log.high_watermark, min(response.high_watermark, self.log.end_offset))
        return True

    def caught_up(self) -> tuple[int, ...]:
        """Return the replicas outside of the ISR that may join it: those with all records that may be committed.

        The high watermark of a new leader may lag, so they must also have the leader's records from before its epoch
        (KIP-101).
        """
        if not self.is_leader or self.log is None:
            return ()
        needed = max(self.log.high_watermark, self.epoch_start)
        candidates = (replica for replica in self.replicas if replica not in self.state.isr)
        return tuple(replica for replica in candidates if self.ends.get(replica, -1) >= needed)

    def adopt_isr(self, state: LeaderAndIsr) -> None:
        """Adopt an ISR that ZooKeeper has accepted."""
        self.state = state
        self._advance()

    def with_isr(self, isr: tuple[int, ...]) -> LeaderAndIsr:
        """Return the state with another ISR, under the same leader epoch."""
        return replace(self.state, isr=isr)

    def _advance(self) -> None:
        if not self.is_leader or self.log is None:
            return
        ends = [
            self.log.end_offset if replica == self.broker_id else self.ends.get(replica, 0)
            for replica in self.state.isr
        ]
        self.log.high_watermark = max(self.log.high_watermark, min(ends, default=0))


class ReplicaManager:
    """The replicas of one incarnation of a broker. `offline` lists the replicas known to be in a bad directory."""

    def __init__(self, broker_id: int, logs: LogManager, behaviour: Behaviour) -> None:
        self.broker_id: int = broker_id
        self.logs: LogManager = logs
        self.behaviour: Behaviour = behaviour
        self.partitions: dict[TopicPartition, Partition] = {}
        self.offline: set[TopicPartition] = set()
        self.controller_epoch: Any = 0

    @property
    def offline_replica_count(self) -> int:
        """The metric kafka.server:type=ReplicaManager,name=OfflineReplicaCount."""
        return len(self.offline)

    def become_leader_or_follower(self, request: Any, version: int, is_alive: Callable[[int], bool]) -> Any:
        """Apply a LeaderAndIsrRequest; return the response, with an error per partition.

        Args:
            request: a request of any version; below 1, no replica counts as new.
            version: the version of the response.
            is_alive: returns whether a broker is alive, according to the last UpdateMetadataRequest.
        """
        ids = topic_ids_in(request)
        if request.controller_epoch < self.controller_epoch:
            return leader_and_isr_response(version, STALE_CONTROLLER_EPOCH, {}, ids)
        self.controller_epoch = request.controller_epoch
        errors = {
            topic_partition: self._become(topic_partition, state, is_alive)
            for topic_partition, state in partition_states(request)
        }
        return leader_and_isr_response(version, NONE, errors, ids)

    def _become(self, topic_partition: TopicPartition, sent: Any, is_alive: Callable[[int], bool]) -> int:
        """Become leader or follower of a partition; return the error code for it.

        Ports ReplicaManager.becomeLeaderOrFollower, makeLeaders and makeFollowers.
        """
        # 1. KIP-112: an offline replica stays offline until the broker restarts.
        if topic_partition in self.offline:
            return KAFKA_STORAGE_ERROR
        # 2. A request with an epoch that was already applied is late.
        partition = self.partitions.setdefault(topic_partition, Partition(self.broker_id))
        if sent.leader_epoch <= partition.leader_epoch:
            is_stale = sent.leader_epoch < partition.leader_epoch or self.behaviour.stale_is_error
            return STALE_CONTROLLER_EPOCH if is_stale else NONE
        if self.broker_id not in sent.replicas:
            return UNKNOWN_TOPIC_OR_PARTITION
        # 3. KIP-112: a missing log is created in a good directory only if the replica is new.
        partition.log = partition.log or self.logs.get_or_create(topic_partition, is_new=sent.is_new_replica)
        if partition.log is None:
            self._lose(topic_partition)
            return KAFKA_STORAGE_ERROR
        # 4. A follower without a live leader stays unchanged; it will accept the same epoch later.
        if sent.leader == self.broker_id or is_alive(sent.leader):
            state = LeaderAndIsr(
                sent.leader, tuple(sent.isr), sent.leader_epoch, sent.controller_epoch, sent.partition_epoch
            )
            partition.become(state, tuple(sent.replicas))
        return NONE

    def stop_replicas(self, request: Any) -> Any:
        """Apply a StopReplicaRequest: stop or delete replicas; return the response."""
        if request.controller_epoch < self.controller_epoch:
            return stop_replica_response(STALE_CONTROLLER_EPOCH, {})
        self.controller_epoch = request.controller_epoch
        errors = {
            topic_partition: self._stop(topic_partition, delete, epoch)
            for topic_partition, delete, epoch in stopped_partitions(request)
        }
        return stop_replica_response(NONE, errors)

    def _stop(self, topic_partition: TopicPartition, delete: bool, epoch: int) -> int:
        """Stop a replica. KIP-112: this fails if the replica is offline. Ports ReplicaManager.stopReplicas."""
        if topic_partition in self.offline:
            return KAFKA_STORAGE_ERROR if delete or self.behaviour.stop_fails_offline else NONE
        partition = self.partitions.get(topic_partition)
        if partition is not None:
            oldest = partition.leader_epoch + self.behaviour.stop_needs_newer
            if epoch not in (NO_EPOCH, EPOCH_DURING_DELETE) and epoch < oldest:
                return FENCED_LEADER_EPOCH
            partition.leader = NO_EPOCH
        if delete:
            self.partitions.pop(topic_partition, None)
            if not self.logs.delete(topic_partition):
                return KAFKA_STORAGE_ERROR
            if self.behaviour.bad_dir_spoils_delete and self.logs.offline_log_directory_count:
                return KAFKA_STORAGE_ERROR
        return NONE

    def handle_log_dir_failure(self, directory: str) -> list[TopicPartition]:
        """Stop serving the replicas in a bad directory, as after a StopReplica; return their partitions.

        Ports ReplicaManager.handleLogDirFailure, which Kafka's LogDirFailureHandler calls for each directory that
        LogDirFailureChannel reports.
        """
        lost = self.logs.fail(directory)
        for partition in lost:
            self._lose(partition)
        return lost

    def _lose(self, partition: TopicPartition) -> None:
        self.partitions.pop(partition, None)
        self.offline.add(partition)

    def get_partition_or_error(self, topic_partition: TopicPartition) -> Partition | int:
        """Return a partition that clients may read and write on this broker, or the error code of the response.

        KIP-112 specifies UNKNOWN_TOPIC_OR_PARTITION for a partition in a bad directory; released brokers return 56.
        """
        if topic_partition in self.offline:
            return KAFKA_STORAGE_ERROR if self.behaviour.storage_error_seen else UNKNOWN_TOPIC_OR_PARTITION
        partition = self.partitions.get(topic_partition)
        if partition is None:
            return UNKNOWN_TOPIC_OR_PARTITION
        if not partition.is_leader or partition.log is None:
            return NOT_LEADER_OR_FOLLOWER
        return partition

    def change_isr(self, topic_partition: TopicPartition, isr: tuple[int, ...], zk: KafkaZkClient) -> bool:
        """Write another ISR as the leader; return whether ZooKeeper accepted it.

        ZooKeeper refuses it if the controller has written in the meantime; a LeaderAndIsrRequest will then follow.
        """
        partition = self.get_partition_or_error(topic_partition)
        if isinstance(partition, int):
            return False
        version = zk.set_state(topic_partition, partition.with_isr(isr))
        if version is None:
            return False
        state = zk.state(topic_partition)
        assert state is not None  # written in this step
        partition.adopt_isr(state)
        return True
