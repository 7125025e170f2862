"""The lifetimes of brokers, from lists of live brokers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..events.listed_brokers import Listed
from .partition_timeline import STORES, Moment


@dataclass(slots=True)
class Life:
    """An interval in which a broker is alive and does not change; `until` is None while it lasts."""

    broker: Listed
    since: Moment
    source: str
    until: Moment | None = None


class Absence(NamedTuple):
    """An interval in which a broker was absent; the end is None if it never came back."""

    since: Moment
    until: Moment | None


class Brokers:
    """The brokers of a cluster.

    Attributes:
        lives: all intervals, ordered by start.
        racks: the known racks of each broker over time; a stopped broker keeps its rack.
        first: the time when brokers were first listed; None until then.
    """

    def __init__(self) -> None:
        self.lives: list[Life] = []
        self.racks: list[tuple[Moment, dict[int, str | None]]] = []
        self.first: Moment | None = None
        self._live: dict[int, Life] = {}
        self._reported: dict[str, tuple[Listed, ...]] = {}
        self._addresses: dict[str, int] = {}
        self._is_controlled = False

    def observe(
        self, reporter: str, brokers: Sequence[Listed], now: Moment, source: str, is_view: bool = False
    ) -> None:
        """Record a list of all live brokers; an empty list is ignored.

        Args:
            reporter: the source: a connection from a controller to a broker, or the broker that answered a client.
            brokers: the live brokers.
            now: the time of the message.
            source: the name of the message.
            is_view: whether a broker sent it to a client; such lists count until a controller lists brokers.
        """
        for broker in brokers:
            self.listen(broker.node_id, broker.endpoints)
        if (not brokers and reporter not in STORES) or (is_view and self._is_controlled):
            return
        self._is_controlled = self._is_controlled or not is_view
        self.first = self.first or now
        before = self._before(reporter, is_view)
        self._reported[reporter] = tuple(brokers)
        listed = {broker.node_id: broker for broker in brokers}
        for node_id in before.keys() - listed.keys():
            self._end(node_id, now)
        for node_id, broker in listed.items():
            if before.get(node_id) != broker:
                self._begin(broker, now, source, is_view)

    def live(self) -> list[Listed]:
        """Return the brokers that are currently alive."""
        return [life.broker for _, life in sorted(self._live.items())]

    def listen(self, node_id: int, endpoints: Iterable[str]) -> None:
        """Record the endpoints of a broker."""
        self._addresses |= {endpoint.rpartition("://")[2]: node_id for endpoint in endpoints}

    def at(self, address: str) -> int | None:
        """Return the id of the broker that listens on `ip:port`; None if unknown."""
        return self._addresses.get(address)

    def _before(self, reporter: str, is_view: bool) -> dict[int, Listed]:
        reported = self._reported.get(reporter)
        if reported is not None:
            return {broker.node_id: broker for broker in reported}
        # A controller lists all listeners; a client's listener may be missing on some brokers.
        return {} if is_view else {node_id: life.broker for node_id, life in self._live.items()}

    def _end(self, node_id: int, now: Moment) -> None:
        life = self._live.pop(node_id, None)
        if life is not None:
            life.until = now

    def _begin(self, broker: Listed, now: Moment, source: str, is_view: bool) -> None:
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
        """Return the intervals in which each known broker was absent, since brokers were first listed."""
        absences: dict[int, list[Absence]] = {}
        ends: dict[int, Moment | None] = {}
        for life in self.lives:
            node_id = life.broker.node_id
            end = ends.get(node_id, self.first)
            if end is not None and end.order < life.since.order:
                absences.setdefault(node_id, []).append(Absence(end, life.since))
            ends[node_id] = life.until
        for node_id, end in ends.items():
            if end is not None:
                absences.setdefault(node_id, []).append(Absence(end, None))
        return absences
