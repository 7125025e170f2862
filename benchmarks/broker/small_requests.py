"""Small requests: how many a broker handles in a second of its processor time, and how long one client waits for one.

`python -m benchmarks.broker.small_requests [--against CHECKOUT] [--broker NAME=HOST:PORT=PID] [--rounds N]`
starts `kwire serve` of this checkout, and of another one, each in a session of its own; `--broker` adds brokers that
run already, such as Kafka (the material's `kafka-up`) or kfake. By turns, 32 connections send requests that were
encoded before, each the next one when it has its answer: the client is another process and costs little. Then one
connection does, and each answer is timed. Prints medians of rounds, and the ratio of each broker to the first, round by
round.
"""

from __future__ import annotations

import argparse
import os
import re
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import kwire
from benchmarks.broker.throughput import processor_seconds
from benchmarks.lib.checkouts import ROOT
from kwire.client.address import Address, address
from kwire.client.connection import BrokerConnection

M = kwire.messages
CLIENTS = 32
SINGLE = 3000  # requests of one client whose times are taken
AHEAD = 20_000  # requests of a connection with sequence numbers, which cannot be sent twice
VALUE = os.urandom(50) + b"a" * 50


class MeasuredBroker(NamedTuple):
    """A broker and its process."""

    name: str
    place: Address
    pid: str


class Figures(NamedTuple):
    """Requests in a second of the server's processor time, and in a second; times of one client in milliseconds."""

    per_processor_second: float
    per_second: float
    p50: float
    p99: float


def ask(connection: BrokerConnection, codec: Any, message: Any) -> Any:
    """Ask, and return the message of the answer."""
    response = connection.ask(codec, message)
    assert response is not None
    return response.message


def produce_frame(topic: str, batch: bytes) -> bytes:
    """Return a request with one batch, which all in-sync replicas must have."""
    part = M.ProduceRequest.PartitionProduceData(index=0, records=batch)
    data = M.ProduceRequest.TopicProduceData(name=topic, partition_data=(part,))
    message = M.ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=(data,))
    return kwire.encode_request(message, 9, correlation_id=1, client_id="small")


def plain_frames(topic: str, connection: BrokerConnection) -> Iterator[bytes]:
    """Give Produce requests of one record, without compression and without a producer id."""
    record = kwire.Record(0, int(time.time() * 1000), value=VALUE)
    return cycle([produce_frame(topic, kwire.build_batch([record]))])


def idempotent_frames(topic: str, connection: BrokerConnection) -> Iterator[bytes]:
    """Give Produce requests of one record as franz-go sends them: idempotent, compressed with snappy."""
    request = M.InitProducerIdRequest(transaction_timeout_ms=1000)
    init = ask(connection, kwire.codec("InitProducerIdRequest", 2), request)
    record = kwire.Record(0, int(time.time() * 1000), value=VALUE)
    frames = []
    for sequence in range(AHEAD):
        batch = kwire.build_batch(
            [record],
            compression="snappy",
            producer_id=init.producer_id,
            producer_epoch=init.producer_epoch,
            base_sequence=sequence,
        )
        frames.append(produce_frame(topic, batch))
    return iter(frames)


def fetch_frames(topic: str, connection: BrokerConnection) -> Iterator[bytes]:
    """Give Fetch requests for the first record of a topic."""
    connection.ask(kwire.codec("ApiVersionsRequest", 0), M.ApiVersionsRequest())
    part = M.FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1)
    row = M.FetchRequest.FetchTopic(topic=topic, partitions=(part,))
    message = M.FetchRequest(session_epoch=-1, topics=(row,), max_wait_ms=0, min_bytes=1, max_bytes=1 << 20)
    return cycle([kwire.encode_request(message, 12, correlation_id=1, client_id="small")])


KINDS = {"produce": plain_frames, "produce, idempotent, snappy": idempotent_frames, "fetch": fetch_frames}


