"""Groups that change their protocol while they have members (KIP-848): answer for answer as Kafka 4.1.0's; what
expires, what the policy allows, and what is there after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire.broker import Settings
from kwire.broker.groups.modern_group import GroupState
from kwire.cli.main import main
from kwire.protocol.nested import (
    assignment_of,
    decode_assignment,
    encode_assignment,
    encode_subscription,
    subscription_of,
)
from kwire.testing import Kafka
from kwire.values import ErrorCode
from tests.broker.driving import REBALANCE, SESSION, Mate, Waiting, World
from tests.broker.groups.test_consumer_group import Consumer, state
from tests.broker.served import FailingDisk
from tests.broker.stored import StoredDisk
from tests.conftest import ROOT
from tests.interop.group_migration_steps import lines

M = kwire.messages
RECORDED = ROOT / "tests/data/group-migration-kafka-4.1.0.txt"


def test_every_step_is_answered_as_kafka_answers_it() -> None:
    with Kafka() as kafka:
        assert lines(kafka.bootstrap_servers) == RECORDED.read_text("utf-8").splitlines()


class Classic(Mate):
    """A consumer of the classic protocol, which says in its subscription what it owns."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.owned: list[tuple[str, int]] = []
        self.subscribe()

    def subscribe(self) -> None:
        self.protocols = {"range": encode_subscription(subscription_of(["t"], owned=self.owned), 1)}

    def take(self) -> list[tuple[str, int]]:
        """Join, and sync; returns the partitions."""
        self.subscribe()
        answer = self.join()
        assert not isinstance(answer, Waiting)
        assert answer.error_code == 0
        synced = self.sync({self.member_id: encode_assignment(assignment_of([("t", 0), ("t", 1)]), 1)})
        assert synced.error_code == 0
        rows = decode_assignment(synced.assignment).message.assigned_partitions
        self.owned = [(row.topic, index) for row in rows for index in row.partitions]
        return self.owned


def mixed(world: World) -> tuple[Classic, Consumer]:
    """A classic member, and one of the new protocol that made its group one of the new protocol."""
    old = Classic(world)
    assert old.take() == [("t", 0), ("t", 1)]
    return old, Consumer(world, "n")


def shared(world: World) -> tuple[Classic, Consumer]:
    """The same, each with one partition."""
    old, new = mixed(world)
    assert old.beat() == ErrorCode.REBALANCE_IN_PROGRESS
    assert [len(old.take()), len(old.take())] == [1, 1]  # it gives up one, and says so
    assert (new.beat(), len(new.assigned), old.beat(), state(world)) == (0, 1, 0, GroupState.STABLE)
    return old, new


def test_a_classic_member_has_its_own_session_timeout() -> None:
    world = World()
    old, new = shared(world)
    world.wait(SESSION - 1)
    assert (old.beat(), new.beat()) == (0, 0)
    world.wait(SESSION + 1)
    assert old.beat() == ErrorCode.UNKNOWN_MEMBER_ID
    assert (new.beat(), new.assigned, state(world)) == (0, [0, 1], GroupState.STABLE)
    assert world.group().consumer is not None


def beating(world: World, old: Classic, seconds: int) -> None:
    """Let time pass with heartbeats of a classic member, whatever is answered."""
    for _ in range(0, seconds, 5):
        old.beat()
        world.wait(5)


