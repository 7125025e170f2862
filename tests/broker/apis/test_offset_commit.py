"""OffsetCommit: who may commit, when, and what."""

from __future__ import annotations

import pytest

from kwire.broker import Settings, codes
from kwire.broker.internal_topics import coordinator_of
from tests.broker.groups.driving import Mate, World
from tests.broker.served import M


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
    assert row.partitions[0].error_code == (codes.UNKNOWN_TOPIC_ID if version == 10 else 3)
    assert (row.name, row.topic_id) == (unknown.get("name", ""), unknown.get("topic_id", bytes(16)))


@pytest.mark.parametrize("version", range(1, 10))
def test_every_version_of_members(version: int) -> None:
    world = World(OffsetCommit=version)
    first, second = world.mates(2)
    assert (first.commit(5), second.commit(6, 1)) == (0, 0)
    assert first.commit(5, generation_id_or_member_epoch=1) == codes.ILLEGAL_GENERATION
    assert first.commit(5, member_id="x") == codes.UNKNOWN_MEMBER_ID
    assert first.commit(5, member_id="", generation_id_or_member_epoch=-1) == codes.UNKNOWN_MEMBER_ID
    assert first.commit(5, group_id="x") == codes.ILLEGAL_GENERATION


def test_only_the_coordinator_takes_commits() -> None:
    world = World(count=2)
    (mate,) = world.mates(1)
    other = 3 - (coordinator_of("g", world.cluster.controller) or 0)
    part = M.OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=5)
    rows = (M.OffsetCommitRequest.OffsetCommitRequestTopic(name="t", partitions=(part,)),)
    answer = world.ask("OffsetCommit", 9, other, generation_id_or_member_epoch=1, topics=rows, **mate.who)
    assert answer.topics[0].partitions[0].error_code == codes.NOT_COORDINATOR
    assert world.group().commits.get("t", 0, world.cluster.controller.topics["t"].topic_id) is None


def test_when_members_may_commit() -> None:
    world = World()
    first = Mate(world)
    first.join()
    assert first.commit(5) == codes.REBALANCE_IN_PROGRESS  # it has no partitions yet
    first.sync()
    Mate(world).join()
    assert first.commit(5) == 0  # a rebalance is on, and what was read before counts
    first.leave()
    assert first.commit(5) == codes.UNKNOWN_MEMBER_ID


def test_what_is_no_commit() -> None:
    world = World()
    mate = Mate(world)
    assert mate.commit(5, topic="none") == codes.UNKNOWN_TOPIC_OR_PARTITION
    assert (mate.commit(5, 2), mate.commit(5, -1)) == (codes.UNKNOWN_TOPIC_OR_PARTITION,) * 2
    assert mate.commit(5, metadata="x" * 4097) == codes.OFFSET_METADATA_TOO_LARGE
    assert (world.cluster.groups.all(), world.cluster.groups.held.size) == ([], 0)  # nothing to keep a group for
    assert (mate.commit(5, metadata=None), mate.commit(6, 1, metadata="x" * 4096)) == (0, 0)
    assert Mate(world, "").commit(5) == 0  # the group without a name


def test_groups_of_commits_alone_have_a_bound() -> None:
    world = World(Settings(most_groups=1))
    assert (Mate(world).commit(5), Mate(world, "other").commit(5)) == (0, codes.GROUP_MAX_SIZE_REACHED)
