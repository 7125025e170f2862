"""A partition: its replicas with their logs, who leads, who is in sync.

Knows logs and directories; who gets which replica is `controller`'s to say. All replicas in sync are written in one
moment, so the high watermark is the leader's end.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..cluster.state import NO_LEADER
from ..records import RecordBatch
from . import codes
from .logs import Log, stamped
from .nodes import LogDir


@dataclass(slots=True)
class Replica:
    """A copy of the partition on one broker; `log` is None where its directory failed before it was opened."""

    log_dir: LogDir
    log: Log | None

    @property
    def is_online(self) -> bool:
        """Whether it can be read and written."""
        return self.log is not None and not self.log_dir.is_offline


@dataclass(slots=True)
class Partition:
    """A partition. `replicas` are by broker, the preferred leader first; `isr` are the brokers in sync."""

    topic: str
    index: int
    replicas: dict[int, Replica]
    isr: list[int] = field(default_factory=list)
    leader: int = NO_LEADER
    leader_epoch: int = -1

    @property
    def offline(self) -> tuple[int, ...]:
        """The brokers whose replica cannot be reached."""
        return tuple(node_id for node_id, replica in self.replicas.items() if not replica.is_online)

    def elect(self) -> None:
        """Let the first replica in sync lead that is online, if the leader is not; take out of sync who is offline.

        The last one in sync stays so, for it alone has all records: nobody leads until it is back (KIP-112).
        """
        live = [node_id for node_id in self.replicas if node_id in self.isr and self.replicas[node_id].is_online]
        if live:
            self.isr = live
        if self.leader not in live:
            self.leader = live[0] if live else NO_LEADER
            self.leader_epoch += 1

    def log_at(self, node_id: int, leader_epoch: int = -1) -> Log | int:
        """Return the log for a client of a broker, or the error code that says why there is none.

        Args:
            node_id: the broker that was asked.
            leader_epoch: the one that the client believes in; -1 is any.
        """
        replica = self.replicas.get(node_id)
        if replica is not None and not replica.is_online:
            return codes.KAFKA_STORAGE_ERROR
        if replica is None or replica.log is None or self.leader != node_id:
            return codes.NOT_LEADER_OR_FOLLOWER
        if leader_epoch >= 0 and leader_epoch != self.leader_epoch:
            is_old = leader_epoch < self.leader_epoch
            return codes.FENCED_LEADER_EPOCH if is_old else codes.UNKNOWN_LEADER_EPOCH
        return replica.log

    def append(self, log: Log, batch: RecordBatch) -> tuple[int | None, list[LogDir]]:
        """Write a batch to all replicas in sync, the leader's `log` first.

        Returns:
            The offset of the first record, None if the leader could not write it; and the directories that failed.
        """
        whole = stamped(batch, log.end, self.leader_epoch)
        failed: list[LogDir] = []
        for node_id in sorted(self.isr, key=lambda node_id: node_id != self.leader):
            replica = self.replicas[node_id]
            try:
                if replica.log is not None:
                    replica.log.append(whole)
            except OSError:
                failed.append(replica.log_dir)
                if node_id == self.leader:
                    return None, failed
        return whole.base_offset, failed

    def online_logs(self) -> dict[int, Log]:
        """Return the logs that can be read and written, by broker."""
        return {node_id: one.log for node_id, one in self.replicas.items() if one.log is not None and one.is_online}

    def retain(self, retention_bytes: int) -> list[LogDir]:
        """Drop the oldest batches of all replicas that are larger; returns the directories that failed."""
        failed = []
        for replica in self.replicas.values():
            try:
                if replica.log is not None and replica.is_online:
                    replica.log.drop(retention_bytes)
            except OSError:
                failed.append(replica.log_dir)
        return failed

    def close(self) -> None:
        """Let go of all files."""
        for replica in self.replicas.values():
            if replica.log is not None:
                replica.log.store.close()
