"""Counts the messages, records and znodes from which a model is made, and notes which sources are missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..runtime.earlier_pickles import restore_fields
from .cluster_identity import ClusterIdentity
from .events.observation import CONTROLLER, DIRECTORIES, MESSAGES, VIEWS, Observation
from .history.lost_directories import Directories
from .history.partition_timeline import METADATA_LOG, ZNODES
from .history.rows import SourceRow

SNAPSHOT = "snapshot of the metadata log"  # the name of this source
SEPARATOR = "; "  # between the sentences of a note
NO_CONTROLLER = (
    "no controller was captured (LeaderAndIsr, UpdateMetadata, StopReplica): states are those that clients "
    "received, and replicas are offline as far as Metadata, DescribeTopicPartitions and BrokerHeartbeat list them"
)
ZOMBIE_SECONDS = 60.0  # after which no controller goes on that does not know its successor
NO_MESSAGES = "znodes do not have which replicas lie in failed log directories: no OfflineReplicaCount without messages"


@dataclass(slots=True)
class _MessageCount:
    """The messages of one kind in one file."""

    decoded: int = 0
    undecodable: int = 0
    first: float | None = None
    last: float | None = None
    cluster_ids: set[str] = field(default_factory=set)
    outdated: int = 0

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        """Load a pickle, also of a version with fewer fields."""
        restore_fields(self, state[1])


class Sources:
    """Counts messages by name and file."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], _MessageCount] = {}
        self._newest: tuple[int, float | None] = -1, None  # the highest controller epoch, and its first time

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Load a pickle, also of a version that kept less."""
        self.__dict__ = {"_newest": (-1, None)} | state

    def add(self, observation: Observation, *, is_refused: bool) -> None:
        """Count a message; those without information about a cluster are ignored.

        A refused request may name another cluster: that can be why it was refused (INCONSISTENT_CLUSTER_ID).
        """
        if observation.name in MESSAGES:
            ids = None if is_refused else getattr(observation.message, "cluster_id", None)
            self.count(
                observation.name, observation.file, observation.time, ids, is_decoded=observation.message is not None
            )
            if observation.name in CONTROLLER and not is_refused:
                self._compare_epochs(observation)

    def _compare_epochs(self, request: Observation) -> None:
        """Count a request that a broker took from an earlier controller, long after there was a later one.

        Brokers of one cluster refuse it (STALE_CONTROLLER_EPOCH); requests of controllers have no cluster id.
        """
        epoch = getattr(request.message, "controller_epoch", None)  # None if the request could not be decoded
        newest, since = self._newest
        if epoch is None:
            return
        if epoch > newest:
            self._newest = epoch, request.time
        elif epoch < newest and since is not None and request.time is not None:
            is_outdated = request.time > since + ZOMBIE_SECONDS
            self._counts[request.name, request.file].outdated += is_outdated

    def count(
        self, name: str, file: str, time: float | None, cluster_id: str | None = None, *, is_decoded: bool = True
    ) -> None:
        """Count a message of a kind in a file."""
        count = self._counts.setdefault((name, file), _MessageCount())
        count.undecodable += not is_decoded
        count.decoded += is_decoded
        if cluster_id:
            count.cluster_ids.add(cluster_id)
        if time is not None:
            count.first = time if count.first is None else min(count.first, time)
            count.last = time if count.last is None else max(count.last, time)

    @property
    def identity(self) -> ClusterIdentity:
        """The cluster ids that were read."""
        identity = ClusterIdentity()
        for (_, file), count in self._counts.items():
            for cluster_id in sorted(count.cluster_ids):
                identity.add(cluster_id, file)
        return identity

    @property
    def know_replicas(self) -> bool:
        """Whether any source lists offline replicas."""
        return not {name for name, _ in self._counts} <= {ZNODES}

    def rows(self, directories: Directories) -> Iterator[SourceRow]:
        """Yield a row for each kind of message in each file, by name."""
        names = {name for name, _ in self._counts}
        for (name, file), count in sorted(self._counts.items(), key=lambda item: item[0]):
            notes = [*_outdated_notes(count.outdated, file), *_notes(name, count.undecodable, names, directories)]
            note = SEPARATOR.join(notes) or None
            ids = tuple(sorted(count.cluster_ids))
            yield SourceRow(name, file, count.decoded, count.undecodable, count.first, count.last, ids, note)


def _outdated_notes(count: int, file: str) -> Iterator[str]:
    if count:
        what = file or "the input"
        yield f"{what} has requests of earlier controllers that brokers took: of another cluster, and ignored"


def _notes(name: str, undecodable: int, names: set[str], directories: Directories) -> Iterator[str]:
    if undecodable:
        yield f"{undecodable} could not be decoded and are missing (drafts need the option profile)"
    if name in (*VIEWS, *DIRECTORIES) and not names & {*CONTROLLER, METADATA_LOG, SNAPSHOT, ZNODES}:
        yield NO_CONTROLLER
    if names == {ZNODES}:
        yield NO_MESSAGES
    unknown = ", ".join(f"{count} of broker {broker}" for broker, count in directories.without_replicas())
    if unknown and name == "BrokerHeartbeatRequest":
        yield f"which replicas lie in the failed log directories ({unknown}) was not captured"
