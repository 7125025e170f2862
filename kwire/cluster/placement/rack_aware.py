"""KIP-36: places replicas of new topics and partitions over racks, as Kafka's AdminUtils does.

`reassignment_plan` places existing topics again by the same rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from itertools import islice

from ...errors.refused import (
    AdminOperation,
    BrokerNotAvailable,
    IndexOutOfBounds,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
)
from ..java.hash_order import int32, utf16
from ..java.random import Rng
from ..state import Broker

Assignment = dict[int, list[int]]


class RackAwareMode(Enum):
    """The use of racks: see `broker_metadatas`."""

    ENFORCED = "Enforced"
    SAFE = "Safe"
    DISABLED = "Disabled"


def broker_metadatas(
    brokers: Sequence[Broker],
    mode: RackAwareMode = RackAwareMode.ENFORCED,
    broker_list: Sequence[int] | None = None,
) -> list[Broker]:
    """Return the brokers to place on, by id: either all with racks or all without (AdminZkClient.getBrokerMetadatas).

    Args:
        brokers: all brokers.
        mode: ENFORCED uses racks, SAFE only if all brokers have one, DISABLED never.
        broker_list: ids of the brokers to choose; unknown ids are ignored. None: all brokers.

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
    """Return broker ids, alternating racks: racks in the order of UTF-16 units, ascending ids within a rack.

    Ports AdminUtils.getRackAlternatedBrokerList (KIP-36).

    >>> racks = ["rack1", "rack3", "rack3", "rack2", "rack2", "rack1"]
    >>> rack_alternated_broker_list([Broker(id, rack=rack) for id, rack in enumerate(racks)])
    [0, 3, 1, 5, 4, 2]
    """
    racks: dict[str, list[int]] = {}
    for node_id, rack in sorted({broker.node_id: broker.rack or "" for broker in brokers}.items()):
        racks.setdefault(rack, []).append(node_id)
    turns = [racks[rack] for rack in sorted(racks, key=utf16)]
    rounds = max(map(len, turns), default=0)
    return [ids[position] for position in range(rounds) for ids in turns if position < len(ids)]


def assign_replicas(
    brokers: Sequence[Broker],
    num_partitions: int,
    replication_factor: int,
    *,
    start_index: int = -1,
    start_partition: int = -1,
    rng: Rng | None = None,
) -> Assignment:
    """Place the replicas of new partitions, rack-aware if brokers have racks (KIP-36).

    Ports AdminUtils.assignReplicasToBrokers; its two variants, with and without racks, differ only in the filter of
    step 3:

    1. The first replica starts at a random broker and moves on by one per partition.
    2. The other replicas follow at a distance that grows by one each time all brokers have led (replicaIndex).
    3. With racks, a broker is skipped while its rack has a replica and another rack has none.

    Args:
        brokers: the brokers to place on, all with a rack or none; see `broker_metadatas`.
        num_partitions, replication_factor: how many partitions, and how many replicas of each.
        start_index: index of the first replica's broker, and first shift of the second; if negative, drawn from `rng`.
        start_partition: number of the first new partition; a negative number means 0.
        rng: `random.Random(seed)`, or `java.Random(seed)` for the same numbers as Kafka.

    Returns:
        For each new partition the ids of its brokers; the first is the preferred leader.

    Raises:
        AdminOperation, InvalidReplicaAssignment: a broker has no rack, or is listed twice; also as `check_counts`.
        IndexOutOfBounds: `start_index` or a partition is so large that Kafka's integers overflow.
        ValueError: neither `start_index` nor `rng` is given.

    >>> assign_replicas([Broker(id) for id in range(5)], 6, 3, start_index=0)
    {0: [0, 1, 2], 1: [1, 2, 3], 2: [2, 3, 4], 3: [3, 4, 0], 4: [4, 0, 1], 5: [0, 2, 3]}
    """
    check_counts(num_partitions, replication_factor, len(brokers))
    ids, racks = _ids_and_racks(brokers)
    stride = len(set(racks.values()))  # the racks; neighbours of a broker in the list are in other racks
    assignment: Assignment = {}
    try:
        for partition, first, shift in _starts(len(ids), num_partitions, start_index, start_partition, rng):
            walk = _walk(ids, first, int32(shift * (stride or 1)))
            chosen = _one_a_rack(walk, racks, stride) if racks else walk
            assignment[partition] = list(islice(chosen, replication_factor))
    except IndexError:
        raise IndexOutOfBounds("int_overflow_negative_index", start_index=start_index) from None
    return assignment


def _ids_and_racks(brokers: Sequence[Broker]) -> tuple[list[int], dict[int, str | None]]:
    """Return the ids of brokers, alternating racks, and the rack of each; no racks if no broker has one."""
    check_distinct(broker.node_id for broker in brokers)
    without = [broker.node_id for broker in brokers if broker.rack is None]
    if 0 < len(without) < len(brokers):
        raise AdminOperation("only_some_brokers_have_a_rack", without=without)
    if without:
        return without, {}
    return rack_alternated_broker_list(brokers), {broker.node_id: broker.rack for broker in brokers}


