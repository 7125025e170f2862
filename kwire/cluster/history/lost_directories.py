"""Log directories that brokers of KRaft report, and the replicas that are lost with them (KIP-858)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..state import LOST, MIGRATING, UNASSIGNED
from .partition_timeline import Moment

Replica = tuple[bytes, int]  # topic id and partition


@dataclass(slots=True)
class DirectoryLoss:
    """The loss of a replica in an offline directory; `until` is None while it lasts."""

    topic_id: bytes
    partition: int
    broker: int
    since: Moment
    source: str
    until: Moment | None = None


@dataclass(slots=True)
class _Disks:
    """The directories of a broker: those that failed since it started, and those that were online when it started."""

    failed: frozenset[bytes] = frozenset()
    started: frozenset[bytes] | None = None

    def has_lost(self, directory: bytes) -> bool:
        if directory in (UNASSIGNED, MIGRATING):
            return False
        is_missing = self.started is not None and directory not in self.started
        return directory == LOST or directory in self.failed or is_missing


class Directories:
    """The log directories of a cluster's brokers.

    Attributes:
        losses: all of them, ordered by start.

    >>> directories = Directories()
    >>> directories.assign(3, b"a" * 16, [(b"t" * 16, 0)], Moment(1), "AssignReplicasToDirsRequest")
    >>> directories.fail(3, [b"a" * 16], Moment(2), "BrokerHeartbeatRequest")
    >>> [(loss.partition, loss.broker, loss.since.order) for loss in directories.losses]
    [(0, 3, 2)]
    """

    def __init__(self) -> None:
        self.losses: list[DirectoryLoss] = []
        self._open: dict[tuple[int, Replica], DirectoryLoss] = {}
        self._disks: dict[int, _Disks] = {}
        self._places: dict[int, dict[Replica, bytes]] = {}
        self._failed: dict[int, set[bytes]] = {}  # all directories that ever failed
        self._named: dict[int, set[bytes]] = {}  # all directories that were reported for a replica

    def start(self, broker: int, online: list[bytes], now: Moment, source: str) -> None:
        """Set the online directories of a broker that starts; an empty list means unknown."""
        self._disks[broker] = _Disks(started=frozenset(online) or None)
        self._update_losses(broker, now, source)

    def fail(self, broker: int, failed: list[bytes], now: Moment, source: str) -> None:
        """Set the directories that a broker has reported as failed since it started; always the complete list."""
        disks = self._disks.setdefault(broker, _Disks())
        if disks.failed != frozenset(failed):
            disks.failed = frozenset(failed)
            self._failed.setdefault(broker, set()).update(failed)
            self._update_losses(broker, now, source)

    def assign(self, broker: int, directory: bytes, replicas: list[Replica], now: Moment, source: str) -> None:
        """Record that replicas of a broker are in a directory."""
        self._named.setdefault(broker, set()).add(directory)
        directories = dict.fromkeys(replicas, directory)
        self._places.setdefault(broker, {}).update(directories)
        self._update_losses(broker, now, source, directories)

    def without_replicas(self) -> Iterator[tuple[int, int]]:
        """Yield brokers that have failed directories without known replicas, and the number of these directories."""
        for broker, failed in sorted(self._failed.items()):
            unknown = failed - self._named.get(broker, set())
            if unknown:
                yield broker, len(unknown)

    def _update_losses(
        self, broker: int, now: Moment, source: str, changed: Mapping[Replica, bytes] | None = None
    ) -> None:
        disks = self._disks.get(broker, _Disks())
        directories = self._places.get(broker, {}) if changed is None else changed
        for replica, directory in directories.items():
            loss = self._open.get((broker, replica))
            if disks.has_lost(directory) == (loss is not None):
                continue
            if loss is None:
                loss = self._open[broker, replica] = DirectoryLoss(*replica, broker, now, source)
                self.losses.append(loss)
            else:
                loss.until = now
                del self._open[broker, replica]
