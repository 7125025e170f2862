"""A thousand connections at once: slow, half-open, talking nonsense, not reading their answers. The broker stays up,
and its memory inside what it says that it keeps."""

from __future__ import annotations

import re
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import kwire
from kwire.broker.server.server_state import MOST_UNSENT
from kwire.client.address import Address, address
from kwire.client.connection import BrokerConnection
from kwire.protocol.frames.frame_memory import MOST_WAITING
from tests.broker.served import batch, fetching, values
from tests.conftest import ROOT

M = kwire.messages
MIB = 1 << 20
COUNT = 1000
# What the interpreter keeps for itself: buffers grow by an eighth, and freed memory comes back in part.
SLACK = 64 * MIB
pytestmark = [
    pytest.mark.ci,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is measured in /proc"),
]


class Broker:
    """A broker as a process of its own."""

    def __init__(self, process: subprocess.Popen[str], where: Address) -> None:
        self.process, self.where = process, where

    def memory(self) -> int:
        """Bytes that it holds now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) * 1024

    def connect(self, receive_buffer: int = 0) -> socket.socket:
        client = socket.socket()
        if receive_buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.settimeout(60)
        client.connect(self.where)
        return client

    def works(self) -> None:
        """A record goes in and comes out."""
        with BrokerConnection(self.where, timeout=90) as broker:
            names = (M.MetadataRequest.MetadataRequestTopic(name="small"),)
            broker.ask(kwire.codec("MetadataRequest", 12), M.MetadataRequest(topics=names))
            offset = produce(broker, "small", b"v")
            answer = broker.ask(kwire.codec("FetchRequest", 11), fetching(offset, topic="small"))
            assert answer is not None
            assert values(answer.message.responses[0].partitions[0]) == [b"v"]


def produce(broker: BrokerConnection, topic: str, value: bytes) -> int:
    part = M.ProduceRequest.PartitionProduceData(index=0, records=batch(value))
    rows = (M.ProduceRequest.TopicProduceData(name=topic, partition_data=(part,)),)
    answer = broker.ask(kwire.codec("ProduceRequest", 9), M.ProduceRequest(acks=-1, topic_data=rows))
    assert answer is not None
    row = answer.message.responses[0].partition_responses[0]
    assert row.error_code == 0
    return int(row.base_offset)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    """One broker on a disk, with a topic of 16 MiB."""
    (tmp_path / "c.json").write_text(f'[{{"id": 1, "logDirs": ["{tmp_path}/a"]}}]')
    command = [sys.executable, "-m", "kwire", "serve", ":0", "-q", "--cluster", str(tmp_path / "c.json")]
    with (tmp_path / "log").open("w+") as log, subprocess.Popen(command, cwd=ROOT, stderr=log, text=True) as process:
        try:
            while not (found := re.findall(r"127\.0\.0\.1:\d+", (tmp_path / "log").read_text())):
                assert process.poll() is None
            made = Broker(process, address(found[0]))
            made.works()
            with BrokerConnection(made.where, timeout=90) as connection:
                names = (M.MetadataRequest.MetadataRequestTopic(name="t"),)
                connection.ask(kwire.codec("MetadataRequest", 12), M.MetadataRequest(topics=names))
                for _ in range(32):
                    produce(connection, "t", bytes(MIB // 2))
            yield made
            made.works()
            assert process.poll() is None
        finally:
            process.kill()
    assert "Traceback" not in (tmp_path / "log").read_text()


def taken(client: socket.socket, size: int) -> bytes:
    """Read so many bytes."""
    data = b""
    while len(data) < size:
        portion = client.recv(size - len(data))
        assert portion
        data += portion
    return data


def wanting(most: int, wait: int = 0) -> bytes:
    """A Fetch of the large topic."""
    request = fetching(0 if not wait else 32, most=most, max_bytes=most, max_wait_ms=wait, min_bytes=1)
    return kwire.encode_request(request, 11, correlation_id=1)


def test_a_thousand_that_are_slow_half_open_or_send_nonsense(broker: Broker) -> None:
    request = kwire.encode_request(M.ApiVersionsRequest(), 0, correlation_id=1)
    before = broker.memory()
    with ExitStack() as stack:
        clients = [stack.enter_context(broker.connect()) for _ in range(COUNT)]
        kinds = [clients[start::4] for start in range(4)]
        for byte in request[:-1]:
            for client in kinds[0]:
                client.sendall(bytes([byte]))
        for client in kinds[1]:
            client.sendall(wanting(1000)[:20])
        for number, client in enumerate(kinds[2]):
            client.sendall(
                [b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 100, b"\x16\x03\x01", struct.pack(">i", 1 << 30)][number % 4]
            )
        broker.works()
        for client in kinds[0]:
            client.sendall(request[-1:])
        for client in kinds[0]:
            assert client.recv(8)[4:] == b"\0\0\0\1"
        for client in kinds[3]:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()  # a reset
        assert broker.memory() - before < SLACK  # so 64 KiB for each at most


def test_those_that_do_not_read_their_answers(broker: Broker) -> None:
    before = broker.memory()
    for _ in range(3):  # what is kept does not add up
        with ExitStack() as stack:
            for _ in range(COUNT):
                client = stack.enter_context(broker.connect(receive_buffer=4096))
                client.sendall(wanting(8 * MIB))
            broker.works()
            # each answer is held twice for a moment: as a message, and as bytes
            assert broker.memory() - before < MOST_UNSENT + 2 * 8 * MIB + SLACK
    assert broker.memory() - before < MOST_UNSENT + SLACK


def test_requests_that_do_not_end(broker: Broker) -> None:
    before = broker.memory()
    part = struct.pack(">i", 16 * MIB - 1) + bytes(12 * MIB)
    with ExitStack() as stack:
        for _ in range(20):  # 240 MiB, and some of them are shown the door
            client = stack.enter_context(broker.connect())
            try:
                client.sendall(part)
            except OSError:
                continue
        broker.works()
        assert broker.memory() - before < MOST_WAITING * 9 // 8 + SLACK


def test_a_thousand_that_wait_for_the_same_records(broker: Broker) -> None:
    before = broker.memory()
    with ExitStack() as stack:
        clients = [stack.enter_context(broker.connect()) for _ in range(COUNT)]
        for client in clients:
            client.sendall(wanting(MIB, wait=60_000))
        broker.works()
        with BrokerConnection(broker.where, timeout=90) as connection:
            assert produce(connection, "t", bytes(MIB // 2)) == 32
        for client in clients:
            assert taken(client, int.from_bytes(taken(client, 4), "big")).count(0) > MIB // 2
        assert broker.memory() - before < MOST_UNSENT + SLACK
