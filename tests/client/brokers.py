"""Three brokers with two log directories each, served by a process, and ways to harm the directories."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import kwire
from kwire.client.address import Address
from kwire.client.connection import BrokerConnection
from kwire.errors import CallError
from tests.conftest import ROOT

M = kwire.messages


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
        assert self.process.wait(60) == 0

    def end(self) -> None:
        """End the process, however it is."""
        self.process.kill()
        self.process.wait(60)

    def ask(self, name: str, version: int, message: Any, node: int | None = None) -> Any:
        """Ask a broker, any that answers unless told."""
        for port in [self.ports[node - 1]] if node else self.ports:
            try:
                with BrokerConnection(Address("127.0.0.1", port), timeout=90) as broker:
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
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            try:
                if condition():
                    return
            except AssertionError:
                assert self.process.poll() is None
            time.sleep(0.05)
        raise AssertionError("it did not come to that")
