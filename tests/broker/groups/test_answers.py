"""Answers to members, as messages."""

from __future__ import annotations

from kwire.broker.groups.group import Group, GroupState, Held, Member
from kwire.broker.groups.rebalance import assigned, described, joined, not_assigned, not_joined


def made() -> tuple[Group, Member]:
    group = Group("g", Held(1 << 20), GroupState.STABLE, 7, "consumer", "range")
    member = Member("m", "i", "c", "h", 10.0, 10.0, (("sticky", b"s"), ("range", b"r")), b"a")
    group.add(member)
    return group, member


def test_who_is_in_is_told_of_all_or_of_itself() -> None:
    group, member = made()
    answer = joined(group, member, includes_members=True, skip=True)
    assert (answer.generation_id, answer.leader, answer.skip_assignment) == (7, "m", True)
    assert [(one.member_id, one.group_instance_id, one.metadata) for one in answer.members] == [("m", "i", b"r")]
    answer = joined(group, member, includes_members=False, leader="before")
    assert (answer.leader, answer.members, answer.member_id) == ("before", (), "m")
    assert (assigned(group, member).assignment, assigned(group, member).protocol_name) == (b"a", "range")


def test_who_is_not_in_is_told_why() -> None:
    assert (not_joined(25, "m").error_code, not_joined(25, "m").generation_id, not_joined(25).leader) == (25, -1, "")
    assert (not_assigned(27).error_code, not_assigned(27).assignment) == (27, b"")


def test_what_members_say_is_told_of_stable_groups() -> None:
    group, _ = made()
    assert described(group).members[0].member_metadata == b"r"
    group.state = GroupState.COMPLETING_REBALANCE
    assert (described(group).protocol_data, described(group).members[0].member_assignment) == ("", b"")
