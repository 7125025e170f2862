"""Partitions come into being and get leaders."""

from __future__ import annotations

from kwire.cluster.kip112 import LeaderAndIsr
from kwire.cluster.kip112.values import PartitionStates as P
from tests.cluster.kip112.machinery import T, machines, sent, with_partition


def test_a_new_partition_has_its_live_replicas_in_sync_and_all_are_new() -> None:
    made = with_partition(machines(), None)
    made.context.remove_brokers([1])
    made.partitions.handle([T], P.NEW)
    made.partitions.handle([T], P.ONLINE)
    assert made.zk.state(T) == LeaderAndIsr(2, (2, 3), 0, 5)
    assert sent(made.batch)[:2] == [("LeaderAndIsr", one, 2, (2, 3), True) for one in (2, 3)]
    assert made.context.partition_state(T) is P.ONLINE


def test_a_partition_without_a_live_replica_waits() -> None:
    made = with_partition(machines(), None)
    made.context.remove_brokers([1, 2, 3])
    made.partitions.handle([T], P.NEW)
    made.partitions.handle([T], P.ONLINE)
    assert made.zk.state(T) is None
    assert made.context.partition_state(T) is P.NEW


def test_a_state_that_is_there_already_is_kept() -> None:
    made = with_partition(machines(), None)
    made.zk.create_state(T, LeaderAndIsr(3, (3,)))
    made.partitions.handle([T], P.NEW)
    made.partitions.handle([T], P.ONLINE)
    assert made.zk.state(T) == LeaderAndIsr(3, (3,))
    assert not sent(made.batch)


def test_an_election_is_written_and_told() -> None:
    made = with_partition(machines(), LeaderAndIsr(1, (1, 2)))
    made.context.offline_dirs[1] = {T}
    made.context.partition_states[T] = P.OFFLINE
    made.partitions.elect_where_offline()
    assert made.zk.state(T) == made.context.leaders[T] == LeaderAndIsr(2, (2,), 1, 5, 1)
    assert sent(made.batch)[:2] == [("LeaderAndIsr", one, 2, (2,), False) for one in (2, 3)]


def test_the_isr_in_zookeeper_counts_and_not_the_one_remembered() -> None:
    made = with_partition(machines(), LeaderAndIsr(1, (1, 2)))
    state = made.zk.state(T)
    assert state is not None
    made.zk.set_state(T, LeaderAndIsr(1, (1, 3)))
    made.context.offline_dirs[1] = {T}
    made.context.partition_states[T] = P.OFFLINE
    made.partitions.elect_where_offline()
    assert made.context.leaders[T].leader == 3


def test_who_is_not_in_sync_leads_only_where_that_is_allowed() -> None:
    for unclean, leader in ((False, 1), (True, 2)):
        made = with_partition(machines(unclean=unclean), LeaderAndIsr(1, (1,)))
        made.context.remove_brokers([1])
        made.context.partition_states[T] = P.OFFLINE
        made.partitions.elect_where_offline()
        assert made.context.leaders[T].leader == leader


def test_at_startup_partitions_without_a_live_leader_get_one() -> None:
    made = with_partition(machines(), LeaderAndIsr(1, (1, 2)))
    made.context.remove_brokers([1])
    made.partitions.startup()
    assert made.context.leaders[T].leader == 2
    assert made.context.partition_state(T) is P.ONLINE


def test_a_topic_that_is_deleted_gets_no_leader() -> None:
    made = with_partition(machines(), LeaderAndIsr(-1, (1, 2)))
    made.context.topics_to_delete.add("orders")
    made.partitions.startup()
    assert made.context.leaders[T].leader == -1
    made.partitions.handle([T], P.NON_EXISTENT)
    assert made.context.partition_state(T) is P.NON_EXISTENT
