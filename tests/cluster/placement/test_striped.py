"""Placement by a KRaft controller, against StripedReplicaPlacer of Kafka 4.4.0 and 3.9.2, to the last random number."""

from __future__ import annotations

import random
from functools import partial

import pytest

from kwire.cluster import Broker
from kwire.cluster.java.random import Random
from kwire.cluster.placement.striped import place_striped
from kwire.errors.refused import InvalidReplicaAssignment
from tests.cluster.vectors import Case, answer_of, brokers_of, cases, check


def placed(case: Case) -> Case:
    rng, calls = Random(case["seed"]), []
    for count, factor in case["calls"]:
        answer = answer_of(partial(place_striped, brokers_of(case), count, factor, rng))
        calls.append({"partitions": answer["result"]} if "result" in answer else answer)
    return {"result": {"calls": calls, "next_int_after": rng.next_int()}}


def test_vectors_of_striped_placement() -> None:
    check(cases("placer_kraft"), placed)


def test_pythons_own_random_numbers_will_do() -> None:
    brokers = [Broker(id, rack="abc"[id % 3]) for id in range(6)]
    partitions = place_striped(brokers, 20, 3, random.Random(1))
    assert all({id % 3 for id in replicas} == {0, 1, 2} for replicas in partitions)
    assert partitions == place_striped(brokers, 20, 3, random.Random(1))


def test_a_broker_that_is_there_twice() -> None:
    with pytest.raises(InvalidReplicaAssignment, match="broker 1 occurs twice"):
        place_striped([Broker(1), Broker(1)], 1, 2, Random(1))
