"""What administrators ask for: each answer as Kafka 4.1.0's on one broker, and moves between brokers and disks."""

from __future__ import annotations

from typing import Any

from kwire.broker import MemoryDisk, Node, ServedCluster, Settings
from kwire.testing import Kafka
from kwire.values import ErrorCode
from tests.broker.served import M, ask, batch, cluster_of, fetch, produce, values
from tests.conftest import ROOT
from tests.interop.admin_steps import lines

RECORDED = ROOT / "tests/data/admin-kafka-4.1.0.txt"


def test_every_step_is_answered_as_kafka_answers_it() -> None:
    with Kafka() as kafka:
        assert lines(kafka.bootstrap_servers) == RECORDED.read_text("utf-8").splitlines()


def with_topic(*brokers: int, count: int = 3) -> ServedCluster:
    cluster = cluster_of(count)
    cluster.controller.create("t", {0: list(brokers)})
    return cluster


def reassign(cluster: ServedCluster, *brokers: int) -> int:
    request = M.AlterPartitionReassignmentsRequest
    part = request.ReassignablePartition(partition_index=0, replicas=brokers or None)
    row = request.ReassignableTopic(name="t", partitions=(part,))
    return int(ask(cluster, request(topics=(row,)), 0).responses[0].partitions[0].error_code)


def ongoing(cluster: ServedCluster) -> list[Any]:
    found = ask(cluster, M.ListPartitionReassignmentsRequest(), 0).topics
    return [(one.replicas, one.adding_replicas, one.removing_replicas) for row in found for one in row.partitions]


def test_a_partition_moves_with_its_records() -> None:
    cluster = with_topic(1)
    produce(cluster, batch(b"a"))
    assert (reassign(cluster, 3, 2), ongoing(cluster)) == (0, [])
    (partition,) = cluster.controller.topics["t"].partitions
    assert (list(partition.replicas), partition.isr, partition.leader) == ([3, 2], [3, 2], 3)
    assert values(fetch(cluster, node=3)) == [b"a"]
    assert fetch(cluster, node=1).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert cluster.controller.nodes[1].log_dirs[0].replicas == 0


def test_a_move_to_a_broker_that_is_down_goes_on_when_it_is_back() -> None:
    cluster = with_topic(1, 2)
    cluster.stop(3)
    produce(cluster, batch(b"a"))
    cluster.start(3)
    cluster.stop(3)
    assert reassign(cluster, 1, 3) in (0, ErrorCode.INVALID_REPLICA_ASSIGNMENT)
    assert ongoing(cluster) == [((1, 3, 2), (3,), (2,))]
    cluster.start(3)
    cluster.check()
    assert ongoing(cluster) == []
    (partition,) = cluster.controller.topics["t"].partitions
    assert (list(partition.replicas), partition.isr) == ([1, 3], [1, 3])
    cluster.move_leader(partition, 3)
    assert values(fetch(cluster, node=3)) == [b"a"]


def test_a_replica_that_was_there_and_is_down_is_not_added_and_stays_when_a_move_is_cancelled() -> None:
    cluster = with_topic(1, 2)
    cluster.stop(2)
    cluster.stop(3)
    produce(cluster, batch(b"a"))
    reassign(cluster, 2, 1, 3)
    assert ongoing(cluster) == [((2, 1, 3), (3,), ())]
    assert (reassign(cluster), ongoing(cluster)) == (0, [])
    (partition,) = cluster.controller.topics["t"].partitions
    assert (list(partition.replicas), partition.isr) == ([2, 1], [1])


def test_a_move_is_cancelled_when_only_new_replicas_are_in_sync() -> None:
    cluster = with_topic(1)
    cluster.stop(2)
    reassign(cluster, 3, 2)
    cluster.stop(1)
    (partition,) = cluster.controller.topics["t"].partitions
    assert partition.isr == [3]
    cluster.stop(3)
    cluster.start(1)
    assert (reassign(cluster), ongoing(cluster)) == (0, [])
    assert (list(partition.replicas), partition.isr, partition.leader) == ([1], [1], 1)


def test_a_move_is_cancelled() -> None:
    cluster = with_topic(1)
    cluster.stop(3)
    reassign(cluster, 1, 3)
    assert (reassign(cluster), ongoing(cluster)) == (0, [])
    (partition,) = cluster.controller.topics["t"].partitions
    assert list(partition.replicas) == [1]


def test_the_preferred_leader_is_elected_again() -> None:
    cluster = with_topic(1, 2)
    row = M.ElectLeadersRequest.TopicPartitions(topic="t", partitions=(0,))

    def elect(kind: int = 0) -> int:
        answer = ask(cluster, M.ElectLeadersRequest(election_type=kind, topic_partitions=(row,)), 2)
        return int(answer.replica_election_results[0].partition_result[0].error_code)

    cluster.stop(1)
    assert elect() == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    cluster.start(1)
    assert (elect(), elect()) == (0, ErrorCode.ELECTION_NOT_NEEDED)
    cluster.stop(2)
    produce(cluster, batch(b"a"))
    cluster.stop(1)
    assert elect(1) == ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    cluster.start(2)
    assert cluster.controller.topics["t"].partitions[0].leader == -1
    assert elect(1) == 0
    assert values(fetch(cluster, node=2)) == []
    cluster.start(1)
    assert elect() == 0
    (found,) = ask(cluster, M.ElectLeadersRequest(topic_partitions=None), 2).replica_election_results
    assert (found.topic, found.partition_result) == ("t", ())


def test_a_replica_moves_to_another_directory() -> None:
    disks = [MemoryDisk("/a"), MemoryDisk("/b")]
    cluster = ServedCluster([Node(1, disks=disks)], Settings(), cluster_of().rng)
    cluster.controller.create("t", {0: [1]})
    produce(cluster, batch(b"a"))
    replica = cluster.controller.topics["t"].partitions[0].replicas
    other = next(one for one in cluster.controller.nodes[1].log_dirs if one is not replica[1].log_dir)

    def move(path: str, index: int = 0) -> int:
        request = M.AlterReplicaLogDirsRequest
        row = request.AlterReplicaLogDirTopic(name="t", partitions=(index,))
        answer = ask(cluster, request(dirs=(request.AlterReplicaLogDir(path=path, topics=(row,)),)), 2)
        return int(answer.results[0].partitions[0].error_code)

    assert [move("/c"), move(other.path, 7)] == [ErrorCode.LOG_DIR_NOT_FOUND, ErrorCode.REPLICA_NOT_AVAILABLE]
    assert [move(other.path), move(other.path)] == [0, 0]
    assert (replica[1].log_dir is other, other.replicas) == (True, 1)
    assert values(fetch(cluster)) == [b"a"]
    other.is_offline = True
    assert move(other.path) == ErrorCode.KAFKA_STORAGE_ERROR


def test_old_records_go_when_the_clock_moves() -> None:
    with Kafka() as kafka:
        kafka.create_topic("t", configs={"retention.ms": "60000", "segment.ms": "30000"})
        kafka.produce("t", b"old")
        kafka.advance(50)
        kafka.produce("t", b"new")
        assert len(kafka.records("t")) == 2
        kafka.advance(20)
        assert [record.value for record in kafka.records("t")] == [b"new"]
        kafka.advance(60)
        found = kafka.partition("t")
        assert (kafka.records("t"), found["start"], found["end"]) == ([], 2, 2)
        assert kafka.produce("t", b"newer") == 2
