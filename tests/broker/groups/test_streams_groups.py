"""Streams groups (KIP-1071): answer for answer as Kafka 4.4.0's; timeouts, restarts, other coordinators, denials."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from kwire.broker import Settings
from kwire.broker.groups.streams_group import Role, StreamsGroup, StreamsMember, Task
from kwire.broker.internal_topics import coordinator_of
from kwire.broker.security.acls import ALLOW, LITERAL, AclBinding
from kwire.broker.security.principals import ANONYMOUS
from kwire.protocol.nested import decode_group_record
from kwire.values import AclOperation, ErrorCode, ResourceType
from tests.broker.driving import World
from tests.broker.served import M
from tests.broker.stored import StoredDisk
from tests.conftest import ROOT
from tests.interop.streams_group_steps import Streams, lines
from tests.seeds import seeded

RECORDED = ROOT / "tests/data/streams-groups-kafka-4.4.0.txt"
R = M.StreamsGroupHeartbeatRequest
ROLES = ("active_tasks", "standby_tasks", "warmup_tasks")
SESSION, REBALANCE = 45.0, 60.0
MISSING_INTERNAL_TOPICS, ASSIGNMENT_DELAYED = 3, 5


class Directly(Streams):
    """The steps at a cluster without a network."""

    def __init__(self, world: World) -> None:
        super().__init__("", world.wait)
        self.world = world
        world.cluster.time_ms = lambda: int(world.now * 1000)

    def ask(self, name: str, version: int, place: str = "", **fields: Any) -> Any:
        return self.world.ask(name, version, 1, **fields)


def test_every_step_is_answered_as_kafka_answers_it() -> None:
    found = lines(Directly(World()))
    assert found == RECORDED.read_text("utf-8").splitlines()


def topology(source: str = "t", **changelog: Any) -> Any:
    """A topology that reads a topic, and keeps its counts in a store with a changelog."""
    configs = tuple(R.KeyValue(key=key.replace("_", "."), value=value) for key, value in changelog.items())
    store = R.TopicInfo(name="g-store-changelog", topic_configs=configs)
    part = R.Subtopology(subtopology_id="0", source_topics=(source,), state_changelog_topics=(store,))
    return R.Topology(epoch=0, subtopologies=(part,))


class Thread:
    """A member of the streams group `g`, which does at once what it is asked to do."""

    def __init__(self, world: World, name: str, process: str = "", **fields: Any) -> None:
        self.world, self.name, self.epoch = world, name, 0
        self.owned: list[dict[str, tuple[int, ...]]] = [{}, {}, {}]
        self.statuses: list[Any] = []
        self.code = self.beat(
            topology=fields.pop("topology", topology()),
            process_id=process or name,
            rebalance_timeout_ms=int(REBALANCE * 1000),
            **fields,
        )

    def beat(self, *, owns: bool = True, **fields: Any) -> int:
        """Send a heartbeat, with the tasks that the member has; returns the error code."""
        row: dict[str, Any] = {"group_id": "g", "member_id": self.name, "member_epoch": self.epoch}
        for role, tasks in zip(ROLES, self.owned, strict=True):
            if owns:
                row[role] = tuple(R.TaskIds(subtopology_id=name, partitions=found) for name, found in tasks.items())
        answer = self.world.ask("StreamsGroupHeartbeat", 1, **row | fields)
        if not answer.error_code:
            self.epoch = answer.member_epoch
            self.statuses = [(one.status_code, one.status_detail) for one in answer.status]
            if answer.active_tasks is not None:
                rows = (getattr(answer, role) for role in ROLES)
                self.owned = [{task.subtopology_id: task.partitions for task in role} for role in rows]
        return int(answer.error_code)


def settle(*threads: Thread) -> None:
    """Send heartbeats until nothing changes."""
    for _ in range(20):
        before = [(thread.epoch, thread.owned) for thread in threads]
        for thread in threads:
            assert thread.beat() == ErrorCode.NONE
        if before == [(thread.epoch, thread.owned) for thread in threads]:
            break


def describe(world: World) -> Any:
    return world.ask("StreamsGroupDescribe", 1, coordinator(world), group_ids=("g",)).groups[0]


def coordinator(world: World) -> int:
    found = coordinator_of("g", world.cluster.controller)
    assert found is not None
    return found


def committed(world: World) -> int:
    request = M.OffsetFetchRequest.OffsetFetchRequestGroup(group_id="g", member_id=None, member_epoch=-1, topics=None)
    found = world.ask("OffsetFetch", 9, coordinator(world), groups=(request,)).groups[0]
    return int(found.topics[0].partitions[0].committed_offset)


def commit(world: World, thread: Thread, offset: int) -> int:
    part = M.OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    row = M.OffsetCommitRequest.OffsetCommitRequestTopic(name="t", partitions=(part,))
    who: dict[str, Any] = {"group_id": "g", "member_id": thread.name, "generation_id_or_member_epoch": thread.epoch}
    return int(world.ask("OffsetCommit", 9, topics=(row,), **who).topics[0].partitions[0].error_code)


def test_a_member_that_is_silent_loses_its_tasks() -> None:
    world = World()
    first, second = Thread(world, "a"), Thread(world, "b")
    settle(first, second)
    assert sorted(thread.owned[0]["0"] for thread in (first, second)) == [(0,), (1,)]
    world.wait(SESSION - 1)
    assert second.beat() == ErrorCode.NONE
    world.wait(2)
    settle(second)
    assert second.owned[0] == {"0": (0, 1)}
    assert first.beat() == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_that_does_not_give_up_tasks_is_removed_after_the_rebalance_timeout() -> None:
    world = World()
    first = Thread(world, "a")
    settle(first)
    second = Thread(world, "b")
    assert first.beat() == ErrorCode.NONE
    for _ in range(3):
        world.wait(REBALANCE / 3 + 0.1)
        first.beat(owns=False)
        second.beat()
    assert first.beat() == ErrorCode.UNKNOWN_MEMBER_ID
    assert second.owned[0] == {"0": (0, 1)}


def test_groups_and_their_tasks_survive_a_restart() -> None:
    disk = StoredDisk("d")
    world = World(disks=[disk])
    tags = (R.KeyValue(key="zone", value="1"),)
    first = Thread(world, "a", rack_id="r", client_tags=tags, user_endpoint=R.Endpoint(host="h", port=7))
    second = Thread(world, "b")
    first.beat()
    second.beat()
    assert first.beat() == ErrorCode.NONE
    settle(first, second)
    third = Thread(world, "c", instance_id="i")
    assert commit(world, first, 5) == ErrorCode.NONE
    before = describe(world)
    again = World(disks=[disk])
    found = describe(again)
    assert found.members == before.members
    assert (found.group_state, found.group_epoch) == (before.group_state, before.group_epoch)
    assert found.topology.epoch == 0  # its partition counts are known after the next heartbeat
    assert committed(again) == 5
    for thread in (first, second, third):
        thread.world = again
    assert first.beat() == ErrorCode.NONE
    assert third.beat(instance_id="i") == ErrorCode.NONE
    assert commit(again, first, 6) == ErrorCode.NONE
    again.wait(SESSION + 1)
    assert describe(again).group_state == "Empty"


def test_another_broker_goes_on_with_a_group() -> None:
    world = World(count=3)
    first, second = Thread(world, "a"), Thread(world, "b")
    settle(first, second)
    before = describe(world)
    old = coordinator(world)
    world.cluster.stop(old)
    assert coordinator(world) != old
    assert describe(world) == before
    settle(first, second)
    assert (first.epoch, describe(world).group_epoch) == (before.group_epoch, before.group_epoch)


def test_a_static_member_keeps_its_tasks_over_a_restart() -> None:
    disk = StoredDisk("d")
    world = World(disks=[disk])
    first, second = Thread(world, "a", instance_id="i"), Thread(world, "b")
    for _ in range(3):
        first.beat(instance_id="i")
        second.beat()
    kept = first.owned
    assert first.beat(member_epoch=-2, instance_id="i") == ErrorCode.NONE
    again = World(disks=[disk])
    other = Thread(again, "c", "a", instance_id="i")
    assert (other.code, other.owned) == (ErrorCode.NONE, kept)


def test_the_assignment_waits_for_members_and_intervals() -> None:
    world = World()
    world.cluster.time_ms = lambda: int(world.now * 1000)
    world.cluster.controller.create("g-store-changelog", {0: [1], 1: [1]})
    configs = {"streams.initial.rebalance.delay.ms": "3000", "streams.assignment.interval.ms": "1000"}
    world.cluster.controller.configure_group("g", configs)
    first = Thread(world, "a")
    assert [status for status, _ in first.statuses] == [ASSIGNMENT_DELAYED]
    second = Thread(world, "b")
    world.wait(3.5)
    settle(first, second)
    assert sorted(thread.owned[0]["0"] for thread in (first, second)) == [(0,), (1,)]
    assert second.beat(member_epoch=-1) == ErrorCode.NONE
    assert first.beat() == ErrorCode.NONE
    assert [status for status, _ in first.statuses] == [ASSIGNMENT_DELAYED]
    world.wait(1.5)
    settle(first)
    assert first.owned[0] == {"0": (0, 1)}


def test_why_internal_topics_are_not_created_is_reported() -> None:
    world = World()
    first = Thread(world, "a", topology=topology(cleanup_policy="nonsense"))
    (status, text), *_ = first.statuses
    assert status == MISSING_INTERNAL_TOPICS
    assert "g-store-changelog was not created" in text
    assert "g-store-changelog" not in world.cluster.controller.topics


def test_internal_topics_are_created_only_by_those_who_may() -> None:
    world = World(Settings(authorizer=True))
    acls = world.cluster.controller.acls
    rights = [
        (ResourceType.GROUP, "g", AclOperation.READ),
        (ResourceType.TOPIC, "t", AclOperation.DESCRIBE),
    ]
    for kind, name, operation in rights:
        acls[AclBinding(kind, name, LITERAL, ANONYMOUS, "*", operation, ALLOW)] = bytes(16)
    hidden = Thread(world, "a")
    assert hidden.code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    row = ResourceType.TOPIC, "g-store-changelog", LITERAL, ANONYMOUS, "*", AclOperation.DESCRIBE, ALLOW
    acls[AclBinding(*row)] = bytes(16)
    first = Thread(world, "a")
    assert "may not create g-store-changelog" in first.statuses[0][1]
    row = ResourceType.TOPIC, "g-store-changelog", LITERAL, ANONYMOUS, "*", AclOperation.CREATE, ALLOW
    acls[AclBinding(*row)] = bytes(16)
    first.beat()
    settle(first)
    assert first.owned[0] == {"0": (0, 1)}


@pytest.mark.parametrize("name", ["", "a b", "..", "__consumer_offsets"])
def test_names_of_topics_must_be_valid_and_not_those_of_kafka(name: str) -> None:
    assert Thread(World(), "a", topology=topology(name)).code == ErrorCode.STREAMS_INVALID_TOPOLOGY


def test_without_the_feature_there_are_no_streams_groups() -> None:
    world = World()
    world.cluster.feature_levels["streams.version"] = 0
    assert Thread(world, "a").code == ErrorCode.UNSUPPORTED_VERSION
    assert describe(world).error_code == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize(("release", "is_served"), [("4.1", False), ("4.2", True), (None, True)])
def test_the_releases_that_have_streams_groups(release: str | None, is_served: bool) -> None:
    world = World(Settings(release=release))
    assert ("StreamsGroupHeartbeat" in world.cluster.table) is is_served
    assert ("streams.version" in world.cluster.feature_levels) is is_served


def group_of(**members: tuple[str, Sequence[Task]]) -> StreamsGroup:
    """Make a group; each member has a process and tasks."""
    group = StreamsGroup(epoch=2, target_epoch=2)
    for name, (process, tasks) in members.items():
        group.members[name] = StreamsMember(name, None, "c", "h", epoch=2, process_id=process, assigned=set(tasks))
        group.target[name] = set(tasks)
    return group


def test_tasks_of_a_member_change_their_role_without_a_pause() -> None:
    active, standby, warmup = (Task(role, "0", 0) for role in Role)
    group = group_of(a=("p", [active]), b=("q", [warmup]))
    group.epoch = group.target_epoch = 3
    group.target = {"a": {standby}, "b": {active}}
    first, second = group.members.values()
    group.reconcile(second, {warmup}, 0.0)
    assert second.assigned == {warmup}  # until the other has given the task up
    group.reconcile(first, {active}, 0.0)
    assert (first.assigned, first.revoking) == ({standby}, {active})
    group.reconcile(first, {standby}, 0.0)
    group.reconcile(second, {warmup}, 0.0)
    assert (first.assigned, second.assigned) == ({standby}, {active})
    assert (first.epoch, second.epoch, group.state) == (3, 3, "NotReady")


def test_a_process_has_a_task_once() -> None:
    standby, active = Task(Role.STANDBY, "0", 0), Task(Role.ACTIVE, "0", 0)
    group = group_of(a=("p", [standby]), b=("p", []))
    group.epoch = group.target_epoch = 3
    group.target = {"a": set(), "b": {active}}
    first, second = group.members.values()
    group.reconcile(second, set(), 0.0)
    assert second.assigned == set()
    group.reconcile(first, {standby}, 0.0)
    group.reconcile(first, set(), 0.0)
    group.reconcile(second, set(), 0.0)
    assert second.assigned == {active}


@pytest.mark.parametrize("number", range(5))
def test_whatever_members_do_each_task_runs_once(number: int) -> None:
    rng: Random = seeded(f"streams {number}")
    world = World()
    world.cluster.controller.create("many", {index: [1] for index in range(5)})
    world.cluster.controller.configure_group("g", {"streams.num.standby.replicas": str(rng.randrange(3))})
    threads: dict[str, Thread] = {}
    for step in range(40):
        name = rng.choice(sorted(threads)) if threads else ""
        what = rng.randrange(8)
        if what == 0 and len(threads) < 6:
            threads[f"m{step}"] = Thread(world, f"m{step}", rng.choice("pqr"), topology=topology("many"))
        elif what == 1 and name:
            threads.pop(name).beat(member_epoch=-1)
        elif what == 2 and name:
            world.wait(rng.random() * 5)
            del threads[name]  # dies
        elif name and threads[name].beat(owns=rng.random() < 0.8):
            del threads[name]
        runs = [task for thread in threads.values() for task in thread.owned[0].get("0", ())]
        assert len(runs) == len(set(runs))
    threads["last"] = Thread(world, "last", topology=topology("many"))
    for _ in range(4):  # the dead are removed
        world.wait(SESSION / 3)
        threads = {name: thread for name, thread in threads.items() if not thread.beat()}
    settle(*threads.values())
    found = describe(world)
    runs = sorted(task for thread in threads.values() for task in thread.owned[0].get("0", ()))
    assert (found.group_state, len(found.members), runs) == ("Stable", len(threads), [0, 1, 2, 3, 4])
    assert all(member.assignment == member.target_assignment for member in found.members)


def test_records_are_those_that_kafka_reads() -> None:
    disk = StoredDisk("d")
    world = World(disks=[disk])
    first = Thread(world, "a")
    settle(first)
    group = world.cluster.groups.find("g")
    assert group is not None
    kinds = [str(decode_group_record(*row).key.name) for row in group.written.items()]
    assert sorted(kinds) == [
        "StreamsGroupCurrentMemberAssignmentKey",
        "StreamsGroupMemberMetadataKey",
        "StreamsGroupMetadataKey",
        "StreamsGroupTargetAssignmentMemberKey",
        "StreamsGroupTargetAssignmentMetadataKey",
        "StreamsGroupTopologyKey",
    ]


def test_descriptions_of_topologies_are_refused_as_without_a_plugin() -> None:
    world = World()
    for group, member, epoch in (("none", "m", 0), ("", "", -1)):
        fields: dict[str, Any] = {"group_id": group, "member_id": member, "topology_epoch": epoch}
        answer = world.ask("StreamsGroupTopologyDescriptionUpdate", 0, **fields)
        assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION  # what Kafka 4.4.0 answered
        assert "no plugin" in answer.error_message
