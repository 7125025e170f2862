"""The range assignor, against RangeAssignor of Kafka 4.4.0 and 3.9.2."""

from __future__ import annotations

from kwire.cluster.assignors import Member, assign_range
from kwire.cluster.assignors.range import in_order
from tests.cluster.assignors.groups import answered
from tests.cluster.vectors import cases, check


def test_vectors_of_range() -> None:
    check(cases("assign_range"), answered)


def test_members_are_served_by_instance_then_by_id() -> None:
    members = [Member("a", []), Member("z", [], group_instance_id="2"), Member("y", [], group_instance_id="3")]
    assert [member.member_id for member in in_order(members)] == ["z", "y", "a"]


def test_a_group_without_members_gets_nothing() -> None:
    assert assign_range({"t": 3}, []) == {}


def test_members_without_known_topics_get_nothing() -> None:
    assert assign_range({"t": 3, "u": 0}, [Member("a", ["u", "v"])]) == {"a": []}


def test_topics_alike_stay_together_across_racks() -> None:
    topics = {name: {number: ["abc"[number]] for number in range(3)} for name in ("t", "u")}
    members = [Member(f"m{rack}", ["t", "u"], rack) for rack in "cba"]
    assert assign_range(topics, members) == {
        f"m{rack}": [("t", number), ("u", number)] for number, rack in enumerate("abc")
    }


def test_balance_comes_before_racks() -> None:
    topics = {"t": {number: ["a"] for number in range(4)} | {4: ["b"], 5: ["b"]}}
    found = assign_range(topics, [Member("m1", ["t"], "a"), Member("m2", ["t"], "b")])
    assert found == {"m1": [("t", 0), ("t", 1), ("t", 2)], "m2": [("t", 3), ("t", 4), ("t", 5)]}
