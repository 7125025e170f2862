"""Which brokers live, where and on which rack, as lists of live brokers tell it one after another.

Every list is compared with the one before of the same teller: what it repeats is no news, however late it comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from .story import Moment
from .told import Listed


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
