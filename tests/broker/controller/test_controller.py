"""Topics made, grown and deleted; what cannot be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

import pytest

from kwire.broker import Node, Settings
from kwire.broker.controller.kraft_controller import KRaftController
from kwire.errors.refused import InvalidReplicaAssignment, PolicyViolation, TopicAlreadyExists, UnknownTopicOrPartition


def controller(**settings: int) -> KRaftController:
    return KRaftController([Node(1), Node(2)], Settings(**settings), Random(1))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "assignment", [{1: [1]}, {0: []}, {0: [1, 1]}, {0: [3]}, {0: [1], 2: [1]}, {0: [1], 1: [1, 2]}]
)
def test_assignments_that_cannot_be(assignment: Mapping[int, Sequence[int]]) -> None:
    with pytest.raises(InvalidReplicaAssignment):
        controller().create("t", assignment)


def test_growing_and_deleting() -> None:
    made = controller()
    topic = made.create("t", {0: [1]})
    made.grow("t", {1: [2]})
    assert [(one.leader, list(one.replicas)) for one in topic.partitions] == [(1, [1]), (2, [2])]
    with pytest.raises(TopicAlreadyExists):
        made.create("t", {0: [1]})
    with pytest.raises(InvalidReplicaAssignment):
        made.grow("t", {0: [2]})
    made.delete(topic)
    assert (made.topics, made.by_id) == ({}, {})
    assert [node.log_dirs[0].replicas for node in made.nodes.values()] == [0, 0]
    with pytest.raises(UnknownTopicOrPartition):
        made.grow("t", {2: [1]})


def test_there_is_an_end_to_partitions() -> None:
    made = controller(most_partitions=3)
    made.create("t", {0: [1], 1: [1]})
    with pytest.raises(PolicyViolation):
        made.place(2, 1)
    with pytest.raises(PolicyViolation):
        made.grow("t", {2: [1], 3: [1]})
