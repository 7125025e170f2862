"""Groups whose broker assigns (KIP-848): answer for answer as Kafka 4.1.0's, both assignors, and what expires."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.broker.groups.modern_group import GroupState
from kwire.testing import Kafka
from kwire.values import ErrorCode
from tests.broker.driving import World
from tests.broker.served import M
from tests.broker.stored import StoredDisk
from tests.conftest import ROOT
from tests.interop.consumer_group_steps import lines

RECORDED = ROOT / "tests/data/consumer-groups-kafka-4.1.0.txt"


def test_every_step_is_answered_as_kafka_answers_it() -> None:
    with Kafka() as kafka:
        assert lines(kafka.bootstrap_servers) == RECORDED.read_text("utf-8").splitlines()


class Consumer:
    """A member, whose requests go through their bytes."""

    def __init__(self, world: World, name: str, **fields: Any) -> None:
        self.world, self.name, self.epoch = world, name, 0
        self.assigned: Any = None
        first = {"subscribed_topic_names": ("t",), "rebalance_timeout_ms": 30_000, "topic_partitions": ()}
        self.beat(**{**first, **fields})

    def beat(self, **fields: Any) -> int:
        row = {"group_id": "g", "member_id": self.name, "member_epoch": self.epoch, **fields}
        answer = self.world.ask("ConsumerGroupHeartbeat", 1, **row)
        if not answer.error_code:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                rows = answer.assignment.topic_partitions
                self.assigned = sorted(index for row in rows for index in row.partitions)
        return int(answer.error_code)


def state(world: World) -> GroupState:
    group = world.cluster.groups.find("g")
    return GroupState.DEAD if group is None else group.state


def test_who_sends_nothing_is_removed_and_the_others_get_what_it_had() -> None:
    world = World()
    one = Consumer(world, "a")
    assert (one.assigned, state(world)) == ([0, 1], GroupState.STABLE)
    other = Consumer(world, "b")
    assert (other.assigned, state(world)) == ([], GroupState.RECONCILING)
    world.wait(30.0)
    assert other.beat() == 0
    world.wait(20.0)
    assert one.beat() == ErrorCode.UNKNOWN_MEMBER_ID
    assert (other.beat(), other.assigned, state(world)) == (0, [0, 1], GroupState.STABLE)
    world.wait(60.0)
    assert state(world) is GroupState.EMPTY


def test_a_member_that_lost_an_answer_sends_all_fields_and_gets_its_assignment_again() -> None:
    """Otherwise it would not learn what it must give up, and be removed after its rebalance timeout."""
    world = World()
    one = Consumer(world, "a")
    Consumer(world, "b")
    answer = world.ask("ConsumerGroupHeartbeat", 1, group_id="g", member_id="a", member_epoch=one.epoch)
    assert answer.assignment is not None  # which is lost
    one.beat()
    assert one.assigned == [0, 1]
    rows = (M.ConsumerGroupHeartbeatRequest.TopicPartitions(topic_id=bytes(16), partitions=(0, 1)),)
    one.beat(topic_partitions=rows)
    assert one.assigned == [0, 1]
    one.beat(topic_partitions=rows, rebalance_timeout_ms=30_000, subscribed_topic_names=("t",))
    assert len(one.assigned) == 1


def test_a_group_has_its_own_times() -> None:
    world = World()
    times = {"consumer.session.timeout.ms": "60000", "consumer.heartbeat.interval.ms": "2000"}
    world.cluster.controller.configure_group("g", times)
    one = Consumer(world, "a")
    answer = world.ask("ConsumerGroupHeartbeat", 1, group_id="g", member_id="a", member_epoch=one.epoch)
    assert answer.heartbeat_interval_ms == 2000
    world.wait(50.0)
    assert one.beat() == 0
    world.wait(61.0)
    assert one.beat() == ErrorCode.UNKNOWN_MEMBER_ID


def test_who_does_not_give_up_what_it_must_is_removed() -> None:
    world = World()
    one, other = Consumer(world, "a"), Consumer(world, "b")
    for _ in range(4):
        assert one.beat() == 0
        world.wait(8.0)
    assert (one.beat(), other.beat()) == (ErrorCode.UNKNOWN_MEMBER_ID, 0)
    assert other.assigned == [0, 1]


def test_new_partitions_and_topics_are_assigned() -> None:
    world = World()
    one = Consumer(world, "a", subscribed_topic_names=None, subscribed_topic_regex="t|new.*")
    assert one.beat() == 0
    epoch = one.epoch
    world.cluster.controller.create("new-1", {0: [1]})
    world.cluster.controller.create("other", {0: [1]})
    assert (one.beat(), one.epoch, one.assigned) == (0, epoch + 1, [0, 0, 1])


def test_the_topics_of_a_new_pattern_are_looked_for_after_the_response() -> None:
    """The steps and epochs of Kafka 4.1.0."""
    world = World()
    world.cluster.controller.create("s", {0: [1]})
    one = Consumer(world, "a", subscribed_topic_names=None, subscribed_topic_regex="t")
    assert (one.epoch, one.assigned) == (1, [])
    assert (one.beat(), one.epoch, one.assigned) == (0, 2, [0, 1])
    other = Consumer(world, "b", subscribed_topic_names=None, subscribed_topic_regex="t")  # its topics are known
    assert (other.epoch, other.assigned) == (3, [])
    assert (one.beat(), one.epoch, len(one.assigned)) == (0, 2, 1)
    row = M.ConsumerGroupHeartbeatRequest.TopicPartitions(
        topic_id=world.cluster.controller.topics["t"].topic_id, partitions=tuple(one.assigned)
    )
    assert (one.beat(topic_partitions=(row,)), one.epoch) == (0, 3)
    assert (other.beat(), len(other.assigned)) == (0, 1)
    unmatched = Consumer(world, "c", subscribed_topic_names=None, subscribed_topic_regex="nothing")
    assert (unmatched.epoch, unmatched.beat(), unmatched.epoch, unmatched.assigned) == (3, 0, 3, [])
    assert (other.beat(subscribed_topic_regex="s"), other.epoch) == (0, 3)  # until the topics of the pattern are known
    assert (other.beat(), other.epoch, other.assigned) == (0, 3, [])
    assert (other.beat(topic_partitions=()), other.epoch, other.assigned) == (0, 4, [0])


def test_groups_of_both_kinds_are_listed_and_an_empty_one_changes_its_kind() -> None:
    world = World()
    one = Consumer(world, "a")
    assert [(row.group_type, row.group_state) for row in world.ask("ListGroups", 5).groups] == [("consumer", "Stable")]
    protocol = M.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"")
    joining: dict[str, Any] = {
        "group_id": "g",
        "session_timeout_ms": 10_000,
        "protocol_type": "consumer",
        "protocols": (protocol,),
    }
    assert world.ask("JoinGroup", 3, **joining).error_code == ErrorCode.UNKNOWN_SERVER_ERROR  # it has no subscription
    assert one.beat(member_epoch=-1) == 0
    world.ask("JoinGroup", 3, **joining)
    assert world.ask("ListGroups", 5).groups[0].group_type == "classic"
    again = Consumer(world, "b")
    assert again.epoch == 0  # there is a classic member now


def test_members_and_assignments_are_there_after_a_restart() -> None:
    disk = StoredDisk("/d", 1 << 30)
    member = Consumer(World(disks=[disk]), "a")
    again = World(disks=[disk])
    group = again.group()
    assert group.consumer is not None
    before = group.consumer.members["a"]
    assert (before.epoch, before.assigned, group.state) == (member.epoch, {("t", 0), ("t", 1)}, GroupState.STABLE)
    member.world = again
    assert (member.beat(), member.epoch) == (0, 1)
    again.wait(46)  # the session begins anew when time is known
    assert group.state is GroupState.EMPTY
    assert World(disks=[disk]).group().generation == 2


def test_who_does_not_give_up_what_it_must_is_removed_after_a_restart_too() -> None:
    disk = StoredDisk("/d", 1 << 30)
    world = World(disks=[disk])
    one, other = Consumer(world, "a"), Consumer(world, "b")
    assert one.beat() == 0
    one.world = other.world = again = World(disks=[disk])
    again.cluster.tick(again.now)
    for _ in range(4):
        assert (one.beat(), other.beat()) == (0, 0)
        again.wait(8.0)
    assert (one.beat(), other.beat()) == (ErrorCode.UNKNOWN_MEMBER_ID, 0)
    assert other.assigned == [0, 1]


@pytest.mark.parametrize("assignor", ["range", "uniform"])
def test_members_choose_the_assignor(assignor: str) -> None:
    world = World()
    Consumer(world, "a", server_assignor=assignor)
    (found,) = world.ask("ConsumerGroupDescribe", 0, group_ids=("g",)).groups
    assert (found.assignor_name, found.group_epoch) == (assignor, 1)
