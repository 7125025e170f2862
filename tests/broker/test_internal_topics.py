"""What a coordinator answers while its internal topic cannot be written: nothing is acknowledged that would be lost."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.broker import Settings
from kwire.broker.controller.topic_names import GROUPS, SHARES, TRANSACTIONS
from kwire.broker.groups.committed_offsets import Commit
from kwire.broker.groups.group_records import group_rows
from kwire.broker.internal_topics import ProducerIdAndEpoch
from kwire.broker.settings_configs import settings_from
from kwire.broker.transactions.transaction import Transaction, TransactionState
from kwire.values import ErrorCode
from tests.broker.driving import Mate, World, formed
from tests.broker.served import FailingDisk, M

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


def too_few() -> World:
    """Two brokers, both of which must have what a coordinator writes."""
    return World(Settings(min_insync_replicas=2, internal_partitions=1), count=2)


def test_with_too_few_in_sync_nothing_of_a_group_is_acknowledged() -> None:
    """Kafka appends with acks=-1, and translates NOT_ENOUGH_REPLICAS (GroupCoordinatorService)."""
    world = too_few()
    mate = Mate(world)
    formed(mate)
    assert mate.commit(3) == ErrorCode.NONE
    world.cluster.stop(2)
    assert mate.commit(4) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert mate.beat() == ErrorCode.NONE  # writes nothing
    assert Mate(world, "new").request().error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.cluster.groups.find("new") is None
    deleted = world.ask("DeleteGroups", 2, groups_names=("g",))
    assert deleted.results[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.ask("OffsetDelete", 0, group_id="g").error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.cluster.start(2)
    assert mate.commit(5) == ErrorCode.NONE


def test_an_assignment_that_cannot_be_written_is_given_to_nobody() -> None:
    world = too_few()
    first, second = Mate(world), Mate(world)
    first.join()
    late = second.join()
    first.join()
    second.joined(late.answer)
    late = second.sync()
    world.cluster.stop(2)
    answer = first.sync({first.member_id: b"1", second.member_id: b"2"})
    assert (answer.error_code, late.answer.error_code) == (ErrorCode.COORDINATOR_NOT_AVAILABLE,) * 2
    assert first.beat() == ErrorCode.REBALANCE_IN_PROGRESS  # resetAndPropagateAssignmentWithError
    world.cluster.start(2)
    late = first.join()
    second.join()
    first.joined(late.answer)
    assert not first.sync({first.member_id: b"1"}).error_code


@pytest.mark.parametrize(
    ("api", "version", "fields"),
    [
        ("ConsumerGroupHeartbeat", 1, {"rebalance_timeout_ms": 1000, "topic_partitions": ()}),
        ("ShareGroupHeartbeat", 1, {}),
    ],
)
def test_with_too_few_in_sync_nobody_joins_or_leaves(api: str, version: int, fields: dict[str, Any]) -> None:
    world = too_few()
    who: dict[str, Any] = {"group_id": "g", "member_id": "m"}

    def beat(epoch: int, **more: Any) -> Any:
        return world.ask(api, version, **who, member_epoch=epoch, **more)

    joins = {"subscribed_topic_names": ("t",), **fields}
    world.cluster.controller.create_internal(GROUPS)
    world.cluster.stop(2)
    assert beat(0, **joins).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.cluster.start(2)
    joined = beat(0, **joins)
    assert not joined.error_code
    world.cluster.stop(2)
    assert not beat(joined.member_epoch).error_code  # nothing to write
    world.cluster.controller.create("u", {0: [1]})
    changed = beat(joined.member_epoch, subscribed_topic_names=("t", "u"))
    assert changed.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    again = beat(joined.member_epoch)
    assert again.error_code or again.member_epoch == joined.member_epoch  # nor is it acknowledged later
    assert beat(-1).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.cluster.start(2)
    after = beat(joined.member_epoch)
    assert (after.error_code, after.member_epoch) == (ErrorCode.NONE, joined.member_epoch)  # nothing of it was kept
    assert not beat(-1).error_code


STREAMS = M.StreamsGroupHeartbeatRequest
NO_TASKS: dict[str, Any] = {"active_tasks": (), "standby_tasks": (), "warmup_tasks": ()}
TOPOLOGY = STREAMS.Topology(subtopologies=(STREAMS.Subtopology(subtopology_id="0", source_topics=("t",)),))


@pytest.mark.parametrize(
    ("api", "joins", "changes"),
    [
        (
            "ConsumerGroupHeartbeat",
            {"subscribed_topic_names": ("t",), "rebalance_timeout_ms": 1000, "topic_partitions": ()},
            {"subscribed_topic_names": ("t", "u")},
        ),
        ("ShareGroupHeartbeat", {"subscribed_topic_names": ("t",)}, {"subscribed_topic_names": ("t", "u")}),
        (
            "StreamsGroupHeartbeat",
            {"topology": TOPOLOGY, "process_id": "p", "rebalance_timeout_ms": 1000, **NO_TASKS},
            {"process_id": "q", **NO_TASKS},
        ),
    ],
)
def test_what_fails_when_it_is_written_is_undone(api: str, joins: dict[str, Any], changes: dict[str, Any]) -> None:
    """CoordinatorRuntime reverts to the snapshot before the write."""
    disk = FailingDisk()
    world = World(disks=[disk])
    world.cluster.controller.create("u", {0: [1]})

    def beat(epoch: int, **fields: Any) -> Any:
        return world.ask(api, 1, group_id="g", member_id="m", member_epoch=epoch, **fields)

    joined = beat(0, **joins)
    assert joined.error_code == ErrorCode.NONE
    groups, group = world.cluster.groups, world.group()
    assert group.consumer is not None
    before = group_rows(group, world.cluster.controller.find, 0), group.consumer.members["m"].deadline, groups.held.size
    disk.is_broken = True
    assert beat(joined.member_epoch, **changes).error_code == ErrorCode.NOT_COORDINATOR
    assert group.consumer is not None
    after = group_rows(group, world.cluster.controller.find, 0), group.consumer.members["m"].deadline, groups.held.size
    assert after == before
    assert group.written == before[0]
    world.wait(60)
    assert not group.consumer.members  # its session ends


def test_a_new_group_whose_first_member_cannot_be_written_has_no_member() -> None:
    disk = FailingDisk()
    world = World(disks=[disk])
    world.cluster.controller.create_internal(GROUPS)
    used = world.cluster.groups.held.size
    disk.is_broken = True
    joins: dict[str, Any] = {"group_id": "g", "member_id": "m", "member_epoch": 0, "subscribed_topic_names": ("t",)}
    assert world.ask("ShareGroupHeartbeat", 1, **joins).error_code == ErrorCode.NOT_COORDINATOR
    group = world.group()
    assert (group.consumer, group.members, group.is_unused) == (None, {}, True)
    assert world.cluster.groups.held.size == used + group.size


def test_with_too_few_in_sync_no_transaction_begins_and_markers_wait() -> None:
    """TransactionStateManager.appendTransactionToLog; TransactionMarkerRequestCompletionHandler retries."""
    world = too_few()
    cluster = world.cluster
    cluster.controller.create("both", {0: [1, 2]})
    begun = cluster.transactions.begin_producer("x", 60_000, -1, -1)
    assert isinstance(begun, Transaction)
    assert cluster.transactions.add(begun, world.now, [("both", 0)]) == ErrorCode.NONE
    cluster.stop(2)
    assert cluster.transactions.begin_producer("y", 60_000, -1, -1) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    code = cluster.transactions.end(begun, is_commit=True, protocol=1)
    assert (code, begun.state) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, TransactionState.ONGOING)
    cluster.start(2)
    partition = cluster.controller.topics["both"].partitions[0]
    cluster.shrink_isr(partition, [2])
    assert cluster.transactions.end(begun, is_commit=True, protocol=1) == ErrorCode.NONE
    states = [begun.state]
    cluster.expand_isr(partition)
    cluster.transactions.retry()
    assert [*states, begun.state] == [TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT]


@pytest.mark.parametrize(
    ("topic", "config"),
    [(TRANSACTIONS, "transaction.state.log.min.isr"), (SHARES, "share.coordinator.state.topic.min.isr")],
)
def test_an_internal_topic_has_the_min_isr_of_its_own_config(topic: str, config: str) -> None:
    """TransactionCoordinator.transactionTopicConfigs; "Overridden min.insync.replicas for the ... topic"."""
    world = World(settings_from({config: "3", "offsets.topic.num.partitions": "1"}), count=3)
    controller = world.cluster.controller
    created = controller.create_internal(topic)
    assert created.configs["min.insync.replicas"] == "3"
    assert not created.lacks_in_sync(created.partitions[0])
    world.cluster.stop(3)
    assert created.lacks_in_sync(created.partitions[0])
    assert not controller.create_internal(GROUPS).configs.get("min.insync.replicas")


@pytest.mark.parametrize(("realistic", "value"), [(True, "2"), (False, "1")])
def test_the_default_min_isr_of_transactions(realistic: bool, value: str) -> None:
    controller = World(settings_from({}, realistic=realistic)).cluster.controller
    assert controller.create_internal(TRANSACTIONS).configs["min.insync.replicas"] == value


def test_with_too_few_in_sync_a_streams_group_keeps_nothing() -> None:
    """GroupMetadataManager.streamsGroupHeartbeat, whose changes CoordinatorRuntime reverts."""
    world = too_few()
    row = M.StreamsGroupHeartbeatRequest
    part = row.Subtopology(subtopology_id="0", source_topics=("t",))

    def beat(epoch: int, **more: Any) -> Any:
        tasks: dict[str, Any] = {} if epoch < 0 else {"active_tasks": (), "standby_tasks": (), "warmup_tasks": ()}
        fields = {"group_id": "g", "member_id": "m", "member_epoch": epoch, **tasks, **more}
        return world.ask("StreamsGroupHeartbeat", 1, **fields)

    joined = beat(0, topology=row.Topology(subtopologies=(part,)), process_id="p", rebalance_timeout_ms=1000)
    assert joined.error_code == ErrorCode.NONE, joined
    world.cluster.stop(2)
    assert beat(joined.member_epoch).error_code == ErrorCode.NONE  # nothing to write
    assert beat(joined.member_epoch, process_id="q").error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert beat(-1).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.cluster.start(2)
    after = beat(joined.member_epoch)
    assert (after.error_code, after.member_epoch) == (ErrorCode.NONE, joined.member_epoch)
    changed = beat(joined.member_epoch, process_id="q")
    assert (changed.error_code, changed.member_epoch) == (ErrorCode.NONE, joined.member_epoch + 1)