def check_counts(num_partitions: int, replication_factor: int, brokers: int) -> None:
    """Raise an error if a count is not positive, or there are more replicas than brokers; checks in Kafka's order."""
    if num_partitions <= 0:
        raise InvalidPartitions("partitions_not_positive", num_partitions=num_partitions)
    check_factor(replication_factor, brokers)


def check_factor(replication_factor: int, brokers: int) -> None:
    """Raise an error if a replication factor is not positive, or there are fewer brokers."""
    if replication_factor <= 0:
        raise InvalidReplicationFactor("replication_factor_not_positive", replication_factor=replication_factor)
    if replication_factor > brokers:
        raise InvalidReplicationFactor(
            "replication_factor_larger_than_brokers", replication_factor=replication_factor, brokers=brokers
        )


def check_distinct(ids: Iterable[int]) -> None:
    """Raise an error if a broker is listed twice."""
    seen: set[int] = set()
    for node_id in ids:
        if node_id in seen:
            raise InvalidReplicaAssignment("broker_twice", broker=node_id)
        seen.add(node_id)


def _starts(
    brokers: int, num_partitions: int, start_index: int, start_partition: int, rng: Rng | None
) -> Iterator[tuple[int, int, int]]:
    """Yield each partition with the index of its first broker, and the shift of the second broker."""
    shift = start_index
    if start_index < 0:
        if rng is None:
            raise ValueError("give a start_index, or an rng to draw it from")
        start_index = rng.randrange(brokers)
        shift = rng.randrange(brokers)
    partition = max(0, start_partition)
    for _ in range(num_partitions):
        if partition > 0 and partition % brokers == 0:
            shift = int32(shift + 1)
        yield partition, _remainder(int32(partition + start_index), brokers), shift
        partition = int32(partition + 1)


def _walk(ids: list[int], first: int, shift: int) -> Iterator[int]:
    """Yield brokers in a partition's order of preference: the first one, then all others from `shift` on.

    Ports AdminUtils.replicaIndex, in Java's int arithmetic.
    """
    yield _at(ids, first)
    distance = shift
    while True:
        step = 1 + _remainder(distance, len(ids) - 1)
        yield _at(ids, _remainder(first + step, len(ids)))
        distance = int32(distance + 1)


def _one_a_rack(walk: Iterator[int], racks: dict[int, str | None], count: int) -> Iterator[int]:
    """Yield brokers in racks without a replica, until all racks have one; no broker twice."""
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
    """Return the remainder as in Java, with the sign of the dividend."""
    return dividend % divisor if dividend >= 0 else -(-dividend % divisor)


Replicas = Mapping[int, Sequence[int]]


def add_partitions(
    existing: Replicas,
    brokers: Sequence[Broker],
    num_partitions: int,
    replica_assignment: Replicas | None = None,
) -> Assignment:
    """Place additional partitions of a topic, continuing from the placement of partition 0.

    Ports AdminZkClient.addPartitions.

    Args:
        existing: the topic's partitions and their replicas.
        brokers: the brokers to place on, by id, either all with a rack or all without; see `broker_metadatas`.
        num_partitions: the new total number of partitions.
        replica_assignment: the replicas of the new partitions, which are then only checked.

    Returns:
        Only the new partitions, with the replication factor of partition 0.

    Raises:
        AdminOperation: partition 0 does not exist, or only some brokers have a rack.
        InvalidPartitions: there is no partition to add.
        InvalidReplicationFactor: there are fewer brokers than replicas of partition 0.
        InvalidReplicaAssignment, BrokerNotAvailable: `replica_assignment` is invalid for these partitions.
    """
    if 0 not in existing:
        raise AdminOperation("partition_zero_missing")
    first = existing[0]
    if num_partitions <= len(existing):
        raise InvalidPartitions("partition_count_not_increased", existing=len(existing), num_partitions=num_partitions)
    if replica_assignment is not None:
        _check_given(replica_assignment, len(first), {broker.node_id for broker in brokers})
        return {partition: list(replicas) for partition, replicas in replica_assignment.items()}
    # The index is that of the list by id, although another list is used with racks (KAFKA-3100).
    start_index = next((index for index, broker in enumerate(brokers) if first and broker.node_id >= first[0]), 0)
    new = num_partitions - len(existing)
    return assign_replicas(brokers, new, len(first), start_index=start_index, start_partition=len(existing))


def _check_given(given: Replicas, replication_factor: int, known: set[int]) -> None:
    for partition, replicas in given.items():
        if not replicas:
            raise InvalidReplicaAssignment("empty_replica_list", partition=partition)
        if len(set(replicas)) < len(replicas):
            raise InvalidReplicaAssignment(
                "broker_twice_in_one_partition", partition=partition, replicas=list(replicas)
            )
        if unknown := sorted(set(replicas) - known):
            raise BrokerNotAvailable("unknown_broker", unknown=unknown)
    for partition, replicas in given.items():
        if len(replicas) != replication_factor:
            raise InvalidReplicaAssignment(
                "replication_factor_differs_between_partitions",
                partition=partition,
                found=len(replicas),
                replication_factor=replication_factor,
            )
