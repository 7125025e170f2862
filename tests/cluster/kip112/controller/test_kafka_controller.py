"""The controller: which event is whose."""

from __future__ import annotations

from kwire import messages
from kwire.cluster.kip112 import JbodCluster, KafkaController
from kwire.cluster.kip112.requests import leader_and_isr_response
from kwire.zookeeper import AssignedPartition, PartitionReassignment, PreferredReplicaElection, write_znode
from kwire.zookeeper.znode_types import ZnodePartition
from tests.cluster.kip112.playing import isr, replicate, started

T = ("orders", 0)


def controlled() -> tuple[JbodCluster, KafkaController]:
    cluster = started("2.4")
    cluster.create_topic("orders", [(2, 3, 1)])
    cluster.run()
    assert cluster.controller is not None
    return cluster, cluster.controller


def test_an_answer_of_an_earlier_start_or_a_refused_request_is_no_news() -> None:
    _, controller = controlled()
    epoch = controller.context.broker_epochs[2]
    controller.on_response(2, epoch - 1, None, leader_and_isr_response(4, 0, {T: 56}, {}))
    controller.on_response(2, epoch, None, leader_and_isr_response(4, 11, {T: 56}, {}))
    assert controller.context.offline_replicas(T) == ()
    controller.on_response(2, epoch, None, messages.UpdateMetadataResponse())
    assert controller.take_requests() == []


def test_a_change_of_no_concern_does_nothing() -> None:
    _, controller = controlled()
    controller.on_change("/config/topics/orders")
    controller.on_change("/log_dir_event_notifications")
    assert controller.take_requests() == []


def test_a_broker_that_shuts_down_leads_no_more() -> None:
    cluster, controller = controlled()
    answer = controller.on_controlled_shutdown(messages.ControlledShutdownRequest(broker_id=2))
    cluster.after()
    cluster.run()
    assert answer.remaining_partitions == ()
    assert isr(cluster, T) == (3, (3, 1))


def test_partitions_without_another_possible_leader_remain() -> None:
    cluster, controller = controlled()
    for other in (3, 1):
        answer = controller.on_controlled_shutdown(messages.ControlledShutdownRequest(broker_id=other))
        assert answer.remaining_partitions == ()
    answer = controller.on_controlled_shutdown(messages.ControlledShutdownRequest(broker_id=2))
    assert [(one.topic_name, one.partition_index) for one in answer.remaining_partitions] == [T]
    cluster.after()
    cluster.run()
    assert isr(cluster, T) == (2, (2,))


def test_the_preferred_replica_leads_when_a_znode_asks_for_it() -> None:
    cluster, _ = controlled()
    cluster.stop(2)
    cluster.run()
    cluster.start(2)
    cluster.run()
    replicate(cluster, T)
    assert isr(cluster, T) == (3, (3, 1, 2))
    told = PreferredReplicaElection(partitions=(ZnodePartition(topic="orders", partition=0),))
    cluster.zk.create("/admin/preferred_replica_election", write_znode(told))
    cluster.after()
    cluster.run()
    assert isr(cluster, T) == (2, (3, 1, 2))
    assert not cluster.zk.get("/admin/preferred_replica_election")


def test_a_reassignment_that_a_znode_asks_for_is_done_and_the_znode_goes() -> None:
    cluster, controller = controlled()
    told = PartitionReassignment(partitions=(AssignedPartition(topic="orders", partition=0, replicas=(3, 1)),))
    cluster.zk.create("/admin/reassign_partitions", write_znode(told))
    cluster.after()
    cluster.run()
    assert controller.context.assignments[T].replicas == (3, 1)
    assert isr(cluster, T) == (3, (3, 1))
    assert not cluster.zk.get("/admin/reassign_partitions")


def test_a_reassignment_continues_under_the_next_controller() -> None:
    cluster = started("3.9")
    cluster.create_topic("orders", [(2, 1)])
    cluster.run()
    assert cluster.controller is not None
    cluster.controller.reassign(T, (2, 3))
    cluster.after()
    cluster.run()
    cluster.stop(1)
    cluster.elect(3)
    cluster.run()
    replicate(cluster, T)
    assert cluster.controller.context.assignments[T].replicas == (2, 3)
    assert isr(cluster, T) == (2, (2, 3))


def test_an_unclean_election_can_be_asked_for() -> None:
    cluster = started("3.9")
    cluster.create_topic("orders", [(2, 3)])
    cluster.run()
    cluster.stop(3)
    cluster.run()
    cluster.stop(2)
    cluster.run()
    cluster.start(3)
    cluster.run()
    assert isr(cluster, T) == (-1, (2,))
    assert cluster.controller is not None
    cluster.controller.elect_unclean([T, ("unknown", 0)])
    cluster.after()
    cluster.run()
    assert isr(cluster, T) == (3, (3,))


def test_deleting_a_topic_that_is_not_there_is_done_at_once() -> None:
    cluster, controller = controlled()
    cluster.delete_topic("unknown")
    cluster.run()
    assert cluster.zk.children("/admin/delete_topics") == []
    assert not controller.context.topics_to_delete
