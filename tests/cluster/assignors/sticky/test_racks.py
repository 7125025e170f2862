"""Racks of a whole group."""

from __future__ import annotations

from kwire.cluster.assignors import Member
from kwire.cluster.assignors.members import GroupSubscription
from kwire.cluster.assignors.sticky.group_racks import GroupRacks

TOPICS: dict[str, dict[int, list[str | None]]] = {"t": {0: ["a", None], 1: ["b"], 2: []}}


def racks_of(*racks: str | None) -> GroupRacks:
    return GroupRacks(
        GroupSubscription(TOPICS, [Member(f"m{number}", ["t"], rack) for number, rack in enumerate(racks)])
    )


def test_who_is_elsewhere() -> None:
    racks = racks_of("a", None, "")
    assert racks.of_members == {"m0": "a"}
    assert racks.of(("t", 0)) == {"a"}
    assert [racks.mismatch("m0", ("t", number)) for number in range(4)] == [False, True, True, True]
    assert not racks.mismatch("m1", ("t", 1))
    assert racks.of(("u", 0)) == frozenset()


def test_racks_that_make_no_difference_are_left_out() -> None:
    for racks in (racks_of("x"), racks_of(None, "")):
        assert (racks.of_members, racks.of_topics) == ({}, {})
        assert not racks.mismatch("m0", ("t", 0))


def test_partitions_with_few_members_near_come_first() -> None:
    partitions = [("t", number) for number in range(4)]
    assert racks_of("a", "a", "b").hardest_first(partitions) == [("t", 2), ("t", 3), ("t", 1), ("t", 0)]
    assert racks_of(None).hardest_first(partitions) is partitions
