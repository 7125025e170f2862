"""When a group is even, and topics with contradictory claims."""

from __future__ import annotations

import pytest

from kwire.cluster.assignors import Member
from kwire.cluster.assignors.members import GroupSubscription, TopicPartition
from kwire.cluster.assignors.releases import rules_of
from kwire.cluster.assignors.sticky.evenness import Evenness
from kwire.cluster.assignors.sticky.holdings import Holdings, Pile
from kwire.cluster.assignors.sticky.subscription_counts import Wishes
from kwire.errors.refused import CannotAssign


def even_of(wanted: dict[str, str], held: dict[str, list[str]], release: str = "newest") -> tuple[Evenness, Holdings]:
    """Topics of one letter with three partitions each; partitions such as `t0`."""
    topics = {topic: 3 for wants in wanted.values() for topic in wants}
    wishes = Wishes(GroupSubscription(topics, [Member(member_id, list(wants)) for member_id, wants in wanted.items()]))
    piles = {member_id: Pile(map(one, texts)) for member_id, texts in held.items()}
    holder = {partition: member_id for member_id, pile in piles.items() for partition in pile}
    holdings = Holdings(piles, holder, wishes.wanted_by, {})
    return Evenness(wishes, holdings, rules_of(release), "sticky"), holdings


def one(text: str) -> TopicPartition:
    return text[0], int(text[1:])


def test_a_move_may_make_it_even() -> None:
    even, holdings = even_of({"m1": "t", "m2": "t"}, {"m1": ["t0", "t1", "t2"], "m2": []})
    assert not even.is_reached()
    holdings.move(("t", 0), "m1", "m2")
    even.record_move(("t", 0), "m1", "m2")
    assert even.is_reached()
    assert even.odd == set()


def test_more_does_not_matter_where_nobody_else_wants_it() -> None:
    even, _ = even_of({"m1": "tu", "m2": "v"}, {"m1": ["t0", "t1", "t2", "u0", "u1", "u2"], "m2": ["v0", "v1", "v2"]})
    assert even.is_reached()


def test_one_more_was_not_even_before_3_5_2() -> None:
    wanted = {"m1": "t", "m2": "t", "m3": "v"}
    held = {"m1": ["t0"], "m2": ["t1", "t2"], "m3": ["v0", "v1", "v2"]}
    assert even_of(wanted, held)[0].is_reached()
    assert not even_of(wanted, held, "3.5.1")[0].is_reached()


@pytest.mark.parametrize(
    "held",
    [
        {"m1": ["t0", "t1", "t2"], "m2": ["t0"]},
        {"m1": ["t0", "t0", "t1", "t2"], "m2": []},
        {"m1": ["t0", "t1"], "m2": []},
        {"m1": ["t0", "t1", "t9"], "m2": []},
    ],
)
def test_contradictory_claims_are_odd(held: dict[str, list[str]]) -> None:
    even, _ = even_of({"m1": "t", "m2": "t"}, held)
    assert even.odd == {"t"}
    assert not even.is_reached()


def test_a_partition_that_nobody_holds_is_not_to_be_had() -> None:
    even, _ = even_of({"m1": "t", "m2": "u", "m3": "t"}, {"m1": ["t0"], "m2": ["u0", "u1", "u2"], "m3": []})
    with pytest.raises(CannotAssign, match="has nothing to give or get"):
        even.is_reached()


def test_without_members_there_is_no_balance() -> None:
    even, holdings = even_of({"m1": "t"}, {"m1": ["t0", "t1", "t2"]})
    holdings.set_aside("m1")
    with pytest.raises(CannotAssign, match="no member has anything to give or get"):
        even.is_reached()
