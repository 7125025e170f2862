"""A partition of a served cluster: replicas with their logs, the leader and its election, in-sync replicas (ISR)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from errno import ENOSPC

from ...cluster.state import NO_LEADER
from ...codecs.records import RecordBatch
from ...values import ErrorCode
from ..log.batch_stamps import stamp_batch
from ..log.replica_log import ReplicaLog
from ..node import LogDir

NO_EPOCH = -1


@dataclass(slots=True)
class Replica:
    """A broker's replica of a partition; `log` is None if the log directory failed before the log was opened."""

    log_dir: LogDir
    log: ReplicaLog | None

    @property
    def is_online(self) -> bool:
        """Whether the replica can be read and written."""
        return self.log is not None and self.log_dir.works


@dataclass(slots=True)
class Partition:
    """A partition of a topic.

    `replicas` maps broker ids to replicas, with the preferred leader first; `isr` lists the ids of in-sync replicas;
    `target` lists the brokers of the target replicas during a reassignment, and `adding` those that had no replica.
    """

    topic: str
    index: int
    replicas: dict[int, Replica]
    isr: list[int] = field(default_factory=list)
    leader: int = NO_LEADER
    leader_epoch: int = -1
    target: Sequence[int] | None = None
    adding: Sequence[int] = ()

    @property
    def offline(self) -> tuple[int, ...]:
        """The brokers whose replicas are offline."""
        return tuple(node_id for node_id, replica in self.replicas.items() if not replica.is_online)

    def elect_leader(self) -> None:
        """If the leader is offline, elect the first online replica of the ISR; remove offline brokers from the ISR.

        The last broker stays in the ISR, because only its replica has all records: there is no leader until it restarts
        (KIP-112).
        """
        live = [node_id for node_id in self.replicas if node_id in self.isr and self.replicas[node_id].is_online]
        if live:
            self.isr = live
        if self.leader not in live:
            self.leader = live[0] if live else NO_LEADER
            self.leader_epoch += 1

    def move_leader(self, node_id: int) -> None:
        """Make a replica the leader; raises ValueError if the replica is out of sync or unreachable."""
        if node_id not in self.isr or not self.replicas[node_id].is_online:
            raise ValueError(f"broker {node_id} is not in the ISR of {self.topic}-{self.index}")
        if self.leader != node_id:
            self.leader, self.leader_epoch = node_id, self.leader_epoch + 1

    def shrink_isr(self, node_ids: Collection[int]) -> None:
        """Remove replicas from the ISR; raises ValueError if the ISR would become empty."""
        left = [node_id for node_id in self.isr if node_id not in node_ids]
        if not left:
            raise ValueError(f"{self.topic}-{self.index} would have an empty ISR")
        self.isr = left
        self.elect_leader()

    def elect_unclean_leader(self, node_id: int) -> None:
        """Make an out-of-sync replica the leader, and the only one of the ISR."""
        self.isr = [node_id]
        self.elect_leader()

    def log_at(self, node_id: int, leader_epoch: int = -1, *, may_follow: bool = False) -> ReplicaLog | int:
        """Return the log for a client of a broker, or an error code if it is not available.

        Args:
            node_id: the broker that received the request.
            leader_epoch: the leader epoch in the request; -1 for any.
            may_follow: whether a follower may serve the client (KIP-392).
        """
        replica = self.replicas.get(node_id)
        if replica is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if replica.log is None or not replica.log_dir.works:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if self.leader != node_id and not may_follow:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if leader_epoch != NO_EPOCH and leader_epoch != self.leader_epoch:
            is_old = leader_epoch < self.leader_epoch
            return ErrorCode.FENCED_LEADER_EPOCH if is_old else ErrorCode.UNKNOWN_LEADER_EPOCH
        return replica.log

    def append(self, log: ReplicaLog, batch: RecordBatch) -> tuple[int | None, list[LogDir]]:
        """Append a batch to all in-sync replicas, first to the leader's `log`.

        Returns:
            The offset of the first record (None if the leader could not write the batch), and the failed directories.
        """
        whole = stamp_batch(batch, log.end, self.leader_epoch)
        failed: list[LogDir] = []
        order = self.isr if len(self.isr) == 1 else sorted(self.isr, key=lambda node_id: node_id != self.leader)
        for node_id in order:
            replica = self.replicas[node_id]
            try:
                if replica.log_dir.is_full:
                    raise OSError(ENOSPC, "No space left on device", replica.log_dir.path)
                if replica.log is not None:
                    replica.log.append(whole)
            except OSError as error:
                replica.log_dir.problem = str(error.strerror or error)
                failed.append(replica.log_dir)
                if node_id == self.leader:
                    return None, failed
        return whole.base_offset, failed

    def online_logs(self) -> dict[int, ReplicaLog]:
        """Return the logs of online replicas, by broker id."""
        return {
            node_id: replica.log
            for node_id, replica in self.replicas.items()
            if replica.log is not None and replica.is_online
        }

    def retain(self, retention_bytes: int) -> list[LogDir]:
        """Delete the oldest batches of replicas that exceed `retention_bytes` bytes; returns the directories that
        failed.
        """
        return self.of_all(lambda log: log.drop(retention_bytes))

    def expire(self, before_ms: int) -> list[LogDir]:
        """Delete the oldest segments of all replicas that precede a time in milliseconds; returns the directories that
        failed.
        """
        return self.of_all(lambda log: log.expire(before_ms))

    def delete_before(self, offset: int) -> list[LogDir]:
        """Delete the records before an offset in all replicas; returns the directories that failed."""
        return self.of_all(lambda log: log.delete_before(offset))

    def of_all(self, act: Callable[[ReplicaLog], None]) -> list[LogDir]:
        """Apply a function to the logs of all online replicas; returns the directories that failed."""
        failed = []
        for replica in self.replicas.values():
            try:
                if replica.log is not None and replica.is_online:
                    act(replica.log)
            except OSError as error:
                replica.log_dir.problem = str(error.strerror or error)
                failed.append(replica.log_dir)
        return failed

    def close(self) -> None:
        """Close the files of all logs."""
        for replica in self.replicas.values():
            if replica.log is not None:
                replica.log.store.close()
