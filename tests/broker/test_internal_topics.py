"""What a coordinator answers while its internal topic cannot be written: nothing is acknowledged that would be lost."""

from __future__ import annotations

from kwire.broker.controller.topic_names import GROUPS
from kwire.broker.groups.committed_offsets import Commit
from kwire.broker.internal_topics import ProducerIdAndEpoch
from kwire.values import ErrorCode
from tests.broker.driving import Mate, World, formed
from tests.broker.served import FailingDisk

PRODUCER = ProducerIdAndEpoch(5, 0)


def commit_both_ways(world: World) -> list[int]:
    """Commit an offset, as a client and in a transaction; return the error codes."""
    groups, topic_id = world.cluster.groups, world.cluster.controller.topics["t"].topic_id
    group = groups.find_or_create("g")
    assert group is not None
    commits = {("t", 0): Commit(7, -1, "", topic_id)}
    codes = [groups.commit(group, commits), groups.commit_pending(group, PRODUCER, commits)]
    assert group.commits.get("t", 0, topic_id) is None
    assert not group.pending_commits
    return codes


def test_no_commit_is_acknowledged_while_the_topic_cannot_be_created() -> None:
    world = World()
    world.cluster.stop(1)
    assert commit_both_ways(world) == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2
    assert GROUPS not in world.cluster.controller.topics


def test_no_commit_is_acknowledged_while_the_topic_has_no_leader() -> None:
    world = World()
    world.cluster.controller.create_internal(GROUPS)
    world.cluster.stop(1)
    assert commit_both_ways(world) == [ErrorCode.NOT_COORDINATOR] * 2


def test_a_coordinator_whose_disk_fails_sends_its_members_on() -> None:
    disk = FailingDisk()
    world = World(disks=[disk])
    mate = Mate(world)
    formed(mate)
    assert mate.commit(3) == ErrorCode.NONE
    disk.is_broken = True
    assert mate.commit(4) == ErrorCode.NOT_COORDINATOR
