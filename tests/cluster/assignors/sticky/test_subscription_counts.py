"""Subscriptions as the general algorithm counts them."""

from __future__ import annotations

from kwire.cluster.assignors import Member
from kwire.cluster.assignors.members import GroupSubscription
from kwire.cluster.assignors.sticky.subscription_counts import Wishes


def test_topics_by_how_many_want_them() -> None:
    wishes = Wishes(
        GroupSubscription({"t": 3, "u": 2, "v": 1}, [Member("m1", ["v", "t", "x"]), Member("m2", ["t", "u", "u"])])
    )
    assert wishes.rarest_first == ["v", "t", "u"]
    assert wishes.wanted_by == {"t": ["m1", "m2"], "u": ["m2", "m2"], "v": ["m1"]}
    assert (wishes.most("m1"), wishes.most("m2")) == (4, 6)
    assert [topic for topic in "tuv" if wishes.may_move(topic)] == ["t", "u"]


def test_a_topic_named_twice_counts_twice() -> None:
    wishes = Wishes(GroupSubscription({"t": 3, "u": 2}, [Member("m1", ["t", "t", "t"]), Member("m2", ["t", "u"])]))
    assert (wishes.most("m1"), wishes.most("m2")) == (9, 5)
