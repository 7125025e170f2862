"""Stories of partitions and lives of brokers become rows of tables. Knows no messages."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from ..rack_rules import RackRule
from ..state import Broker
from .brokers import Brokers
from .story import Entry, Moment, Story
from .tables import BrokerLife, IsrShrink, Nodes, PartitionState, RackViolation

_Finding = tuple[Nodes, tuple[str | None, ...], str]  # replicas, their racks, the rule that they break


def states(topic: str, partition: int, story: Story) -> Iterator[PartitionState]:
    """Yield the states of a partition."""
    for entry, end in _periods(story):
        state = entry.state
        yield PartitionState(
            topic,
            partition,
            state.leader,
            _epoch(state.leader_epoch),
            _epoch(state.partition_epoch),
            state.isr or (),
            state.replicas or (),
            state.offline,
            entry.since.time,
            _time(end),
            entry.source,
        )


def shrinks(topic: str, partition: int, story: Story) -> Iterator[IsrShrink]:
    """Yield the moments when replicas left the ISR of a partition."""
    for before, after in zip(story.entries, story.entries[1:], strict=False):
        old, new = before.state.isr or (), after.state.isr or ()
        removed = tuple(one for one in old if one not in new)
        if removed and not after.state.is_deleted:
            now, state = after.since.time, after.state
            yield IsrShrink(
                topic, partition, now, state.leader, _epoch(state.leader_epoch), old, new, removed, after.source
            )


def lives(brokers: Brokers) -> Iterator[BrokerLife]:
    """Yield the lives of brokers."""
    for life in sorted(brokers.lives, key=lambda one: (one.broker.node_id, one.since)):
        endpoints = life.broker.endpoints
        host, _, port = (endpoints[0] if endpoints else ":-1").rpartition("://")[2].rpartition(":")
        rest = (life.broker.rack, endpoints, life.since.time, _time(life.until), life.source)
        yield BrokerLife(life.broker.node_id, host.strip("[]"), int(port), *rest)


class Racks:
    """What racks asked of replicas, from one change of racks to the next.

    Args:
        brokers: those of the cluster.
    """

    def __init__(self, brokers: Brokers) -> None:
        self._times = [since for since, _ in brokers.racks]
        self._rules = [(racks, RackRule(_on(racks))) for _, racks in brokers.racks]

    def violations(self, topic: str, partition: int, story: Story) -> Iterator[RackViolation]:
        """Yield when the replicas of a partition lay as they should not."""
        begun: tuple[_Finding, Moment] | None = None
        for moment, found in self._turns(story):
            if begun is not None and begun[0] != found:
                yield RackViolation(topic, partition, *begun[0], begun[1].time, moment.time)
                begun = None
            if begun is None and found is not None:
                begun = found, moment
        if begun is not None:
            yield RackViolation(topic, partition, *begun[0], begun[1].time, None)

    def _turns(self, story: Story) -> Iterator[tuple[Moment, _Finding | None]]:
        """Yield what was wrong whenever replicas or racks changed; None where nothing was."""
        for place, entry in enumerate(story.entries):
            replicas = () if entry.state.is_deleted else entry.state.replicas or ()
            first = bisect_right(self._times, entry.since)
            last = len(self._times)
            if place + 1 < len(story.entries):
                last = bisect_left(self._times, story.entries[place + 1].since)
            yield entry.since, self._wrong(replicas, first - 1)
            for rule in range(first, last):
                yield self._times[rule], self._wrong(replicas, rule)

    def _wrong(self, replicas: Nodes, number: int) -> _Finding | None:
        """Return what is wrong by the rule of that number; nothing before the first."""
        if number < 0 or not replicas:
            return None
        racks, rule = self._rules[number]
        broken = rule.broken_by(replicas)
        return None if broken is None else (replicas, tuple(racks.get(node_id) for node_id in replicas), broken)


def _on(racks: dict[int, str | None]) -> dict[int, Broker]:
    return {node_id: Broker(node_id, rack=rack) for node_id, rack in racks.items()}


def _periods(story: Story) -> Iterator[tuple[Entry, Moment | None]]:
    """Yield the states of a partition that is there, each with its end."""
    for place, entry in enumerate(story.entries):
        if not entry.state.is_deleted:
            yield entry, story.entries[place + 1].since if place + 1 < len(story.entries) else None


def _time(moment: Moment | None) -> float | None:
    return moment.time if moment else None


def _epoch(epoch: int | None) -> int:
    return -1 if epoch is None else epoch
