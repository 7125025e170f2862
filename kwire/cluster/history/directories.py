"""Which replicas lie in log directories that are offline, as KRaft's brokers report it to their controller.

AssignReplicasToDirs says in which directory a replica lies, BrokerHeartbeat which directories have failed,
BrokerRegistration which are online when a broker starts. Source: KIP-858.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..state import LOST, MIGRATING, UNASSIGNED
from .story import Moment

Replica = tuple[bytes, int]  # topic id and partition


@dataclass(slots=True)
class Loss:
    """A replica whose directory is offline, from one moment on; `until` is None while it is."""

    topic_id: bytes
    partition: int
    broker: int
    since: Moment
    source: str
    until: Moment | None = None


@dataclass(slots=True)
class _Disks:
    """The directories of a broker: those that failed while it ran, those that were online when it started."""

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
        losses: all that were, in the order of their beginnings.

    >>> directories = Directories()
    >>> directories.assign(3, b"a" * 16, [(b"t" * 16, 0)], Moment(1), "AssignReplicasToDirsRequest")
    >>> directories.fail(3, [b"a" * 16], Moment(2), "BrokerHeartbeatRequest")
    >>> [(loss.partition, loss.broker, loss.since.order) for loss in directories.losses]
    [(0, 3, 2)]
    """

    def __init__(self) -> None:
        self.losses: list[Loss] = []
        self._open: dict[tuple[int, Replica], Loss] = {}
        self._disks: dict[int, _Disks] = {}
        self._places: dict[int, dict[Replica, bytes]] = {}
        self._failed: dict[int, set[bytes]] = {}  # all that ever did
        self._named: dict[int, set[bytes]] = {}  # all in which a replica was ever said to lie

    def start(self, broker: int, online: list[bytes], now: Moment, source: str) -> None:
        """Take in which directories are online when a broker registers; none where it does not say."""
        self._disks[broker] = _Disks(started=frozenset(online) or None)
        self._look(broker, now, source)

    def fail(self, broker: int, failed: list[bytes], now: Moment, source: str) -> None:
        """Take in which directories a broker says have failed since it started, all of them each time."""
        disks = self._disks.setdefault(broker, _Disks())
        if disks.failed != frozenset(failed):
            disks.failed = frozenset(failed)
            self._failed.setdefault(broker, set()).update(failed)
            self._look(broker, now, source)

    def assign(self, broker: int, directory: bytes, replicas: list[Replica], now: Moment, source: str) -> None:
        """Take in that replicas of a broker lie in a directory."""
        self._named.setdefault(broker, set()).add(directory)
        self._places.setdefault(broker, {}).update(dict.fromkeys(replicas, directory))
        self._look(broker, now, source)

    def without_replicas(self) -> Iterator[tuple[int, int]]:
        """Yield each broker with directories that failed and in which no replica is known to lie, and how many."""
        for broker, failed in sorted(self._failed.items()):
            unknown = failed - self._named.get(broker, set())
            if unknown:
                yield broker, len(unknown)

    def _look(self, broker: int, now: Moment, source: str) -> None:
        disks = self._disks.get(broker, _Disks())
        for replica, directory in self._places.get(broker, {}).items():
            loss = self._open.get((broker, replica))
            if disks.has_lost(directory) == (loss is not None):
                continue
            if loss is None:
                loss = self._open[broker, replica] = Loss(*replica, broker, now, source)
                self.losses.append(loss)
            else:
                loss.until = now
                del self._open[broker, replica]
