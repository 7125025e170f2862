"""Derives when replicas of a partition shared a rack although others had none (KIP-36, KIP-879)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from ..placement.rack_rule import RackRule
from ..state import Broker
from .broker_lives import Brokers
from .partition_timeline import Moment, PartitionTimeline
from .rows import Nodes, RackViolation

_Finding = tuple[Nodes, tuple[str | None, ...], str]  # replicas, their racks, the violated rule


class Racks:
    """The rack rules over time: one rule from each change of racks on.

    Args:
        brokers: the brokers of the cluster.
    """

    def __init__(self, brokers: Brokers) -> None:
        self._times = [since for since, _ in brokers.racks]
        self._rules = [(racks, RackRule(_on(racks))) for _, racks in brokers.racks]

    def violations(self, topic: str, partition: int, timeline: PartitionTimeline) -> Iterator[RackViolation]:
        """Yield the rack violations of a partition."""
        begun: tuple[_Finding, Moment] | None = None
        for moment, finding in self._turns(timeline):
            if begun is not None and begun[0] != finding:
                yield RackViolation(topic, partition, *begun[0], begun[1].time, moment.time)
                begun = None
            if begun is None and finding is not None:
                begun = finding, moment
        if begun is not None:
            yield RackViolation(topic, partition, *begun[0], begun[1].time, None)

    def _turns(self, timeline: PartitionTimeline) -> Iterator[tuple[Moment, _Finding | None]]:
        """Yield the violation, or None, at each change of replicas or racks."""
        for position, entry in enumerate(timeline.entries):
            is_there = not entry.state.is_deleted and not entry.state.is_deleting
            replicas = entry.state.replicas or () if is_there else ()
            first = bisect_right(self._times, entry.since)
            last = len(self._times)
            if position + 1 < len(timeline.entries):
                last = bisect_left(self._times, timeline.entries[position + 1].since)
            yield entry.since, self._find_violation(replicas, first - 1)
            for rule in range(first, last):
                yield self._times[rule], self._find_violation(replicas, rule)

    def _find_violation(self, replicas: Nodes, number: int) -> _Finding | None:
        """Return the violation of the rule with this index; None before the first rule."""
        if number < 0 or not replicas:
            return None
        racks, rule = self._rules[number]
        broken = rule.broken_by(replicas)
        return None if broken is None else (replicas, tuple(racks.get(node_id) for node_id in replicas), broken)


def _on(racks: dict[int, str | None]) -> dict[int, Broker]:
    return {node_id: Broker(node_id, rack=rack) for node_id, rack in racks.items()}
