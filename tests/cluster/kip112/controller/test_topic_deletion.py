"""A topic goes when all its replicas are gone."""

from __future__ import annotations

import pytest

from kwire.cluster.kip112 import LeaderAndIsr
from kwire.cluster.kip112.controller.topic_deletion import TopicDeletionManager
from kwire.cluster.kip112.values import ReplicaState
from tests.cluster.kip112.machinery import T, machines, sent, with_partition


@pytest.fixture
def deletion() -> TopicDeletionManager:
    made = with_partition(machines(), LeaderAndIsr(1, (1, 2)), (1, 2))
    made.replicas.startup()
    made.partitions.startup()
    sent(made.batch)
    return TopicDeletionManager(made)


def test_a_topic_is_gone_when_every_broker_said_so(deletion: TopicDeletionManager) -> None:
    deletion.enqueue(["orders"])
    deletion.process_stop_replica_response(1, {T: 0})
    assert "orders" in deletion.zk.topics()
    deletion.process_stop_replica_response(2, {T: 0})
    assert "orders" not in deletion.zk.topics()
    assert not deletion.context.assignments
    assert not deletion.context.topics_to_delete


def test_a_replica_is_stopped_before_it_is_deleted(deletion: TopicDeletionManager) -> None:
    deletion.enqueue(["orders"])
    assert [row[2] for row in sent(deletion.batch) if row[0] == "StopReplica"] == [False, False, True, True]


def test_an_offline_replica_is_waited_for(deletion: TopicDeletionManager) -> None:
    deletion.context.offline_dirs[2] = {T}
    deletion.enqueue(["orders"])
    deletion.process_stop_replica_response(1, {T: 0})
    assert deletion.context.replica_state((T, 1)) is ReplicaState.DELETION_SUCCESSFUL
    assert deletion.context.deletion_ineligible == {"orders"}
    deletion.context.offline_dirs.clear()
    deletion.resume_for(["orders"])
    deletion.process_stop_replica_response(2, {T: 0})
    assert "orders" not in deletion.zk.topics()


def test_a_replica_that_could_not_be_deleted_is_tried_again_later(deletion: TopicDeletionManager) -> None:
    deletion.enqueue(["orders"])
    deletion.process_stop_replica_response(2, {T: 56})
    assert deletion.context.deletion_ineligible == {"orders"}
    deletion.process_stop_replica_response(1, {T: 0})
    deletion.resume_for(["orders"])
    assert deletion.context.replica_state((T, 2)) is ReplicaState.DELETION_STARTED
    deletion.process_stop_replica_response(2, {T: 0})
    assert "orders" not in deletion.zk.topics()


def test_a_reassignment_goes_first(deletion: TopicDeletionManager) -> None:
    deletion.context.reassigning[T] = (1, 3)
    deletion.enqueue(["orders"])
    assert not deletion.context.deletion_started
    deletion.context.reassigning.clear()
    deletion.resume_for(["orders"])
    assert deletion.context.deletion_started == {"orders"}


def test_a_new_controller_waits_for_offline_replicas_too(deletion: TopicDeletionManager) -> None:
    deletion.context.remove_brokers([2])
    deletion.startup(["orders", "unknown"])
    assert deletion.context.topics_to_delete == deletion.context.deletion_ineligible == {"orders"}


def test_an_answer_about_nothing_that_is_deleted_is_no_news(deletion: TopicDeletionManager) -> None:
    deletion.process_stop_replica_response(1, {T: 56, ("other", 0): 0})
    assert deletion.context.replica_state((T, 1)) is ReplicaState.ONLINE
