"""OffsetCommit, OffsetFetch, ListOffsets: who may commit, what was committed, ends and times of logs."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
from kwire.broker import ServedCluster, Settings
from kwire.broker.internal_topics import coordinator_of
from kwire.values import ErrorCode
from tests.broker.driving import Mate, World
from tests.broker.served import M, batch, cluster_of, produce


@pytest.mark.parametrize("version", range(11))
def test_every_version_of_who_is_in_no_group(version: int) -> None:
    world = World()
    request = M.OffsetCommitRequest
    topic = world.cluster.controller.topics["t"]
    part = request.OffsetCommitRequestPartition(partition_index=1, committed_offset=5, committed_metadata="m")
    by = {"topic_id": topic.topic_id} if version == 10 else {"name": "t"}
    rows = (request.OffsetCommitRequestTopic(partitions=(part,), **by),)
    answer = world.ask("OffsetCommit", version, group_id="g", topics=rows)
    assert [(one.partition_index, one.error_code) for one in answer.topics[0].partitions] == [(1, 0)]
    commit = world.group().commits.get("t", 1, topic.topic_id)
    assert commit is not None
    assert (commit.offset, commit.metadata, commit.leader_epoch) == (5, "m", -1)
    unknown = {"topic_id": b"x" * 16} if version == 10 else {"name": "x"}
    rows = (request.OffsetCommitRequestTopic(partitions=(part,), **unknown),)
    (row,) = world.ask("OffsetCommit", version, group_id="g", topics=rows).topics
    assert row.partitions[0].error_code == (ErrorCode.UNKNOWN_TOPIC_ID if version == 10 else 3)
    assert (row.name, row.topic_id) == (unknown.get("name", ""), unknown.get("topic_id", bytes(16)))


@pytest.mark.parametrize("version", range(1, 10))
def test_every_version_of_members(version: int) -> None:
    world = World(OffsetCommit=version)
    first, second = world.mates(2)
    assert (first.commit(5), second.commit(6, 1)) == (0, 0)
    assert first.commit(5, generation_id_or_member_epoch=1) == ErrorCode.ILLEGAL_GENERATION
    assert first.commit(5, member_id="x") == ErrorCode.UNKNOWN_MEMBER_ID
    assert first.commit(5, member_id="", generation_id_or_member_epoch=-1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert first.commit(5, group_id="x") == ErrorCode.ILLEGAL_GENERATION


def test_only_the_coordinator_takes_commits() -> None:
    world = World(count=2)
    (mate,) = world.mates(1)
    other = 3 - (coordinator_of("g", world.cluster.controller) or 0)
    part = M.OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=5)
    rows = (M.OffsetCommitRequest.OffsetCommitRequestTopic(name="t", partitions=(part,)),)
    answer = world.ask("OffsetCommit", 9, other, generation_id_or_member_epoch=1, topics=rows, **mate.who)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.NOT_COORDINATOR
    assert world.group().commits.get("t", 0, world.cluster.controller.topics["t"].topic_id) is None


def test_when_members_may_commit() -> None:
    world = World()
    first = Mate(world)
    first.join()
    assert first.commit(5) == ErrorCode.REBALANCE_IN_PROGRESS  # it has no partitions yet
    first.sync()
    Mate(world).join()
    assert first.commit(5) == 0  # a rebalance is on, and what was read before counts
    first.leave()
    assert first.commit(5) == ErrorCode.UNKNOWN_MEMBER_ID


def test_what_is_no_commit() -> None:
    world = World()
    mate = Mate(world)
    assert mate.commit(5, topic="none") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (mate.commit(5, 2), mate.commit(5, -1)) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,) * 2
    assert mate.commit(5, metadata="x" * 4097) == ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert (world.cluster.groups.all(), world.cluster.groups.held.size) == ([], 0)  # nothing to keep a group for
    assert (mate.commit(5, metadata=None), mate.commit(6, 1, metadata="x" * 4096)) == (0, 0)
    assert Mate(world, "").commit(5) == 0  # the group without a name


def test_groups_of_commits_alone_have_a_bound() -> None:
    world = World(Settings(most_groups=1))
    assert (Mate(world).commit(5), Mate(world, "other").commit(5)) == (0, ErrorCode.GROUP_MAX_SIZE_REACHED)


def fetched(world: World, version: int, topics: Any = (("t", (0, 1)),), group: str = "g", node: int = 1) -> Any:
    """Return the error code of the group, and the offset, metadata and error code by topic and partition."""
    request = M.OffsetFetchRequest
    kind: Any = request.OffsetFetchRequestTopic if version < 8 else request.OffsetFetchRequestTopics
    rows = None if topics is None else tuple(kind(**_named(name), partition_indexes=parts) for name, parts in topics)
    if version < 8:
        found = world.ask("OffsetFetch", version, node, group_id=group, topics=rows)
    else:
        wanted = (request.OffsetFetchRequestGroup(group_id=group, topics=rows),)
        (found,) = world.ask("OffsetFetch", version, node, groups=wanted).groups
    return found.error_code, {
        (topic.name or topic.topic_id, one.partition_index): (one.committed_offset, one.metadata, one.error_code)
        for topic in found.topics
        for one in topic.partitions
    }


def _named(name: str | bytes) -> dict[str, Any]:
    return {"topic_id": name} if isinstance(name, bytes) else {"name": name}


@pytest.mark.parametrize("version", range(11))
def test_every_version(version: int) -> None:
    world = World(count=2)
    topic: Any = world.cluster.controller.topics["t"].topic_id if version == 10 else "t"
    other: Any = b"x" * 16 if version == 10 else "x"
    (mate,) = world.mates(1)
    node = coordinator_of("g", world.cluster.controller) or 0
    assert mate.commit(5, 1, metadata="m") == 0
    nothing, unknown = (-1, "", 0), (-1, "", ErrorCode.UNKNOWN_TOPIC_ID if version == 10 else 0)
    code, found = fetched(world, version, [(topic, (0, 1, 1)), (topic, (1,)), (other, (0,))], node=node)
    assert (code, found) == (0, {(topic, 0): nothing, (topic, 1): (5, "m", 0), (other, 0): unknown})
    if version >= 2:
        assert fetched(world, version, None, node=node) == (0, {(topic, 1): (5, "m", 0)})
    code, found = fetched(world, version, [(topic, (0,))], node=3 - node)
    if version < 2:
        assert found == {(topic, 0): (-1, "", ErrorCode.NOT_COORDINATOR)}
    else:
        assert (code, found) == (ErrorCode.NOT_COORDINATOR, {})


def test_groups_that_are_not_there_have_nothing() -> None:
    world = World()
    assert fetched(world, 9, group="none") == (0, {("t", 0): (-1, "", 0), ("t", 1): (-1, "", 0)})
    assert fetched(world, 9, None, group="none") == (0, {})


def test_several_groups_at_once() -> None:
    world = World()
    for name in "ab":
        assert Mate(world, name).commit(5) == 0
    row = M.OffsetFetchRequest.OffsetFetchRequestGroup
    groups = [row(group_id=name, topics=None) for name in "aabx"]
    found = world.ask("OffsetFetch", 9, groups=groups).groups
    assert [(one.group_id, len(one.topics)) for one in found] == [("a", 1), ("b", 1), ("x", 0)]


def test_commits_go_with_their_topic() -> None:
    world = World()
    assert Mate(world).commit(5) == 0
    controller = world.cluster.controller
    controller.delete(controller.topics["t"])
    assert fetched(world, 9, None) == (0, {})
    controller.create("t", {0: [1]})
    assert fetched(world, 9, [("t", (0,))]) == (0, {("t", 0): (-1, "", 0)})
    assert Mate(world).commit(7) == 0
    assert fetched(world, 9, None) == (0, {("t", 0): (7, "", 0)})


def listed(cluster: ServedCluster, timestamp: int, topic: str = "t", version: int = 8) -> Any:
    part = M.ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    row = M.ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=(part,))
    answer = cluster.answer(1, M.ListOffsetsRequest(topics=(row,)), version, now=0.0)
    kwire.codec("ListOffsetsResponse", version).encode(answer)
    return answer.topics[0].partitions[0]


@pytest.mark.parametrize(
    ("timestamp", "offset"),
    [(-1, 4), (-2, 0), (-3, 1), (-4, 0), (-5, -1), (0, 0), (1000, 0), (1001, 1), (1002, -1)],
)
def test_ends_and_times(timestamp: int, offset: int) -> None:
    cluster = cluster_of()
    cluster.controller.create("t", {0: [1]})
    produce(cluster, batch(b"a", b"b"))
    produce(cluster, batch(b"c", b"d"))
    assert listed(cluster, timestamp).offset == offset


def test_old_versions_have_no_epochs() -> None:
    cluster = cluster_of()
    cluster.controller.create("t", {0: [1]})
    produce(cluster, batch(b"a"))
    assert [listed(cluster, -1, version=version).leader_epoch for version in (1, 3, 4, 6)] == [-1, -1, 0, 0]


def test_an_unknown_topic() -> None:
    assert listed(cluster_of(), -1, "x").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
