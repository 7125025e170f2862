"""JoinGroup: ids that are given, votes, static members, and who is not let in."""

from __future__ import annotations

import pytest

from kwire.broker import Settings, codes
from kwire.broker.groups.group import GroupState
from tests.broker.groups.driving import Mate, Waiting, World, formed


@pytest.mark.parametrize("version", range(10))
def test_every_version(version: int) -> None:
    world = World(JoinGroup=version)
    first, second = Mate(world), Mate(world)
    answer = first.join()
    assert (answer.error_code, answer.generation_id, answer.protocol_name) == (0, 1, "range")
    assert answer.protocol_type == ("consumer" if version >= 7 else None)
    late = second.join()
    again = first.join()
    assert (len(again.members), late.answer.leader, late.answer.members) == (2, first.member_id, ())
    refused = Mate(world, "").join()
    assert (refused.error_code, refused.generation_id, refused.member_id) == (codes.INVALID_GROUP_ID, -1, "")


def test_member_ids_are_given_before_they_are_used() -> None:
    world = World()
    given = Mate(world).request()
    assert given.error_code == codes.MEMBER_ID_REQUIRED
    assert given.member_id.startswith("c-")
    assert (len(given.member_id), len(world.group().members), list(world.group().pending)) == (38, 0, [given.member_id])
    assert Mate(world).request(member_id=given.member_id).member_id == given.member_id
    assert Mate(world, "other", "i").request().member_id.startswith("i-")
    old = World(JoinGroup=3)
    assert Mate(old).request().generation_id == 1


def test_nobody_else_gets_in_with_ids_that_were_not_given() -> None:
    world = World()
    (first,) = world.mates(1)
    assert Mate(world).request(member_id="other").error_code == codes.UNKNOWN_MEMBER_ID
    assert Mate(world, "none").request(member_id=first.member_id).error_code == codes.UNKNOWN_MEMBER_ID
    assert world.cluster.groups.find("none") is None
    given = Mate(world).request().member_id
    assert Mate(world).request(member_id=given, group_instance_id="i").error_code == codes.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"session_timeout_ms": 5999}, codes.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 1_800_001}, codes.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": -1}, codes.INVALID_SESSION_TIMEOUT),
        ({"protocol_type": ""}, codes.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": ()}, codes.INCONSISTENT_GROUP_PROTOCOL),
        ({"group_id": ""}, codes.INVALID_GROUP_ID),
    ],
)
def test_what_makes_no_member(fields: dict[str, object], code: int) -> None:
    world = World()
    assert Mate(world).request(**fields).error_code == code
    assert (world.cluster.groups.all(), world.cluster.groups.held.size) == ([], 0)


def test_only_who_speaks_what_all_speak_gets_in() -> None:
    world = World()
    world.mates(1)
    assert Mate(world).request(protocol_type="connect").error_code == codes.INCONSISTENT_GROUP_PROTOCOL
    assert Mate(world, "g", None, "sticky").request().error_code == codes.INCONSISTENT_GROUP_PROTOCOL
    assert isinstance(Mate(world, "g", None, "sticky", "range").join(), Waiting)


def test_members_vote_on_the_protocol() -> None:
    world = World()
    first, *others = (
        Mate(world, "g", None, "a", "b", "c"),
        Mate(world, "g", None, "c", "b"),
        Mate(world, "g", None, "c", "b"),
    )
    first.join()
    waiting = [mate.join() for mate in others]
    assert first.join().protocol_name == "c"
    assert {late.answer.protocol_name for late in waiting} == {"c"}
    assert [one.metadata for one in first.join().members] == [b"c"] * 3


def test_joining_again_with_nothing_new() -> None:
    world = World()
    first, second = world.mates(2)
    answer = second.join()
    assert (answer.generation_id, answer.members, world.group().state) == (2, (), GroupState.STABLE)
    assert isinstance(first.join(), Waiting)  # the leader may know of new partitions
    late = second.join()
    assert (late.generation_id, world.group().state) == (3, GroupState.COMPLETING_REBALANCE)
    assert (second.join().generation_id, len(first.join().members)) == (3, 2)  # the answers may have been lost
    second.protocols["range"] = b"new"
    assert isinstance(second.join(), Waiting)


