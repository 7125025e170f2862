"""Which messages the history of a cluster is made of, and what it cannot know without the others."""

from __future__ import annotations

from collections.abc import Iterator

from .directories import Directories
from .hearing import CONTROLLER, DIRECTORIES, MESSAGES, VIEWS, Heard
from .tables import Source

SEPARATOR = "; "  # between the sentences of a note
NO_CONTROLLER = (
    "no controller was captured (LeaderAndIsr, UpdateMetadata, StopReplica): states are those that clients were told "
    "when they asked, and replicas are offline as far as Metadata, DescribeTopicPartitions and BrokerHeartbeat say it"
)


class Sources:
    """Counts messages by name."""

    def __init__(self) -> None:
        self._counts: dict[str, list[int]] = {}  # decoded, not decoded
        self._times: dict[str, tuple[float, float]] = {}

    def add(self, heard: Heard) -> None:
        """Count a message; those that tell of no cluster are passed over."""
        if heard.name not in MESSAGES:
            return
        self._counts.setdefault(heard.name, [0, 0])[heard.message is None] += 1
        if heard.time is not None:
            first, last = self._times.get(heard.name, (heard.time, heard.time))
            self._times[heard.name] = min(first, heard.time), max(last, heard.time)

    def rows(self, directories: Directories) -> Iterator[Source]:
        """Yield a row for each kind of message, by name."""
        for name, (count, undecodable) in sorted(self._counts.items()):
            first, last = self._times.get(name, (None, None))
            note = SEPARATOR.join(self._notes(name, undecodable, directories)) or None
            yield Source(name, count, undecodable, first, last, note)

    def _notes(self, name: str, undecodable: int, directories: Directories) -> Iterator[str]:
        if undecodable:
            yield f"{undecodable} could not be decoded and are missing (drafts need the option profile)"
        if name in (*VIEWS, *DIRECTORIES) and not self._counts.keys() & set(CONTROLLER):
            yield NO_CONTROLLER
        unknown = ", ".join(f"{count} of broker {broker}" for broker, count in directories.without_replicas())
        if unknown and name == "BrokerHeartbeatRequest":
            yield f"which replicas lie in the failed log directories ({unknown}) was not captured"
