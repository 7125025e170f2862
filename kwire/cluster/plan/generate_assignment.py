"""Places the partitions of topics again, by racks as in KIP-36: `--generate` of kafka-reassign-partitions.

Ports ReassignPartitionsCommand.generateAssignment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ...errors.refused import AdminCommandFailed, UnknownTopicOrPartition
from ..java.hash_order import DEFAULT_CAPACITY, STRINGS, TOPIC_PARTITIONS, HashOrder, hash_order_of
from ..java.random import Rng
from ..placement.rack_aware import Assignment, RackAwareMode, Replicas, assign_replicas, broker_metadatas
from ..state import Broker

T = TypeVar("T", str, int)


@dataclass(frozen=True, slots=True)
class GeneratedAssignment:
    """The output of `kafka-reassign-partitions --generate`, by topic and partition.

    `proposed` has the topics in Kafka's order of placement, `current` in the order of input.
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
) -> GeneratedAssignment:
    """Propose new brokers for topics (`kafka-reassign-partitions --generate`).

    Args:
        topics: the replicas of all partitions, by topic.
        topics_to_move: names of the topics to place; each keeps the replication factor of one of its partitions.
        brokers: all brokers, in the order of the cluster's metadata.
        broker_list: ids of the brokers to place on; unknown ids are ignored.
        rng: draws two numbers per topic; `java.Random(seed)` for the same numbers as Kafka.
        rack_aware: False is `--disable-rack-awareness`.

    Raises:
        AdminCommandFailed: a broker or a topic is listed twice.
        UnknownTopicOrPartition: a topic does not exist.
        AdminOperation: only some of the brokers have a rack.
        InvalidReplicationFactor: there are fewer brokers than replicas.
    """
    # 1. Duplicates are refused (parseGenerateAssignmentArgs).
    _check_lists(topics, topics_to_move, broker_list)
    # 2. All brokers have racks, or none is used (getBrokerMetadata, KIP-36).
    usable = _choose_brokers(brokers, broker_list, rack_aware)
    factors: dict[str, int] = {}
    grouped = HashOrder(STRINGS)
    for topic, index in _order_partitions(topics, topics_to_move):
        factors.setdefault(topic, len(topics[topic][index]))
        grouped.compute_if_absent(topic)  # even for an existing topic, because the table may grow
    # 3. Each topic is placed as if it were new (calculateAssignment, AdminUtils.assignReplicasToBrokers).
    proposed: dict[str, Assignment] = {}
    for topic in grouped:
        proposed[topic] = assign_replicas(usable, len(topics[topic]), factors[topic], rng=rng)
    current = {topic: {index: list(ids) for index, ids in topics[topic].items()} for topic in factors}
    return GeneratedAssignment(proposed, current)


def _check_lists(topics: Mapping[str, Replicas], topics_to_move: Sequence[str], broker_list: Sequence[int]) -> None:
    if twice := _find_duplicates(broker_list):
        raise AdminCommandFailed("broker_twice_in_list", twice=twice)
    if twice_named := _find_duplicates(topics_to_move):
        raise AdminCommandFailed("topic_twice_in_list", twice=twice_named)
    for topic in topics_to_move:
        if topic not in topics:
            raise UnknownTopicOrPartition("unknown_topic", topic=topic)


def _find_duplicates(items: Sequence[T]) -> list[T]:
    return [item for item, count in Counter(items).items() if count > 1]


def _choose_brokers(brokers: Sequence[Broker], broker_list: Sequence[int], rack_aware: bool) -> list[Broker]:
    """Return the usable brokers in the order of the cluster, not sorted as in `broker_metadatas`."""
    mode = RackAwareMode.ENFORCED if rack_aware else RackAwareMode.DISABLED
    chosen = {broker.node_id: broker for broker in broker_metadatas(brokers, mode, broker_list)}
    return [chosen[broker.node_id] for broker in brokers if broker.node_id in chosen]


def _order_partitions(topics: Mapping[str, Replicas], names: Sequence[str]) -> HashOrder[tuple[str, int]]:
    """Return the partitions in Kafka's iteration order, which depends on two maps of topics."""
    order = list(hash_order_of(names, STRINGS, max(len(names) * 4 // 3 + 1, DEFAULT_CAPACITY)))
    for _ in range(2):
        order = list(hash_order_of(order, STRINGS))
    return hash_order_of(((topic, index) for topic in order for index in topics[topic]), TOPIC_PARTITIONS)