def test_a_static_member_that_is_back_gets_its_place_and_a_new_id() -> None:
    world = World()
    first, second = Mate(world, instance="one"), Mate(world, instance="two")
    formed(first, second)
    back = Mate(world, instance="two")
    answer = back.join()
    assert (answer.error_code, answer.generation_id, answer.leader) == (0, 2, first.member_id)
    assert back.member_id != second.member_id
    assert back.sync().assignment == b"1"
    assert (second.beat(), second.commit(1), second.leave()) == (codes.FENCED_INSTANCE_ID,) * 3
    assert (second.join().error_code, second.sync().error_code) == (codes.FENCED_INSTANCE_ID,) * 2
    assert (first.beat(), back.beat()) == (0, 0)


@pytest.mark.parametrize(("version", "skips"), [(9, True), (8, False)])
def test_a_static_leader_that_is_back_assigns_nothing(version: int, skips: bool) -> None:
    world = World(JoinGroup=version)
    first, second = Mate(world, instance="one"), Mate(world, instance="two")
    formed(first, second)
    back = Mate(world, instance="one")
    answer = back.join()
    assert (answer.skip_assignment, len(answer.members)) == ((True, 2) if skips else (False, 0))
    assert answer.leader == (back.member_id if skips else first.member_id)
    assert world.group().leader == back.member_id
    assert back.sync().assignment == b"0"


def test_a_static_member_that_is_back_with_another_protocol_or_amid_a_rebalance() -> None:
    world = World()
    both = Mate(world, "g", "one", "range", "sticky"), Mate(world, "g", "two", "range", "sticky")
    formed(*both)
    back = Mate(world, "g", "two", "sticky")
    late = back.join()
    assert (late.answer, world.group().state) == (None, GroupState.PREPARING_REBALANCE)
    again = Mate(world, "g", "two", "sticky")
    last = again.join()
    assert late.answer.error_code == codes.FENCED_INSTANCE_ID
    assert both[0].join().protocol_name == "sticky"
    again.joined(last.answer)
    syncing = again.sync(protocol_name="sticky")
    assert isinstance(Mate(world, "g", "two", "sticky").join(), Waiting)
    assert syncing.answer.error_code == codes.FENCED_INSTANCE_ID
    assert world.group().state is GroupState.PREPARING_REBALANCE


def test_groups_have_bounds() -> None:
    world = World(Settings(most_group_members=2, most_groups=2))
    assert Mate(world).request().error_code == codes.MEMBER_ID_REQUIRED
    world.mates(1)
    assert Mate(world).request().error_code == codes.GROUP_MAX_SIZE_REACHED
    assert Mate(world, "g", "static").request().error_code == codes.GROUP_MAX_SIZE_REACHED
    other = Mate(world, "g2")
    assert other.join().error_code == 0
    assert Mate(world, "g3").request().error_code == codes.GROUP_MAX_SIZE_REACHED
    other.leave()
    assert Mate(world, "g3").request().error_code == codes.MEMBER_ID_REQUIRED  # nobody misses g2
    assert world.cluster.groups.find("g2") is None


def test_bytes_of_groups_have_a_bound() -> None:
    world = World(Settings(most_group_bytes=5000))
    (first,) = world.mates(1)
    first.protocols["range"] = b"x" * 4000
    assert first.join().error_code == codes.GROUP_MAX_SIZE_REACHED
    first.protocols["range"] = b"x" * 1000
    assert first.join().error_code == 0
    wordy = Mate(world)
    wordy.protocols["range"] = b"x" * 3000
    assert wordy.request().error_code == codes.GROUP_MAX_SIZE_REACHED
    assert first.sync({first.member_id: b"x" * 4000}).error_code == codes.GROUP_MAX_SIZE_REACHED
    assert (first.commit(1, 0), first.commit(1, 1, metadata="x" * 3000)) == (27, 27)
    assert first.sync({first.member_id: b"x" * 500}).error_code == 0
    assert (first.commit(1, 0), first.commit(1, 1, metadata="x" * 3000)) == (0, codes.GROUP_MAX_SIZE_REACHED)
    assert world.cluster.groups.held.size <= 5000
