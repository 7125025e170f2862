"""The round-robin assignor, against RoundRobinAssignor of Kafka 4.4.0 and 3.9.2."""

from __future__ import annotations

import pytest

from kwire.cluster.assignors import Member, assign_round_robin
from kwire.errors.refused import CannotAssign
from tests.cluster.assignors.groups import answered
from tests.cluster.vectors import cases, check


def test_vectors_of_round_robin() -> None:
    check(cases("assign_roundrobin"), answered)


def test_a_member_is_passed_over_for_topics_it_does_not_want() -> None:
    members = [Member("m1", ["a"]), Member("m2", ["a", "b"])]
    assert assign_round_robin({"b": 2, "a": 3}, members) == {
        "m1": [("a", 0), ("a", 2)],
        "m2": [("a", 1), ("b", 0), ("b", 1)],
    }


def test_a_group_without_members_is_refused() -> None:
    with pytest.raises(CannotAssign, match="the group has no members; assign after a member has joined") as caught:
        assign_round_robin({"t": 1}, [])
    assert (caught.value.assignor, caught.value.reason) == ("roundrobin", "no_members")
