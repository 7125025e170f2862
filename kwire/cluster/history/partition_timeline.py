"""The timeline of a partition: its states, each recorded once, and the states that contradict them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..events.authority import Authority
from ..events.event import DELETED, ReportedState

STORES = METADATA_LOG, ZNODES = "metadata log", "znode"  # sources with the decisions of controllers
LAG = 30.0  # seconds; Kafka's controller.socket.timeout.ms: the controller then gives up an unreachable broker
# Without `offline`: a message with a new leader is followed by a message with the offline replicas.
INHERITED = tuple(name for name in ReportedState._fields if name not in ("offline", "leader_epoch", "partition_epoch"))


class Moment(NamedTuple):
    """The time of a message: its position among all messages, and seconds since 1970 if known."""

    order: int
    time: float | None = None

    def is_long_before(self, other: Moment) -> bool:
        """Whether the other time is more than `LAG` later; False if a time is unknown."""
        return self.time is not None and other.time is not None and other.time - self.time > LAG


@dataclass(slots=True)
class TimelineEntry:
    """A state, its start, and the first message that contained it."""

    state: ReportedState
    since: Moment
    source: str
    authority: Authority = Authority.CLIENT


class Contradiction(NamedTuple):
    """A contradiction: two sources with different states of a partition at equal epochs.

    The source with more authority is accepted.

    Attributes:
        at: the time of the second message.
        source, state: the rejected source, and its state.
        believed: the accepted source.
    """

    at: Moment
    source: str
    state: ReportedState
    believed: str


class PartitionTimeline:
    """The history of a partition.

    Attributes:
        entries: the states in order; a deletion is a state.
        is_controlled: whether a controller has reported the partition; views of brokers then count only if they are
            newer.
        contradictions: different states at equal epochs.

    >>> story = PartitionTimeline()
    >>> for reporter, isr in [("to 1", (1, 2)), ("to 2", (1, 2)), ("to 1", (1,)), ("to 2", (1,))]:
    ...     story.observe(reporter, ReportedState(1, isr=isr), Moment(0), "UpdateMetadataRequest")
    >>> [entry.state.isr for entry in story.entries]
    [(1, 2), (1,)]
    """

    def __init__(self) -> None:
        self.entries: list[TimelineEntry] = []
        self.is_controlled: bool = False
        self.contradictions: list[Contradiction] = []
        self._topic_ids: set[bytes] = set()
        self._places: dict[str, int] = {}  # the position of each source in the entries

    def observe(
        self,
        reporter: str,
        state: ReportedState,
        now: Moment,
        source: str,
        authority: Authority = Authority.CONTROLLER,
    ) -> None:
        """Record a state if it is new.

        Args:
            reporter: who reported it: a connection from a controller to a broker, or the broker that answered a client.
            state: the reported state.
            now: the time of the message.
            source: the name of the message.
            authority: the authority of the reporter.
        """
        if not self.entries and state.is_deleted:
            return
        if authority is Authority.RECORD:
            self._record(state, now, source)
            return
        is_view = authority < Authority.CONTROLLER
        if self._record_contradiction(state, now, source, authority):
            return
        if is_view and self.is_controlled and not self._is_ahead(state):
            return
        self.is_controlled = self.is_controlled or not is_view
        if self.entries and (self._match_reported(reporter, state, now) or self._is_late(state, now, is_view)):
            return
        self._append(state, now, source, authority)
        self._places[reporter] = len(self.entries) - 1

    def _record_contradiction(self, state: ReportedState, now: Moment, source: str, authority: Authority) -> bool:
        """Whether a source with more authority has another state at equal epochs; then record a contradiction."""
        newest = self.entries[-1] if self.entries else None
        if newest is None or newest.authority <= authority or not _differs(newest.state, state):
            return False
        self.contradictions.append(Contradiction(now, source, state, newest.source))
        return True

    def _record(self, state: ReportedState, now: Moment, source: str) -> None:
        """Record a state from the metadata log or ZooKeeper, which takes precedence over all others."""
        self.is_controlled = True
        # 1. A state that another source has reported before is confirmed, at the earlier of the two times.
        index = self._find_reported(state)
        if index is not None:
            self._confirm(self.entries[index], state, now)
            return
        # 2. A newer state is appended; what another source reported at the same epochs was wrong.
        later = self._find_later(state)
        if later is None or self._is_anew(state):
            newest = self.entries[-1] if self.entries else None
            if newest is not None and _differs(state, newest.state):
                self.contradictions.append(Contradiction(now, newest.source, newest.state, source))
            self._append(state, now, source, Authority.RECORD)
            return
        # 3. A state that only the log has is inserted before the first later one, and not after it in time. The
        #    positions of the other sources are no longer valid.
        order, time = self.entries[later].since
        if time is None or now.time is None or now.time < time:
            time = now.time
        self.entries.insert(later, TimelineEntry(state, Moment(order, time), source, Authority.RECORD))
        self._places.clear()

    def _confirm(self, entry: TimelineEntry, state: ReportedState, now: Moment) -> None:
        entry.state = state.complete_from(entry.state)
        entry.authority = Authority.RECORD
        if now.time is not None and entry.since.time is not None and now.time < entry.since.time:
            entry.since = entry.since._replace(time=now.time)
        self._remember_topic_id(state)

    def _find_later(self, state: ReportedState) -> int | None:
        """Return the index of the first entry with later epochs since the last deletion; None if there is none.

        A topic that is created again starts with new epochs, so that entries before its deletion do not count.
        """
        start = 0
        for position, entry in enumerate(self.entries, 1):
            if entry.state.is_deleted:
                start = position
        for index in range(start, len(self.entries)):
            if state.is_older(self.entries[index].state):
                return index
        return None

    def _find_reported(self, state: ReportedState) -> int | None:
        """Return the index of the entry with this state since the last deletion; None if there is none."""
        last = len(self.entries) - 1
        if state.is_deleting is False and self.entries and self.entries[last].state.is_deleting:
            return None  # an operator has called the deletion off in ZooKeeper
        for index in range(last, -1, -1):
            entry = self.entries[index]
            if entry.state.is_deleted or state.is_deleted:
                both = entry.state.is_deleted and state.is_deleted
                return last if both else None
            if entry.state.agrees(state) and (index == last or _has_epochs(entry.state, state)):
                may_confirm = entry.authority < Authority.RECORD or index == last
                return index if may_confirm else None
        return None

    def is_of(self, topic_id: bytes) -> bool:
        """Whether the newest state belongs to the topic with this id and is not a deletion."""
        return bool(self.entries) and self.entries[-1].state.topic_id == topic_id

    def _is_ahead(self, state: ReportedState) -> bool:
        newest = self.entries[-1].state
        if newest.is_deleted or self._is_anew(state):
            return self._is_anew(state)
        has_moved = newest.leader_epoch != state.leader_epoch or state.partition_epoch is not None
        return newest.is_older(state) and has_moved

    def _is_anew(self, state: ReportedState) -> bool:
        """Whether a state belongs to a topic that was created again with the same name."""
        return bool(self._topic_ids) and state.topic_id is not None and state.topic_id not in self._topic_ids

    def _match_reported(self, reporter: str, state: ReportedState, now: Moment) -> bool:
        """Whether this state was reported before by any source; if so, move the position of the source to it."""
        is_quiet = self.entries[-1].since.is_long_before(now)
        if is_quiet:
            self._places.clear()
        position = self._places.get(reporter)
        first = range(position, position + 1) if position is not None else range(0)
        for index in (*first, *range(self._start(position, now), len(self.entries))):
            if self._echoes(self.entries[index], state, now):
                self._fill(self.entries[index], state)
                if not is_quiet:
                    self._places[reporter] = index
                return True
        return False

    def _start(self, position: int | None, now: Moment) -> int:
        """Return the index of the first entry that may still be reported late."""
        start = len(self.entries) - 1
        if position is None and now.time is None:
            return start
        while start > (position or 0) and not self.entries[start].since.is_long_before(now):
            start -= 1
        return start

    def _echoes(self, entry: TimelineEntry, state: ReportedState, now: Moment) -> bool:
        if entry.state.offline is None and state.offline and entry.since.is_long_before(now):
            return False
        return entry.state.agrees(state)

    def _is_late(self, state: ReportedState, now: Moment, is_view: bool) -> bool:
        """Whether a new state is older than the states that other sources have reported."""
        newest_entry = self.entries[-1]
        newest = newest_entry.state
        if newest.is_deleting and state.is_deleting is False:
            return False  # a deletion cannot be called off: another topic with this name, whose epochs start again
        if state.topic_id is not None and newest.topic_id is not None and state.topic_id != newest.topic_id:
            return not self._is_anew(state)
        if not state.is_older(newest):
            return False
        # Controllers before Kafka 2.0 may return to a cached state. A state that is not among the entries then belongs
        # to a topic that was created again, and its deletion was not captured.
        if is_view or not newest_entry.since.is_long_before(now):
            return True
        return any(entry.state.agrees(state) for entry in self.entries)

    def _fill(self, entry: TimelineEntry, state: ReportedState) -> None:
        entry.state = entry.state.complete_from(state)
        self._remember_topic_id(state)

    def _remember_topic_id(self, state: ReportedState) -> None:
        if state.topic_id is not None:
            self._topic_ids.add(state.topic_id)

    def _append(self, state: ReportedState, now: Moment, source: str, authority: Authority) -> None:
        newest = self.entries[-1].state if self.entries else DELETED
        if newest.is_deleting and state.is_deleting is False and authority < Authority.RECORD:
            newest = DELETED  # unseen
        if not (state.is_deleted or newest.is_deleted or self._is_anew(state)):
            names = (*INHERITED, "offline") if state.is_deleting or newest.is_deleting else INHERITED
            known = {name: getattr(newest, name) for name in names if getattr(state, name) is None}
            if state.leader is None:  # the message contains no election, so the epochs are the same
                known |= {"leader_epoch": newest.leader_epoch, "partition_epoch": newest.partition_epoch}
            state = state._replace(**known)
        self.entries.append(TimelineEntry(state, now, source, authority))
        self._remember_topic_id(state)


def _differs(first: ReportedState, second: ReportedState) -> bool:
    """Whether two states are incompatible: different leaders at one leader epoch, or any difference at equal epochs."""
    if first.leader_epoch is None or first.leader_epoch != second.leader_epoch or first.is_deleted or second.is_deleted:
        return False
    if None not in (first.topic_id, second.topic_id) and first.topic_id != second.topic_id:
        return False
    if None not in (first.leader, second.leader) and first.leader != second.leader:
        return (second.leader or 0) >= 0  # a broker that cannot reach the leader reports no leader
    return _has_epochs(first, second) and first.isr is not None and second.isr is not None and first.isr != second.isr


def _has_epochs(first: ReportedState, second: ReportedState) -> bool:
    epochs = first.leader_epoch, first.partition_epoch
    return None not in epochs and epochs == (second.leader_epoch, second.partition_epoch)
