"""KIP-112's metrics OfflineReplicaCount and OfflineLogDirectoryCount over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from .broker_lives import Brokers
from .offline_replicas import LOG_DIRECTORY
from .partition_timeline import Moment
from .rows import Metric, OfflineReplica

REPLICAS, DIRECTORIES = "OfflineReplicaCount", "OfflineLogDirectoryCount"
_NEVER = float("inf")


class DirectoryCounts:
    """The number of offline log directories of each broker, from messages and znodes.

    >>> counts = DirectoryCounts()
    >>> counts.start(3, frozenset([b"a", b"b"]), Moment(1, 1.0))
    >>> counts.fail(3, frozenset([b"b"]), Moment(2, 2.0))
    >>> counts.start(3, frozenset([b"a"]), Moment(3, 3.0))  # restarts without the failed one
    >>> counts.now(), [count for _, count in counts.steps(3)]
    ({3: 1}, [0, 1])
    """

    def __init__(self) -> None:
        self._steps: dict[int, list[tuple[Moment, int]]] = {}
        self._known: dict[int, frozenset[bytes]] = {}
        self._missing: dict[int, frozenset[bytes]] = {}

    def set(self, broker: int, count: int, now: Moment) -> None:
        """Set the number of offline directories."""
        steps = self._steps.setdefault(broker, [])
        if not steps or steps[-1][1] != count:
            steps.append((now, count))

    def start(self, broker: int, online: frozenset[bytes], now: Moment) -> None:
        """Set the online directories of a broker that starts; an empty set means unknown."""
        if online:
            self._known[broker] = self._known.get(broker, frozenset()) | online
            self._missing[broker] = self._known[broker] - online
            self.set(broker, len(self._missing[broker]), now)

    def fail(self, broker: int, failed: frozenset[bytes], now: Moment) -> None:
        """Add directories that have failed since the broker started."""
        self._known[broker] = self._known.get(broker, frozenset()) | failed
        self.set(broker, len(failed | self._missing.get(broker, frozenset())), now)

    def now(self) -> dict[int, int]:
        """Return the newest counts by broker."""
        return {broker: steps[-1][1] for broker, steps in sorted(self._steps.items())}

    def steps(self, broker: int) -> Sequence[tuple[Moment, int]]:
        """Return the counts of a broker, each with its start."""
        return self._steps.get(broker, ())


def metrics(
    brokers: Brokers, outages: Iterable[OfflineReplica], counts: DirectoryCounts, *, knows_replicas: bool = True
) -> Iterator[Metric]:
    """Yield the metrics of each broker as intervals of time, while it is alive.

    A broker that has offline replicas in a failed directory counts at least one offline directory, even if no message
    lists it.

    Args:
        brokers: the brokers of the cluster.
        outages: offline replicas; those in failed log directories count.
        counts: the numbers of offline log directories.
        knows_replicas: whether any source lists offline replicas; otherwise OfflineReplicaCount is omitted.
    """
    failed_by_broker: dict[int, list[OfflineReplica]] = {}
    for outage in outages:
        if outage.cause == LOG_DIRECTORY:
            failed_by_broker.setdefault(outage.broker, []).append(outage)
    for broker, lives in sorted(_lives(brokers).items()):
        failed = failed_by_broker.get(broker, [])
        changes = Counter[float]()
        for outage in failed:
            changes[outage.offline_from or 0.0] += 1
            changes[_NEVER if outage.offline_to is None else outage.offline_to] -= 1
        steps = [(moment.time or 0.0, count) for moment, count in counts.steps(broker)]
        for since, until in lives:
            rows = _rows(broker, since, until, changes, steps)
            yield from (row for row in rows if knows_replicas or row.metric != REPLICAS)


def _lives(brokers: Brokers) -> dict[int, list[tuple[float, float]]]:
    """Return the intervals in which each broker was alive."""
    intervals: dict[int, list[tuple[float, float]]] = {}
    for life in brokers.lives:
        since = life.since.time or 0.0
        until = _NEVER if life.until is None else life.until.time or 0.0
        merged = intervals.setdefault(life.broker.node_id, [])
        if merged and merged[-1][1] >= since:
            merged[-1] = merged[-1][0], max(until, merged[-1][1])
        else:
            merged.append((since, until))
    return intervals


def _rows(
    broker: int, since: float, until: float, changes: Counter[float], steps: Sequence[tuple[float, int]]
) -> Iterator[Metric]:
    """Yield the metrics of a broker for one of these intervals."""
    replicas = sum(change for at, change in changes.items() if at <= since)
    directories = max((step for step in steps if step[0] <= since), default=(0.0, 0), key=lambda step: step[0])[1]
    values: dict[str, list[tuple[float, int]]] = {REPLICAS: [], DIRECTORIES: []}
    times = {since, *changes, *(at for at, _ in steps)}
    by_time = dict(steps)
    for at in sorted(time for time in times if since <= time < until):
        replicas += changes.get(at, 0) if at > since else 0
        directories = by_time.get(at, directories)
        for name, value in ((REPLICAS, replicas), (DIRECTORIES, max(directories, min(replicas, 1)))):
            if not values[name] or values[name][-1][1] != value:
                values[name].append((at, value))
    for name, periods in values.items():
        for position, (at, value) in enumerate(periods):
            end = periods[position + 1][0] if position + 1 < len(periods) else until
            yield Metric(broker, name, value, at or None, None if end == _NEVER else end)
