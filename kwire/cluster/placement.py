"""KIP-36: replicas of new topics on brokers, spread over racks, as Kafka's AdminUtils places them.

Knows brokers with flat racks. Every answer is Kafka's own, to its 32-bit numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import Enum
from itertools import islice

from ..refusals import (
    AdminOperation,
    IndexOutOfBounds,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
)
from .java import Rng, int32, utf16
from .state import Broker

Assignment = dict[int, list[int]]


class RackAwareMode(Enum):
    """What to do about racks: see `broker_metadatas`."""

    ENFORCED = "Enforced"
    SAFE = "Safe"
    DISABLED = "Disabled"


def broker_metadatas(
    brokers: Sequence[Broker],
    mode: RackAwareMode = RackAwareMode.ENFORCED,
    broker_list: Sequence[int] | None = None,
) -> list[Broker]:
    """Return the brokers to place on, by id, with racks or all without.

    Args:
        brokers: all brokers.
        mode: ENFORCED takes racks as they are, SAFE only if all brokers have one, DISABLED never.
        broker_list: ids of the brokers to choose; others are passed over, unknown ids too. None: all brokers.

    Raises:
        AdminOperation: ENFORCED, and only some of the chosen brokers have a rack.
    """
    chosen = sorted(
        (broker for broker in brokers if broker_list is None or broker.node_id in broker_list),
        key=lambda broker: broker.node_id,
    )
    without = [broker.node_id for broker in chosen if broker.rack is None]
    partial = 0 < len(without) < len(chosen)
    if mode is RackAwareMode.ENFORCED and partial:
        raise AdminOperation("only_some_brokers_have_a_rack", without=without)
    bare = mode is RackAwareMode.DISABLED or partial
    return [replace(broker, rack=None) for broker in chosen] if bare else chosen


def rack_alternated_broker_list(brokers: Sequence[Broker]) -> list[int]:
    """Return broker ids, one of each rack in turn: racks by their UTF-16 units, ids ascending inside a rack.

    >>> racks = ["rack1", "rack3", "rack3", "rack2", "rack2", "rack1"]
    >>> rack_alternated_broker_list([Broker(id, rack=rack) for id, rack in enumerate(racks)])
    [0, 3, 1, 5, 4, 2]
    """
    racks: dict[str, list[int]] = {}
    for node_id, rack in sorted({broker.node_id: broker.rack or "" for broker in brokers}.items()):
        racks.setdefault(rack, []).append(node_id)
    turns = [racks[rack] for rack in sorted(racks, key=utf16)]
    rounds = max(map(len, turns), default=0)
    return [ids[place] for place in range(rounds) for ids in turns if place < len(ids)]


def assign_replicas(
    brokers: Sequence[Broker],
    num_partitions: int,
    replication_factor: int,
    *,
    start_index: int = -1,
    start_partition: int = -1,
    rng: Rng | None = None,
) -> Assignment:
    """Place the replicas of new partitions (KIP-36).

    Args:
        brokers: those to place on, all with a rack or none; `broker_metadatas` makes it so.
        num_partitions: how many new partitions.
        replication_factor: replicas of each.
        start_index: place in the list of the broker with the first replica, and the first distance to the second;
            below 0 both are drawn from `rng`.
        start_partition: number of the first new partition; below 0 it is 0.
        rng: `random.Random(seed)`, or `java.Random(seed)` for Kafka's own numbers.

    Returns:
        For each new partition the ids of its brokers; the first is the preferred leader.

    Raises:
        InvalidPartitions, InvalidReplicationFactor: too few, or more replicas than brokers.
        AdminOperation: only some of the brokers have a rack.
        InvalidReplicaAssignment: a broker is there twice.
        IndexOutOfBounds: `start_index` or a partition is so large that Kafka's numbers overflow.
        ValueError: neither `start_index` nor `rng` is given.

    >>> assign_replicas([Broker(id) for id in range(5)], 6, 3, start_index=0)
    {0: [0, 1, 2], 1: [1, 2, 3], 2: [2, 3, 4], 3: [3, 4, 0], 4: [4, 0, 1], 5: [0, 2, 3]}
    """
    check_counts(num_partitions, replication_factor, len(brokers))
    check_distinct(broker.node_id for broker in brokers)
    without = [broker.node_id for broker in brokers if broker.rack is None]
    if 0 < len(without) < len(brokers):
        raise AdminOperation("only_some_brokers_have_a_rack", without=without)
    ids = [broker.node_id for broker in brokers] if without else rack_alternated_broker_list(brokers)
    racks = {} if without else {broker.node_id: broker.rack for broker in brokers}
    stride = len(set(racks.values()))
    assignment: Assignment = {}
    try:
        for partition, first, shift in _starts(len(ids), num_partitions, start_index, start_partition, rng):
            walk = _walk(ids, first, int32(shift * (stride or 1)))
            spread = _one_a_rack(walk, racks, stride) if racks else walk
            assignment[partition] = list(islice(spread, replication_factor))
    except IndexError:
        raise IndexOutOfBounds("int_overflow_negative_index", start_index=start_index) from None
    return assignment


def check_counts(num_partitions: int, replication_factor: int, brokers: int) -> None:
    """Refuse counts that no placement can serve, in Kafka's order."""
    if num_partitions <= 0:
        raise InvalidPartitions("partitions_not_positive", num_partitions=num_partitions)
    if replication_factor <= 0:
        raise InvalidReplicationFactor("replication_factor_not_positive", replication_factor=replication_factor)
    if replication_factor > brokers:
        raise InvalidReplicationFactor(
            "replication_factor_larger_than_brokers", replication_factor=replication_factor, brokers=brokers
        )


