"""Processes that are killed while they write, and processes that want the same directories."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire.client.address import Address
from kwire.client.connection import BrokerConnection
from kwire.errors import CallError
from kwire.values import ErrorCode
from tests.broker.served import batch, fetching, values
from tests.client.brokers import Brokers
from tests.conftest import ROOT

M = kwire.messages


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[Brokers]:
    made = Brokers(tmp_path)
    made.start()
    yield made
    made.end()


def write_until_it_ends(brokers: Brokers, acknowledged: dict[int, bytes], enough: threading.Event) -> None:
    """Write records one after another until the connection breaks; keep those that were acknowledged, by offset."""
    with suppress(CallError), BrokerConnection(Address("127.0.0.1", brokers.ports[0]), timeout=90) as broker:
        while True:
            value = b"record %d" % len(acknowledged)
            part = M.ProduceRequest.PartitionProduceData(index=0, records=batch(value))
            rows = (M.ProduceRequest.TopicProduceData(name="t", partition_data=(part,)),)
            answer = broker.ask(kwire.codec("ProduceRequest", 9), M.ProduceRequest(acks=-1, topic_data=rows))
            assert answer is not None
            row = answer.message.responses[0].partition_responses[0]
            assert row.error_code == 0
            acknowledged[row.base_offset] = value
            if len(acknowledged) % 20 == 0:
                enough.set()


def records_of(brokers: Brokers) -> dict[int, bytes | None]:
    leader = brokers.partition("t")[0]
    found = brokers.ask("FetchRequest", 11, fetching(most=1 << 24, max_bytes=1 << 24), leader)
    return dict(enumerate(values(found.responses[0].partitions[0])))


def kill_while_it_writes(brokers: Brokers, acknowledged: dict[int, bytes]) -> None:
    enough = threading.Event()
    writer = threading.Thread(target=write_until_it_ends, args=(brokers, acknowledged, enough))
    writer.start()
    assert enough.wait(60)
    brokers.end()  # kill -9
    writer.join(60)


def files_of(brokers: Brokers) -> list[Path]:
    """The segments of the partition, by broker."""
    return [next(brokers.root.glob(f"{node}?/t-0/*.log")) for node in (1, 2, 3)]


def coordinator(brokers: Brokers) -> int:
    return int(brokers.ask("FindCoordinatorRequest", 3, M.FindCoordinatorRequest(key="g")).node_id)


def commit(brokers: Brokers, offset: int) -> None:
    request = M.OffsetCommitRequest
    part = request.OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")
    rows = (request.OffsetCommitRequestTopic(name="t", partitions=(part,)),)
    done = brokers.ask("OffsetCommitRequest", 8, request(group_id="g", topics=rows), coordinator(brokers))
    assert done.topics[0].partitions[0].error_code == 0


def committed(brokers: Brokers) -> int:
    rows = (M.OffsetFetchRequest.OffsetFetchRequestTopic(name="t", partition_indexes=(0,)),)
    request = M.OffsetFetchRequest(group_id="g", topics=rows)
    found = brokers.ask("OffsetFetchRequest", 5, request, coordinator(brokers))
    return int(found.topics[0].partitions[0].committed_offset)


def killed_again_and_again(brokers: Brokers, times: int) -> None:
    brokers.create("t", 1, 2, 3)
    cluster_id = brokers.metadata().cluster_id
    acknowledged: dict[int, bytes] = {}
    for number in range(times):
        commit(brokers, 7 + number)
        kill_while_it_writes(brokers, acknowledged)
        damaged = files_of(brokers)[number % 2]  # the bytes of one replica, in the middle
        data = bytearray(damaged.read_bytes())
        data[len(data) * (number + 1) // (times + 1)] ^= 0x10
        damaged.write_bytes(data)
        brokers.start()
        found = records_of(brokers)
        assert {offset: found.get(offset) for offset in acknowledged} == acknowledged
        assert len(found) <= len(acknowledged) + number + 1  # what was written, and not acknowledged yet
        acknowledged |= {offset: value or b"" for offset, value in found.items()}
        assert (brokers.metadata().cluster_id, committed(brokers)) == (cluster_id, 7 + number)
        assert len({file.read_bytes() for file in files_of(brokers)}) == 1
    assert "t-0: cut at offset " in (brokers.root / "log").read_text()


def test_what_was_acknowledged_is_there_after_kill_and_damage(brokers: Brokers) -> None:
    killed_again_and_again(brokers, 1)


@pytest.mark.ci
def test_what_was_acknowledged_is_there_after_many_kills_and_damages(brokers: Brokers) -> None:
    killed_again_and_again(brokers, 12)


def test_a_second_process_on_the_same_directories_is_refused(brokers: Brokers) -> None:
    command = [sys.executable, "-m", "kwire", "serve", ":0", "--cluster", str(brokers.root / "cluster.json")]
    second = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=180)
    assert second.returncode == 2
    path = brokers.path(1, "a")
    assert f"kwire: error: {path}: process {brokers.process.pid} uses this log directory" in second.stderr
    assert (path / ".lock").read_text() == f"{brokers.process.pid}\n"
    assert len(brokers.metadata().brokers) == 3
    brokers.stop()
    assert (path / ".lock").read_text() == ""


class Transactions:
    """A transactional producer that goes on over restarts: commits and aborts transactions of two records in turn."""

    def __init__(self, brokers: Brokers) -> None:
        self.brokers, self.count = brokers, 0
        self.committed: set[bytes] = set()
        self.aborted: set[bytes] = set()
        self.unknown: set[bytes] = set()

    def run(self, enough: threading.Event) -> None:
        """Make transactions until the connection breaks."""
        with suppress(CallError), BrokerConnection(Address("127.0.0.1", self.brokers.ports[0]), timeout=90) as broker:
            begin = M.InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=60_000)
            made = self.ask(broker, "InitProducerId", 4, begin)
            producer, epoch = made.producer_id, made.producer_epoch
            while True:
                rows = {b"%d %d" % (self.count, one) for one in range(2)}
                is_commit, self.count = self.count % 2 == 0, self.count + 1
                self.unknown |= rows
                self.write(broker, producer, epoch, sorted(rows))
                end = M.EndTxnRequest(
                    transactional_id="x", producer_id=producer, producer_epoch=epoch, committed=is_commit
                )
                epoch = self.ask(broker, "EndTxn", 5, end).producer_epoch
                (self.committed if is_commit else self.aborted).update(rows)
                self.unknown -= rows
                if self.count % 10 == 0:
                    enough.set()

    def ask(self, broker: BrokerConnection, name: str, version: int, request: Any) -> Any:
        while True:
            answer = broker.ask(kwire.codec(f"{name}Request", version), request)
            assert answer is not None
            if getattr(answer.message, "error_code", 0) != ErrorCode.CONCURRENT_TRANSACTIONS:
                assert not getattr(answer.message, "error_code", 0), answer
                return answer.message

    def write(self, broker: BrokerConnection, producer: int, epoch: int, rows: list[bytes]) -> None:
        """Write records, each in a batch, and an offset, with KIP-890's second protocol."""
        for sequence, value in enumerate(rows):
            data = batch(
                value, producer_id=producer, producer_epoch=epoch, base_sequence=sequence, is_transactional=True
            )
            part = M.ProduceRequest.PartitionProduceData(index=0, records=data)
            topic = M.ProduceRequest.TopicProduceData(name="t", partition_data=(part,))
            request = M.ProduceRequest(acks=-1, transactional_id="x", topic_data=(topic,))
            found = self.ask(broker, "Produce", 12, request).responses[0].partition_responses[0]
            assert found.error_code == 0, found
        commit = M.TxnOffsetCommitRequest
        offset = commit.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=self.count)
        rows_of = (commit.TxnOffsetCommitRequestTopic(name="t", partitions=(offset,)),)
        names: dict[str, Any] = {"transactional_id": "x", "producer_id": producer, "producer_epoch": epoch}
        done = self.ask(broker, "TxnOffsetCommit", 5, commit(group_id="g", topics=rows_of, **names))
        assert done.topics[0].partitions[0].error_code == 0


