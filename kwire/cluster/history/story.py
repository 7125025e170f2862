"""The story of one partition: its states one after another, each told to many and taken down once.

A controller tells every broker, not at the same moment. What one broker was told is news only if no other was told it
since this one's last news; and what is older by its epochs is never news within `LAG`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .told import DELETED, State

LAG = 30.0  # seconds; Kafka's controller.socket.timeout.ms: a broker not reached for so long is given up
INHERITED = ("isr", "replicas", "topic_id")  # not `offline`: whoever says who leads says next who is offline


class Moment(NamedTuple):
    """When something was said: its place among all that was heard, and the time in seconds since 1970 if known."""

    order: int
    time: float | None = None

    def is_long_before(self, other: Moment) -> bool:
        """Whether more than `LAG` lies between; not, where no times are known."""
        return self.time is not None and other.time is not None and other.time - self.time > LAG


@dataclass(slots=True)
class Entry:
    """A state, since when, and the message that first said it."""

    state: State
    since: Moment
    source: str


class Story:
    """What became of a partition.

    Attributes:
        entries: its states in order; a deletion is one of them.
        is_controlled: whether a controller told of it; views of brokers then only count where they are ahead.

    >>> story = Story()
    >>> for teller, isr in [("to 1", (1, 2)), ("to 2", (1, 2)), ("to 1", (1,)), ("to 2", (1,))]:
    ...     story.tell(teller, State(1, isr=isr), Moment(0), "UpdateMetadataRequest")
    >>> [entry.state.isr for entry in story.entries]
    [(1, 2), (1,)]
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.is_controlled = False
        self._topic_ids: set[bytes] = set()
        self._places: dict[str, int] = {}  # how far the tellers are, while anything is new

    def tell(self, teller: str, state: State, now: Moment, source: str, is_view: bool = False) -> None:
        """Take down a state, if it is news.

        Args:
            teller: the connection of a controller to a broker, or the broker whose view this is.
            state: as it was told.
            now: the moment.
            source: the name of the message.
            is_view: whether a broker says it to a client, as against a controller to a broker.
        """
        if not self.entries and state.is_deleted:
            return
        if is_view and self.is_controlled and not self._is_ahead(state):
            return
        self.is_controlled = self.is_controlled or not is_view
        if not self.entries or not (self._find(teller, state, now) or self._is_late(state, now, is_view)):
            self._append(state, now, source)
            self._places[teller] = len(self.entries) - 1

    def _is_ahead(self, state: State) -> bool:
        newest = self.entries[-1].state
        if newest.is_deleted or self._is_anew(state):
            return self._is_anew(state)
        return newest.is_older(state) and newest.leader_epoch != state.leader_epoch

    def _is_anew(self, state: State) -> bool:
        """Whether it is of a topic made anew under its name."""
        return bool(self._topic_ids) and state.topic_id is not None and state.topic_id not in self._topic_ids

    def _find(self, teller: str, state: State, now: Moment) -> bool:
        """Whether this has been told before, to others or to the same; the teller's place moves there."""
        is_quiet = self.entries[-1].since.is_long_before(now)
        if is_quiet:
            self._places.clear()
        place = self._places.get(teller)
        first = range(place, place + 1) if place is not None else range(0)
        for index in (*first, *range(self._start(place, now), len(self.entries))):
            if self._echoes(self.entries[index], state, now):
                self._fill(self.entries[index], state)
                if not is_quiet:
                    self._places[teller] = index
                return True
        return False

    def _start(self, place: int | None, now: Moment) -> int:
        """Return the first entry that may be told with some delay."""
        start = len(self.entries) - 1
        if place is None and now.time is None:
            return start
        while start > (place or 0) and not self.entries[start].since.is_long_before(now):
            start -= 1
        return start

    def _echoes(self, entry: Entry, state: State, now: Moment) -> bool:
        if entry.state.offline is None and state.offline and entry.since.is_long_before(now):
            return False
        return entry.state.agrees(state)

    def _is_late(self, state: State, now: Moment, is_view: bool) -> bool:
        """Whether a state that nobody told yet is one that the others have passed."""
        newest_entry = self.entries[-1]
        newest = newest_entry.state
        if state.topic_id is not None and newest.topic_id is not None and state.topic_id != newest.topic_id:
            return not self._is_anew(state)
        if not state.is_older(newest):
            return False
        # Controllers before Kafka 2.0 may go back to what they had cached; if it is none of that, then to a topic made
        # anew whose deletion was not heard.
        if is_view or not newest_entry.since.is_long_before(now):
            return True
        return any(entry.state.agrees(state) for entry in self.entries)

    def _fill(self, entry: Entry, state: State) -> None:
        entry.state = entry.state.filled(state)
        self._learn(state)

    def _learn(self, state: State) -> None:
        if state.topic_id is not None:
            self._topic_ids.add(state.topic_id)

    def _append(self, state: State, now: Moment, source: str) -> None:
        newest = self.entries[-1].state if self.entries else DELETED
        if not (state.is_deleted or newest.is_deleted or self._is_anew(state)):
            lists = {name: getattr(newest, name) for name in INHERITED if getattr(state, name) is None}
            state = state._replace(**lists)
        self.entries.append(Entry(state, now, source))
        self._learn(state)