def check_distinct(ids: Iterable[int]) -> None:
    """Refuse brokers that are there twice."""
    seen: set[int] = set()
    for node_id in ids:
        if node_id in seen:
            raise InvalidReplicaAssignment("broker_twice", broker=node_id)
        seen.add(node_id)


def _starts(
    brokers: int, num_partitions: int, start_index: int, start_partition: int, rng: Rng | None
) -> Iterator[tuple[int, int, int]]:
    """Yield each partition with the index of its first broker, and how far on the second one is."""
    shift = start_index
    if start_index < 0:
        if rng is None:
            raise ValueError("give a start_index, or an rng to draw it from")
        start_index, shift = rng.randrange(brokers), rng.randrange(brokers)
    partition = max(0, start_partition)
    for _ in range(num_partitions):
        if partition > 0 and partition % brokers == 0:
            shift = int32(shift + 1)
        yield partition, _remainder(int32(partition + start_index), brokers), shift
        partition = int32(partition + 1)


def _walk(ids: list[int], first: int, shift: int) -> Iterator[int]:
    """Yield the brokers in the order in which a partition asks them: the first, then all others from `shift` on."""
    yield _at(ids, first)
    distance = shift
    while True:
        step = 1 + _remainder(distance, len(ids) - 1)
        yield _at(ids, _remainder(first + step, len(ids)))
        distance = int32(distance + 1)


def _one_a_rack(walk: Iterator[int], racks: dict[int, str | None], count: int) -> Iterator[int]:
    """Pass on brokers of racks that have no replica yet, until all racks have one; none twice."""
    taken: set[int] = set()
    used: set[str | None] = set()
    for node_id in walk:
        if node_id not in taken and (racks[node_id] not in used or len(used) == count):
            taken.add(node_id)
            used.add(racks[node_id])
            yield node_id


def _at(ids: list[int], index: int) -> int:
    if index < 0:
        raise IndexError
    return ids[index]


def _remainder(dividend: int, divisor: int) -> int:
    """Divide as Java does: the remainder has the sign of the dividend."""
    return dividend % divisor if dividend >= 0 else -(-dividend % divisor)
