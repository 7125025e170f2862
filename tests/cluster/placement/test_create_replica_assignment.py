"""CreateReplicaAssignment v0: what is answered, what cannot be said, and what a client makes of it, through bytes."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwire
from kwire.cluster import Broker
from kwire.cluster.placement.create_replica_assignment import (
    answer_create_replica_assignment,
    create_replica_assignment,
    place_replicas,
    refusal,
)
from kwire.cluster.placement.replica_assignors import assignor_for
from kwire.errors.refused import (
    BrokerNotAvailable,
    InvalidPartitions,
    InvalidRack,
    InvalidReplicationFactor,
    ReplicaAssignmentRefused,
)

BROKERS = [Broker(id, rack=f"/DC{id % 3}/R{id // 3}") for id in range(6)]
M: Any = getattr(kwire.messages, "KIP-879")


def through_bytes(name: str, message: Any) -> Any:
    codec = kwire.codec(name, 0, profile="KIP-879")
    return codec.decode(codec.encode(message))


def asked(*figures: Any, brokers: list[Broker] = BROKERS, **more: Any) -> dict[int, list[int]]:
    call = create_replica_assignment(*figures, **more)
    request = through_bytes("CreateReplicaAssignmentRequest", call.request)
    response = answer_create_replica_assignment(request, brokers, random.Random(1))
    return call.assignment(through_bytes("CreateReplicaAssignmentResponse", response))


def test_an_assignment_of_all_brokers_or_of_some() -> None:
    assert {len({id % 3 for id in replicas}) for replicas in asked(12, 3).values()} == {3}
    assert {id for replicas in asked(12, 2, node_ids=[5, 1, 1]).values() for id in replicas} == {1, 5}


def test_the_simple_assignment_needs_no_racks() -> None:
    brokers = [*BROKERS, Broker(6)]
    with pytest.raises(ReplicaAssignmentRefused):
        asked(3, 2, brokers=brokers)
    assert len(asked(3, 2, force_simple_assignment=True, brokers=brokers)) == 3


def test_fenced_brokers_are_not_live() -> None:
    brokers = [*BROKERS, Broker(6, rack="/DC4", fenced=True)]
    assert 6 not in {id for replicas in asked(12, 6, brokers=brokers).values() for id in replicas}
    with pytest.raises(BrokerNotAvailable, match=r"no brokers \[6\]"):
        place_replicas(brokers, 1, 1, random.Random(1), node_ids=[6])


@pytest.mark.parametrize(
    ("kind", "num_partitions", "factor", "node_ids", "brokers"),
    [
        (InvalidPartitions, 0, 1, (), BROKERS),
        (InvalidPartitions, 2**31 - 1, 6, (), BROKERS),
        (InvalidReplicationFactor, 1, 0, (), BROKERS),
        (InvalidReplicationFactor, 1, 3, (1, 2), BROKERS),
        (InvalidReplicationFactor, 1, 1, (), []),
        (BrokerNotAvailable, 1, 1, (1, 7), BROKERS),
        (InvalidRack, 1, 1, (), [Broker(1, rack="DC1")]),
    ],
)
def test_the_placement_says_why_and_the_response_cannot(
    kind: type[Exception], num_partitions: int, factor: int, node_ids: tuple[int, ...], brokers: list[Broker]
) -> None:
    with pytest.raises(kind):
        place_replicas(brokers, num_partitions, factor, random.Random(1), node_ids=node_ids)
    with pytest.raises(ReplicaAssignmentRefused) as caught:
        asked(num_partitions, factor, node_ids, brokers=brokers)
    assert caught.value.reason == "empty_assignment"


def test_the_words_of_a_refusal_name_the_possible_causes() -> None:
    with pytest.raises(ReplicaAssignmentRefused) as caught:
        create_replica_assignment(3, 4, [1, 2], timeout_ms=5).assignment(refusal())
    text = str(caught.value)
    assert text.startswith(
        "the broker refused 3 partitions with 4 replicas on brokers [1, 2], and its response has no reason; "
    )
    for cause in ("replication factor", "not that of a live broker", "without a rack path", "5 ms were over"):
        assert cause in text


@given(st.lists(st.integers(-1, 5), min_size=1, max_size=5), st.integers(1, 5))
def test_partitions_other_than_those_asked_for(ids: list[int], wanted: int) -> None:
    rows = tuple(M.CreateReplicaAssignmentResponse.ReplicaAssignment(partition_id=id, replicas=(1,)) for id in ids)
    response = M.CreateReplicaAssignmentResponse(replica_assignment=rows)
    call = create_replica_assignment(wanted, 1)
    if sorted(ids) == list(range(wanted)):
        assert call.assignment(response) == {partition: [1] for partition in range(wanted)}
    else:
        with pytest.raises(ReplicaAssignmentRefused, match=f"not 0 to {wanted - 1}") as caught:
            call.assignment(response)
        assert caught.value.reason == "wrong_partition_ids"


def test_another_assignor() -> None:
    request = create_replica_assignment(4, 2).request
    response = answer_create_replica_assignment(request, BROKERS, random.Random(1), assignor_for("simple"))
    expected = place_replicas(BROKERS, 4, 2, random.Random(1), force_simple_assignment=True)
    assert create_replica_assignment(4, 2).assignment(response) == expected
