"""Turns of a connection: requests that need not wait are answered at once, without a task and with one write."""

from __future__ import annotations

import asyncio
from typing import Any

import kwire
from kwire.broker.server.connection import MOST_AT_ONCE, ServedConnection
from kwire.broker.server.server_state import ServerState
from kwire.protocol.frames.frame_joiner import FrameJoiner
from tests.broker.served import M, batch, cluster_of


class Transport(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self.written: list[bytes] = []
        self.is_closed = False

    def write(self, data: Any) -> None:
        self.written.append(bytes(data))

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


def opened() -> tuple[ServedConnection, Transport]:
    cluster = cluster_of()
    cluster.controller.create("t", {0: [1]})
    connection, transport = ServedConnection(ServerState(cluster, print), cluster.controller.nodes[1]), Transport()
    connection.connection_made(transport)
    return connection, transport


def receive(connection: ServedConnection, data: bytes) -> None:
    connection.get_buffer(-1)[: len(data)] = data
    connection.buffer_updated(len(data))


def produced(number: int) -> bytes:
    part = M.ProduceRequest.PartitionProduceData(index=0, records=batch(b"a"))
    row = M.ProduceRequest.TopicProduceData(name="t", partition_data=(part,))
    return kwire.encode_request(M.ProduceRequest(acks=-1, topic_data=(row,)), 9, correlation_id=number)


def fetched(number: int, offset: int) -> bytes:
    part = M.FetchRequest.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1000)
    row = M.FetchRequest.FetchTopic(topic="t", partitions=(part,))
    fetch = M.FetchRequest(max_wait_ms=60_000, min_bytes=1, max_bytes=1000, session_epoch=-1, topics=(row,))
    return kwire.encode_request(fetch, 12, correlation_id=number)


def numbers(written: list[bytes]) -> list[int]:
    """Return the correlation ids of responses."""
    return [int.from_bytes(frame[4:8], "big") for frame in FrameJoiner().feed(b"".join(written))]


def test_a_request_that_need_not_wait_takes_no_task() -> None:
    async def ask() -> None:
        connection, transport = opened()
        receive(connection, produced(7))
        assert (numbers(transport.written), connection.task) == ([7], None)
        assert connection.waits_since is not None

    asyncio.run(ask())


def test_responses_of_a_turn_are_written_together() -> None:
    async def ask() -> None:
        connection, transport = opened()
        receive(connection, b"".join(produced(number) for number in range(5)))
        assert (len(transport.written), numbers(transport.written)) == (1, [0, 1, 2, 3, 4])

    asyncio.run(ask())


def test_after_a_number_of_requests_others_have_a_turn() -> None:
    async def ask() -> None:
        connection, transport = opened()
        count = 2 * MOST_AT_ONCE + 1
        receive(connection, b"".join(produced(number) for number in range(count)))
        assert numbers(transport.written) == list(range(MOST_AT_ONCE))
        assert connection.task is not None
        await connection.task
        assert (len(transport.written), numbers(transport.written)) == (3, list(range(count)))

    asyncio.run(ask())


def test_what_is_answered_is_written_before_the_next_request_waits() -> None:
    async def ask() -> None:
        connection, transport = opened()
        receive(connection, produced(1) + fetched(2, 1) + produced(3))
        assert numbers(transport.written) == [1]
        waiting = connection.task
        assert waiting is not None
        connection.serving.cluster.tick(connection.serving.now() + 61)
        connection.serving.settle()
        await waiting
        assert numbers(transport.written) == [1, 2, 3]

    asyncio.run(ask())


def test_what_is_answered_is_written_before_the_connection_closes() -> None:
    async def ask() -> None:
        connection, transport = opened()
        receive(connection, produced(1) + bytes.fromhex("00000008 7777 0000 00000001"))
        assert (numbers(transport.written), transport.is_closed) == ([1], True)

    asyncio.run(ask())


def test_the_end_of_its_broker_waits_for_the_response() -> None:
    """The only directory fails while a request is handled: all other connections are closed at once."""

    async def ask() -> None:
        connection, transport = opened()
        serving = connection.serving
        server = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0)
        serving._servers[1] = server
        other = ServedConnection(serving, connection.node)
        other_transport = Transport()
        other.connection_made(other_transport)
        connection.node.log_dirs[0].is_full = True
        receive(connection, produced(1))
        assert (numbers(transport.written), transport.is_closed, other_transport.is_closed) == ([1], True, True)
        server.close()

    asyncio.run(ask())
