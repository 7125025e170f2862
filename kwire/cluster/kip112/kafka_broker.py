"""A broker as KIP-112 describes it: log directories, replicas, its view of the cluster, requests to ZooKeeper.

The ReplicaManager holds the partitions that the broker leads, follows or has lost with a directory. Sans-IO: requests
come in as messages, responses go out. The caller reports failed disks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ... import messages
from ...zookeeper import BrokerRegistration
from ..events.event import learn, partition_states, stopped_partitions, topic_ids_in
from ..state import EPOCH_DURING_DELETE, NO_EPOCH, ClusterState
from .kafka_zk_client import KafkaZkClient
from .replica_states import (
    FENCED_LEADER_EPOCH,
    KAFKA_STORAGE_ERROR,
    KIP,
    NO_LEADER,
    NONE,
    NOT_LEADER_OR_FOLLOWER,
    STALE_CONTROLLER_EPOCH,
    UNKNOWN_TOPIC_OR_PARTITION,
    Behaviour,
    InterBrokerProtocol,
    LeaderAndIsr,
    TopicPartition,
    leader_and_isr_response,
    protocol_for,
    stop_replica_response,
)

Record = tuple[int, Any]  # leader epoch, value


@dataclass(slots=True)
class PartitionLog:
    """The log of one replica. Records below `high_watermark` are committed."""

    records: list[Record] = field(default_factory=list)
    high_watermark: int = 0

    @property
    def end_offset(self) -> int:
        """The offset that the next record gets."""
        return len(self.records)

    @property
    def last_epoch(self) -> int:
        """The leader epoch of the last record; -1 if there is none."""
        return self.records[-1][0] if self.records else -1

    def append(self, records: Sequence[Record]) -> None:
        """Append records."""
        self.records += records

    def truncate(self, offset: int) -> None:
        """Drop the records from an offset on; the high watermark is lowered to it if necessary."""
        del self.records[offset:]
        self.high_watermark = min(self.high_watermark, offset)

    def end_offset_for(self, epoch: int) -> int:
        """Return the end offset of the records up to and including an epoch (KIP-101).

        >>> PartitionLog([(0, "a"), (2, "b"), (2, "c")]).end_offset_for(1)
        1
        """
        return sum(1 for at, _ in self.records if at <= epoch)

    def agrees_at(self, offset: int, epoch: int) -> bool:
        """Return whether a log that ends at this offset with a record of this epoch is a prefix of this log."""
        return offset == 0 or (offset <= self.end_offset and self.records[offset - 1][0] == epoch)


@dataclass(slots=True)
class Disk:
    """The disk of a log directory. It outlives the broker; `works` is whether it can be read and written."""

    works: bool = True
    logs: dict[TopicPartition, PartitionLog] = field(default_factory=dict)


class LogManager:
    """The log directories of one incarnation of a broker.

    Args:
        disks: log directory -> its disk, in the order of `log.dirs`. Logs on working disks are loaded.

    >>> manager = LogManager({"/a": Disk(), "/b": Disk(works=False)})
    >>> manager.offline_log_directory_count, manager.get_or_create(("orders", 0), is_new=False) is None
    (1, True)
    >>> manager.get_or_create(("orders", 0), is_new=True) is None, manager.directory_of(("orders", 0))
    (False, '/a')
    """

    def __init__(self, disks: dict[str, Disk]) -> None:
        self.disks = disks
        self.broken: list[str] = []  # directories that could not be written to, until their failure is reported
        self.live: list[str] = [directory for directory, disk in disks.items() if disk.works]

    @property
    def offline_log_directory_count(self) -> int:
        """The metric kafka.log:type=LogManager,name=OfflineLogDirectoryCount: the number of directories known to be
        bad.
        """
        return len(self.disks) - len(self.live)

    def directory_of(self, partition: TopicPartition) -> str | None:
        """Return the good directory that contains a replica."""
        return next((one for one in self.live if partition in self.disks[one].logs), None)

    def get(self, partition: TopicPartition) -> PartitionLog | None:
        """Return the log of a replica, if it is in a good directory."""
        directory = self.directory_of(partition)
        return None if directory is None else self.disks[directory].logs[partition]

    def get_or_create(self, partition: TopicPartition, *, is_new: bool) -> PartitionLog | None:
        """Return the log of a replica, created if necessary; None means a KafkaStorageException.

        KIP-112: a missing replica is created if it is new, or if no directory is bad: otherwise it may be in the bad
        directory.
        """
        log = self.get(partition)
        if log is not None or not (is_new or not self.offline_log_directory_count):
            return log
        for directory in sorted(self.live, key=lambda one: len(self.disks[one].logs)):
            if self.disks[directory].works:
                return self.disks[directory].logs.setdefault(partition, PartitionLog())
            self.broken.append(directory)
        return None

    def delete(self, partition: TopicPartition) -> bool:
        """Delete a replica from its good directory; False means a KafkaStorageException: the directory has failed."""
        directory = self.directory_of(partition)
        if directory is not None and not self.disks[directory].works:
            self.broken.append(directory)
            return False
        if directory is not None:
            del self.disks[directory].logs[partition]
        return True

    def fail(self, directory: str) -> list[TopicPartition]:
        """Mark a directory as bad; return the partitions whose replicas were in it."""
        if directory not in self.live:
            return []
        self.live.remove(directory)
        return list(self.disks[directory].logs)

    def place(self, partitions: Iterable[TopicPartition], directory: str) -> None:
        """Move replicas to a good directory, as AlterReplicaLogDirs does (KIP-113)."""
        for partition in partitions:
            log = self.get(partition)
            if log is not None:
                self.delete(partition)
                self.disks[directory].logs[partition] = log


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
        self.leader, self.leader_epoch, self.replicas, self.state = state.leader, state.leader_epoch, replicas, state
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

    def answer(self, asked: Fetch) -> Fetched | None:
        """Return the response to a follower; None if this replica is not the leader in the follower's epoch."""
        if not self.is_leader or self.log is None or asked.leader_epoch != self.leader_epoch:
            return None
        if not self.log.agrees_at(asked.offset, asked.last_epoch):
            return Fetched(cut_at=min(self.log.end_offset_for(asked.last_epoch), asked.offset - 1))
        self.ends[asked.replica] = asked.offset
        self._advance()
        return Fetched(tuple(self.log.records[asked.offset :]), self.log.high_watermark)

    def follow(self, asked: Fetch, sent: Fetched) -> bool:
        """Apply the leader's response; return whether it answered the current request of this replica."""
        if self.log is None or self.is_leader or asked != self.fetch():
            return False
        if sent.cut_at is not None:
            self.log.truncate(sent.cut_at)
            return True
        self.log.append(sent.records)
        self.log.high_watermark = max(self.log.high_watermark, min(sent.high_watermark, self.log.end_offset))
        return True

    def caught_up(self) -> tuple[int, ...]:
        """Return the replicas outside of the ISR that may join it: those with all records that may be committed.

        The high watermark of a new leader may lag, so they must also have the leader's records from before its epoch
        (KIP-101).
        """
        if not self.is_leader or self.log is None:
            return ()
        least = max(self.log.high_watermark, self.epoch_start)
        return tuple(one for one in self.replicas if one not in self.state.isr and self.ends.get(one, -1) >= least)

    def isr_written(self, state: LeaderAndIsr) -> None:
        """Adopt an ISR that ZooKeeper has accepted."""
        self.state = state
        self._advance()

    def with_isr(self, isr: tuple[int, ...]) -> LeaderAndIsr:
        """Return the state with another ISR, under the same leader epoch."""
        return replace(self.state, isr=isr)

    def _advance(self) -> None:
        if not self.is_leader or self.log is None:
            return
        ends = [self.log.end_offset if one == self.broker_id else self.ends.get(one, 0) for one in self.state.isr]
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
        errors = {one: self._become(one, state, is_alive) for one, state in partition_states(request)}
        return leader_and_isr_response(version, NONE, errors, ids)

    def _become(self, one: TopicPartition, sent: Any, is_alive: Callable[[int], bool]) -> int:
        if one in self.offline:
            return KAFKA_STORAGE_ERROR
        partition = self.partitions.setdefault(one, Partition(self.broker_id))
        if sent.leader_epoch <= partition.leader_epoch:
            is_stale = sent.leader_epoch < partition.leader_epoch or self.behaviour.stale_is_error
            return STALE_CONTROLLER_EPOCH if is_stale else NONE
        if self.broker_id not in sent.replicas:
            return UNKNOWN_TOPIC_OR_PARTITION
        partition.log = partition.log or self.logs.get_or_create(one, is_new=sent.is_new_replica)
        if partition.log is None:
            self._lose(one)
            return KAFKA_STORAGE_ERROR
        # A follower without a live leader stays unchanged; it will accept the same epoch later.
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
        sent = stopped_partitions(request)
        return stop_replica_response(NONE, {one: self._stop(one, delete, epoch) for one, delete, epoch in sent})

    def _stop(self, one: TopicPartition, delete: bool, epoch: int) -> int:
        """Stop a replica. KIP-112: this fails if the replica is offline."""
        if one in self.offline:
            return KAFKA_STORAGE_ERROR if delete or self.behaviour.stop_fails_offline else NONE
        partition = self.partitions.get(one)
        if partition is not None:
            least = partition.leader_epoch + self.behaviour.stop_needs_newer
            if epoch not in (NO_EPOCH, EPOCH_DURING_DELETE) and epoch < least:
                return FENCED_LEADER_EPOCH
            partition.leader = NO_EPOCH
        if delete:
            self.partitions.pop(one, None)
            if not self.logs.delete(one):
                return KAFKA_STORAGE_ERROR
            if self.behaviour.bad_dir_spoils_delete and self.logs.offline_log_directory_count:
                return KAFKA_STORAGE_ERROR
        return NONE

    def log_dir_failed(self, directory: str) -> list[TopicPartition]:
        """Stop serving the replicas in a bad directory, as after a StopReplica; return their partitions."""
        for one in (lost := self.logs.fail(directory)):
            self._lose(one)
        return lost

    def _lose(self, one: TopicPartition) -> None:
        self.partitions.pop(one, None)
        self.offline.add(one)

    def served(self, one: TopicPartition) -> Partition | int:
        """Return a partition that clients may read and write on this broker, or the error code of the response.

        KIP-112 specifies UNKNOWN_TOPIC_OR_PARTITION for a partition in a bad directory; released brokers return 56.
        """
        if one in self.offline:
            return KAFKA_STORAGE_ERROR if self.behaviour.storage_error_seen else UNKNOWN_TOPIC_OR_PARTITION
        partition = self.partitions.get(one)
        if partition is None:
            return UNKNOWN_TOPIC_OR_PARTITION
        return partition if partition.is_leader and partition.log is not None else NOT_LEADER_OR_FOLLOWER

    def change_isr(self, one: TopicPartition, isr: tuple[int, ...], zk: KafkaZkClient) -> bool:
        """Write another ISR as the leader; return whether ZooKeeper accepted it.

        ZooKeeper refuses it if the controller has written in the meantime; a LeaderAndIsrRequest will then follow.
        """
        partition = self.served(one)
        if isinstance(partition, int):
            return False
        version = zk.set_state(one, partition.with_isr(isr))
        if version is None:
            return False
        state = zk.state(one)
        assert state is not None  # written in this step
        partition.isr_written(state)
        return True


