"""Timelines: the states of one partition, and the lives of brokers, each state recorded once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from .extractor import DELETED, Listed, State

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


class Timeline:
    """What became of a partition.

    Attributes:
        entries: its states in order; a deletion is one of them.
        is_controlled: whether a controller told of it; views of brokers then only count where they are ahead.

    >>> story = Timeline()
    >>> for teller, isr in [("to 1", (1, 2)), ("to 2", (1, 2)), ("to 1", (1,)), ("to 2", (1,))]:
    ...     story.tell(teller, State(1, isr=isr), Moment(0), "UpdateMetadataRequest")
    >>> [entry.state.isr for entry in story.entries]
    [(1, 2), (1,)]
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.is_controlled: bool = False
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


@dataclass(slots=True)
class Life:
    """A broker from one moment on, as long as nothing about it changes; `until` is None while it lives so."""

    broker: Listed
    since: Moment
    source: str
    until: Moment | None = None


class Absence(NamedTuple):
    """From when to when a broker was not there; to None if it never came back."""

    since: Moment
    until: Moment | None


class Brokers:
    """The brokers of a cluster.

    Attributes:
        lives: all that was, in the order of its beginnings.
        racks: since when which broker is on which rack, as far as that is known; one that is down keeps its rack.
        first: when brokers were first listed; None until then.
    """

    def __init__(self) -> None:
        self.lives: list[Life] = []
        self.racks: list[tuple[Moment, dict[int, str | None]]] = []
        self.first: Moment | None = None
        self._live: dict[int, Life] = {}
        self._told: dict[str, tuple[Listed, ...]] = {}
        self._addresses: dict[str, int] = {}
        self._is_controlled = False

    def hear(self, teller: str, brokers: Sequence[Listed], now: Moment, source: str, is_view: bool = False) -> None:
        """Take down a list of all live brokers; an empty one says nothing.

        Args:
            teller: the connection of a controller to a broker, or the broker whose view this is.
            brokers: those that live.
            now: the moment.
            source: the name of the message.
            is_view: whether a broker says it to a client; those count until a controller lists brokers.
        """
        if not brokers or (is_view and self._is_controlled):
            return
        self._is_controlled = self._is_controlled or not is_view
        self.first = self.first or now
        before = self._before(teller, is_view)
        self._told[teller] = tuple(brokers)
        there = {one.node_id: one for one in brokers}
        for node_id in before.keys() - there.keys():
            self._end(node_id, now)
        for node_id, broker in there.items():
            if before.get(node_id) != broker:
                self._begin(broker, now, source, is_view)

    def at(self, address: str) -> int | None:
        """Return who listens at `ip:port`, as far as a list says."""
        return self._addresses.get(address)

    def _before(self, teller: str, is_view: bool) -> dict[int, Listed]:
        told = self._told.get(teller)
        if told is not None:
            return {one.node_id: one for one in told}
        # A controller speaks for all; a client's listener need not be one of every broker.
        return {} if is_view else {node_id: life.broker for node_id, life in self._live.items()}

    def _end(self, node_id: int, now: Moment) -> None:
        life = self._live.pop(node_id, None)
        if life is not None:
            life.until = now

    def _begin(self, broker: Listed, now: Moment, source: str, is_view: bool) -> None:
        for endpoint in broker.endpoints:
            self._addresses[endpoint.rpartition("://")[2]] = broker.node_id
        life = self._live.get(broker.node_id)
        if life is not None:
            if is_view and broker.rack in (None, life.broker.rack):
                both = dict.fromkeys((*life.broker.endpoints, *broker.endpoints))
                life.broker = replace(life.broker, endpoints=tuple(both))
                return
            if life.broker == broker:
                return
            self._end(broker.node_id, now)
        self._live[broker.node_id] = life = Life(broker, now, source)
        self.lives.append(life)
        self._place(broker, now)

    def _place(self, broker: Listed, now: Moment) -> None:
        known = self.racks[-1][1] if self.racks else {}
        if broker.node_id not in known or broker.rack not in (None, known[broker.node_id]):
            if not self.racks or self.racks[-1][0] != now:
                self.racks.append((now, dict(known)))
            self.racks[-1][1][broker.node_id] = broker.rack

    def absences(self) -> dict[int, list[Absence]]:
        """Return when each broker that ever lived did not, since brokers were first listed."""
        found: dict[int, list[Absence]] = {}
        ends: dict[int, Moment | None] = {}
        for life in self.lives:
            node_id = life.broker.node_id
            end = ends.get(node_id, self.first)
            if end is not None and end.order < life.since.order:
                found.setdefault(node_id, []).append(Absence(end, life.since))
            ends[node_id] = life.until
        for node_id, end in ends.items():
            if end is not None:
                found.setdefault(node_id, []).append(Absence(end, None))
        return found
