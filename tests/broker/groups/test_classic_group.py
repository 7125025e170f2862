"""One group's values, its members, commits and memory, and the answers to members."""

from __future__ import annotations

from kwire.broker import Parked
from kwire.broker.groups.classic_group import Group, Member
from kwire.broker.groups.classic_responses import (
    describe_classic_group,
    join_error,
    join_response,
    sync_error,
    sync_response,
)
from kwire.broker.groups.committed_offsets import Commit, Commits
from kwire.broker.groups.group_memory import GroupMemory
from kwire.broker.groups.modern_group import GroupState


def member(name: str, *protocols: str, instance: str | None = None) -> Member:
    return Member(name, instance, "c", "h", 10.0, len(name), tuple((one, b"") for one in protocols))


def test_votes_are_for_what_all_can_go_by() -> None:
    group = Group("g", GroupMemory(1 << 20))
    first, second, third = member("a", "x", "y", "z"), member("bb", "z", "y"), member("c", "z", "y", "z")
    for one in (first, second, third):
        group.add(one)
    assert (group.choose_protocol(), group.rebalance_timeout) == ("z", 2)
    group.update(second, (("y", b""),))
    assert (group.choose_protocol(), group.supports((("z", b""),))) == ("y", False)
    group.remove(second)
    assert (group.supports((("z", b""),)), group.leader) == (True, "a")
    group.remove(first)
    group.remove(third)
    assert (group.supported, group.leader, group.held.size, group.rebalance_timeout) == ({}, None, group.size, 0)


def test_a_static_member_with_a_new_id_keeps_its_place() -> None:
    group = Group("g", GroupMemory(1 << 20))
    for one in (member("a", "x", instance="i"), member("b", "x")):
        group.add(one)
    group.rename(group.members["a"], "new")
    assert (list(group.members), group.leader, group.static) == (["new", "b"], "new", {"i": "new"})


def test_silence_counts_when_nothing_is_waited_for() -> None:
    member = Member("m", None, "c", "h", 10.0, 10.0, (("range", b"r"), ("sticky", b"s")))
    member.joining = Parked()
    assert member.can_expire  # it may never learn its id
    member.is_new = False
    assert not member.can_expire
    member.joining = None
    assert member.can_expire
    member.syncing = Parked()
    assert not member.can_expire


def test_what_it_says_and_takes() -> None:
    member = Member("m", None, "c", "h", 10.0, 10.0, (("range", b"r"), ("sticky", b"s")))
    assert (member.metadata("sticky"), member.metadata("none"), member.metadata(None)) == (b"s", b"", b"")
    size = member.measure()
    member.assignment = b"12345"
    assert member.measure() == size + 5


def test_what_is_kept_is_counted_once() -> None:
    held = GroupMemory(1 << 20)
    commits = Commits(held)
    assert not commits
    commits.put("t", 0, Commit(1, 0, "meta", bytes(16)))
    size = held.size
    commits.put("t", 0, Commit(2, 0, "metadata", bytes(16)))
    assert (held.size, commits.get("t", 0, bytes(16))) == (size + 4, Commit(2, 0, "metadata", bytes(16)))
    commits.put("t", 3, Commit(1, 0, "", b"x" * 16))
    assert (commits.get("t", 3, bytes(16)), list(commits.topics())) == (None, [("t", [0, 3])])
    commits.clear()
    assert (held.size, bool(commits)) == (0, False)


def test_room() -> None:
    held = GroupMemory(most=10)
    held.take(7)
    assert (held.has_room(3), held.has_room(4)) == (True, False)
    held.take(-2)
    assert (held.size, held.has_room(4)) == (5, True)


def made() -> tuple[Group, Member]:
    group = Group("g", GroupMemory(1 << 20), GroupState.STABLE, 7, "consumer", "range")
    member = Member("m", "i", "c", "h", 10.0, 10.0, (("sticky", b"s"), ("range", b"r")), b"a")
    group.add(member)
    return group, member


def test_who_is_in_is_told_of_all_or_of_itself() -> None:
    group, member = made()
    answer = join_response(group, member, includes_members=True, skip=True)
    assert (answer.generation_id, answer.leader, answer.skip_assignment) == (7, "m", True)
    assert [(one.member_id, one.group_instance_id, one.metadata) for one in answer.members] == [("m", "i", b"r")]
    answer = join_response(group, member, includes_members=False, leader="before")
    assert (answer.leader, answer.members, answer.member_id) == ("before", (), "m")
    assert (sync_response(group, member).assignment, sync_response(group, member).protocol_name) == (b"a", "range")


def test_who_is_not_in_is_told_why() -> None:
    assert (join_error(25, "m").error_code, join_error(25, "m").generation_id, join_error(25).leader) == (25, -1, "")
    assert (sync_error(27).error_code, sync_error(27).assignment) == (27, b"")


def test_what_members_say_is_told_of_stable_groups() -> None:
    group, _ = made()
    assert describe_classic_group(group).members[0].member_metadata == b"r"
    group.state = GroupState.COMPLETING_REBALANCE
    assert (
        describe_classic_group(group).protocol_data,
        describe_classic_group(group).members[0].member_assignment,
    ) == ("", b"")
