"""KIP-112's test plan with real disks, a real producer and a real consumer (kcat): a log directory fails at the start,
under the leader, under a follower; every record that was acknowledged is read once."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire.broker import codes
from kwire.errors import CallError
from kwire.net.addresses import Address
from kwire.net.connection import BrokerConnection
from tests.conftest import ROOT

M = kwire.messages
KCAT = shutil.which("kcat")
pytestmark = pytest.mark.skipif(KCAT is None, reason="kcat is not installed")
HALF = 1000
Break = Callable[[Path], None]


def put_a_file_there(path: Path) -> None:
    """As the KIP's test does."""
    path.rename(path.with_suffix(".was"))
    path.write_bytes(b"")


def remove(path: Path) -> None:
    path.rename(path.with_suffix(".was"))


class Brokers:
    """Three brokers with two directories each, as a process."""

    def __init__(self, root: Path) -> None:
        self.root = root
        with ExitStack() as stack:
            sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(3)]
            self.ports = [one.getsockname()[1] for one in sockets]
        rows = [
            {"id": node, "port": port, "rack": f"r{node}", "logDirs": [str(self.path(node, one)) for one in "ab"]}
            for node, port in enumerate(self.ports, 1)
        ]
        (root / "cluster.json").write_text(json.dumps({"brokers": rows}), "utf-8")
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in self.ports)

    def path(self, node: int, one: str) -> Path:
        return self.root / f"{node}{one}"

    def start(self, *options: str) -> None:
        command = [sys.executable, "-m", "kwire", "serve", "--cluster", str(self.root / "cluster.json"), *options]
        with (self.root / "log").open("a") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, stderr=log)
        self.until(lambda: len(self.metadata().brokers) == 3)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(20) == 0

    def ask(self, name: str, version: int, message: Any, node: int | None = None) -> Any:
        """Ask a broker, any that answers unless told."""
        for port in [self.ports[node - 1]] if node else self.ports:
            try:
                with BrokerConnection(Address("127.0.0.1", port), timeout=5) as broker:
                    answer = broker.ask(kwire.codec(name, version), message)
                    assert answer is not None
                    return answer.message
            except CallError:
                continue
        raise AssertionError("no broker answers")

    def metadata(self) -> Any:
        return self.ask("MetadataRequest", 12, M.MetadataRequest(topics=None))

    def partition(self, topic: str) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        """Who leads, who is in sync, who is offline."""
        (found,) = [one for one in self.metadata().topics if one.name == topic]
        (one,) = found.partitions
        return one.leader_id, one.isr_nodes, one.offline_replicas

    def create(self, topic: str, *replicas: int) -> None:
        rows = (M.CreateTopicsRequest.CreatableReplicaAssignment(partition_index=0, broker_ids=replicas),)
        topics = (
            M.CreateTopicsRequest.CreatableTopic(
                name=topic, num_partitions=-1, replication_factor=-1, assignments=rows
            ),
        )
        made = self.ask("CreateTopicsRequest", 7, M.CreateTopicsRequest(topics=topics))
        assert made.topics[0].error_code == 0

    def log_dirs(self, node: int) -> list[int]:
        """The error codes of its two directories."""
        found = self.ask("DescribeLogDirsRequest", 4, M.DescribeLogDirsRequest(topics=None), node).results
        assert [one.log_dir for one in found] == [str(self.path(node, one)) for one in "ab"]
        return [one.error_code for one in found]

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                if condition():
                    return
            except AssertionError:
                assert self.process.poll() is None
            time.sleep(0.05)
        raise AssertionError("it did not come to that")


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[Brokers]:
    made = Brokers(tmp_path)
    yield made
    made.process.kill()
    made.process.wait(10)


