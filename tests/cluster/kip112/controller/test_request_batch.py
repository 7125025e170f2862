"""What one change of state tells brokers: gathered, in Kafka's order, for live brokers only."""

from __future__ import annotations

from kwire.cluster.kip112 import LeaderAndIsr, behaviour_for
from tests.cluster.kip112.machinery import T, machines, sent, with_partition

STATE = LeaderAndIsr(1, (1, 2))


def test_a_partition_is_told_once_with_its_last_state_and_stays_new() -> None:
    made = with_partition(machines(), STATE)
    made.batch.add_leader_and_isr([2], T, STATE, is_new=True)
    made.batch.add_leader_and_isr([2], T, LeaderAndIsr(3, (3,), 1), is_new=False)
    made.batch.send_requests()
    assert [row for row in sent(made.batch) if row[0] == "LeaderAndIsr"] == [("LeaderAndIsr", 2, 3, (3,), True)]


def test_the_order_is_leader_and_isr_then_metadata_then_stop() -> None:
    made = with_partition(machines(), STATE)
    made.batch.add_stop_replica(3, T, delete=False)
    made.batch.add_leader_and_isr([1], T, STATE, is_new=False)
    made.batch.send_requests()
    assert [row[:2] for row in sent(made.batch)] == [
        ("LeaderAndIsr", 1),
        *(("UpdateMetadata", one) for one in (1, 2, 3)),
        ("StopReplica", 3),
    ]


def test_a_dead_broker_is_told_nothing_and_counts_as_offline() -> None:
    made = with_partition(machines(), STATE)
    made.context.remove_brokers([2])
    made.batch.add_leader_and_isr([1, 2], T, STATE, is_new=False)
    made.batch.add_stop_replica(2, T, delete=True)
    made.batch.send_requests()
    assert sent(made.batch) == [
        ("LeaderAndIsr", 1, 1, (1, 2), False),
        ("UpdateMetadata", 1, 1, (2,)),
        ("UpdateMetadata", 3, 1, (2,)),
    ]


def test_each_start_of_a_broker_is_told_under_its_epoch() -> None:
    made = with_partition(machines(), STATE)
    made.batch.update_metadata([2], [T])
    assert [(one.broker_id, one.broker_epoch, one.message.broker_epoch) for one in made.batch.outbox] == [(2, 2, 2)]


def test_a_topic_being_deleted_has_the_leader_and_epoch_of_deletion() -> None:
    made = with_partition(machines(), LeaderAndIsr(1, (1, 2), 7))
    made.context.topics_to_delete.add("orders")
    made.batch.add_stop_replica(2, T, delete=True)
    made.batch.update_metadata([2], [T])
    assert sent(made.batch) == [("UpdateMetadata", 2, -2, (),), ("StopReplica", 2, True, -2)]  # fmt: skip


def test_without_a_partition_kafka_1_sends_all() -> None:
    for release, rows in (("1.1", [("UpdateMetadata", 2, 1, ())]), ("3.9", [])):
        made = with_partition(machines(behaviour_for("released", release)), STATE)
        made.batch.update_metadata([2], ())
        assert sent(made.batch) == rows


def test_a_partition_that_never_had_a_leader_is_not_sent() -> None:
    made = with_partition(machines(), None)
    made.batch.update_metadata([2], [T])
    assert sent(made.batch) == []
