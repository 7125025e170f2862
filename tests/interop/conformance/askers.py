"""Two ways to ask a broker: a real one by its socket, and kwire's own without I/O."""

from __future__ import annotations

import socket
import time
from random import Random
from typing import Any, Protocol

import kwire
from kwire.broker import Node, Parked, ServedCluster, Settings
from kwire.broker.api import ClosesConnection
from kwire.broker.request_frames import ServedRequest, read_request, write_response
from kwire.broker.settings_configs import settings_from
from kwire.protocol import Frame

PATIENCE = 6.0  # seconds for an answer
CLIENT = "conformance"
# What `kafka-up` writes into server.properties.
CONFIGS = {
    "num.partitions": "2",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "log.cleaner.dedupe.buffer.size": "20971520",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "300",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "3",
}
NO_ANSWER, CLOSED = "no answer", "closed"


class Asker(Protocol):
    """A broker that can be asked."""

    def ask(self, message: Any, version: int) -> Any:
        """Return the response; NO_ANSWER if none comes, CLOSED if the broker closes the connection."""

    def pause(self, seconds: float) -> None:
        """Let time pass."""


def _encode(message: Any, version: int) -> bytes:
    return kwire.encode_request(message, version, correlation_id=7, client_id=CLIENT)


def _decode(data: bytes, message: Any, version: int) -> Any:
    name = type(message).__name__.removesuffix("Request")
    codec = kwire.codec(f"{name}Response", version)
    flexible = version in codec.spec.flexible_versions and name != "ApiVersions"
    return codec.decode(data[4 + flexible :])


class RealBroker:
    """A broker that listens at an address."""

    def __init__(self, host: str, port: int) -> None:
        self._place = host, port
        self._socket: socket.socket | None = None

    def ask(self, message: Any, version: int) -> Any:
        if self._socket is None:
            self._socket = socket.create_connection(self._place, PATIENCE)
        try:
            self._socket.sendall(_encode(message, version))
            if type(message).__name__ == "ProduceRequest" and message.acks == 0:
                self._socket.sendall(_encode(kwire.messages.ApiVersionsRequest(), 0))
                self._read()
                return NO_ANSWER
            data = self._read()
        except (ConnectionError, TimeoutError) as error:
            self._socket.close()
            self._socket = None
            return NO_ANSWER if isinstance(error, TimeoutError) else CLOSED
        return _decode(data, message, version)

    def _read(self) -> bytes:
        size = int.from_bytes(self._exactly(4), "big")
        return self._exactly(size)

    def _exactly(self, count: int) -> bytes:
        assert self._socket is not None
        data = b""
        while len(data) < count:
            part = self._socket.recv(count - len(data))
            if not part:
                raise ConnectionResetError
            data += part
        return data

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)


class ServedBroker:
    """One of kwire's brokers, whose clock moves only while a request waits."""

    def __init__(self, release: str, settings: Settings | None = None) -> None:
        node = Node(1, port=9092)
        self._cluster = ServedCluster(
            [node], settings or settings_from(CONFIGS, release=release, realistic=True), Random(1)
        )
        if release.startswith("4"):  # with eligible leader replicas (KIP-966), a new cluster sets this for all brokers
            self._cluster.controller.configure_brokers("", {"min.insync.replicas": "1"})
        self._now = 1000.0
        started = time.time()
        self._cluster.time_ms = lambda: int((started + self._now - 1000.0) * 1000)

    def ask(self, message: Any, version: int) -> Any:
        cluster = self._cluster
        served = read_request(Frame(_encode(message, version)), cluster.catalog, cluster.apis)
        if not isinstance(served, ServedRequest):
            return _decode(served.answer[4:], message, 0) if served.answer else CLOSED
        asked: dict[str, Any] = {"now": self._now, "client_id": served.client_id, "client_host": "127.0.0.1"}
        try:
            answer = cluster.answer(1, served.message, version, **asked)
        except ClosesConnection:
            return CLOSED
        if isinstance(answer, Parked):
            self._wait(answer)
            answer = answer.response
        if answer is None:
            return NO_ANSWER
        return _decode(write_response(served, answer, cluster.catalog)[4:], message, version)

    def _wait(self, parked: Parked[Any]) -> None:
        for _ in range(1000):
            if parked.is_answered:
                break
            deadline = self._cluster.next_deadline
            assert deadline is not None
            self.pause(max(0.0, deadline - self._now))
        self._cluster.waiting.answered.clear()

    def pause(self, seconds: float) -> None:
        self._now += seconds
        self._cluster.tick(self._now)
