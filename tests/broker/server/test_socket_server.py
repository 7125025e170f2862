"""A served cluster on real sockets: kwire's own connection, kcat where it is installed, and clients that misbehave."""

from __future__ import annotations

import asyncio
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire.broker import ServedCluster, Settings
from kwire.broker.request_context import RequestContext
from kwire.broker.server.socket_server import SocketServer
from kwire.client.address import Address
from kwire.client.connection import BrokerConnection
from kwire.errors import CallError
from tests.broker.served import batch, cluster_of, fetching, values
from tests.cli.commands.call_examples import run_all
from tests.interop.clients import need_client

M = kwire.messages
ALL = M.MetadataRequest(topics=None)


def used(use: Callable[[SocketServer], Any], count: int = 1, settings: Settings | None = None) -> tuple[Any, list[str]]:
    """Serve a cluster, use it from a thread, and return what that returned and what was noted."""
    notes: list[str] = []

    async def run() -> Any:
        cluster = cluster_of(count, settings, host="127.0.0.1")
        for node in cluster.controller.nodes.values():
            node.port = 0
        made = SocketServer(cluster, notes.append, idle=5.0)
        await made.start()
        running = asyncio.ensure_future(made.run())
        try:
            return await asyncio.to_thread(use, made)
        finally:
            running.cancel()
            await made.stop()

    return asyncio.run(run()), notes


def place(made: SocketServer, node_id: int = 1) -> Address:
    return Address("127.0.0.1", made.cluster.controller.nodes[node_id].port)


def ask(broker: BrokerConnection, name: str, version: int, message: Any) -> Any:
    answer = broker.ask(kwire.codec(name, version), message)
    assert answer is not None
    return answer.message


def test_records_go_in_and_come_out() -> None:
    def use(made: SocketServer) -> Any:
        with BrokerConnection(place(made), timeout=90) as broker:
            assert 3 in broker.versions()
            names = (M.MetadataRequest.MetadataRequestTopic(name="t"),)
            found = ask(broker, "MetadataRequest", 12, M.MetadataRequest(topics=names))
            assert [one.port for one in found.brokers] == [place(made).port]
            part = M.ProduceRequest.PartitionProduceData(index=0, records=batch(b"a", b"b"))
            rows = (M.ProduceRequest.TopicProduceData(name="t", partition_data=(part,)),)
            ask(broker, "ProduceRequest", 9, M.ProduceRequest(acks=-1, topic_data=rows))
            late = ask(broker, "FetchRequest", 11, fetching(2, max_wait_ms=50, min_bytes=1))
            assert late.responses[0].partitions[0].records == b""
            return ask(broker, "FetchRequest", 11, fetching()).responses[0].partitions[0]

    row, notes = used(use)
    assert (values(row), notes) == ([b"a", b"b"], [])


def test_the_examples_of_kwire_call(capsys: pytest.CaptureFixture[str]) -> None:
    _, notes = used(lambda made: run_all(place(made), capsys))
    assert notes == []


def test_a_broker_without_a_good_directory_stops() -> None:
    def use(made: SocketServer) -> None:
        with BrokerConnection(place(made, 2), timeout=90) as other:
            loop = made._servers[1].get_loop()
            asyncio.run_coroutine_threadsafe(_fail(made), loop).result(90)
            found = ask(other, "MetadataRequest", 12, M.MetadataRequest(topics=None))
            assert [one.node_id for one in found.brokers] == [2]
        with pytest.raises(CallError):
            BrokerConnection(place(made, 1), timeout=90)

    _, notes = used(use, 2)
    assert notes == [
        "broker 1: log directory memory has failed",
        "broker 1 has no log directory left, and stops",
    ]


async def _fail(made: SocketServer) -> None:
    made.fail(*made.cluster.controller.nodes[1].log_dirs)


@pytest.mark.parametrize(
    "data", [b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 100, bytes.fromhex("00000008 0003 0063 00000001"), b"\0\0\0\4abcd"]
)
def test_garbage_is_shown_the_door(data: bytes) -> None:
    def use(made: SocketServer) -> bytes:
        with socket.create_connection(place(made), 5) as client:
            client.sendall(data)
            return client.recv(100)

    answer, notes = used(use)
    assert (answer, len(notes)) == (b"", 1)
    assert notes[0].endswith("; closed")


def test_slow_half_open_and_many_connections() -> None:
    request = kwire.encode_request(M.ApiVersionsRequest(), 0, correlation_id=1)

    def use(made: SocketServer) -> int:
        clients = [socket.create_connection(place(made), 5) for _ in range(200)]
        for client in clients:
            client.sendall(request[:5])  # never the rest
        slow = clients[0]
        for byte in request[5:]:
            slow.sendall(bytes([byte]))
        assert slow.recv(8)[4:] == b"\0\0\0\1"
        with BrokerConnection(place(made), timeout=90) as broker:
            assert broker.versions()
        for client in clients:
            client.close()
        return made.memory.held

    held, _ = used(use)
    assert 0 < held < 200 * 64


def test_a_client_that_pipelines_lets_others_have_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind the tenth request of one client another one asks; it is answered before many more of the first one's."""
    seen: list[str] = []
    others: list[socket.socket] = []
    real = ServedCluster.handle

    def handle(self: ServedCluster, request: RequestContext[Any]) -> Any:
        seen.append(request.client_id)
        if len(seen) == 10:
            others[0].sendall(kwire.encode_request(ALL, 1, correlation_id=1, client_id="other"))
        return real(self, request)

    monkeypatch.setattr(ServedCluster, "handle", handle)

    def use(made: SocketServer) -> None:
        request = kwire.encode_request(M.ApiVersionsRequest(), 1, correlation_id=1, client_id="busy")
        with socket.create_connection(place(made)) as busy, socket.create_connection(place(made)) as other:
            others.append(other)
            busy.sendall(request * 2000)
            other.settimeout(180)
            assert other.recv(4)

    used(use)
    assert seen.index("other") < 50


def test_a_client_that_speaks_tls_is_named() -> None:
    hello = bytes.fromhex("16030100050100000102")

    def use(made: SocketServer) -> None:
        for _ in range(3):
            with socket.create_connection(place(made), 5) as client:
                client.sendall(hello)
                assert client.recv(100) == b""

    _, notes = used(use)
    assert notes == ["127.0.0.1: it speaks TLS; kwire serve has no TLS listener; closed"] * 3


@pytest.mark.parametrize("options", [[], ["-z", "gzip"], ["-X", "enable.idempotence=true"]])
def test_kcat_writes_and_reads(tmp_path: Path, options: list[str]) -> None:
    need_client("kcat")
    lines = [f"record {number}" for number in range(1000)]
    (tmp_path / "lines").write_text("\n".join(lines) + "\n", "utf-8")

    def use(made: SocketServer) -> list[str]:
        kcat = ["kcat", "-b", str(place(made)), "-t", "t"]
        subprocess.run([*kcat, "-P", *options, "-l", str(tmp_path / "lines")], check=True, timeout=180)
        read = [*kcat, "-C", "-o", "beginning", "-e", "-q"]
        return subprocess.run(read, check=True, timeout=180, capture_output=True, text=True).stdout.splitlines()

    found, notes = used(use, 2, Settings(num_partitions=3))
    assert (sorted(found), notes) == (sorted(lines), [])


def test_a_connection_that_sends_nothing_is_closed() -> None:
    def use(made: SocketServer) -> Any:
        made.idle = 0.0
        with socket.create_connection(place(made), 60) as client:
            return client.recv(1)

    assert used(use) == (b"", [])