@contextmanager
def producing(brokers: Brokers, topic: str) -> Iterator[Callable[[int, int], None]]:
    """Run an idempotent producer and a consumer; at the end all records are acknowledged, and each was read once."""
    kcat = [str(KCAT), "-E", "-b", brokers.bootstrap, "-t", topic, "-X", "topic.metadata.refresh.interval.ms=500"]
    produce = [*kcat, "-P", "-X", "enable.idempotence=true", "-X", "linger.ms=1", "-X", "batch.num.messages=50"]
    consume = [*kcat, "-C", "-o", "beginning", "-u", "-q", "-c", str(2 * HALF)]
    out = brokers.root / f"{topic}.read"
    with (
        out.open("w") as stream,
        subprocess.Popen(consume, stdout=stream, stderr=subprocess.DEVNULL) as consumer,
        subprocess.Popen(produce, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as producer,
    ):
        try:

            def feed(start: int, stop: int) -> None:
                assert producer.stdin is not None
                producer.stdin.writelines(f"{topic} {number}\n" for number in range(start, stop))
                producer.stdin.flush()

            feed(0, HALF)
            brokers.until(lambda: out.read_text().count("\n") >= HALF // 2)
            yield feed
            feed(HALF, 2 * HALF)
            assert producer.stdin is not None
            producer.stdin.close()
            assert producer.wait(60) == 0  # everything is acknowledged
            assert consumer.wait(60) == 0
        finally:
            producer.kill()
            consumer.kill()
    expected = [f"{topic} {number}" for number in range(2 * HALF)]
    assert out.read_text().splitlines() == expected
    again = subprocess.run([*kcat, "-C", "-o", "beginning", "-e", "-q"], check=True, timeout=60, capture_output=True)
    assert again.stdout.decode().splitlines() == expected


def leave_alone(brokers: Brokers, node: int) -> None:
    """Let the two others lose all their directories."""
    for other in {1, 2, 3} - {node}:
        for one in "ab":
            if brokers.path(other, one).is_dir():
                put_a_file_there(brokers.path(other, one))
    brokers.until(lambda: [one.node_id for one in brokers.metadata().brokers] == [node])


def test_on_the_leader_at_the_start(brokers: Brokers) -> None:
    brokers.start()
    brokers.create("t", 1, 2, 3)
    with producing(brokers, "t"):
        brokers.stop()
        put_a_file_there(brokers.path(1, "a"))
        brokers.start()
        assert brokers.partition("t") == (2, (2, 3), (1,))
        assert brokers.log_dirs(1) == [codes.KAFKA_STORAGE_ERROR, 0]
    assert [brokers.log_dirs(node) for node in (2, 3)] == [[0, 0], [0, 0]]


@pytest.mark.parametrize("harm", [put_a_file_there, remove])
def test_on_the_leader_at_run_time(brokers: Brokers, harm: Break) -> None:
    brokers.start()
    brokers.create("t", 1, 2, 3)
    with producing(brokers, "t"):
        harm(brokers.path(1, "a"))
        brokers.until(lambda: brokers.partition("t") == (2, (2, 3), (1,)))
        assert brokers.log_dirs(1) == [codes.KAFKA_STORAGE_ERROR, 0]
    brokers.create("u", 1, 2, 3)
    assert brokers.partition("u") == (1, (1, 2, 3), ())
    leave_alone(brokers, 1)
    with producing(brokers, "u"):
        assert brokers.partition("u") == (1, (1,), (2, 3))


def test_on_a_follower_at_run_time(brokers: Brokers) -> None:
    brokers.start()
    brokers.create("t", 1, 2, 3)
    with producing(brokers, "t"):
        put_a_file_there(brokers.path(2, "a"))
        brokers.until(lambda: brokers.partition("t") == (1, (1, 3), (2,)))
        assert brokers.log_dirs(2) == [codes.KAFKA_STORAGE_ERROR, 0]
    brokers.create("u", 1, 2, 3)
    leave_alone(brokers, 2)
    with producing(brokers, "u"):
        assert brokers.partition("u") == (2, (2,), (1, 3))


def test_a_failure_that_is_told(brokers: Brokers) -> None:
    brokers.start("--fail-log-dir", f"1:{brokers.path(1, 'a')}@2")
    brokers.create("t", 1, 2, 3)
    with producing(brokers, "t"):
        brokers.until(lambda: brokers.partition("t") == (2, (2, 3), (1,)))
        assert brokers.log_dirs(1) == [codes.KAFKA_STORAGE_ERROR, 0]
