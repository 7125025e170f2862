"""Transactions: as Kafka 4.1.0 answers them, over a restart, and where a marker cannot be written; ids of producers."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
from kwire.broker.controller.topic_names import TRANSACTIONS
from kwire.broker.internal_topics import coordinator_of
from kwire.broker.transactions.transaction import TransactionState
from kwire.broker.transactions.transaction_coordinator import HIGHEST_EPOCH, MOST_TRANSACTIONS
from kwire.testing import Kafka
from kwire.values import ErrorCode
from tests.broker.driving import World
from tests.broker.served import M, cluster_of
from tests.broker.stored import StoredDisk
from tests.conftest import ROOT
from tests.interop.transaction_steps import lines


def test_new_ids_and_new_epochs() -> None:
    cluster = cluster_of()

    def init(transactional_id: str | None = None, **fields: Any) -> tuple[int, int, int]:
        row = cluster.answer(1, M.InitProducerIdRequest(transactional_id, **fields), 4, now=0.0)
        return row.error_code, row.producer_id, row.producer_epoch

    code, first, epoch = init()
    assert (code, epoch) == (0, 0)
    assert init() == (0, first + 1, 0)
    assert init(producer_id=first, producer_epoch=0) == (0, first + 2, 0)  # only transactional ids have epochs
    assert init(producer_id=first, producer_epoch=2**15 - 1) == (0, first + 3, 0)
    assert init(transactional_id="") == (ErrorCode.INVALID_REQUEST, -1, -1)


RECORDED = ROOT / "tests/data/transactions-kafka-4.1.0.txt"


def test_every_step_is_answered_as_kafka_answers_it() -> None:
    with Kafka() as kafka:
        found = lines(kafka.bootstrap_servers, kafka.advance)
    assert found == RECORDED.read_text("utf-8").splitlines()


class Producer:
    """A transactional producer, whose requests go through their bytes."""

    def __init__(self, world: World, version: int = 12) -> None:
        self.world, self.version, self.sequence = world, version, 0
        made = world.ask("InitProducerId", 4, transactional_id="x", transaction_timeout_ms=60_000)
        self.id, self.epoch = made.producer_id, made.producer_epoch
        self.error = made.error_code

    @property
    def names(self) -> dict[str, Any]:
        return {"transactional_id": "x", "producer_id": self.id, "producer_epoch": self.epoch}

    def produce(self, value: bytes, index: int = 0) -> int:
        records = kwire.build_batch(
            [kwire.Record(0, 1000, None, value)],
            producer_id=self.id,
            producer_epoch=self.epoch,
            base_sequence=self.sequence,
            is_transactional=True,
        )
        part = M.ProduceRequest.PartitionProduceData(index=index, records=records)
        row = M.ProduceRequest.TopicProduceData(name="t", partition_data=(part,))
        answer = self.world.ask("Produce", self.version, transactional_id="x", acks=-1, topic_data=(row,))
        self.sequence += 1
        return int(answer.responses[0].partition_responses[0].error_code)

    def commit_offset(self, offset: int) -> int:
        request = M.TxnOffsetCommitRequest
        part = request.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        row = request.TxnOffsetCommitRequestTopic(name="t", partitions=(part,))
        answer = self.world.ask("TxnOffsetCommit", 5, group_id="g", topics=(row,), **self.names)
        return int(answer.topics[0].partitions[0].error_code)

    def end(self, committed: bool) -> int:
        answer = self.world.ask("EndTxn", 5, committed=committed, **self.names)
        if not answer.error_code:
            self.epoch, self.sequence = answer.producer_epoch, 0
        return int(answer.error_code)


def read(world: World, index: int = 0) -> tuple[list[bytes | None], int]:
    """Return what is committed of a partition, and how many transactions were aborted there."""
    part = M.FetchRequest.FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1 << 20)
    row = M.FetchRequest.FetchTopic(topic="t", partitions=(part,))
    fields: dict[str, Any] = {
        "isolation_level": 1,
        "min_bytes": 0,
        "max_bytes": 1 << 20,
        "max_wait_ms": 0,
        "topics": (row,),
    }
    found = world.ask("Fetch", 11, **fields).responses[0].partitions[0]
    aborted = {one.first_offset for one in found.aborted_transactions}  # each of one batch here
    batches = [batch for batch in kwire.parse_records(found.records or b"") if not batch.is_control]
    kept = [record.value for batch in batches if batch.base_offset not in aborted for record in batch.records()]
    return kept, len(found.aborted_transactions)


def committed(world: World) -> int:
    row = M.OffsetFetchRequest.OffsetFetchRequestTopic(name="t", partition_indexes=(0,))
    found = world.ask("OffsetFetch", 7, group_id="g", topics=(row,), require_stable=True).topics[0].partitions[0]
    return int(found.committed_offset)


def test_what_was_committed_is_there_after_a_restart_and_what_was_open_goes_on() -> None:
    disk = StoredDisk("/d", 1 << 30)
    world = World(disks=[disk])
    producer = Producer(world)
    assert (producer.produce(b"a"), producer.commit_offset(3), producer.end(True)) == (0, 0, 0)
    assert (producer.produce(b"b"), producer.commit_offset(9)) == (0, 0)
    again = producer.world = World(disks=[disk])
    assert read(again) == ([b"a"], 0)
    assert again.group().is_unstable("t", 0)
    assert (producer.produce(b"c"), producer.end(True)) == (0, 0)
    assert (read(again), committed(again)) == (([b"a", b"b", b"c"], 0), 9)
    assert (read(World(disks=[disk])), committed(World(disks=[disk]))) == (([b"a", b"b", b"c"], 0), 9)


def test_what_was_open_is_aborted_when_its_time_is_over_after_a_restart() -> None:
    disk = StoredDisk("/d", 1 << 30)
    producer = Producer(World(disks=[disk]))
    assert (producer.produce(b"a"), producer.commit_offset(9)) == (0, 0)
    again = producer.world = World(disks=[disk])
    again.now = 0.0
    again.wait(59)
    assert again.cluster.transactions.all()[0].state is TransactionState.ONGOING
    again.wait(2)
    assert (read(again), committed(again), producer.end(True)) == (([], 1), -1, ErrorCode.PRODUCER_FENCED)


def test_the_producer_id_that_follows_the_highest_epoch_is_there_after_a_restart() -> None:
    disk = StoredDisk("/d", 1 << 30)
    world = World(disks=[disk])
    producer = Producer(world)
    one = world.cluster.transactions.all()[0]
    one.producer_epoch = producer.epoch = HIGHEST_EPOCH
    assert producer.produce(b"a") == 0
    partition = world.cluster.controller.topics["t"].partitions[0]
    leader, partition.leader = partition.leader, -1  # the marker is still due when the process ends
    assert producer.end(True) == 0
    partition.leader = leader
    again = World(disks=[disk])
    found = again.cluster.transactions.all()[0]
    assert (found.producer_id, found.producer_epoch, found.state) == (one.producer_id, 0, "CompleteCommit")
    assert (read(again), one.producer_id == producer.id) == (([b"a"], 0), False)


def test_a_decision_is_carried_out_after_a_restart() -> None:
    """The process ends when the decision is in the journal and nothing else is done yet."""
    disk = StoredDisk("/d", 1 << 30)
    world = World(disks=[disk])
    producer = Producer(world)
    assert (producer.produce(b"a"), producer.produce(b"b"), producer.commit_offset(7)) == (0, 0, 0)

    class Killed(Exception):
        pass

    def killed(*_: object, **__: object) -> None:
        raise Killed

    world.cluster.groups.end_transaction = killed  # type: ignore[method-assign]
    with pytest.raises(Killed):
        producer.end(True)
    again = World(disks=[disk])
    assert (read(again), committed(again)) == (([b"a", b"b"], 0), 7)
    assert again.cluster.transactions.all()[0].state is TransactionState.COMPLETE_COMMIT


def test_a_marker_is_written_when_there_is_a_leader_again() -> None:
    world = World()
    producer = Producer(world)
    assert (producer.produce(b"a", 0), producer.produce(b"b", 1)) == (0, 0)
    partition = world.cluster.controller.topics["t"].partitions[1]
    partition.leader = -1
    assert producer.end(True) == 0
    one = world.cluster.transactions.all()[0]
    assert (one.state, list(one.partitions)) == (TransactionState.PREPARE_COMMIT, [("t", 1)])
    assert Producer(world).error == ErrorCode.CONCURRENT_TRANSACTIONS
    partition.leader = 1
    assert read(world, 1) == ([], 0)
    world.cluster.check()
    assert (read(world, 0), read(world, 1)) == (([b"a"], 0), ([b"b"], 0))
    assert Producer(world).error == 0


def test_an_administrator_ends_a_transaction_by_hand() -> None:
    world = World()
    producer = Producer(world)
    assert producer.produce(b"a") == 0
    marker = M.WriteTxnMarkersRequest.WritableTxnMarker(
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        transaction_result=False,
        coordinator_epoch=5,
        topics=(M.WriteTxnMarkersRequest.WritableTxnMarkerTopic(name="t", partition_indexes=(0, 9)),),
    )

    def mark(one: Any) -> list[int]:
        answer = world.ask("WriteTxnMarkers", 1, markers=(one,))
        return [part.error_code for part in answer.markers[0].topics[0].partitions]

    assert mark(marker) == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert read(world) == ([], 1)
    older = M.WriteTxnMarkersRequest.WritableTxnMarker(
        producer_id=producer.id, producer_epoch=producer.epoch, coordinator_epoch=4, topics=marker.topics
    )
    assert mark(older)[0] == ErrorCode.TRANSACTION_COORDINATOR_FENCED


def test_there_is_a_bound() -> None:
    world = World()
    begin = world.cluster.transactions.begin_producer
    for number in range(MOST_TRANSACTIONS):
        assert not isinstance(begin(str(number), 1000, -1, -1), int)
    assert begin("more", 1000, -1, -1) == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_nothing_is_added_to_a_transaction_whose_log_cannot_be_written() -> None:
    """Otherwise a restarted coordinator would not know of the partition, which would never get a marker."""
    world = World(count=2)
    cluster = world.cluster
    cluster.stop(1)
    assert coordinator_of("x", cluster.controller, TRANSACTIONS) == 2  # which creates the log on broker 2 alone
    cluster.start(1)
    begun = world.ask("InitProducerId", 4, node=2, transactional_id="x", transaction_timeout_ms=60_000)
    identity = {"producer_id": begun.producer_id, "producer_epoch": begun.producer_epoch}

    def produce() -> int:
        record = kwire.Record(0, 1000, None, b"x")
        records = kwire.build_batch([record], **identity, base_sequence=0, is_transactional=True)
        part = M.ProduceRequest.PartitionProduceData(index=0, records=records)
        row = M.ProduceRequest.TopicProduceData(name="t", partition_data=(part,))
        answer = world.ask("Produce", 12, node=1, transactional_id="x", acks=-1, topic_data=(row,))
        return int(answer.responses[0].partition_responses[0].error_code)

    cluster.stop(2)
    assert produce() == ErrorCode.NOT_ENOUGH_REPLICAS
    transaction = cluster.transactions.find("x")
    assert transaction is not None
    assert (transaction.state, transaction.partitions) == (TransactionState.EMPTY, {})
    cluster.start(2)
    assert produce() == 0
    states = [transaction.state]
    cluster.stop(2)  # past its timeout, it stays open until its end can be logged
    world.wait(62.0)
    states.append(transaction.state)
    cluster.start(2)
    world.wait(2.0)
    states.append(transaction.state)
    assert states == [TransactionState.ONGOING, TransactionState.ONGOING, TransactionState.COMPLETE_ABORT]
