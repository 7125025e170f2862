"""Derives offline replicas as intervals with causes.

Sources are error codes, log directories, and lists of live brokers (KIP-112).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..events.event import ReportedState
from ..events.metadata_records import RECORDS
from .broker_lives import Absence, Brokers
from .lost_directories import DirectoryLoss
from .partition_timeline import Moment, PartitionTimeline, TimelineEntry
from .rows import OfflineReplica

LOG_DIRECTORY, BROKER = "log directory", "broker"
CLOSE = 0.5  # seconds between an election and the related list of brokers
BY_BROKERS = "brokers"  # the source if no message lists offline replicas
_CERTAIN = frozenset((BY_BROKERS, *RECORDS))  # sources that report when a replica is online again
ONLINE, REMOVED, DELETED = "online", "removed", "deleted"
Key = tuple[str, int]


class Answer(NamedTuple):
    """A broker's response about its replica of a partition; None if the broker is unknown."""

    at: Moment
    broker: int | None
    has_failed: bool  # KAFKA_STORAGE_ERROR: its log directory is offline


class _Scene(NamedTuple):
    """The offline replicas of a partition in an interval, and the source."""

    entry: TimelineEntry
    since: Moment
    offline: tuple[int, ...]
    source: str


@dataclass(slots=True)
class _Begun:
    """A replica that went offline: the time, the leaders before and after, and the source.

    Attributes:
        seen: the last interval in which it is offline.
        back: the start of the first interval that no longer lists it, which alone does not prove that it is back.
    """

    since: Moment
    leaders: tuple[int | None, int | None]
    source: str
    seen: _Scene | None = None
    back: Moment | None = None


class _Outage(NamedTuple):
    """An outage of a replica; its end and what ended it are None while it lasts. `cause` is set if it was reported."""

    node_id: int
    begun: _Begun
    end: Moment | None = None
    ended_by: str | None = None
    cause: str | None = None


class Offline:
    """Finds offline replicas.

    Args:
        brokers: the brokers of the cluster.
        answers: responses of brokers about their replicas, in order.
        losses: replicas in log directories that brokers reported as offline (KRaft).
        names: topic names by id.
    """

    def __init__(
        self,
        brokers: Brokers,
        answers: Mapping[Key, Sequence[Answer]],
        losses: Sequence[DirectoryLoss] = (),
        names: Mapping[bytes, str] | None = None,
    ) -> None:
        self._first = brokers.first
        self._absences = brokers.absences()
        self._known = {life.broker.node_id for life in brokers.lives}
        self._answers = answers
        self._answering = {answer.broker for broker_answers in answers.values() for answer in broker_answers}
        self._losses: dict[Key, list[DirectoryLoss]] = {}
        for loss in losses:
            name = (names or {}).get(loss.topic_id, loss.topic_id.hex())
            self._losses.setdefault((name, loss.partition), []).append(loss)

    def rows(self, timelines: Mapping[Key, PartitionTimeline]) -> Iterator[OfflineReplica]:
        """Yield the outages of replicas, by topic, partition and time."""
        for key in sorted({*timelines, *self._losses}):
            timeline = timelines.get(key) or PartitionTimeline()
            outages = [*self._find_outages(key, timeline), *self._find_losses(key, timeline)]
            for outage in _join_outages(sorted(outages, key=lambda outage: (outage.begun.since, outage.node_id))):
                yield self._row(*key, outage)

    def _find_outages(self, key: Key, timeline: PartitionTimeline) -> Iterator[_Outage]:
        """Yield the outages of a partition's replicas, according to lists of offline replicas or of live brokers."""
        open_outages: dict[int, _Begun] = {}
        leader: int | None = None
        for scene in self._find_scenes(timeline):
            state = scene.entry.state
            for node_id, begun in list(open_outages.items()):
                outage = self._end(key, node_id, begun, timeline, scene)
                if outage is not None:
                    del open_outages[node_id]
                    yield outage
            leaders = _leaders_around(timeline, scene.since) if scene.source in _CERTAIN else (leader, state.leader)
            for node_id in scene.offline:
                begun = open_outages.setdefault(node_id, _Begun(scene.since, leaders, scene.source))
                begun.seen = scene
                begun.back = None
            leader = None if state.is_deleted else state.leader
        for node_id, begun in open_outages.items():
            end = self._return(key, node_id, begun, timeline, None)
            yield _Outage(node_id, begun, end, ONLINE if end else None)

    def _end(self, key: Key, node_id: int, begun: _Begun, timeline: PartitionTimeline, scene: _Scene) -> _Outage | None:
        """Return an outage if it certainly ended at the start of an interval; otherwise None."""
        ended_by = _name_ending(node_id, scene.entry.state)
        if node_id not in scene.offline and ended_by == ONLINE:
            begun.back = begun.back or scene.since
            return _Outage(node_id, begun, scene.since, ONLINE) if begun.source in _CERTAIN else None
        end = self._return(key, node_id, begun, timeline, scene.since)
        if end is not None:
            return _Outage(node_id, begun, end, ONLINE)
        return None if node_id in scene.offline else _Outage(node_id, begun, scene.since, ended_by)

    def _return(
        self, key: Key, node_id: int, begun: _Begun, timeline: PartitionTimeline, limit: Moment | None
    ) -> Moment | None:
        """Return when a replica that is no longer listed came back, before a time limit; None if it did not."""
        if begun.back is None or begun.seen is None:
            return None
        returns = [
            answer.at
            for answer in self._answers.get(key, ())
            if answer.broker == node_id and not answer.has_failed and begun.seen.since < answer.at
        ]
        if node_id not in (begun.seen.entry.state.isr or ()):
            entries = (entry for entry in timeline.entries if begun.back <= entry.since)
            returns += [entry.since for entry in entries if node_id in (entry.state.isr or ())]
        sure = [at for at in returns if limit is None or at < limit]
        if sure:
            return max(begun.back, min(sure))
        if limit is None and node_id not in self._answering:
            return begun.back
        return None

    def _find_losses(self, key: Key, timeline: PartitionTimeline) -> Iterator[_Outage]:
        """Yield the outages that result from log directories reported as offline."""
        for loss in self._losses.get(key, ()):
            end = loss.until
            ended_by = ONLINE if loss.until else None
            before: int | None = None
            after: int | None = None
            for entry in timeline.entries:
                state = entry.state
                if end is not None and end <= entry.since:
                    break
                if entry.since <= loss.since:
                    before = None if state.is_deleted else state.leader
                elif state.is_deleted or (state.replicas and loss.broker not in state.replicas):
                    end = entry.since
                    ended_by = _name_ending(loss.broker, state)
                elif after is None:
                    after = state.leader
            begun = _Begun(loss.since, (before, after), loss.source)
            yield _Outage(loss.broker, begun, end, ended_by, LOG_DIRECTORY)

    def _find_scenes(self, timeline: PartitionTimeline) -> Iterator[_Scene]:
        for position, entry in enumerate(timeline.entries):
            if entry.state.offline is not None or entry.state.is_deleted or self._first is None:
                yield _Scene(entry, entry.since, entry.state.offline or (), entry.source)
                continue
            end = timeline.entries[position + 1].since if position + 1 < len(timeline.entries) else None
            for moment in self._turns(entry, end):
                yield _Scene(entry, moment, self._find_absent(entry, moment), BY_BROKERS)

    def _turns(self, entry: TimelineEntry, end: Moment | None) -> list[Moment]:
        """Return the start of a state, and the times in it at which brokers of replicas started or stopped."""
        turns = {entry.since}
        for node_id in entry.state.replicas or ():
            for absence in self._absences_of(node_id):
                turns |= {moment for moment in absence if moment is not None}
        return [moment for moment in sorted(turns) if entry.since <= moment and (end is None or moment < end)]

    def _find_absent(self, entry: TimelineEntry, now: Moment) -> tuple[int, ...]:
        replicas = entry.state.replicas or ()
        absent = (
            node_id for node_id in replicas if any(_lasts(absence, now) for absence in self._absences_of(node_id))
        )
        return tuple(sorted(absent))

    def _absences_of(self, node_id: int) -> Sequence[Absence]:
        if self._first is not None and node_id not in self._known:
            return [Absence(self._first, None)]
        return self._absences.get(node_id, [])

    def _row(self, topic: str, partition: int, outage: _Outage) -> OfflineReplica:
        node_id, begun, end, ended_by, cause = outage
        return OfflineReplica(
            topic,
            partition,
            node_id,
            cause or self._cause(topic, partition, node_id, begun, end),
            *begun.leaders,
            begun.since.time,
            end.time if end else None,
            ended_by,
            begun.source,
        )

    def _cause(self, topic: str, partition: int, node_id: int, begun: _Begun, end: Moment | None) -> str | None:
        if begun.source == BY_BROKERS:
            return BROKER
        for answer in self._answers.get((topic, partition), ()):
            is_before = end is None or answer.at < end
            is_its = answer.has_failed and answer.broker in (None, node_id)
            if is_its and is_before and not answer.at.is_long_before(begun.since):
                return LOG_DIRECTORY
        if self._first is None:
            return None
        away = any(_overlaps(absence, begun.since, end) for absence in self._absences_of(node_id))
        return BROKER if away else LOG_DIRECTORY