class Client:
    """A connection that sends requests which were encoded before."""

    def __init__(self, place: Address, frames: Iterator[bytes]) -> None:
        self.socket = socket.create_connection((place.host, place.port), 30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.frames = frames
        self.received = b""

    def send(self) -> None:
        self.socket.send(next(self.frames))

    def receive(self) -> bool:
        """Receive once; return whether the answer is complete."""
        self.received += self.socket.recv(1 << 16)
        if len(self.received) < 4 or len(self.received) < 4 + int.from_bytes(self.received[:4], "big"):
            return False
        self.received = b""
        return True


def many(clients: list[Client], pid: str, seconds: float) -> tuple[float, float]:
    """Let all connections ask; return requests in a second of the server's processor, and in a second."""
    with selectors.DefaultSelector() as selector:
        for client in clients:
            selector.register(client.socket, selectors.EVENT_READ, client)
            client.send()
        count, before, begin = 0, processor_seconds(pid), time.perf_counter()
        end = begin + seconds
        while time.perf_counter() < end:
            for key, _ in selector.select():
                if key.data.receive():
                    count += 1
                    key.data.send()
        taken, wall = processor_seconds(pid) - before, time.perf_counter() - begin
        waiting = list(clients)
        while waiting:
            waiting = [client for client in waiting if not client.receive()]
    return count / max(taken, 0.01), count / wall


def single(client: Client) -> tuple[float, float]:
    """Let one connection ask; return the median and the 99th percentile of its times, in milliseconds."""
    times = []
    for _ in range(SINGLE):
        begin = time.perf_counter()
        client.send()
        while not client.receive():
            pass
        times.append((time.perf_counter() - begin) * 1000)
    return statistics.median(times), statistics.quantiles(times, n=100)[98]


def check(kind: str, place: Address, frame: bytes) -> None:
    """Ask once, and look at the answer: what is measured must be no error."""
    name, version = ("Fetch", 12) if kind == "fetch" else ("Produce", 9)
    with socket.create_connection((place.host, place.port), 30) as connection:
        connection.sendall(frame)
        answer = connection.makefile("rb")
        body = answer.read(int.from_bytes(answer.read(4), "big"))[5:]  # behind a header with tags
    response = kwire.codec(f"{name}Response", version).decode(body)
    parts = response.responses[0].partitions if name == "Fetch" else response.responses[0].partition_responses
    assert parts[0].error_code == 0, response
    assert name == "Produce" or parts[0].records, response


def measure(kind: str, broker: MeasuredBroker, seconds: float) -> Figures:
    """Measure one kind of request on a new topic."""
    topic = f"small-{os.urandom(5).hex()}"
    with BrokerConnection(broker.place, timeout=60) as connection, ExitStack() as stack:
        create = M.CreateTopicsRequest.CreatableTopic(name=topic, num_partitions=1, replication_factor=1)
        connection.ask(kwire.codec("CreateTopicsRequest", 2), M.CreateTopicsRequest(topics=(create,)))
        metadata = M.MetadataRequest(topics=(M.MetadataRequest.MetadataRequestTopic(name=topic),))
        while ask(connection, kwire.codec("MetadataRequest", 4), metadata).topics[0].error_code:
            time.sleep(0.05)
        check("produce", broker.place, next(plain_frames(topic, connection)))
        check(kind, broker.place, next(KINDS[kind](topic, connection)))
        clients = [Client(broker.place, KINDS[kind](topic, connection)) for _ in range(CLIENTS)]
        for client in clients:
            stack.callback(client.socket.close)
        return Figures(*many(clients, broker.pid, seconds), *single(clients[0]))


@contextmanager
def served(name: str, checkout: Path) -> Iterator[MeasuredBroker]:
    """Start `kwire serve` of a checkout."""
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-m", "kwire", "serve", ":0", "--quiet"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as process:
        assert process.stderr is not None
        try:
            place = address(re.findall(r"127\.0\.0\.1:\d+", process.stderr.readline())[0])
            yield MeasuredBroker(name, place, str(process.pid))
        finally:
            process.send_signal(signal.SIGINT)


def main() -> None:
    """Measure by turns, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="another checkout, with its engine compiled")
    parser.add_argument("--broker", action="append", default=[], metavar="NAME=HOST:PORT=PID")
    parser.add_argument("--only", choices=KINDS, action="append", help="kinds of requests")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--time", type=float, default=2.0, help="seconds of a turn")
    options = parser.parse_args()
    found: dict[tuple[str, str], list[Figures]] = {}
    with ExitStack() as stack:
        brokers = [stack.enter_context(served("kwire", ROOT))]
        if options.against:
            brokers.append(stack.enter_context(served("against", options.against.resolve())))
        for text in options.broker:
            name, place, pid = text.split("=")
            brokers.append(MeasuredBroker(name, address(place), pid))
        for number in range(options.rounds + 1):
            for kind in options.only or KINDS:
                for broker in brokers:
                    figures = measure(kind, broker, options.time)
                    if number:  # the first round warms up
                        found.setdefault((kind, broker.name), []).append(figures)
    show(options.only or list(KINDS), brokers, found)


def show(kinds: Sequence[str], brokers: Sequence[MeasuredBroker], found: dict[tuple[str, str], list[Figures]]) -> None:
    """Print the medians, and the ratios to the first broker."""
    for kind in kinds:
        for broker in brokers:
            per_processor, per_second, p50, p99 = map(statistics.median, zip(*found[kind, broker.name], strict=True))
            pairs = zip(found[kind, broker.name], found[kind, brokers[0].name], strict=True)
            ratio = statistics.median(own[0] / first[0] for own, first in pairs)
            figures = f"{per_processor:7.0f} a processor second, {per_second:7.0f} a second, ratio {ratio:.2f}"
            print(f"{kind:28} {broker.name:8} {figures}; one client {p50:.3f} ms, p99 {p99:.3f} ms")


if __name__ == "__main__":
    main()
