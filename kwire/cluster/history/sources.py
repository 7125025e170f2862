"""Which messages the history of a cluster is made of, and what it cannot know without the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .directories import Directories
from .hearing import CONTROLLER, DIRECTORIES, MESSAGES, VIEWS, Heard
from .tables import Source

SEPARATOR = "; "  # between the sentences of a note
NO_CONTROLLER = (
    "no controller was captured (LeaderAndIsr, UpdateMetadata, StopReplica): states are those that clients were told "
    "when they asked, and replicas are offline as far as Metadata, DescribeTopicPartitions and BrokerHeartbeat say it"
)


@dataclass(slots=True)
class _Count:
    """Messages of one kind in one file."""

    decoded: int = 0
    undecodable: int = 0
    first: float | None = None
    last: float | None = None
    cluster_ids: set[str] = field(default_factory=set)


class Sources:
    """Counts messages by name and file."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], _Count] = {}

    def add(self, heard: Heard) -> None:
        """Count a message; those that tell of no cluster are passed over."""
        if heard.name not in MESSAGES:
            return
        count = self._counts.setdefault((heard.name, heard.file), _Count())
        count.undecodable += heard.message is None
        count.decoded += heard.message is not None
        cluster_id = getattr(heard.message, "cluster_id", None)
        if cluster_id:
            count.cluster_ids.add(cluster_id)
        if heard.time is not None:
            count.first = heard.time if count.first is None else min(count.first, heard.time)
            count.last = heard.time if count.last is None else max(count.last, heard.time)

    def rows(self, directories: Directories) -> Iterator[Source]:
        """Yield a row for each kind of message in each file, by name."""
        names = {name for name, _ in self._counts}
        for (name, file), one in sorted(self._counts.items(), key=lambda item: item[0]):
            note = SEPARATOR.join(_notes(name, one.undecodable, names, directories)) or None
            ids = tuple(sorted(one.cluster_ids))
            yield Source(name, file, one.decoded, one.undecodable, one.first, one.last, ids, note)


def _notes(name: str, undecodable: int, names: set[str], directories: Directories) -> Iterator[str]:
    if undecodable:
        yield f"{undecodable} could not be decoded and are missing (drafts need the option profile)"
    if name in (*VIEWS, *DIRECTORIES) and not names & set(CONTROLLER):
        yield NO_CONTROLLER
    unknown = ", ".join(f"{count} of broker {broker}" for broker, count in directories.without_replicas())
    if unknown and name == "BrokerHeartbeatRequest":
        yield f"which replicas lie in the failed log directories ({unknown}) was not captured"


def files_of_ids(rows: Iterable[tuple[str, Iterable[str]]]) -> dict[str, str]:
    """Return each cluster id with the first file that names it.

    Args:
        rows: files, with the cluster ids that they name.

    >>> files_of_ids([("b.pcap", ["x"]), ("a.pcap", ["x", "y"])])
    {'x': 'a.pcap', 'y': 'a.pcap'}
    """
    found: dict[str, str] = {}
    for file, ids in sorted((file, tuple(ids)) for file, ids in rows):
        for cluster_id in ids:
            found.setdefault(cluster_id, file)
    return found
