"""Who holds what where members contradict each other."""

from __future__ import annotations

import pytest

from kwire.cluster.assignors import Member, MemberData
from kwire.cluster.assignors.members import GroupSubscription, TopicPartition
from kwire.cluster.assignors.releases import rules_of
from kwire.cluster.assignors.sticky.claims import Claims
from kwire.cluster.assignors.sticky.topic_sets import not_among, same_topics

ONE: TopicPartition = ("t", 1)


def claims_of(*generations: int, release: str = "newest", twice: bool = False) -> Claims:
    """Members c0, c1 ... that all claim one partition, each in a generation."""
    members = [Member(f"c{number}", ["t"], generation=one) for number, one in enumerate(generations)]
    held = {member.member_id: MemberData([ONE] * (1 + twice), member.generation) for member in members}
    return Claims(GroupSubscription({"t": 3}, members), held, rules_of(release))


def owners(claims: Claims) -> list[str]:
    return [member_id for member_id, owned in claims.owned.items() if ONE in owned]


@pytest.mark.parametrize(
    ("generations", "winners", "contested"),
    [
        ((3,), ["c0"], False),
        ((3, 2), ["c0"], False),
        ((2, 3), ["c1"], False),
        ((3, 3), [], True),
        ((3, 3, 4), ["c2"], True),
    ],
)
def test_the_newest_generation_wins(generations: tuple[int, ...], winners: list[str], contested: bool) -> None:
    claims = claims_of(*generations)
    assert (owners(claims), claims.contested) == (winners, {ONE} if contested else set())


def test_before_3_5_2_a_refused_claim_stood_in_the_way() -> None:
    assert owners(claims_of(3, 2, 3)) == []
    assert owners(claims_of(3, 2, 3, release="3.5.1")) == ["c0", "c2"]


def test_who_claims_a_partition_twice_loses_it() -> None:
    claims = claims_of(3, twice=True)
    assert (owners(claims), claims.contested) == ([], {ONE})


def test_partitions_of_topics_that_are_gone_do_not_count() -> None:
    group = GroupSubscription({"t": 1}, [Member("c0", ["t", "gone"])])
    claims = Claims(group, {"c0": MemberData([("gone", 0), ("t", 9)])}, rules_of("newest"))
    assert claims.owned == {"c0": {("t", 9): None}}


@pytest.mark.parametrize(
    ("topics", "same"),
    [
        ((["a", "b"], ["b", "a"]), True),
        (([], ["a"], ["a"]), True),
        ((["a"], []), False),
        ((["a"], ["a", "a"]), False),
        ((["a", "a"], ["a"]), True),
        ((["a", "b"], ["a", "a"]), True),
    ],
)
def test_the_same_topics_as_kafka_counts_them(topics: tuple[list[str], ...], same: bool) -> None:
    members = [Member(f"c{number}", wanted) for number, wanted in enumerate(topics)]
    assert same_topics(GroupSubscription({"a": 1, "b": 1}, members)) is same


def test_what_is_kept_twice_hides_nothing_behind_it() -> None:
    assert not_among({"t": [1, 1]}, {"t": range(3)}) == [("t", 0), ("t", 2)]
    assert not_among({"t": [1, 1], "u": [0]}, {"t": range(3), "u": range(1)}) == [("t", 0), ("t", 2), ("u", 0)]
