"""A served cluster on sockets: one listener a broker, one task a connection.

This module has asyncio and the clock; `kwire.broker` makes the responses. One request of a connection is handled at a
time, and no more is read before its response is sent, so a client makes this process buffer at most one request and one
response for each connection.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from ..broker import Node, Parked, ServedCluster
from ..broker.configs import LogDir
from ..errors import CallError, DumpError, KwireError
from .client import Address, why
from .limits import FrameMemory, Recorder
from .served_connection import PORTION, ServedConnection

HANDSHAKE = 10.0  # seconds that a TLS handshake may take
IDLE = 600.0  # seconds, Kafka's connections.max.idle.ms
CHECKS = 1.0  # seconds between two looks at the log directories
MOST_UNSENT = 128 << 20  # bytes of all answers that clients have not taken yet
PATIENCE = 5.0  # seconds in which an answer is to be taken when others wait for room

Note = Callable[[str], None]


def tls_context(certificate: str, key: str | None = None, client_ca: str | None = None) -> ssl.SSLContext:
    """Return what a listener with TLS needs.

    Args:
        certificate: a PEM file with the certificate of the brokers, and those that it is signed with.
        key: a PEM file with its private key, unless that is in the same file.
        client_ca: a PEM file of the authorities that sign certificates of clients, which then have to show one.

    Raises:
        DumpError: a file is not PEM, or the key is another one's, or has a password.
        OSError: a file cannot be read.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key, password=lambda: b"")
        if client_ca is not None:
            context.load_verify_locations(client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except ssl.SSLError as error:
        hint = "give PEM files: a certificate with its key, which has no password"
        raise DumpError(f"no certificate with its key: {error.reason or error}", file=certificate, hint=hint) from None
    return context


class Network(NamedTuple):
    """What the network between clients and a broker is like.

    `delay` is in seconds, for each response; `bytes_per_second` how fast responses go, None is at once; where it
    `is_cut`, connections stay, and nothing arrives.
    """

    delay: float = 0.0
    bytes_per_second: float | None = None
    is_cut: bool = False


GOOD = Network()


class Serving:
    """Listens for each broker of a cluster.

    Args:
        cluster: what answers. Its nodes get the ports that they listen on, if they have port 0.
        note: is given what an operator wants to know.
        idle: seconds after which a connection that sends nothing, or takes nothing, is closed.
        recorded: keeps what is read and written; nothing is kept unless given.
        tls: clients are to use TLS, with this; none unless given.

    Attributes:
        networks: what the network to a broker is like, where it is not good.
    """

    def __init__(
        self,
        cluster: ServedCluster,
        note: Note,
        *,
        idle: float = IDLE,
        recorded: Recorder | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.cluster: ServedCluster = cluster
        self.note: Note = note
        self.tls: ssl.SSLContext | None = tls
        self.idle: float = idle
        self.recorded: Recorder = recorded or Recorder(0)
        self.networks: dict[int, Network] = {}
        self._network_changed = asyncio.Event()
        cluster.time_ms = self.wall_ms
        self._skew = 0.0  # seconds that the clock is ahead of the machine's
        self._hosts: dict[int, str] = {}
        self._clients: set[ServedConnection] = set()
        self.connections: int = 0
        self.requests = 0
        self.memory: FrameMemory = FrameMemory()  # of requests that are not whole yet
        self.unsent: int = 0  # bytes of answers
        self._sending: dict[ServedConnection, tuple[float, int]] = {}  # since when, and bytes; the newest comes last
        self._servers: dict[int, asyncio.Server] = {}
        self._futures: dict[Parked, asyncio.Future[Any]] = {}
        self._woken = asyncio.Event()
        self._deadline: float | None = None
        self._tasks: dict[asyncio.Task[None], int] = {}  # of connections, with the broker they are to
        self._noted: set[tuple[int, int]] = set()  # the directories that the operator knows to have failed

    async def start(self, hosts: dict[int, str] | None = None) -> list[Address]:
        """Begin to listen; returns where. Raises CallError if a port is taken.

        Args:
            hosts: the address to bind for each broker, if different from the one that clients connect to.
        """
        for node in self.cluster.controller.nodes.values():
            self._hosts[node.node_id] = (hosts or {}).get(node.node_id, node.host)
            await self._listen(node)
        return [Address(node.host, node.port) for node in self.cluster.controller.nodes.values()]

    async def resume(self, node_id: int) -> None:
        """Start a broker that was stopped; raises CallError if its port is taken by now."""
        if node_id not in self._servers:
            await self._listen(self.cluster.controller.nodes[node_id])
        self.cluster.start(node_id)
        self.settle()

    async def _listen(self, node: Node) -> None:
        host = self._hosts[node.node_id]

        def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Any:
            return self._serve(node, reader, writer)

        try:
            server = await asyncio.start_server(
                serve,
                host,
                node.port,
                limit=PORTION,
                backlog=1024,
                ssl=self.tls,
                ssl_handshake_timeout=HANDSHAKE if self.tls else None,
            )
        except OSError as error:
            where = Address(host, node.port)
            raise CallError(str(where), f"cannot listen: {why(error)}", "is the port taken?") from None
        self._servers[node.node_id] = server
        node.port = server.sockets[0].getsockname()[1]

    def now(self) -> float:
        """Return the time of the cluster's clock, in seconds."""
        return time.monotonic() + self._skew

    def wall_ms(self) -> int:
        """Return the time of day by the cluster's clock, in milliseconds since 1970."""
        return int((time.time() + self._skew) * 1000)

    def advance(self, seconds: float, *, keep_connected: bool) -> None:
        """Move the clock on.

        Args:
            seconds: how far.
            keep_connected: members of groups whose connections are open do not expire by that.
        """
        if keep_connected:
            self.cluster.groups.prolong({one for client in self._clients for one in client.member_ids}, seconds)
        self._skew += seconds
        self.cluster.tick(self.now())
        self.cluster.check()
        self.settle()
        self._woken.set()

    async def run(self) -> None:
        """Let time pass for the cluster, and look after its directories, until cancelled."""
        checked = float("-inf")
        while True:
            if self.now() >= checked + CHECKS:
                self.cluster.check()
                self.settle()
                self._close_idle()
                checked = self.now()
            deadline = self._deadline = self.cluster.next_deadline
            self._woken.clear()
            with suppress(TimeoutError):
                until = min(checked + CHECKS, deadline or checked + CHECKS)
                left = max(0.0, until - self.now())
                async with asyncio.timeout(left):  # wait_for of Python 3.11 can lose a cancellation
                    await self._woken.wait()
            self.cluster.tick(self.now())
            self.settle()

    def _close_idle(self) -> None:
        """Close connections that send nothing; a timer for each of them would take a kilobyte."""
        before = time.monotonic() - self.idle
        for client in self._clients:
            if client.waits_since is not None and client.waits_since < before:
                client.writer.transport.abort()

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
            if node_id in self._servers and not self.is_open(node):
                self._end(node_id)
                is_stopped = any(log_dir.is_stopped for log_dir in node.log_dirs)
                reason = "is stopped" if is_stopped else "has no log directory left, and is at its end"
                self.note(f"broker {node_id} {reason}")
        deadline = self.cluster.next_deadline
        if deadline is not None and (self._deadline is None or deadline < self._deadline):
            self._woken.set()

    def _note_all(self) -> None:
        """Print what the cluster has for the operator, and which directories have failed."""
        while self.cluster.notes:
            self.note(self.cluster.notes.pop(0))
        for node_id, node in self.cluster.controller.nodes.items():
            for place, log_dir in enumerate(node.log_dirs):
                if not log_dir.is_offline:
                    self._noted.discard((node_id, place))
                elif (node_id, place) not in self._noted:
                    self._noted.add((node_id, place))
                    self.note(f"broker {node_id}: log directory {log_dir.path} has failed")

    def is_open(self, node: Node) -> bool:
        """Return whether a broker keeps its connections: one that is cut off from all others does."""
        return node.is_alive or self.network(node.node_id).is_cut

    def network(self, node_id: int) -> Network:
        """Return what the network to a broker is like."""
        return self.networks.get(node_id, GOOD)

    def set_network(self, node_id: int, network: Network) -> None:
        """Set what the network to a broker is like."""
        self.networks[node_id] = network
        self._network_changed.set()
        self._network_changed = asyncio.Event()

    async def carry(self, node_id: int, size: int = 0) -> None:
        """Wait as long as the network to a broker takes for a response of so many bytes; 0 is for a request."""
        while (network := self.network(node_id)).is_cut:
            await self._network_changed.wait()
        pause = network.delay + size / (network.bytes_per_second or float("inf"))
        if size and pause:
            await asyncio.sleep(pause)

    def reset(self, node_id: int | None = None, client_id: str | None = None) -> int:
        """Reset the connections to a broker, or of a client; returns how many."""
        chosen = [
            one for one in self._clients if node_id in (None, one.node.node_id) and client_id in (None, one.client_id)
        ]
        for client in chosen:
            client.writer.transport.abort()
        return len(chosen)

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
        client = ServedConnection(self, node, reader, writer)
        self._clients.add(client)
        with suppress(asyncio.CancelledError):  # the end of it all; asyncio would complain of the task
            try:
                await client.run()
            except (OSError, TimeoutError):
                pass  # the client is gone, or was silent for too long
            except KwireError as error:
                self.note(f"{client.host}: {error}; closed")
            finally:
                self._tasks.pop(task, None)
                self._clients.discard(client)
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
    def sending(self, client: ServedConnection, size: int) -> Iterator[None]:
        """Count an answer until it is sent. What is not waited for may take as much again."""
        self._sending[client] = time.monotonic(), size
        self.unsent += size
        while self.unsent > 2 * MOST_UNSENT and len(self._sending) > 1:
            self._give_up(next(iter(self._sending)))
        try:
            yield
        finally:
            self.unsent -= self._sending.pop(client, (0.0, 0))[1]

    def _give_up(self, client: ServedConnection) -> None:
        self.note(f"{client.host}: it does not read its answers; closed")
        self.unsent -= self._sending.pop(client)[1]
        client.writer.transport.abort()
