"""A served cluster on sockets: one listener a broker, one task a connection.

Knows asyncio and the time; what is answered is `kwire.broker`'s. A client has one request in work at a time, and no
more is read from it before its answer has left: so nobody makes this process remember more than one request and one
answer a connection.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from .. import messages
from ..broker import Node, Parked, ServedCluster
from ..broker.configs import LogDir
from ..broker.connection import ServedRequest, read_request, write_response
from ..errors import CallError, KwireError
from ..errors.decode import BadFrame
from ..protocol import FrameReader
from .client import TLS_HANDSHAKE, Address, why
from .limits import FrameMemory

PORTION = 1 << 16
IDLE = 600.0  # seconds, Kafka's connections.max.idle.ms
CHECKS = 1.0  # seconds between two looks at the log directories
MOST_REQUEST = 16 << 20  # bytes of one request; a sixth of Kafka's, and batches may have 1 MiB
MOST_UNSENT = 128 << 20  # bytes of all answers that clients have not taken yet
PATIENCE = 5.0  # seconds in which an answer is to be taken when others wait for room

Note = Callable[[str], None]


class Serving:
    """Listens for each broker of a cluster.

    Args:
        cluster: what answers. Its nodes get the ports that they listen on, if they have port 0.
        note: is told what an operator wants to know.
        idle: seconds after which a connection that says nothing, or takes nothing, is closed.
    """

    def __init__(self, cluster: ServedCluster, note: Note, *, idle: float = IDLE) -> None:
        self.cluster: ServedCluster = cluster
        self.note: Note = note
        self.idle: float = idle
        self.connections: int = 0
        self.requests = 0
        self.memory: FrameMemory = FrameMemory()  # of requests that are not whole yet
        self.unsent: int = 0  # bytes of answers
        self._sending: dict[_Client, tuple[float, int]] = {}  # since when, and bytes; the newest comes last
        self._servers: dict[int, asyncio.Server] = {}
        self._futures: dict[Parked, asyncio.Future[Any]] = {}
        self._woken = asyncio.Event()
        self._deadline: float | None = None
        self._tasks: dict[asyncio.Task[None], int] = {}  # of connections, with the broker they are to
        self._noted: set[tuple[int, int]] = set()  # the directories that the operator knows to have failed

    async def start(self, hosts: dict[int, str] | None = None) -> list[Address]:
        """Begin to listen; returns where. Raises CallError if a port is taken.

        Args:
            hosts: the address to bind for each broker, where it is not the one that clients are told.
        """
        for node in self.cluster.controller.nodes.values():
            await self._listen(node, (hosts or {}).get(node.node_id, node.host))
        return [Address(node.host, node.port) for node in self.cluster.controller.nodes.values()]

    async def _listen(self, node: Node, host: str) -> None:
        def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Any:
            return self._serve(node, reader, writer)

        try:
            server = await asyncio.start_server(serve, host, node.port, limit=PORTION, backlog=1024)
        except OSError as error:
            where = Address(host, node.port)
            raise CallError(str(where), f"cannot listen: {why(error)}", "is the port taken?") from None
        self._servers[node.node_id] = server
        node.port = server.sockets[0].getsockname()[1]

    async def run(self) -> None:
        """Let time pass for the cluster, and look after its directories, until cancelled."""
        checked = float("-inf")
        while True:
            if time.monotonic() >= checked + CHECKS:
                self.cluster.check()
                self.settle()
                checked = time.monotonic()
            deadline = self._deadline = self.cluster.next_deadline
            self._woken.clear()
            with suppress(TimeoutError):
                until = min(checked + CHECKS, deadline or checked + CHECKS)
                left = max(0.0, until - time.monotonic())
                async with asyncio.timeout(left):  # wait_for of Python 3.11 can lose a cancellation
                    await self._woken.wait()
            self.cluster.tick(time.monotonic())
            self.settle()

    async def stop(self) -> None:
        """Close all listeners and connections."""
        for server in self._servers.values():
            server.close()
        await asyncio.sleep(0)  # connections that were just accepted begin, so that they can end
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)  # and their sockets are closed

    def fail(self, *log_dirs: LogDir) -> None:
        """Let log directories fail, as if their disk did."""
        self.cluster.fail(*log_dirs)
        self.settle()

    def settle(self) -> None:
        """Hand on answers that were waited for, and close brokers that have no good directory left."""
        waiting = self.cluster.waiting
        while waiting.answered:
            parked = waiting.answered.pop()
            future = self._futures.pop(parked, None)
            if future is not None and not future.done():
                future.set_result(None)
        self._note_all()
        for node_id, node in self.cluster.controller.nodes.items():
            if not node.is_alive and node_id in self._servers:
                self._end(node_id)
                self.note(f"broker {node_id} has no log directory left, and is at its end")
        deadline = self.cluster.next_deadline
        if deadline is not None and (self._deadline is None or deadline < self._deadline):
            self._woken.set()

    def _note_all(self) -> None:
        """Print what the cluster has for the operator, and which directories have failed."""
        while self.cluster.notes:
            self.note(self.cluster.notes.pop(0))
        for node_id, node in self.cluster.controller.nodes.items():
            for place, log_dir in enumerate(node.log_dirs):
                if log_dir.is_offline and (node_id, place) not in self._noted:
                    self._noted.add((node_id, place))
                    self.note(f"broker {node_id}: log directory {log_dir.path} has failed")

    def _end(self, node_id: int) -> None:
        """Close the listener of a broker and all its connections; one that is being answered ends by itself."""
        self._servers.pop(node_id).close()
        for task, of in self._tasks.items():
            if of == node_id and task is not asyncio.current_task():
                task.cancel()

    async def _serve(self, node: Node, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks[task] = node.node_id
        client = _Client(self, node, reader, writer)
        with suppress(asyncio.CancelledError):  # the end of it all; asyncio would complain of the task
            try:
                await client.run()
            except (OSError, TimeoutError):
                pass  # the client is gone, or was silent for too long
            except KwireError as error:
                self.note(f"{client.host}: {error}; closed")
            finally:
                self._tasks.pop(task, None)
                client.end()

    async def wait(self, parked: Parked) -> None:
        """Wait until a request is answered."""
        future = self._futures[parked] = asyncio.get_running_loop().create_future()
        try:
            await future
        finally:
            self._futures.pop(parked, None)
            self.cluster.waiting.forget(parked)

    async def room(self) -> None:
        """Wait until there is room for an answer that may be large, and say how large.

        Where there is none, those who have not taken theirs for PATIENCE seconds lose it.
        """
        while self.unsent > MOST_UNSENT:
            before = time.monotonic() - PATIENCE
            for client, (since, _) in list(self._sending.items()):
                if since > before:
                    break
                self._give_up(client)
            if self.unsent > MOST_UNSENT:
                await asyncio.sleep(PATIENCE / 20)
        share = (MOST_UNSENT - self.unsent) // 8
        self.cluster.fetch_max_bytes = min(self.cluster.settings.fetch_max_bytes, max(share, PORTION))

    @contextmanager
    def sending(self, client: _Client, size: int) -> Iterator[None]:
        """Count an answer until it is sent. What is not waited for may take as much again."""
        self._sending[client] = time.monotonic(), size
        self.unsent += size
        while self.unsent > 2 * MOST_UNSENT and len(self._sending) > 1:
            self._give_up(next(iter(self._sending)))
        try:
            yield
        finally:
            self.unsent -= self._sending.pop(client, (0.0, 0))[1]

    def _give_up(self, client: _Client) -> None:
        self.note(f"{client.host}: it does not read its answers; closed")
        self.unsent -= self._sending.pop(client)[1]
        client.writer.transport.abort()


class _Client:
    """One client's connection."""

    def __init__(
        self, serving: Serving, node: Node, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.serving, self.node, self.reader, self.writer = serving, node, reader, writer
        self.frames = FrameReader(MOST_REQUEST)
        self.share = serving.memory.share()
        self.host = str((writer.get_extra_info("peername") or ("",))[0])
        writer.transport.set_write_buffer_limits(PORTION)

    async def run(self) -> None:
        while self.node.is_alive:
            async with asyncio.timeout(self.serving.idle):
                portion = await self.reader.read(PORTION)
            if not portion:
                return
            if not await self._take(portion):
                return

    async def _take(self, portion: bytes) -> bool:
        """Answer the requests that are whole by now. Returns False if the connection is at its end.

        Behind each request the other connections have their turn: neither reading nor sending waits for anything
        while a client pipelines and reads.
        """
        try:
            for frame in self.frames.feed(portion):
                said = read_request(frame, self.serving.cluster.catalog, self.serving.cluster.apis)
                if not isinstance(said, ServedRequest):
                    return await self._refuse(said.answer, said.problem)
                await self._send(await self._answered(said))
                if not self.node.is_alive:
                    return False
                await asyncio.sleep(0)
        except BadFrame as error:
            is_tls = self.frames.rest.startswith(TLS_HANDSHAKE)
            return await self._refuse(b"", "it speaks TLS; kwire serve has no TLS listener" if is_tls else str(error))
        if not self.share.hold(len(self.frames)):
            return await self._refuse(b"", "there is no room for more requests that have begun")
        return True

    async def _answered(self, said: ServedRequest) -> bytes:
        """Return the answer to a request; no bytes if none is due."""
        self.serving.requests += 1
        cluster = self.serving.cluster
        if isinstance(said.message, messages.FetchRequest):
            await self.serving.room()
        response = cluster.answer(
            self.node.node_id,
            said.message,
            said.version,
            now=time.monotonic(),
            client_id=said.client_id,
            client_host=self.host,
        )
        self.serving.settle()
        if isinstance(response, Parked):
            response = await self._waited(response)
        return b"" if response is None else write_response(said, response, cluster.catalog)

    async def _waited(self, parked: Parked) -> Any:
        if not parked.is_answered:
            await self.serving.wait(parked)
            await self.serving.room()
        response = parked.response
        self.serving.settle()
        return response

    async def _send(self, data: bytes) -> None:
        with self.serving.sending(self, len(data)):
            self.writer.write(data)
            del data  # the transport has a copy
            async with asyncio.timeout(self.serving.idle):
                await self.writer.drain()

    async def _refuse(self, answer: bytes, problem: str) -> bool:
        if answer:
            await self._send(answer)
            return True
        self.serving.note(f"{self.host}: {problem}; closed")
        return False

    def end(self) -> None:
        self.share.hold(0)
        self.writer.close()