def test_who_does_not_join_again_in_time_is_removed() -> None:
    world = World()
    old, new = mixed(world)
    for _ in range(4):
        beating(world, old, int(REBALANCE) // 4 - 5)
        assert new.beat() == 0
    assert old.beat() == ErrorCode.REBALANCE_IN_PROGRESS
    for _ in range(2):
        beating(world, old, 10)
        assert new.beat() == 0
    assert (old.beat(), new.assigned) == (ErrorCode.UNKNOWN_MEMBER_ID, [0, 1])


def test_who_does_not_sync_in_time_is_removed() -> None:
    world = World()
    old, new = shared(world)
    old.subscribe()
    assert old.join().error_code == 0
    for _ in range(5):
        beating(world, old, 10)
        assert new.beat() == 0
    assert old.beat() == 0
    beating(world, old, 10)
    assert (old.beat(), new.beat(), new.assigned) == (ErrorCode.UNKNOWN_MEMBER_ID, 0, [0, 1])


def test_a_group_is_classic_again_when_the_last_new_one_is_gone() -> None:
    world = World()
    old, _ = shared(world)
    for _ in range(9):
        assert old.beat() == 0
        world.wait(5)
    assert (state(world), world.group().consumer) == (GroupState.PREPARING_REBALANCE, None)
    assert old.beat() == ErrorCode.REBALANCE_IN_PROGRESS
    assert old.take() == [("t", 0), ("t", 1)]
    assert (world.group().generation, world.group().protocol, state(world)) == (3, "range", GroupState.STABLE)


def test_no_memory_is_lost() -> None:
    world = World()
    old, new = shared(world)
    assert new.beat(member_epoch=-1) == 0
    assert old.leave() == 0
    world.wait(100)
    assert world.cluster.groups.held.size == world.group().size


@pytest.mark.parametrize(
    ("policy", "upgrades", "downgrades"),
    [("bidirectional", True, True), ("upgrade", True, False), ("downgrade", False, True), ("disabled", False, False)],
)
def test_the_policy_says_which_way(policy: str, upgrades: bool, downgrades: bool) -> None:
    world = World(Settings(migration_policy=policy))
    old = Classic(world)
    old.take()
    fields: dict[str, Any] = {"subscribed_topic_names": ("t",), "rebalance_timeout_ms": 30_000, "topic_partitions": ()}
    answer = world.ask("ConsumerGroupHeartbeat", 1, group_id="g", member_id="n", member_epoch=0, **fields)
    assert answer.error_code == (0 if upgrades else ErrorCode.GROUP_ID_NOT_FOUND)
    assert (world.group().consumer is not None) is upgrades
    world = World(Settings(migration_policy=policy))
    new, old = Consumer(world, "n"), Classic(world)
    old.join()  # which is no upgrade
    assert new.beat(member_epoch=-1) == 0
    assert (world.group().consumer is None) is downgrades


def test_both_are_there_after_a_restart() -> None:
    disk = StoredDisk("/d", 1 << 30)
    old, new = shared(World(disks=[disk]))
    again = World(disks=[disk])
    old.world = new.world = again
    again.cluster.tick(again.now)
    assert (old.beat(), new.beat(), state(again)) == (0, 0, GroupState.STABLE)
    assert old.sync().error_code == 0
    again.wait(SESSION + 1)
    assert (old.beat(), new.beat(), new.assigned) == (ErrorCode.UNKNOWN_MEMBER_ID, 0, [0, 1])
    assert new.beat(member_epoch=-1) == 0
    last = World(disks=[disk])
    assert (last.group().consumer is not None, last.group().generation) == (True, 4)


def test_a_group_that_is_classic_again_is_so_after_a_restart() -> None:
    disk = StoredDisk("/d", 1 << 30)
    world = World(disks=[disk])
    old, new = shared(world)
    assert new.beat(member_epoch=-1) == 0
    group = World(disks=[disk]).group()
    assert (group.consumer, list(group.members), group.generation) == (None, [old.member_id], 2)


def test_a_pattern_stays_with_who_changes_its_protocol() -> None:
    world = World()
    new = Consumer(world, "n", subscribed_topic_names=None, subscribed_topic_regex="t.*")
    old = Classic(world)
    old.join()
    world.cluster.controller.create("two", {0: [1]})
    assert new.beat() == 0
    assert world.group().reads("two")


def test_a_policy_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "server.properties"
    file.write_text("broker.id=1\ngroup.consumer.migration.policy=sideways\n")
    assert main(["serve", ":0", "--config", str(file)]) == 2
    assert "'group.consumer.migration.policy' cannot be 'sideways'" in capsys.readouterr().err


def test_what_cannot_be_kept_in_memory_is_refused() -> None:
    world = World(Settings(most_group_bytes=1 << 16))
    new = Consumer(world, "n")
    size, old = world.cluster.groups.held.size, Classic(world)
    old.protocols["range"] += bytes(1 << 16)
    assert old.join().error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert (world.cluster.groups.held.size, new.beat()) == (size, 0)


def test_a_group_that_is_full_stays_classic() -> None:
    world = World(Settings(most_group_members=1))
    old = Classic(world)
    old.take()
    fields: dict[str, Any] = {"subscribed_topic_names": ("t",), "rebalance_timeout_ms": 30_000, "topic_partitions": ()}
    answer = world.ask("ConsumerGroupHeartbeat", 1, group_id="g", member_id="n", member_epoch=0, **fields)
    assert (answer.error_code, old.beat()) == (ErrorCode.GROUP_MAX_SIZE_REACHED, 0)
    assert world.group().consumer is None


def test_a_classic_group_stays_classic_if_its_conversion_cannot_be_written() -> None:
    disk = FailingDisk()
    world = World(disks=[disk])
    Classic(world).take()
    group, size = world.group(), world.cluster.groups.held.size
    members, generation = set(group.members), group.generation
    disk.is_broken = True
    joins: dict[str, Any] = {"subscribed_topic_names": ("t",), "rebalance_timeout_ms": 1000, "topic_partitions": ()}
    joined = world.ask("ConsumerGroupHeartbeat", 1, group_id="g", member_id="m", member_epoch=0, **joins)
    assert joined.error_code == ErrorCode.NOT_COORDINATOR
    assert (group.consumer, set(group.members), group.generation) == (None, members, generation)
    assert world.cluster.groups.held.size == size
    world.wait(SESSION + 1)
    assert not group.members
