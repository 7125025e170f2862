"""Everybody gets as many partitions, or one more, where all want the same topics."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.cluster.assignors import Member, MemberData, assign_cooperative, assign_sticky
from kwire.errors.refused import CannotAssign

RACKS = st.sampled_from(["a", "b", "c", None])
PARTITIONS = st.dictionaries(st.sampled_from("tuv"), st.lists(st.lists(RACKS, max_size=3), max_size=8))


@st.composite
def groups(draw: st.DrawFn) -> tuple[dict[str, dict[int, list[str | None]]], list[Member]]:
    """Members that want the same topics; what they hold is out of these topics, even if others hold it, too."""
    topics = {topic: dict(enumerate(partitions)) for topic, partitions in draw(PARTITIONS).items()}
    every = [(topic, number) for topic, partitions in topics.items() for number in partitions]
    held = st.lists(st.sampled_from(every), unique=True) if every else st.just([])
    count = draw(st.integers(1, 7))
    return topics, [
        Member(f"c{number}", "tuv", draw(RACKS), None, draw(st.integers(-1, 3)), draw(held)) for number in range(count)
    ]


@given(groups())
def test_all_is_shared_out_evenly(
    group: tuple[dict[str, dict[int, list[str | None]]], list[Member]],
) -> None:
    topics, members = group
    with_past = [
        Member(
            one.member_id, one.topics, one.rack, None, one.generation, user_data=MemberData(one.owned, one.generation)
        )
        for one in members
    ]
    found = assign_sticky(topics, with_past)
    every = sorted((topic, number) for topic, partitions in topics.items() for number in partitions)
    assert sorted(one for partitions in found.values() for one in partitions) == every
    counts = [len(partitions) for partitions in found.values()]
    assert max(counts) - min(counts) <= 1
    now = {one for partitions in assign_cooperative(topics, members).values() for one in partitions}
    assert now <= set(every)


def test_members_keep_their_lowest_partitions_since_3_7_1() -> None:
    held = MemberData([("t", 3), ("t", 0), ("t", 2), ("t", 1)], 1)
    members = [Member("m1", ["t"], user_data=held), Member("m2", ["t"])]
    assert assign_sticky({"t": 4}, members)["m1"] == [("t", 0), ("t", 1)]
    assert assign_sticky({"t": 4}, members, release="3.7.0")["m1"] == [("t", 3), ("t", 0)]


@pytest.mark.parametrize("release", ["3.7.0", "4.1.0"])
def test_who_has_its_share_gets_no_more_of_its_rack(release: str) -> None:
    topics = {"t": {0: ["a"], 1: ["a"], 2: ["a"], 3: ["b"]}}
    members = [Member("m1", ["t"], "a"), Member("m2", ["t"], "b")]
    shares = {"m1": [("t", 0), ("t", 1)], "m2": [("t", 3), ("t", 2)]}
    assert assign_sticky(topics, members, release=release) == shares


def test_partitions_that_do_not_exist_break_the_shares() -> None:
    with pytest.raises(CannotAssign, match="2 partitions are left and all members have their share") as caught:
        assign_sticky({"t": 2}, [Member("m1", ["t"], user_data=MemberData([("t", 7), ("t", 8)], 1))])
    assert (caught.value.exception, caught.value.count) == ("java.lang.IllegalStateException", 2)