def committed_values(brokers: Brokers) -> list[bytes]:
    """What a consumer reads that takes only what is committed."""
    request = fetching(most=1 << 24, max_bytes=1 << 24, isolation_level=1)
    row = brokers.ask("FetchRequest", 11, request, 1).responses[0].partitions[0]
    aborted = sorted((one.first_offset, one.producer_id) for one in row.aborted_transactions or ())
    found: list[bytes] = []
    skipped: set[int] = set()
    for one in kwire.parse_records(row.records):
        while aborted and aborted[0][0] <= one.last_offset:
            skipped.add(aborted.pop(0)[1])
        if one.is_control:
            skipped.discard(one.producer_id)
        elif one.producer_id not in skipped:
            found += [record.value or b"" for record in one.records()]
    return found


def killed_amid_transactions(brokers: Brokers, times: int) -> None:
    brokers.create("t", 1)
    for topic in ("__consumer_offsets", "__transaction_state"):  # of one broker, which all requests go to
        rows = tuple(
            M.CreateTopicsRequest.CreatableReplicaAssignment(partition_index=index, broker_ids=(1, 2))
            for index in range(2)
        )
        made = M.CreateTopicsRequest.CreatableTopic(
            name=topic, num_partitions=-1, replication_factor=-1, assignments=rows
        )
        brokers.ask("CreateTopicsRequest", 7, M.CreateTopicsRequest(topics=(made,)))
    producer = Transactions(brokers)
    for _ in range(times):
        enough = threading.Event()
        thread = threading.Thread(target=producer.run, args=(enough,))
        thread.start()
        assert enough.wait(60)
        brokers.end()  # kill -9
        thread.join(60)
        brokers.start()
    found = committed_values(brokers)
    assert len(found) == len(set(found))
    assert producer.committed - set(found) == set()
    assert producer.aborted & set(found) == set()
    assert set(found) <= producer.committed | producer.unknown
    assert committed(brokers) > max(int(value.split()[0]) for value in producer.committed)
    for value in producer.unknown & set(found):  # of a transaction all is there, or nothing
        assert {value.split()[0] + end for end in (b" 0", b" 1")} <= set(found)


