"""Groups: FindCoordinator, JoinGroup, SyncGroup, Heartbeat, LeaveGroup, ListGroups, DescribeGroups, DeleteGroups."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.broker import Settings
from kwire.broker.groups.modern_group import GroupState
from kwire.broker.internal_topics import coordinator_of
from kwire.values import ErrorCode
from tests.broker.driving import Mate, Waiting, World, formed
from tests.broker.served import M


@pytest.mark.parametrize("version", range(7))
def test_every_version_of_find_coordinator(version: int) -> None:
    world = World(count=3)

    def find(key: str, kind: int = 0) -> tuple[int, int, str, int]:
        kinds: dict[str, Any] = {"key_type": kind} if version >= 1 else {}
        if version < 4:
            found = world.ask("FindCoordinator", version, key=key, **kinds)
        else:
            found, *_ = world.ask("FindCoordinator", version, coordinator_keys=(key, "x", key), **kinds).coordinators
            assert found.key == key
        return found.error_code, found.node_id, found.host, found.port

    node = find("g")[1]
    assert find("g") == (0, node, "localhost", 9092 + node)
    assert {find(f"g{number}")[1] for number in range(20)} == {1, 2, 3}
    if version >= 1:
        assert find("g", 1) == find("g")  # a transactional id
        assert find("g", 2) == (ErrorCode.INVALID_REQUEST, -1, "", -1)  # a share group
    nodes = world.cluster.controller.nodes
    world.cluster.fail(*nodes[node].log_dirs)
    assert find("g")[1] == node % 3 + 1
    world.cluster.fail(*(one for other in nodes.values() for one in other.log_dirs))
    assert find("g") == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1, "", -1)


@pytest.mark.parametrize("version", range(10))
def test_every_version_of_join_group(version: int) -> None:
    world = World(JoinGroup=version)
    first, second = Mate(world), Mate(world)
    answer = first.join()
    assert (answer.error_code, answer.generation_id, answer.protocol_name) == (0, 1, "range")
    assert answer.protocol_type == ("consumer" if version >= 7 else None)
    late = second.join()
    again = first.join()
    assert (len(again.members), late.answer.leader, late.answer.members) == (2, first.member_id, ())
    refused = Mate(world, "").join()
    assert (refused.error_code, refused.generation_id, refused.member_id) == (ErrorCode.INVALID_GROUP_ID, -1, "")


def test_member_ids_are_given_before_they_are_used() -> None:
    world = World()
    given = Mate(world).request()
    assert given.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert given.member_id.startswith("c-")
    assert (len(given.member_id), len(world.group().members), list(world.group().pending)) == (38, 0, [given.member_id])
    assert Mate(world).request(member_id=given.member_id).member_id == given.member_id
    assert Mate(world, "other", "i").request().member_id.startswith("i-")
    old = World(JoinGroup=3)
    assert Mate(old).request().generation_id == 1


def test_nobody_else_gets_in_with_ids_that_were_not_given() -> None:
    world = World()
    (first,) = world.mates(1)
    assert Mate(world).request(member_id="other").error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert Mate(world, "none").request(member_id=first.member_id).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.cluster.groups.find("none") is None
    given = Mate(world).request().member_id
    assert Mate(world).request(member_id=given, group_instance_id="i").error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"session_timeout_ms": 5999}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 1_800_001}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": -1}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"protocol_type": ""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": ()}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
    ],
)
def test_what_makes_no_member(fields: dict[str, object], code: int) -> None:
    world = World()
    assert Mate(world).request(**fields).error_code == code
    assert (world.cluster.groups.all(), world.cluster.groups.held.size) == ([], 0)


def test_only_who_speaks_what_all_speak_gets_in() -> None:
    world = World()
    world.mates(1)
    assert Mate(world).request(protocol_type="connect").error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert Mate(world, "g", None, "sticky").request().error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
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
    assert (second.beat(), second.commit(1), second.leave()) == (ErrorCode.FENCED_INSTANCE_ID,) * 3
    assert (second.join().error_code, second.sync().error_code) == (ErrorCode.FENCED_INSTANCE_ID,) * 2
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
    assert late.answer.error_code == ErrorCode.FENCED_INSTANCE_ID
    assert both[0].join().protocol_name == "sticky"
    again.joined(last.answer)
    syncing = again.sync(protocol_name="sticky")
    assert isinstance(Mate(world, "g", "two", "sticky").join(), Waiting)
    assert syncing.answer.error_code == ErrorCode.FENCED_INSTANCE_ID
    assert world.group().state is GroupState.PREPARING_REBALANCE


def test_groups_have_bounds() -> None:
    world = World(Settings(most_group_members=2, most_groups=2))
    assert Mate(world).request().error_code == ErrorCode.MEMBER_ID_REQUIRED
    world.mates(1)
    assert Mate(world).request().error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert Mate(world, "g", "static").request().error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    other = Mate(world, "g2")
    assert other.join().error_code == 0
    assert Mate(world, "g3").request().error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    other.leave()
    assert Mate(world, "g3").request().error_code == ErrorCode.MEMBER_ID_REQUIRED  # nobody misses g2
    assert world.cluster.groups.find("g2") is None


def test_bytes_of_groups_have_a_bound() -> None:
    world = World(Settings(most_group_bytes=5000))
    (first,) = world.mates(1)
    first.protocols["range"] = b"x" * 4000
    assert first.join().error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    first.protocols["range"] = b"x" * 1000
    assert first.join().error_code == 0
    wordy = Mate(world)
    wordy.protocols["range"] = b"x" * 3000
    assert wordy.request().error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert first.sync({first.member_id: b"x" * 4000}).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert (first.commit(1, 0), first.commit(1, 1, metadata="x" * 3000)) == (27, 27)
    assert first.sync({first.member_id: b"x" * 500}).error_code == 0
    assert (first.commit(1, 0), first.commit(1, 1, metadata="x" * 3000)) == (0, ErrorCode.GROUP_MAX_SIZE_REACHED)
    assert world.cluster.groups.held.size <= 5000


@pytest.mark.parametrize("version", range(6))
def test_every_version_of_sync_group(version: int) -> None:
    world = World(SyncGroup=version, Heartbeat=min(version, 4))
    first, second = world.mates(2)
    again = second.sync()
    assert (again.assignment, again.protocol_name) == (b"1", "range" if version >= 5 else None)
    assert (first.beat(), second.beat(generation_id=7)) == (0, ErrorCode.ILLEGAL_GENERATION)
    refused = second.sync(group_id="")
    assert (refused.error_code, refused.assignment) == (ErrorCode.INVALID_GROUP_ID, b"")


def test_who_is_assigned_nothing_gets_nothing() -> None:
    world = World()
    first = Mate(world)
    first.join()
    answer = first.sync({"another member": b"x"})
    assert (answer.error_code, answer.assignment, world.group().state) == (0, b"", GroupState.STABLE)


def test_who_may_not_sync() -> None:
    world = World()
    first, second = world.mates(2)
    assert first.sync(generation_id=1).error_code == ErrorCode.ILLEGAL_GENERATION
    assert first.sync(member_id="x").error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert first.sync(group_id="x").error_code == ErrorCode.UNKNOWN_MEMBER_ID
    for fields in ({"protocol_name": "sticky"}, {"protocol_type": "connect"}, {"protocol_name": None}):
        assert first.sync(**fields).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    first.join()
    assert second.sync().error_code == ErrorCode.REBALANCE_IN_PROGRESS


def test_hearts_beat() -> None:
    world = World()
    first, second = Mate(world), Mate(world, instance="i")
    assert first.beat() == ErrorCode.UNKNOWN_MEMBER_ID
    first.join()
    assert first.beat() == 0  # though its assignment is still to come
    first.sync()
    assert (first.beat(), first.beat(member_id="x"), first.beat(group_id="")) == (0, 25, 24)
    assert (first.beat(group_instance_id="i"), first.beat(generation_id=0)) == (25, 22)
    second.join()
    assert first.beat() == ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize("version", range(6))
def test_every_version_of_leave_group(version: int) -> None:
    world = World(LeaveGroup=version)
    first, second = world.mates(2)
    assert (second.leave(), second.leave(), Mate(world, "none").leave()) == (0, 25, 25)
    assert (first.beat(), world.group().state) == (ErrorCode.REBALANCE_IN_PROGRESS, GroupState.PREPARING_REBALANCE)
    assert (Mate(world, "").leave(), first.leave()) == (ErrorCode.INVALID_GROUP_ID, 0)
    assert (world.group().state, world.group().generation) == (GroupState.EMPTY, 3)


def test_a_rebalance_goes_on_when_who_was_waited_for_leaves() -> None:
    world = World()
    first, second = world.mates(2)
    late = first.join()
    assert not late.answer
    second.leave()
    assert (late.answer.generation_id, len(late.answer.members)) == (3, 1)


def test_who_waits_and_leaves_is_told() -> None:
    world = World()
    first, second = world.mates(2)
    late = first.join()
    assert (first.leave(), late.answer.error_code) == (0, ErrorCode.UNKNOWN_MEMBER_ID)
    assert second.join().leader == second.member_id


def test_ids_that_were_given_are_taken_back() -> None:
    world = World()
    mate = Mate(world)
    mate.member_id = mate.request().member_id
    assert (mate.leave(), mate.leave()) == (0, ErrorCode.UNKNOWN_MEMBER_ID)


def test_operators_take_static_members_out_by_name() -> None:
    world = World()
    first, second = Mate(world, instance="one"), Mate(world, instance="two")
    first.join()
    second.join()
    row = M.LeaveGroupRequest.MemberIdentity
    rows = [
        row(member_id="", group_instance_id="one"),
        row(member_id="", group_instance_id="none"),
        row(member_id="x", group_instance_id="two"),
        row(member_id="", group_instance_id=None),
    ]
    answer = world.ask("LeaveGroup", 5, group_id="g", members=rows)
    found = [(one.member_id, one.group_instance_id, one.error_code) for one in answer.members]
    assert found == [("", "one", 0), ("", "none", 25), ("x", "two", 82), ("", None, 25)]
    assert answer.error_code == 0
    assert list(world.group().static) == ["two"]


def listed(world: World, version: int = 5, **fields: Any) -> list[tuple[str, str, str, str]]:
    rows = world.ask("ListGroups", version, **fields).groups
    return [(one.group_id, one.protocol_type, one.group_state, one.group_type) for one in rows]


@pytest.mark.parametrize("version", range(6))
def test_lists(version: int) -> None:
    world = World()
    world.mates(1)
    Mate(world, "other").commit(5)
    rows = [("g", "consumer", "Stable", "classic"), ("other", "", "Empty", "classic")]
    known = 2 + (version >= 4) + (version >= 5)
    assert listed(world, version) == [(*row[:known], *[""] * (4 - known)) for row in rows]


def test_lists_by_state_and_type() -> None:
    world = World()
    world.mates(1)
    Mate(world, "other").commit(5)
    assert [row[0] for row in listed(world, states_filter=("stable", "Dead"))] == ["g"]
    assert [row[0] for row in listed(world, states_filter=("Empty",), types_filter=("Classic", "x"))] == ["other"]
    assert listed(world, types_filter=("consumer",)) == []


def test_each_broker_lists_what_it_coordinates() -> None:
    world = World(count=2)
    where = {name: coordinator_of(name, world.cluster.controller) for name in "abcd"}
    for name in where:
        assert Mate(world, name).join().error_code == 0
    for node in (1, 2):
        names = [row.group_id for row in world.ask("ListGroups", 5, node).groups]
        assert names == [name for name in where if where[name] == node]
        assert names


@pytest.mark.parametrize("version", range(7))
def test_descriptions(version: int) -> None:
    world = World()
    first, second = Mate(world), Mate(world, instance="i")
    formed(first, second)
    found, missing = world.ask("DescribeGroups", version, groups=("g", "none", "g")).groups
    assert (found.error_code, found.group_state, found.protocol_type, found.protocol_data) == (
        0,
        "Stable",
        "consumer",
        "range",
    )
    rows = [
        (
            one.member_id,
            one.group_instance_id,
            one.client_id,
            one.client_host,
            one.member_metadata,
            one.member_assignment,
        )
        for one in found.members
    ]
    instance = "i" if version >= 4 else None
    assert rows == [
        (first.member_id, None, "c", "h", b"range", b"0"),
        (second.member_id, instance, "c", "h", b"range", b"1"),
    ]
    code = ErrorCode.GROUP_ID_NOT_FOUND if version >= 6 else 0
    assert (missing.error_code, missing.group_state, missing.members) == (code, "Dead", ())
    first.join()
    (found,) = world.ask("DescribeGroups", version, groups=("g",)).groups
    assert (found.group_state, found.protocol_data) == ("PreparingRebalance", "")
    assert {(one.member_metadata, one.member_assignment) for one in found.members} == {(b"", b"")}


def test_a_group_without_a_generation_has_no_protocol_to_differ_from() -> None:
    """GroupMetadataManager.isProtocolInconsistent: whatever protocol a member names, it is told to join again."""
    world = World(Settings(initial_rebalance_delay=3.0))
    member = Mate(world)
    assert isinstance(member.join(), Waiting)
    for name in ("range", "sticky"):
        found = member.sync(generation_id=0, protocol_name=name)
        assert found.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert member.sync(generation_id=0, protocol_type="connect").error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("version", range(4))
def test_deletions(version: int) -> None:
    world = World()
    world.mates(1)
    Mate(world, "other").commit(5)
    assert Mate(world, "pending").request().error_code == ErrorCode.MEMBER_ID_REQUIRED
    answer = world.ask("DeleteGroups", version, groups_names=("g", "other", "none", "pending", "other"))
    found = {one.group_id: one.error_code for one in answer.results}
    assert found == {"g": ErrorCode.NON_EMPTY_GROUP, "other": 0, "none": ErrorCode.GROUP_ID_NOT_FOUND, "pending": 0}
    group = world.group()
    assert ([group], group.size + sum(one.size for one in group.members.values())) == (
        world.cluster.groups.all(),
        world.cluster.groups.held.size,
    )


def test_where_others_are_to_be_asked() -> None:
    world = World(count=2)
    wrong = 3 - (coordinator_of("g", world.cluster.controller) or 0)
    (found,) = world.ask("DescribeGroups", 5, wrong, groups=("g",)).groups
    (deleted,) = world.ask("DeleteGroups", 2, wrong, groups_names=("g",)).results
    assert (found.error_code, deleted.error_code) == (ErrorCode.NOT_COORDINATOR,) * 2
