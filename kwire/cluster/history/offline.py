"""Which replicas were offline, from when to when and why: by KIP-112 as messages say it, before by which brokers lived.

Knows stories of partitions and lives of brokers; knows no messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from .brokers import Absence, Brokers
from .story import Entry, Moment, Story
from .tables import OfflineReplica

LOG_DIRECTORY, BROKER = "log directory", "broker"
CLOSE = 0.5  # seconds between an election and the list of brokers that it belongs to
BY_BROKERS = "brokers"  # the source, where no message says who is offline
ONLINE, REMOVED, DELETED = "online", "removed", "deleted"
Failures = Mapping[tuple[str, int], Sequence[tuple[Moment, int | None]]]


class _Scene(NamedTuple):
    """A partition for a while: who is offline, as the source says."""

    entry: Entry
    since: Moment
    offline: tuple[int, ...]
    source: str


class _Begun(NamedTuple):
    """A replica that went offline: when, who led before and after, who said so."""

    since: Moment
    leaders: tuple[int | None, int]
    source: str


class Offline:
    """Finds the replicas that were offline.

    Args:
        brokers: those of the cluster.
        failures: when a broker answered of a partition that its log directory had failed (KAFKA_STORAGE_ERROR), and
            which broker where that is known.
    """

    def __init__(self, brokers: Brokers, failures: Failures) -> None:
        self._first = brokers.first
        self._absences = brokers.absences()
        self._known = {life.broker.node_id for life in brokers.lives}
        self._failures = failures

    def of(self, topic: str, partition: int, story: Story) -> Iterator[OfflineReplica]:
        """Yield the times when replicas of a partition were offline, in their order."""
        rows = sorted(self._rows(topic, partition, story), key=lambda row: (row[0], row[1].broker))
        yield from (row for _, row in rows)

    def _rows(self, topic: str, partition: int, story: Story) -> Iterator[tuple[Moment, OfflineReplica]]:
        begun: dict[int, _Begun] = {}
        leader: int | None = None
        for scene in self._scenes(story):
            for node_id in [one for one in begun if one not in scene.offline]:
                yield self._row(topic, partition, node_id, begun.pop(node_id), scene)
            leaders = _around(story, scene.since) if scene.source == BY_BROKERS else (leader, scene.entry.state.leader)
            for node_id in scene.offline:
                begun.setdefault(node_id, _Begun(scene.since, leaders, scene.source))
            leader = None if scene.entry.state.is_deleted else scene.entry.state.leader
        for node_id, one in begun.items():
            yield self._row(topic, partition, node_id, one, None)

    def _scenes(self, story: Story) -> Iterator[_Scene]:
        for place, entry in enumerate(story.entries):
            if entry.state.offline is not None or entry.state.is_deleted or self._first is None:
                yield _Scene(entry, entry.since, entry.state.offline or (), entry.source)
                continue
            end = story.entries[place + 1].since if place + 1 < len(story.entries) else None
            for moment in self._turns(entry, end):
                yield _Scene(entry, moment, self._absent(entry, moment), BY_BROKERS)

    def _turns(self, entry: Entry, end: Moment | None) -> list[Moment]:
        """Return when a state began, and when replicas' brokers came or went while it lasted."""
        turns = {entry.since}
        for node_id in entry.state.replicas or ():
            for absence in self._absences_of(node_id):
                turns |= {moment for moment in absence if moment is not None}
        return [moment for moment in sorted(turns) if entry.since <= moment and (end is None or moment < end)]

    def _absent(self, entry: Entry, now: Moment) -> tuple[int, ...]:
        replicas = entry.state.replicas or ()
        return tuple(sorted(one for one in replicas if any(_lasts(away, now) for away in self._absences_of(one))))

    def _absences_of(self, node_id: int) -> Sequence[Absence]:
        if self._first is not None and node_id not in self._known:
            return [Absence(self._first, None)]
        return self._absences.get(node_id, [])

    def _row(
        self, topic: str, partition: int, node_id: int, begun: _Begun, end: _Scene | None
    ) -> tuple[Moment, OfflineReplica]:
        return begun.since, OfflineReplica(
            topic,
            partition,
            node_id,
            self._cause(topic, partition, node_id, begun, end.since if end else None),
            *begun.leaders,
            begun.since.time,
            end.since.time if end else None,
            _ending(node_id, end),
            begun.source,
        )

    def _cause(self, topic: str, partition: int, node_id: int, begun: _Begun, end: Moment | None) -> str | None:
        if begun.source == BY_BROKERS:
            return BROKER
        for moment, broker in self._failures.get((topic, partition), ()):
            is_before = end is None or moment < end
            if broker in (None, node_id) and is_before and not moment.is_long_before(begun.since):
                return LOG_DIRECTORY
        if self._first is None:
            return None
        away = any(_overlaps(one, begun.since, end) for one in self._absences_of(node_id))
        return BROKER if away else LOG_DIRECTORY


def _around(story: Story, now: Moment) -> tuple[int | None, int]:
    """Return who led before and after a broker was missed; controllers elect shortly before or after they say so."""
    before = [entry for entry in story.entries if entry.since < now and not _is_close(entry.since, now)]
    after = [entry for entry in story.entries if entry.since <= now or _is_close(entry.since, now)]
    led = [entry.state.leader for entry in after if not entry.state.is_deleted]
    return None if not before or before[-1].state.is_deleted else before[-1].state.leader, led[-1]


def _is_close(one: Moment, other: Moment) -> bool:
    return one.time is not None and other.time is not None and abs(one.time - other.time) < CLOSE


def _lasts(absence: Absence, now: Moment) -> bool:
    return absence.since <= now and (absence.until is None or now < absence.until)


def _overlaps(absence: Absence, since: Moment, until: Moment | None) -> bool:
    return (until is None or absence.since < until) and (absence.until is None or since < absence.until)


def _ending(node_id: int, end: _Scene | None) -> str | None:
    if end is None:
        return None
    if end.entry.state.is_deleted:
        return DELETED
    return ONLINE if node_id in (end.entry.state.replicas or ()) else REMOVED
