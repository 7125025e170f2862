"""KIP-36: partitions added to a topic, and proposals to move topics, as Kafka's tools of before 4.0 work them out.

Knows assignments; `placement` places.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ..refusals import (
    AdminCommandFailed,
    AdminOperation,
    BrokerNotAvailable,
    InvalidPartitions,
    InvalidReplicaAssignment,
    UnknownTopicOrPartition,
)
from .java import DEFAULT_CAPACITY, STRINGS, TOPIC_PARTITIONS, HashOrder, Rng, hash_order_of
from .placement import Assignment, RackAwareMode, assign_replicas, broker_metadatas
from .state import Broker

Replicas = Mapping[int, Sequence[int]]
T = TypeVar("T", str, int)


def add_partitions(
    existing: Replicas,
    brokers: Sequence[Broker],
    num_partitions: int,
    replica_assignment: Replicas | None = None,
) -> Assignment:
    """Place the partitions that a topic gets in addition, so that they go on where partition 0 began.

    Args:
        existing: the topic's partitions and their replicas.
        brokers: those to place on, by id, all with a rack or none; `broker_metadatas` makes it so.
        num_partitions: how many there are to be in all.
        replica_assignment: the new partitions' replicas, where they are not to be worked out.

    Returns:
        The new partitions alone, with the replication factor of partition 0.

    Raises:
        AdminOperation: partition 0 is not there, or only some brokers have a rack.
        InvalidPartitions: that would add none.
        InvalidReplicationFactor: there are fewer brokers than replicas of partition 0.
        InvalidReplicaAssignment, BrokerNotAvailable: `replica_assignment` is not one for these partitions.
    """
    if 0 not in existing:
        raise AdminOperation("partition_zero_missing")
    first = existing[0]
    if num_partitions <= len(existing):
        raise InvalidPartitions("partition_count_not_increased", existing=len(existing), num_partitions=num_partitions)
    if replica_assignment is not None:
        _check_given(replica_assignment, len(first), {broker.node_id for broker in brokers})
        return {partition: list(replicas) for partition, replicas in replica_assignment.items()}
    # The place is one in the list by id, though with racks it is used in another (KAFKA-3100 left it so).
    start_index = next((index for index, broker in enumerate(brokers) if first and broker.node_id >= first[0]), 0)
    new = num_partitions - len(existing)
    return assign_replicas(brokers, new, len(first), start_index=start_index, start_partition=len(existing))


@dataclass(frozen=True, slots=True)
class Reassignment:
    """What `--generate` of kafka-reassign-partitions answers, by topic and partition.

    `proposed` has the topics in the order in which Kafka placed them, `current` in that in which it met them.
    """

    proposed: dict[str, Assignment]
    current: dict[str, Assignment]


def generate_assignment(
    topics: Mapping[str, Replicas],
    topics_to_move: Sequence[str],
    brokers: Sequence[Broker],
    broker_list: Sequence[int],
    rng: Rng,
    rack_aware: bool = True,
) -> Reassignment:
    """Propose where topics could lie on other brokers (`kafka-reassign-partitions --generate`).

    Args:
        topics: the replicas of all topics' partitions.
        topics_to_move: names of those to place anew; each keeps the replication factor of one of its partitions.
        brokers: all brokers, in the order in which the cluster lists them.
        broker_list: ids of those to place on; unknown ones are passed over.
        rng: gives two numbers a topic; `java.Random(seed)` for Kafka's own.
        rack_aware: False is `--disable-rack-awareness`.

    Raises:
        AdminCommandFailed: a broker or a topic is named twice.
        UnknownTopicOrPartition: there is no such topic.
        AdminOperation: only some of the brokers have a rack.
        InvalidReplicationFactor: there are fewer brokers than replicas.
    """
    if twice := _repeated(broker_list):
        raise AdminCommandFailed("broker_twice_in_list", twice=twice)
    if twice_named := _repeated(topics_to_move):
        raise AdminCommandFailed("topic_twice_in_list", twice=twice_named)
    for topic in topics_to_move:
        if topic not in topics:
            raise UnknownTopicOrPartition("unknown_topic", topic=topic)
    usable = _usable(brokers, broker_list, rack_aware)
    factors: dict[str, int] = {}
    grouped = HashOrder(STRINGS)
    for topic, index in _partitions(topics, topics_to_move):
        factors.setdefault(topic, len(topics[topic][index]))
        grouped.compute_if_absent(topic)  # also for a topic that is there: the table may grow
    proposed: dict[str, Assignment] = {}
    for topic in grouped:
        proposed[topic] = assign_replicas(usable, len(topics[topic]), factors[topic], rng=rng)
    current = {topic: {index: list(ids) for index, ids in topics[topic].items()} for topic in factors}
    return Reassignment(proposed, current)


def reassignment_json(topics: Mapping[str, Replicas]) -> dict[str, Any]:
    """Return the JSON that `kafka-reassign-partitions --reassignment-json-file` reads.

    >>> reassignment_json({"orders": {0: [1, 2]}})
    {'version': 1, 'partitions': [{'topic': 'orders', 'partition': 0, 'replicas': [1, 2]}]}
    """
    partitions = [
        {"topic": topic, "partition": index, "replicas": list(replicas)}
        for topic, assignment in topics.items()
        for index, replicas in sorted(assignment.items())
    ]
    return {"version": 1, "partitions": partitions}


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


def _repeated(items: Sequence[T]) -> list[T]:
    return [item for item, count in Counter(items).items() if count > 1]


def _usable(brokers: Sequence[Broker], broker_list: Sequence[int], rack_aware: bool) -> list[Broker]:
    """Choose the brokers, in the order of the cluster; unlike `broker_metadatas` this does not sort them."""
    mode = RackAwareMode.ENFORCED if rack_aware else RackAwareMode.DISABLED
    chosen = {broker.node_id: broker for broker in broker_metadatas(brokers, mode, broker_list)}
    return [chosen[broker.node_id] for broker in brokers if broker.node_id in chosen]


def _partitions(topics: Mapping[str, Replicas], names: Sequence[str]) -> HashOrder[tuple[str, int]]:
    """Return the partitions in the order in which Kafka meets them; it goes from one map of topics to the next."""
    order = list(hash_order_of(names, STRINGS, max(len(names) * 4 // 3 + 1, DEFAULT_CAPACITY)))
    for _ in range(2):
        order = list(hash_order_of(order, STRINGS))
    return hash_order_of(((topic, index) for topic in order for index in topics[topic]), TOPIC_PARTITIONS)
