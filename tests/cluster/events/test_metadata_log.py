"""The metadata log: every record a change, and a snapshot says the same as the log up to it."""

from __future__ import annotations

import pytest

from kwire import LogBatch, LogRecord, messages, read_log
from kwire.cluster import Broker, ClusterModel, ClusterState, LoggedRecord, Partition, learn
from kwire.cluster.events.metadata_log import MetadataLog
from kwire.codecs.records import Record, build_batch
from kwire.protocol.nested import FramedRecord, encode_frame, framed_record
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


def test_a_change_has_only_changed_fields() -> None:
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
def test_a_snapshot_has_the_state_of_the_log_up_to_it(snapshot: object) -> None:
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


def logged(offset: int, message: object, epoch: int = 1) -> LoggedRecord:
    return LoggedRecord(offset, epoch, float(offset), message)


FENCE = messages.FenceBrokerRecord(id=2)


def batch(offset: int, *written: object, epoch: int = 1) -> bytes:
    records = [Record(offset + place, 0, None, encode_frame(framed_record(one))) for place, one in enumerate(written)]
    return build_batch(records, base_offset=offset, partition_leader_epoch=epoch)


def fetched(high: int, data: bytes = b"") -> object:
    kind = messages.FetchResponse
    one = kind.PartitionData(high_watermark=high, records=data)
    return kind(responses=(kind.FetchableTopicResponse(topic="__cluster_metadata", partitions=(one,)),))


def fenced(log: MetadataLog) -> list[int]:
    return [node for node, one in (log.state.brokers or {}).items() if one.fenced]


def test_records_count_once_they_are_committed() -> None:
    log = MetadataLog()
    assert [one.offset for one in log.append_response(fetched(2, batch(0, broker(1), broker(2), FENCE)))] == [0, 1]
    assert (fenced(log), log.end, log.is_whole) == ([], 2, True)
    assert [one.offset for one in log.append_response(fetched(3))] == [2]
    assert fenced(log) == [2]
    assert list(log.append_response(fetched(3, batch(0, broker(1), broker(2), FENCE)))) == []  # by another broker


def test_records_that_a_new_leader_truncates_were_never_true() -> None:
    log = MetadataLog()
    list(log.append_response(fetched(2, batch(0, broker(1), broker(2), FENCE))))
    other = messages.FenceBrokerRecord(id=1)
    list(log.append_response(fetched(3, batch(2, other, epoch=2))))
    assert fenced(log) == [1]


def test_transactions_are_done_or_aborted() -> None:
    begin, end, abort = (getattr(messages, f"{name}TransactionRecord")() for name in ("Begin", "End", "Abort"))
    for last, found in ((end, [2]), (abort, [])):
        log = MetadataLog()
        list(log.append([logged(0, broker(1)), logged(1, broker(2)), logged(2, begin), logged(3, FENCE)]))
        assert fenced(log) == []
        list(log.append([logged(4, last)]))
        assert fenced(log) == found


def test_a_snapshot_replaces_what_is_older_and_may_come_in_parts() -> None:
    log = MetadataLog()
    list(log.append([logged(0, broker(1)), logged(1, broker(2))]))
    data = batch(0, broker(3))
    kind = messages.FetchSnapshotResponse

    def part(start: int, stop: int) -> object:
        one = kind.PartitionSnapshot(
            snapshot_id=kind.SnapshotId(end_offset=9, epoch=1),
            size=len(data),
            position=start,
            unaligned_records=data[start:stop],
        )
        return kind(topics=(kind.TopicSnapshot(name="__cluster_metadata", partitions=(one,)),))

    assert not log.append_snapshot_response(part(0, 30))
    assert list(log.state.brokers or {}) == [1, 2]
    assert log.append_snapshot_response(part(30, len(data)))
    assert (list(log.state.brokers or {}), log.end) == ([3], 9)
    assert not log.restore([logged(0, broker(4))], 5)  # an older one


def test_a_log_without_its_beginning_gives_a_partial_state() -> None:
    model = ClusterModel()
    for record in (logged(7, messages.TopicRecord(name="t", topic_id=TOPIC)), logged(8, PARTITION)):
        model.take(record)
    (one,) = model.state().partitions()
    assert (one.topic, one.offline, model.state().brokers) == ("t", None, None)
    change = messages.PartitionChangeRecord(partition_id=4, topic_id=TOPIC, isr=(1,))
    model.take(logged(9, change))
    assert len(model.state().partitions()) == 1


def test_settings_without_secrets() -> None:
    config, scram = messages.ConfigRecord, messages.UserScramCredentialRecord
    state = taught(
        config(resource_type=2, resource_name="t", name="retention.ms", value="5"),
        config(resource_type=4, resource_name="1", name="ssl.key.password", value="wonder"),
        messages.FeatureLevelRecord(name="metadata.version", feature_level=20),
        scram(name="ann", mechanism=1, salt=b"wonder", stored_key=b"wonder", server_key=b"wonder", iterations=4096),
        messages.AccessControlEntryRecord(
            id=TOPIC,
            resource_type=2,
            resource_name="t",
            pattern_type=3,
            principal="User:ann",
            host="*",
            operation=3,
            permission_type=3,
        ),
        messages.DelegationTokenRecord(owner="User:ann", token_id="abc"),
    )
    assert state.settings.configs == {
        ("topic", "t"): {"retention.ms": "5"},
        ("broker", "1"): {"ssl.key.password": "[hidden]"},
    }
    assert (state.settings.features, state.settings.scram) == ({"metadata.version": 20}, {"ann": ("SCRAM-SHA-256",)})
    assert list(state.settings.acls.values()) == [("TOPIC", "t", "LITERAL", "User:ann", "*", "READ", "ALLOW")]
    assert "wonder" not in repr(state)
    learn(state, config(resource_type=2, resource_name="t", name="retention.ms", value=None), 0)
    learn(state, messages.RemoveUserScramCredentialRecord(name="ann", mechanism=1), 0)
    learn(state, messages.RemoveAccessControlEntryRecord(id=TOPIC), 0)
    assert ("topic", "t") not in state.settings.configs
    assert (state.settings.scram, state.settings.acls) == ({}, {})


def test_values_that_kafka_has_not_named_yet_are_shown_as_numbers() -> None:
    state = taught(
        messages.ConfigRecord(resource_type=77, resource_name="x", name="a", value="b"),
        messages.AccessControlEntryRecord(id=TOPIC, resource_type=99, resource_name="t", pattern_type=3),
    )
    assert state.settings.configs == {("77", "x"): {"a": "b"}}
    assert [one[0] for one in state.settings.acls.values()] == ["99"]
