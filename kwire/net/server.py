"""A served cluster on sockets: one listener a broker, one task a connection, as the network and the rules let it.

This module has asyncio and the clock; `kwire.broker` makes the responses. One request of a connection is handled at a
time, and no more is read before its response is sent, so a client makes this process buffer at most one request and one
response for each connection.
"""

from __future__ import annotations

import asyncio
import inspect
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from random import SystemRandom
from typing import Any, NamedTuple

from .. import messages
from ..broker import Node, Parked, ServedCluster
from ..broker.access_control import AuthenticationFailed, Session, principal_of
from ..broker.cluster_state import RequestContext
from ..broker.dispatcher import ServedRequest, read_request, write_response
from ..broker.faults import Treatment, api_of
from ..broker.settings import LogDir
from ..errors import BadFrame, CallError, DumpError, KwireError
from ..protocol import FrameReader, Source
from .client import TLS_HANDSHAKE, Address, why
from .limits import FrameMemory, Recorder, Share

PORTION = 1 << 16
MOST_REQUEST = 16 << 20  # bytes of one request; a sixth of Kafka's, and batches may have 1 MiB
MOST_UNAUTHENTICATED = 512 << 10  # bytes of a request before (sasl.server.max.receive.size)
SIZE = 4
SECRETIVE = frozenset(("SaslHandshake", "SaslAuthenticate", "AlterUserScramCredentials"))  # and what follows them
CHANCE = SystemRandom()  # one for all: it takes 2.5 kB
MOST_MEMBERS = 100  # of groups, on one connection


def _end_of(writer: asyncio.StreamWriter, name: str) -> str:
    """Return an endpoint of a connection as text."""
    found = writer.get_extra_info(name) or ("", 0)
    return str(Address(str(found[0]), found[1]))


async def _made(answer: Any, *values: Any) -> Any:
    """Return what a rule answers: a response, or what a function, perhaps a coroutine function, makes of the values."""
    made = answer(*values) if callable(answer) else answer
    return await made if inspect.isawaitable(made) else made


