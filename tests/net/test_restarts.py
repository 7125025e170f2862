"""Processes that are killed while they write, and processes that want the same directories."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import kwire
from kwire.errors import CallError
from kwire.net.client import Address, BrokerConnection
from tests.broker.served import batch, fetching, values
from tests.conftest import ROOT
from tests.net.brokers import Brokers

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
    second = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert second.returncode == 2
    path = brokers.path(1, "a")
    assert f"kwire: error: {path}: process {brokers.process.pid} uses this log directory" in second.stderr
    assert (path / ".lock").read_text() == f"{brokers.process.pid}\n"
    assert len(brokers.metadata().brokers) == 3
    brokers.stop()
    assert (path / ".lock").read_text() == ""
