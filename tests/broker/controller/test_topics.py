"""Names of topics, and assignments that clients bring."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.broker import Node
from kwire.broker.controller.check_assignment import check_assignment
from kwire.broker.controller.topic import Topic
from kwire.broker.controller.topic_names import check_name
from kwire.errors.refused import InvalidReplicaAssignment, InvalidTopicException, Refused

NODES = {node_id: Node(node_id) for node_id in range(4)}


@given(st.text(max_size=10))
def test_a_name_that_is_taken_is_safe_as_the_name_of_a_folder(name: str) -> None:
    try:
        check_name(name, ["there"])
    except Refused:
        return
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
    assert name not in ("", ".", "..", "there")


@pytest.mark.parametrize(("name", "other"), [("a.b", "a_b"), ("a_b.c", "a.b_c")])
def test_names_that_are_one_in_metrics(name: str, other: str) -> None:
    with pytest.raises(InvalidTopicException):
        check_name(name, [other])
    check_name(name, [f"{other}x"])


def test_a_client_names_at_least_one_live_broker() -> None:
    check_assignment({2: [3, 0], 3: [0, 1]}, NODES, first=2, replication_factor=2)
    with pytest.raises(InvalidReplicaAssignment, match="has 2 replicas and the topic has 3"):
        check_assignment({0: [3, 0]}, NODES, replication_factor=3)
    with pytest.raises(InvalidReplicaAssignment, match="partition 0 has no replicas"):
        check_assignment({0: []}, NODES)
    dead = Node(4)
    dead.log_dirs[0].is_offline = True
    check_assignment({0: [4, 1]}, {**NODES, 4: dead})
    with pytest.raises(InvalidReplicaAssignment, match="none of the brokers"):
        check_assignment({0: [4]}, {**NODES, 4: dead})


def test_numbers_of_its_own() -> None:
    topic = Topic("t", bytes(16), configs={"retention.bytes": "-1"})
    assert (topic.number("retention.bytes"), topic.number("max.message.bytes")) == (-1, 1048588)