LEADER_NOT_AVAILABLE = 5


class KafkaBroker:
    """One incarnation of a broker.

    Args:
        broker_id: the id of the broker.
        disks: log directory -> its disk; the broker's configuration for this start.
        zk: its session with ZooKeeper.
        registration: the content of its registration.
        behaviour, protocol: as for `KafkaController`.

    `running` becomes false when the broker stops itself: when no log directory is good, or one fails under a protocol
    version that cannot report it.
    """

    def __init__(
        self,
        broker_id: int,
        disks: dict[str, Disk],
        zk: KafkaZkClient,
        registration: BrokerRegistration,
        *,
        behaviour: Behaviour = KIP,
        protocol: InterBrokerProtocol | None = None,
    ) -> None:
        self.broker_id: int = broker_id
        self.zk: KafkaZkClient = zk
        self.registration: BrokerRegistration = registration
        self.protocol: InterBrokerProtocol = protocol or protocol_for("3.9")
        self.logs: LogManager = LogManager(disks)
        self.replicas: ReplicaManager = ReplicaManager(broker_id, self.logs, behaviour)
        self.metadata: ClusterState = ClusterState()
        self.running: bool = self._can_run()
        if self.running:
            zk.register_broker(registration, broker_id)

    def _can_run(self) -> bool:
        if not self.protocol.knows_disk_failure and self.logs.offline_log_directory_count:
            return False
        return bool(self.logs.live)

    def reconnect(self, zk: KafkaZkClient) -> None:
        """Continue with a new session after the old one has expired."""
        self.zk = zk
        zk.register_broker(self.registration, self.broker_id)

    def handle(self, request: Any, version: int) -> Any:
        """Handle a request from the controller: LeaderAndIsr, StopReplica or UpdateMetadata."""
        if isinstance(request, messages.UpdateMetadataRequest):
            return self._update_metadata(request, version)
        if isinstance(request, messages.StopReplicaRequest):
            response = self.replicas.stop_replicas(request)
        else:
            response = self.replicas.become_leader_or_follower(request, version, self._is_alive)
        broken, self.logs.broken = self.logs.broken, []
        for directory in dict.fromkeys(broken):
            self.log_dir_failed(directory)
        return response

    def _update_metadata(self, request: Any, version: int) -> Any:
        if request.controller_epoch < self.replicas.controller_epoch:
            return messages.UpdateMetadataResponse(error_code=STALE_CONTROLLER_EPOCH)
        self.replicas.controller_epoch = request.controller_epoch
        learn(self.metadata, request, version)
        return messages.UpdateMetadataResponse(error_code=NONE)

    def _is_alive(self, broker_id: int) -> bool:
        return self.metadata.brokers is not None and broker_id in self.metadata.brokers

    def log_dir_failed(self, directory: str) -> list[TopicPartition]:
        """Handle the failure of a log directory (scenario 2); return the partitions whose replicas were in it.

        The broker notifies the controller by a znode. After the failure of its last directory it stops without a
        notification.
        """
        if directory not in self.logs.live:
            return []
        lost = self.replicas.log_dir_failed(directory)
        self.running = self._can_run()
        if self.running:
            self.zk.notify_log_dir_failure(self.broker_id)
        return lost

    def metadata_response(self, topics: Iterable[str] | None = None) -> Any:
        """Return the response to a MetadataRequest (scenario 5).

        Replicas on failed directories and on dead brokers are listed as offline.
        """
        known = sorted(self.metadata.topics) if topics is None else list(topics)
        brokers = self.metadata.brokers or {}
        node = messages.MetadataResponse.MetadataResponseBroker
        return messages.MetadataResponse(
            brokers=tuple(node(one.node_id, one.host, one.port, one.rack) for one in brokers.values()),
            controller_id=self.metadata.controller_id,
            topics=tuple(self._topic_metadata(name) for name in known),
        )

    def _topic_metadata(self, name: str) -> Any:
        partitions = self.metadata.partitions(name)
        row = messages.MetadataResponse.MetadataResponsePartition
        brokers = self.metadata.brokers or {}
        return messages.MetadataResponse.MetadataResponseTopic(
            error_code=NONE if partitions else 3,
            name=name,
            partitions=tuple(
                row(
                    error_code=NONE if one.leader in brokers else LEADER_NOT_AVAILABLE,
                    partition_index=one.index,
                    leader_id=one.leader if one.leader in brokers else -1,
                    leader_epoch=one.leader_epoch,
                    replica_nodes=one.replicas,
                    isr_nodes=one.isr,
                    offline_replicas=tuple(
                        replica for replica in one.replicas if replica not in brokers or replica in (one.offline or ())
                    ),
                )
                for one in partitions
            ),
        )