@pytest.mark.ci  # what was acknowledged is tried everywhere
def test_what_was_committed_is_there_after_a_kill_amid_transactions(brokers: Brokers) -> None:
    killed_amid_transactions(brokers, 1)


@pytest.mark.ci
def test_what_was_committed_is_there_after_many_kills_amid_transactions(brokers: Brokers) -> None:
    killed_amid_transactions(brokers, 20)


def change_metadata(
    brokers: Brokers, acknowledged: dict[str, str | None], numbers: Iterator[int], enough: threading.Event
) -> None:
    """Create topics with a config, configure and delete some, until the connection breaks; None is a deleted topic."""
    with suppress(CallError), BrokerConnection(Address("127.0.0.1", brokers.ports[0]), timeout=90) as broker:
        for number in numbers:
            name = f"topic-{number}"
            for api, version, members in metadata_changes(name, number):
                codec = kwire.codec(f"{api}Request", version)
                acknowledged.pop(name, None)  # while a request is under way either is right
                answer = broker.ask(codec, codec.from_json(members, defaults=True))
                assert answer is not None
                acknowledged[name] = {"CreateTopics": "1", "IncrementalAlterConfigs": "2"}.get(api)
            if number % 6 == 5:
                enough.set()


def metadata_changes(name: str, number: int) -> Iterator[tuple[str, int, dict[str, Any]]]:
    config = {"name": "retention.bytes", "value": "1"}
    row = {"name": name, "numPartitions": 2, "replicationFactor": 2, "configs": [config]}
    yield "CreateTopics", 7, {"topics": [row]}
    if number % 3 == 1:
        changed = {**config, "value": "2", "configOperation": 0}
        resource = {"resourceType": 2, "resourceName": name, "configs": [changed]}
        yield "IncrementalAlterConfigs", 1, {"resources": [resource]}
    if number % 3 == 2:
        yield "DeleteTopics", 6, {"topics": [{"name": name}]}


def metadata_is_there_after_kills(brokers: Brokers, times: int) -> None:
    acknowledged: dict[str, str | None] = {}
    numbers = count()
    for _ in range(times):
        enough = threading.Event()
        thread = threading.Thread(target=change_metadata, args=(brokers, acknowledged, numbers, enough))
        thread.start()
        assert enough.wait(60)
        brokers.end()  # kill -9
        thread.join(60)
        brokers.start()
        there = {topic.name for topic in brokers.metadata().topics}
        asked = M.DescribeConfigsRequest
        for name, value in acknowledged.items():
            assert (name in there) == (value is not None), name
            if value is not None:
                row = asked.DescribeConfigsResource(resource_type=2, resource_name=name, configuration_keys=None)
                found = brokers.ask("DescribeConfigsRequest", 4, asked(resources=(row,)), 1).results[0].configs
                assert [one.value for one in found if one.name == "retention.bytes"] == [value], name


@pytest.mark.ci  # what was acknowledged is tried everywhere
def test_acknowledged_metadata_is_there_after_a_kill(brokers: Brokers) -> None:
    metadata_is_there_after_kills(brokers, 1)


@pytest.mark.ci
def test_acknowledged_metadata_is_there_after_many_kills(brokers: Brokers) -> None:
    metadata_is_there_after_kills(brokers, 10)