class ServedConnection:
    """One client's connection. `waits_since` is when it began to wait for a request; None while it has one."""

    __slots__ = (
        "client_id",
        "frames",
        "host",
        "member_ids",
        "node",
        "number",
        "reader",
        "serving",
        "session",
        "share",
        "waits_since",
        "writer",
    )

    def __init__(
        self, serving: Serving, node: Node, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.serving: Serving = serving
        self.node: Node = node
        self.reader: asyncio.StreamReader = reader
        self.writer: asyncio.StreamWriter = writer
        self.frames: FrameReader = FrameReader(MOST_REQUEST)
        self.share: Share = serving.memory.share()
        self.number: int = serving.connections
        self.client_id: str = ""
        self.waits_since: float | None = None
        self.member_ids: tuple[str, ...] = ()
        self.host: str = str((writer.get_extra_info("peername") or ("",))[0])
        settings, users = serving.cluster.settings, serving.cluster.controller.users
        principal = principal_of(writer.get_extra_info("peercert"))
        self.session: Session = Session(users, settings.sasl_mechanisms, CHANCE, settings.max_reauth, principal)
        if not self.session.is_authenticated:
            self.frames.limit = MOST_UNAUTHENTICATED
        writer.transport.set_write_buffer_limits(PORTION)

    async def run(self) -> None:
        """Answer requests until one side is at its end."""
        while self.serving.is_open(self.node):
            self.waits_since = time.monotonic()
            portion = await self.reader.read(PORTION)
            self.waits_since = None
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
                await self.serving.carry(self.node.node_id)
                self._record(frame.data, is_request=True)
                if self.session.takes_tokens:
                    if not await self._take_token(frame.data):
                        return False
                    continue
                received = read_request(frame, self.serving.cluster.catalog, self.serving.cluster.apis)
                if not isinstance(received, ServedRequest):
                    return await self._refuse(received.answer, received.problem)
                if not await self._serve(received) or not self.serving.is_open(self.node):
                    return False
                await asyncio.sleep(0)
        except BadFrame as error:
            is_tls = self.frames.rest.startswith(TLS_HANDSHAKE)
            return await self._refuse(b"", "it speaks TLS; kwire serve has no TLS listener" if is_tls else str(error))
        if not self.share.hold(len(self.frames)):
            return await self._refuse(b"", "there is no room for more requests that have begun")
        return True

    async def _take_token(self, data: bytes) -> bool:
        """Answer a bare SASL token, as after SaslHandshake v0. Returns False if the connection must be closed."""
        try:
            answer = self.session.authenticate(data[SIZE:], self.serving.now())
        except AuthenticationFailed as error:
            return await self._refuse(b"", str(error))
        await self._send(len(answer).to_bytes(SIZE, "big") + answer)
        return True

    def _record(self, data: bytes, *, is_request: bool) -> None:
        if self.serving.recorded.is_on and data:
            client, broker = _end_of(self.writer, "peername"), _end_of(self.writer, "sockname")
            direction = "request" if is_request else "response"
            source = Source(
                time=self.serving.wall_ms() / 1000,
                client=client,
                broker=broker,
                connection=self.number,
                direction=direction,
            )
            self.serving.recorded.add(data, source)

    async def _serve(self, received: ServedRequest) -> bool:
        """Answer a request. Returns False if the connection is at its end, as a rule of a test may want it."""
        self.serving.requests += 1
        api = api_of(received.message)
        self.serving.recorded.has_secrets |= api in SECRETIVE
        if problem := self.session.problem(api, self.serving.now()):
            return await self._refuse(b"", problem)
        cluster, self.client_id = self.serving.cluster, received.client_id
        member_id = getattr(received.message, "member_id", "")
        if member_id and member_id not in self.member_ids:
            self.member_ids = (*self.member_ids, member_id)[-MOST_MEMBERS:]
        node_id, now = self.node.node_id, self.serving.now()
        client = received.client_id, self.host, self.session.principal, self.session
        request = RequestContext(cluster, node_id, received.message, received.version, now, *client)
        if not cluster.rules:
            await self._send(self._written(received, await self._answered(request)))
            return self._is_let_in()
        return await self._treat(received, request, cluster.rules.treat(request)) and self._is_let_in()

    def _is_let_in(self) -> bool:
        """Whether the connection stays open: after a failed authentication it is closed once the answer is sent."""
        if self.session.has_failed:
            self.serving.note(f"{self.host}: SASL authentication failed; closed")
        elif self.session.is_authenticated:
            self.frames.limit = MOST_REQUEST
        return not self.session.has_failed

    async def _treat(self, received: ServedRequest, request: RequestContext, treatment: Treatment) -> bool:
        """Answer a request as the rules of a test say."""
        if treatment.is_hanging:
            await self.writer.wait_closed()  # until the connection is reset, or the broker stopped
            return False
        if treatment.drop and not treatment.drop.is_handled:
            return False
        response = await _made(treatment.respond.answer, received.message) if treatment.respond else None
        if response is None:
            response = await self._answered(request)
        if treatment.change and response is not None:
            response = await _made(treatment.change.answer, received.message, response)
        data = self._written(received, response)
        if treatment.delay:
            await asyncio.sleep(treatment.delay)
        if treatment.drop:
            return False
        if treatment.cut:
            await self._send(data[: treatment.cut.after])
            self.writer.transport.close()
            return False
        await self._send(data)
        return True

    def _written(self, received: ServedRequest, response: Any) -> bytes:
        """Return the bytes of a response; none if none is due."""
        return b"" if response is None else write_response(received, response, self.serving.cluster.catalog)

    async def _answered(self, request: RequestContext) -> Any:
        """Return the response to a request; None if none is due."""
        if isinstance(request.message, messages.FetchRequest):
            await self.serving.room()
        response = self.serving.cluster.handle(request)
        self.serving.settle()
        return await self._waited(response) if isinstance(response, Parked) else response

    async def _waited(self, parked: Parked) -> Any:
        if not parked.is_answered:
            await self.serving.wait(parked)
            await self.serving.room()
        response = parked.response
        self.serving.settle()
        return response

    async def _send(self, data: bytes) -> None:
        await self.serving.carry(self.node.node_id, len(data))
        self._record(data, is_request=False)
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
        """Let go of the connection."""
        self.share.hold(0)
        self.writer.close()


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