def _leaders_around(timeline: PartitionTimeline, now: Moment) -> tuple[int | None, int | None]:
    """Return the leaders before and after the absence of a broker.

    Controllers elect leaders shortly before or after they report the absence.
    """
    before = [entry for entry in timeline.entries if entry.since < now and not _is_close(entry.since, now)]
    after = [entry for entry in timeline.entries if entry.since <= now or _is_close(entry.since, now)]
    led = [entry.state.leader for entry in after if not entry.state.is_deleted]
    if not before or before[-1].state.is_deleted:
        return None, led[-1]
    return before[-1].state.leader, led[-1]


def _is_close(first: Moment, second: Moment) -> bool:
    return first.time is not None and second.time is not None and abs(first.time - second.time) < CLOSE


def _lasts(absence: Absence, now: Moment) -> bool:
    return absence.since <= now and (absence.until is None or now < absence.until)


def _overlaps(absence: Absence, since: Moment, until: Moment | None) -> bool:
    return (until is None or absence.since < until) and (absence.until is None or since < absence.until)


def _name_ending(node_id: int, state: ReportedState) -> str:
    if state.is_deleted:
        return DELETED
    return ONLINE if node_id in (state.replicas or ()) else REMOVED


def _join_outages(outages: list[_Outage]) -> list[_Outage]:
    """Join overlapping outages of a broker, which are ordered by time: lists and reports describe the same outages."""
    joined: list[_Outage] = []
    positions: dict[int, int] = {}
    for outage in outages:
        position = positions.get(outage.node_id)
        known = None if position is None else joined[position]
        if position is None or known is None or (known.end is not None and known.end < outage.begun.since):
            positions[outage.node_id] = len(joined)
            joined.append(outage)
            continue
        is_longer = known.end is not None and (outage.end is None or known.end < outage.end)
        last = outage if is_longer else known
        joined[position] = last._replace(begun=known.begun, cause=known.cause or outage.cause)
    return joined
