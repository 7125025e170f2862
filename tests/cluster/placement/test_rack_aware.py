"""Placement of KIP-36, against what AdminUtils of Kafka 3.9.2 and 0.10.0.1 answered."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest

from kwire.cluster import Broker
from kwire.cluster.java.random import Random
from kwire.cluster.placement.rack_aware import (
    RackAwareMode,
    assign_replicas,
    broker_metadatas,
    rack_alternated_broker_list,
)
from kwire.errors.refused import IndexOutOfBounds, InvalidReplicaAssignment
from tests.cluster.vectors import Case, answer_of, brokers_of, by_release, by_text, cases, check

OLD = dict.fromkeys(
    ("InvalidPartitions", "InvalidReplicationFactor", "AdminOperation"), "kafka.admin.AdminOperationException"
) | {"IndexOutOfBounds": "java.lang.ArrayIndexOutOfBoundsException"}


def usable(case: Case) -> list[Broker]:
    return broker_metadatas(brokers_of(case), RackAwareMode(case["mode"]), case.get("broker_list"))


def assigned(case: Case, brokers: list[Broker]) -> dict[str, Any]:
    return by_text(
        assign_replicas(
            brokers,
            case["n_partitions"],
            case["replication_factor"],
            start_index=case["start_index"],
            start_partition=case["start_partition"],
            rng=Random(case["rand_seed"]) if "rand_seed" in case else None,
        )
    )


ANSWERS: dict[str, Any] = {
    "assign_replicas": lambda case: assigned(case, brokers_of(case)),
    "create_topic": lambda case: assigned(case, usable(case)),
    "broker_metadatas": lambda case: [[broker.node_id, broker.rack] for broker in usable(case)],
    "rack_alternated": lambda case: rack_alternated_broker_list(brokers_of(case)),
}


def answer(release: str, case: Case) -> Any:
    return answer_of(lambda: ANSWERS[case["kind"]](case), **(OLD if release == "0.10.0.1" else {}))


@pytest.mark.parametrize("kind", ANSWERS)
def test_vectors_of_placement(kind: str) -> None:
    for release, found in by_release(cases("placement_zk", kind=kind)).items():
        check(found, partial(answer, release), release)


def test_a_refusal_has_kafkas_names_and_a_hint() -> None:
    with pytest.raises(IndexOutOfBounds) as caught:
        assign_replicas([Broker(id) for id in range(5)], 14, 3, start_index=2**31 - 1)
    assert str(caught.value) == (
        "the start index 2147483647 overflows Java's int; take a start index below the number of brokers"
    )


@pytest.mark.parametrize(
    ("brokers", "partitions", "factor", "start_partition", "found"),
    [
        (3, 1, 1, 2, None),  # the first replica's index is -1
        (4, 1, 3, 1, None),  # the third one's is
        (4, 1, 2, 4, None),  # a remainder of -1
        (4, 1, 2, 1, {1: [0, 2]}),  # a remainder of 0 of a number below 0
        (4, 2, 2, 0, {0: [3, 1], 1: [0, 2]}),
    ],
)
def test_numbers_that_overflow_as_in_kafka(
    brokers: int, partitions: int, factor: int, start_partition: int, found: dict[int, list[int]] | None
) -> None:
    """As AdminUtils of Kafka 3.9.1 answered, asked with start index 2147483647."""
    arguments: dict[str, Any] = {"start_index": 2**31 - 1, "start_partition": start_partition}
    listed = [Broker(id) for id in range(brokers)]
    if found is not None:
        assert assign_replicas(listed, partitions, factor, **arguments) == found
        return
    with pytest.raises(IndexOutOfBounds):
        assign_replicas(listed, partitions, factor, **arguments)


def test_brokers_in_order_of_chance_or_of_a_start() -> None:
    brokers = [Broker(id, rack="ab"[id % 2]) for id in range(4)]
    one, same = (assign_replicas(brokers, 9, 2, rng=random.Random(4)) for _ in range(2))
    assert one == same
    with pytest.raises(ValueError, match="start_index, or an rng"):
        assign_replicas(brokers, 9, 2)


def test_a_broker_that_is_there_twice() -> None:
    with pytest.raises(InvalidReplicaAssignment, match="broker 1 occurs twice"):
        assign_replicas([Broker(1), Broker(1)], 1, 2, start_index=0)


def test_safe_mode_takes_no_racks_unless_all_have_one() -> None:
    brokers = [Broker(2, rack="b"), Broker(1, "h", 9, rack="a"), Broker(3)]
    assert broker_metadatas(brokers, RackAwareMode.SAFE) == [Broker(1, "h", 9), Broker(2), Broker(3)]
    assert broker_metadatas(brokers, RackAwareMode.SAFE, [1, 2, 7]) == [brokers[1], brokers[0]]
