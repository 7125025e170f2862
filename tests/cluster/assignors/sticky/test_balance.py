"""Moves that make a group more even, and groups in which they do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.cluster.assignors import Member, MemberData, assign_sticky
from kwire.cluster.assignors.sticky.balance import MOST_ROUNDS, _spread
from kwire.errors.refused import CannotAssign

COUNTS = {"t": 5, "u": 3, "v": 8, "w": 1}


@given(st.lists(st.sets(st.sampled_from(sorted(COUNTS)), min_size=1), min_size=1, max_size=8))
def test_nobody_could_have_one_more_without_another_having_less(wanted: list[set[str]]) -> None:
    members = [Member(f"c{number}", sorted(topics)) for number, topics in enumerate(wanted)]
    found = assign_sticky(COUNTS, members)
    holders = {partition: member_id for member_id, partitions in found.items() for partition in partitions}
    every = [(topic, number) for topic in set().union(*wanted) for number in range(COUNTS[topic])]
    assert sorted(holders) == sorted(every)
    for (topic, _), holder in holders.items():
        rivals = [member.member_id for member in members if topic in member.topics]
        assert holder in rivals
        assert all(len(found[holder]) <= len(found[rival]) + 1 for rival in rivals)


def test_only_what_must_move_moves() -> None:
    held = [MemberData([("t", number) for number in range(4)], 1), MemberData([("t", 4)], 1)]
    members = [Member("m1", ["t"], user_data=held[0]), Member("m2", ["t", "u"], user_data=held[1])]
    found = assign_sticky({"t": 5, "u": 1}, members)
    assert found == {"m1": [("t", 1), ("t", 2), ("t", 3)], "m2": [("t", 4), ("u", 0), ("t", 0)]}


def test_a_partition_goes_back_to_who_held_it_in_an_earlier_generation() -> None:
    members = [
        Member("m1", ["t", "u"], user_data=MemberData([("t", 0), ("t", 1), ("t", 2), ("t", 3)], 5)),
        Member("m2", ["t"]),
        Member("m3", ["t"], user_data=MemberData([("t", 3)], 4)),
    ]
    assert ("t", 3) in assign_sticky({"t": 4, "u": 2}, members)["m3"]


def held_a(generation: int, *partitions: tuple[str, int]) -> MemberData:
    return MemberData(partitions, generation)


def test_a_group_that_kafka_never_brings_to_rest() -> None:
    """Kafka 3.5.0, 3.9.2 and 4.4.0 go on for ever: m1 is given a partition of a topic it does not want any more."""
    racks: dict[int, list[str | None]] = {4: ["z", "x"], 5: ["x"], 10: ["z", "x"], 11: ["x"]}
    topics: dict[str, dict[int, list[str | None]]] = {
        "a": {number: racks.get(number, []) for number in range(12)},
        "b": {number: [] for number in range(8)},
        "c": {number: racks.get(number, []) if number == 10 else [] for number in range(11)},
        "d": {number: [] for number in range(7)},
    }
    members = [
        Member("m5", ["a", "c"], "x", user_data=held_a(0, ("c", 10))),
        Member("m3", ["c"]),
        Member("m2", ["b", "d"]),
        Member("m1", ["d"], "y", user_data=held_a(0, ("a", 0))),
        Member("m4", ["a"], "x"),
        Member("m6", ["c"], "x", user_data=held_a(2)),
    ]
    with pytest.raises(CannotAssign, match="does not end in 1000 rounds") as caught:
        assign_sticky(topics, members)
    assert (caught.value.reason, caught.value.count, caught.value.assignor) == ("no_rest", MOST_ROUNDS, "sticky")


def test_who_held_something_and_cannot_take_part() -> None:
    """m3 has all it wants and nobody else wants that; it once held t-3, which m1 has too many of."""
    members = [
        Member("m1", ["t"], user_data=held_a(5, *[("t", number) for number in range(4)])),
        Member("m2", ["t"]),
        Member("m3", ["u"], user_data=held_a(4, ("t", 0))),
    ]
    with pytest.raises(CannotAssign, match="let that member forget what it held") as caught:
        assign_sticky({"t": 4, "u": 1}, members)
    assert caught.value.exception == "java.lang.NullPointerException"


def test_the_score_is_javas_int() -> None:
    assert _spread([[("t", 0)] * 5, [], [("t", 0)]]) == 5 + 4 + 1
    assert _spread([range(100_000)] * 300 + [()] * 300) == 300 * 300 * 100_000 - 2 * 2**32
