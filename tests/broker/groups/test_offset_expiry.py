"""Commits that expire (KIP-211): when they do, and what is left of them in `__consumer_offsets`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire.broker import Settings
from kwire.broker.server.file_disk import FileDisk
from kwire.cli.main import main
from kwire.client.address import address
from kwire.client.connection import BrokerConnection
from kwire.protocol.nested import decode_group_record, encode_subscription
from kwire.testing import Kafka
from tests.broker.driving import Mate, World
from tests.conftest import ROOT
from tests.interop.offset_expiry_steps import lines

M = kwire.messages
DAY = 24 * 3600.0
WEEK = 7 * DAY
RECORDED = ROOT / "tests/data/offset-expiry-kafka-4.1.0.txt"


def begun(settings: Settings | None = None, **more: Any) -> World:
    """A cluster whose clock goes."""
    world = World(settings, **more)
    world.cluster.tick(world.now)
    return world


def passed(world: World, seconds: float) -> None:
    """Let time pass, and the cluster look after its groups."""
    world.wait(seconds)
    world.cluster.tick(world.now)
    world.cluster.check()


def simple_commit(world: World, group: str, topic: str = "t", index: int = 0, **who: Any) -> int:
    """Commit an offset without being a member, or as one."""
    request = M.OffsetCommitRequest
    part = request.OffsetCommitRequestPartition(partition_index=index, committed_offset=5)
    rows = (request.OffsetCommitRequestTopic(name=topic, partitions=(part,)),)
    answer = world.ask("OffsetCommit", 9, group_id=group, topics=rows, **who)
    return int(answer.topics[0].partitions[0].error_code)


def committed(world: World, group: str) -> list[tuple[str, int]]:
    found = world.cluster.groups.find(group)
    return [] if found is None else [(topic, one) for topic, indexes in found.commits.topics() for one in indexes]


def records(world: World) -> Iterator[tuple[str, bool]]:
    """The records of `__consumer_offsets`: the type of the key, and whether it is a tombstone."""
    for partition in world.cluster.controller.topics["__consumer_offsets"].partitions:
        log = partition.replicas[partition.leader].log
        assert log is not None
        for one in kwire.parse_records(log.read(log.start, 1 << 20)) if log.end > log.start else ():
            for record in one.records():
                yield decode_group_record(record.key or b"", record.value).key.name or "", record.value is None


def heartbeat(world: World, epoch: int, **more: Any) -> Any:
    fields = {"group_id": "c", "member_id": "A" * 22, "member_epoch": epoch, **more}
    return world.ask("ConsumerGroupHeartbeat", 1, **fields)


def joined_consumer(world: World) -> int:
    more: dict[str, Any] = {"subscribed_topic_names": ("t",), "rebalance_timeout_ms": 60_000, "topic_partitions": ()}
    answer = heartbeat(world, 0, **more)
    assert answer.error_code == 0
    return int(answer.member_epoch)


def test_commits_without_members_expire_after_their_own_time() -> None:
    world = begun()
    assert simple_commit(world, "s") == 0
    passed(world, 3 * DAY)
    assert simple_commit(world, "s", index=1) == 0
    passed(world, WEEK - 3 * DAY - 1)
    assert committed(world, "s") == [("t", 0), ("t", 1)]
    passed(world, 3 * DAY - 1)
    assert committed(world, "s") == [("t", 1)]
    passed(world, DAY)
    assert world.cluster.groups.find("s") is None
    assert list(records(world)) == [("OffsetCommitKey", False)] * 2 + [("OffsetCommitKey", True)] * 2


def test_those_of_a_group_expire_when_it_was_empty_for_so_long() -> None:
    world = begun()
    (mate,) = world.mates(1)
    assert mate.commit(2) == 0
    for _ in range(20):  # its member lives for ten days; its session of ten seconds is renewed by a test's clock
        mate.world.group().members[mate.member_id].session_timeout = 2 * DAY
        assert mate.beat() == 0
        passed(world, DAY / 2)
    assert committed(world, "g") == [("t", 0)]
    assert mate.leave() == 0
    passed(world, WEEK - 1)
    assert committed(world, "g") == [("t", 0)]
    passed(world, 1200)
    assert world.cluster.groups.find("g") is None
    assert [row for row in records(world) if row[1]] == [("OffsetCommitKey", True), ("GroupMetadataKey", True)]


def test_topics_that_no_member_reads_expire() -> None:
    world = begun()
    world.cluster.controller.create("other", {0: [1]})
    mate = Mate(world)
    subscription = M.ConsumerProtocolSubscription(topics=("t",))
    mate.protocols = {"range": encode_subscription(subscription, 0)}
    mate.join()
    assert mate.sync({mate.member_id: b""}).error_code == 0
    for topic in ("t", "other"):
        assert simple_commit(world, "g", topic, member_id=mate.member_id, generation_id_or_member_epoch=1) == 0
    mate.world.group().members[mate.member_id].session_timeout = 10 * DAY
    assert mate.beat() == 0
    passed(world, WEEK + 1)
    assert committed(world, "g") == [("t", 0)]


def test_members_of_which_nothing_is_known_keep_everything() -> None:
    world = begun()
    (mate,) = world.mates(1)  # its metadata is no subscription
    assert mate.commit(2) == 0
    mate.world.group().members[mate.member_id].session_timeout = 10 * DAY
    assert mate.beat() == 0
    passed(world, WEEK + 1)
    assert committed(world, "g") == [("t", 0)]


def test_groups_whose_broker_assigns_keep_what_members_read() -> None:
    world = begun(Settings(consumer_session_timeout=20 * DAY))
    world.cluster.controller.create("other", {0: [1]})
    epoch = joined_consumer(world)
    for topic in ("t", "other"):
        who: dict[str, Any] = {"member_id": "A" * 22, "generation_id_or_member_epoch": epoch}
        assert simple_commit(world, "c", topic, **who) == 0
    passed(world, WEEK + 1)
    assert committed(world, "c") == [("t", 0)]
    assert heartbeat(world, -1).error_code == 0
    passed(world, 1200)  # since the commit, not since the group is empty
    assert world.cluster.groups.find("c") is None
    deleted = {name for name, is_deleted in records(world) if is_deleted}
    assert {"OffsetCommitKey", "ConsumerGroupMetadataKey"} <= deleted


def test_commits_that_wait_for_a_transaction_stay() -> None:
    world = begun()
    assert simple_commit(world, "s") == 0
    group = world.group("s")
    last = group.commits.last("t", 0)
    assert last is not None
    group.add_pending(7, "t", 0, last)
    passed(world, WEEK + 1)
    assert committed(world, "s") == [("t", 0)]
    group.end_pending(7)
    passed(world, 1200)
    assert committed(world, "s") == []


@pytest.mark.parametrize("version", [2, 3, 4])
def test_a_commit_expires_when_its_client_says(version: int, tmp_path: Path) -> None:
    """As in Kafka 4.1.0, where 2 to 4 are the only versions with retention_time_ms."""
    world = begun(disks=[FileDisk(str(tmp_path))])
    request = M.OffsetCommitRequest
    part = request.OffsetCommitRequestPartition(partition_index=0, committed_offset=5)
    rows = (request.OffsetCommitRequestTopic(name="t", partitions=(part,)),)
    for group, retention_ms in (("soon", 2 * 3_600_000), ("usual", -1), ("at once", 0)):
        answer = world.ask("OffsetCommit", version, group_id=group, topics=rows, retention_time_ms=retention_ms)
        assert answer.topics[0].partitions[0].error_code == 0
    again = begun(disks=[FileDisk(str(tmp_path))])
    for one in (world, again):
        passed(one, 3600)
        assert [len(committed(one, group)) for group in ("soon", "usual", "at once")] == [1, 1, 0]
        passed(one, 3600)
        assert [len(committed(one, group)) for group in ("soon", "usual", "at once")] == [0, 1, 0]
        passed(one, WEEK)
        assert committed(one, "usual") == []


def test_times_are_there_after_a_restart(tmp_path: Path) -> None:
    world = begun(disks=[FileDisk(str(tmp_path))])
    (mate,) = world.mates(1)
    assert (mate.commit(2), simple_commit(world, "s"), mate.leave()) == (0, 0, 0)
    times = world.group().empty_since_ms, world.group("s").commits.last("t", 0)
    again = begun(disks=[FileDisk(str(tmp_path))])
    assert (again.group().empty_since_ms, again.group("s").commits.last("t", 0)) == times
    passed(again, WEEK - 1)
    assert (committed(again, "g"), committed(again, "s")) == ([("t", 0)], [("t", 0)])
    passed(again, 1200)
    assert again.cluster.groups.all() == []
    assert World(disks=[FileDisk(str(tmp_path))]).cluster.groups.all() == []


def test_groups_are_looked_at_every_ten_minutes() -> None:
    world = begun()
    assert simple_commit(world, "s") == 0
    passed(world, WEEK - 300)  # a look, and the next one in ten minutes
    for _ in range(9):
        passed(world, 60)
        assert committed(world, "s") == [("t", 0)]
    passed(world, 60)
    assert committed(world, "s") == []


def test_the_clock_of_a_test_moves_them() -> None:
    request = M.OffsetCommitRequest
    part = request.OffsetCommitRequestPartition(partition_index=0, committed_offset=3)
    rows = (request.OffsetCommitRequestTopic(name="t", partitions=(part,)),)
    with Kafka(topics=["t"]) as kafka, BrokerConnection(address(kafka.bootstrap_servers), timeout=60) as broker:
        answer = broker.ask(kwire.codec("OffsetCommitRequest", 8), request(group_id="g", topics=rows))
        assert answer is not None
        kafka.advance(WEEK - 60)
        assert kafka.committed("g", "t") == 3
        kafka.advance(1200)
        assert kafka.group_state("g") == "Dead"


def test_every_step_is_answered_as_kafka_answers_it() -> None:
    """Kafka ran with a retention of a minute."""
    with Kafka() as kafka:
        found = lines(kafka.bootstrap_servers, lambda seconds: kafka.advance(seconds * WEEK / 60))
    assert found == RECORDED.read_text("utf-8").splitlines()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("offsets.retention.minutes", "0"),
        ("offsets.retention.minutes", "-1"),
        ("offsets.retention.minutes", "ten"),
        ("group.min.session.timeout.ms", "ten"),  # Kafka takes any number
    ],
)
def test_a_time_that_is_none_is_refused(
    tmp_path: Path, key: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "server.properties"
    file.write_text(f"broker.id=1\n{key}={value}\n")
    assert main(["serve", ":0", "--config", str(file)]) == 2
    assert f"config {key!r} cannot be {value!r}" in capsys.readouterr().err
