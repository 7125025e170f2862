"""Reads and writes the JSON of `kafka-reassign-partitions`, and proposes new brokers for topics (`--generate`).

Racks are used as in KIP-36 (`rack_aware_placement`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard, TypeVar

from ..errors import DumpError, excerpt
from ..errors.refused import AdminCommandFailed, InvalidReplicaAssignment, UnknownTopicOrPartition
from .java_compat import DEFAULT_CAPACITY, STRINGS, TOPIC_PARTITIONS, HashOrder, Rng, hash_order_of
from .rack_aware_placement import Assignment, RackAwareMode, Replicas, assign_replicas, broker_metadatas
from .state import Broker

T = TypeVar("T", str, int)
Plan = dict[tuple[str, int], list[int]]
MOST = 2**31 - 1
REASSIGNMENT_FORM = 'write {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}, ...]}'


def reassignment_json(topics: Mapping[str, Replicas]) -> dict[str, Any]:
    """Return the JSON input of `kafka-reassign-partitions --reassignment-json-file`.

    >>> reassignment_json({"orders": {0: [1, 2]}})
    {'version': 1, 'partitions': [{'topic': 'orders', 'partition': 0, 'replicas': [1, 2]}]}
    """
    partitions = [
        {"topic": topic, "partition": index, "replicas": list(replicas)}
        for topic, assignment in topics.items()
        for index, replicas in sorted(assignment.items())
    ]
    return {"version": 1, "partitions": partitions}


def read_reassignment(value: Any, file: str) -> Plan:
    """Return the replicas of each partition from the JSON input of `kafka-reassign-partitions`.

    Args:
        value: the parsed JSON.
        file: the name of the file, for errors.

    Raises:
        DumpError: the value is not the JSON of a reassignment.
        InvalidReplicaAssignment: a partition lists a broker twice.

    >>> read_reassignment(reassignment_json({"orders": {0: [1, 2]}}), "plan.json")
    {('orders', 0): [1, 2]}
    """
    rows = value.get("partitions") if isinstance(value, dict) else None
    if not isinstance(rows, list) or not rows:
        raise DumpError("there are no partitions in it", file=file, hint=REASSIGNMENT_FORM)
    plan: Plan = {}
    for partition, replicas in (_partition(row, file) for row in rows):
        if partition in plan:
            raise DumpError(f"partition {partition[0]}-{partition[1]} is there twice", file=file)
        plan[partition] = replicas
    return plan


def _partition(row: Any, file: str) -> tuple[tuple[str, int], list[int]]:
    if isinstance(row, dict):
        topic, index, replicas = row.get("topic"), row.get("partition"), row.get("replicas")
        if isinstance(topic, str) and is_id(index) and isinstance(replicas, list) and all(map(is_id, replicas)):
            if len(set(replicas)) < len(replicas):
                label = f"{topic}-{index}"
                raise InvalidReplicaAssignment("broker_twice_in_one_partition", partition=label, replicas=replicas)
            return (topic, index), replicas
    raise DumpError(f"{excerpt(row)} is no partition", file=file, hint=REASSIGNMENT_FORM)


def is_id(value: Any) -> TypeGuard[int]:
    """Whether a JSON value is a broker id or a partition index."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST


@dataclass(frozen=True, slots=True)
class Reassignment:
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
) -> Reassignment:
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
    _check_lists(topics, topics_to_move, broker_list)
    usable = _usable(brokers, broker_list, rack_aware)
    factors: dict[str, int] = {}
    grouped = HashOrder(STRINGS)
    for topic, index in _partitions(topics, topics_to_move):
        factors.setdefault(topic, len(topics[topic][index]))
        grouped.compute_if_absent(topic)  # even for an existing topic, because the table may grow
    proposed: dict[str, Assignment] = {}
    for topic in grouped:
        proposed[topic] = assign_replicas(usable, len(topics[topic]), factors[topic], rng=rng)
    current = {topic: {index: list(ids) for index, ids in topics[topic].items()} for topic in factors}
    return Reassignment(proposed, current)


def _check_lists(topics: Mapping[str, Replicas], topics_to_move: Sequence[str], broker_list: Sequence[int]) -> None:
    if twice := _repeated(broker_list):
        raise AdminCommandFailed("broker_twice_in_list", twice=twice)
    if twice_named := _repeated(topics_to_move):
        raise AdminCommandFailed("topic_twice_in_list", twice=twice_named)
    for topic in topics_to_move:
        if topic not in topics:
            raise UnknownTopicOrPartition("unknown_topic", topic=topic)


def _repeated(items: Sequence[T]) -> list[T]:
    return [item for item, count in Counter(items).items() if count > 1]


def _usable(brokers: Sequence[Broker], broker_list: Sequence[int], rack_aware: bool) -> list[Broker]:
    """Return the usable brokers in the order of the cluster, not sorted as in `broker_metadatas`."""
    mode = RackAwareMode.ENFORCED if rack_aware else RackAwareMode.DISABLED
    chosen = {broker.node_id: broker for broker in broker_metadatas(brokers, mode, broker_list)}
    return [chosen[broker.node_id] for broker in brokers if broker.node_id in chosen]


def _partitions(topics: Mapping[str, Replicas], names: Sequence[str]) -> HashOrder[tuple[str, int]]:
    """Return the partitions in Kafka's iteration order, which depends on two maps of topics."""
    order = list(hash_order_of(names, STRINGS, max(len(names) * 4 // 3 + 1, DEFAULT_CAPACITY)))
    for _ in range(2):
        order = list(hash_order_of(order, STRINGS))
    return hash_order_of(((topic, index) for topic in order for index in topics[topic]), TOPIC_PARTITIONS)
