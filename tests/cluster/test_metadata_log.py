"""The metadata log: every record a change, and a snapshot says the same as the log up to it."""

from __future__ import annotations

import pytest

from kwire import LogBatch, LogRecord, messages, read_log
from kwire.cluster import Broker, ClusterState, Partition, learn
from kwire.internal import FramedRecord
from tests.conftest import SHARED, each_of, needs_shared

TOPIC = bytes(15) + b"\x77"
ONE, TWO = bytes(15) + b"\x0a", bytes(15) + b"\x0b"
LOST = bytes(15) + b"\x02"


def taught(*records: object) -> ClusterState:
    state = ClusterState()
    for record in records:
        assert learn(state, record, 0)
    return state


def broker(node: int, *directories: bytes) -> object:
    record = messages.RegisterBrokerRecord
    return record(
        broker_id=node,
        rack="r",
        fenced=False,
        log_dirs=directories,
        end_points=(record.BrokerEndpoint(name="L", host="h", port=9092),),
    )


PARTITION = messages.PartitionRecord(
    partition_id=3, topic_id=TOPIC, replicas=(1, 2), isr=(1, 2), leader=1, leader_epoch=4, directories=(ONE, TWO)
)
BASE = (broker(1, ONE), broker(2, TWO), messages.TopicRecord(name="t", topic_id=TOPIC), PARTITION)


def test_brokers_topics_and_partitions() -> None:
    state = taught(*BASE)
    assert state.brokers == {1: Broker(1, "h", 9092, "r", False, (ONE,)), 2: Broker(2, "h", 9092, "r", False, (TWO,))}
    assert state.partitions() == [Partition("t", 3, 1, (1, 2), (1, 2), None, 4, (ONE, TWO), -1, (), (), (), (), TOPIC)]
    assert state.offline(state.partitions()[0]) == ()


def test_a_change_says_only_what_changes() -> None:
    change = messages.PartitionChangeRecord(partition_id=3, topic_id=TOPIC, isr=(1,))
    (partition,) = taught(*BASE, change).partitions()
    assert (partition.isr, partition.leader, partition.leader_epoch) == ((1,), 1, 4)
    change = messages.PartitionChangeRecord(partition_id=3, topic_id=TOPIC, leader=2, directories=(LOST, TWO))
    state = taught(*BASE, change)
    (partition,) = state.partitions()
    assert (partition.isr, partition.leader, partition.leader_epoch) == ((1, 2), 2, 5)
    assert state.offline(partition) == (1,)


@pytest.mark.parametrize(
    "record",
    [
        messages.FenceBrokerRecord(id=2),
        messages.UnregisterBrokerRecord(broker_id=2),
        messages.BrokerRegistrationChangeRecord(broker_id=2, fenced=1),
        messages.BrokerRegistrationChangeRecord(broker_id=2, log_dirs=(ONE,)),
    ],
)
def test_replicas_are_offline_by_broker_and_by_directory(record: object) -> None:
    state = taught(*BASE, record)
    assert state.offline(state.partitions()[0]) == (2,)


def test_what_is_undone_is_undone() -> None:
    back = messages.BrokerRegistrationChangeRecord(broker_id=2, fenced=-1)
    state = taught(*BASE, messages.FenceBrokerRecord(id=2), back)
    assert state.offline(state.partitions()[0]) == ()
    state = taught(*BASE, messages.FenceBrokerRecord(id=2), messages.UnfenceBrokerRecord(id=2))
    assert state.offline(state.partitions()[0]) == ()
    assert taught(*BASE, messages.RemoveTopicRecord(topic_id=TOPIC)).partitions() == []


def test_records_about_what_is_not_known_do_no_harm() -> None:
    state = taught(
        messages.FenceBrokerRecord(id=2),
        messages.BrokerRegistrationChangeRecord(broker_id=2, fenced=1),
        messages.RemoveTopicRecord(topic_id=TOPIC),
        messages.PartitionChangeRecord(partition_id=3, topic_id=TOPIC, isr=(1,)),
        messages.LeaderChangeMessage(leader_id=3),
    )
    assert [(one.topic, one.isr) for one in state.partitions()] == [(TOPIC.hex(), (1,))]
    assert state.controller_id == 3


LOGS = sorted((SHARED / "captures").glob("*.segments/*/00000000000000000000.log"))
SNAPSHOTS = [path for log in LOGS for path in sorted(log.parent.glob("*-*.checkpoint")) if path.stem.strip("0-")]


@needs_shared
def test_there_are_snapshots() -> None:
    assert len(SNAPSHOTS) >= 4


@each_of("snapshot", SNAPSHOTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_snapshot_tells_what_the_log_up_to_it_tells(snapshot: object) -> None:
    path = LOGS[0].__class__(str(snapshot))
    until = int(path.stem.partition("-")[0])
    from_log, from_snapshot = ClusterState(), ClusterState()
    for state, source, stop in ((from_log, path.parent / LOGS[0].name, until), (from_snapshot, path, 2**62)):
        for batch in read_log(source):
            assert isinstance(batch, LogBatch)
            for entry in batch.entries():
                assert isinstance(entry, LogRecord)
                if isinstance(entry.message, FramedRecord) and entry.record.offset < stop:
                    learn(state, entry.message.value.message, entry.message.value.version or 0)
    assert from_log.brokers == from_snapshot.brokers
    assert from_log.partitions() == from_snapshot.partitions()
    assert from_log.partitions() or until < 100
