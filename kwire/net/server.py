"""A served cluster on sockets: one listener per broker, with the delays and failures of the network and the rules.

This module uses asyncio and the clock; `kwire.broker` creates the responses. It handles one request of a connection at
a time, and stops reading until the response is sent, so it buffers at most one request, one portion of the following
requests and one response per connection.
"""

from __future__ import annotations

import asyncio
import inspect
import ssl
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from random import SystemRandom
from typing import Any, NamedTuple

from .. import messages
from ..broker import Node, Parked, ServedCluster
from ..broker.apis import ServedRequest, read_request, write_response
from ..broker.authentication_and_acls import AuthenticationFailed, Session, principal_of
from ..broker.cluster_state import RequestContext
from ..broker.faults import FunctionFailed, Rule, Treatment, api_of, is_number
from ..broker.settings_and_quotas import LogDir
from ..errors import BadFrame, KwireError, excerpt
from ..protocol import Frame, Source
from ..protocol.framing import FrameJoiner
from ..values import ErrorCode
from .client import TLS_HANDSHAKE, Address
from .failures import call_errors
from .handler_errors import Failures
from .limits import FrameMemory, Recorder, Share

PORTION = 1 << 16
PIECE = 1 << 18  # bytes per send: asyncio of Python 3.11 copies the bytes that the socket does not accept
MOST_REQUEST = 16 << 20  # bytes of one request; a sixth of Kafka's, and batches may have 1 MiB
MOST_UNAUTHENTICATED = 512 << 10  # bytes of a request before (sasl.server.max.receive.size)
SIZE = 4
SECRETIVE = frozenset(("SaslHandshake", "SaslAuthenticate", "AlterUserScramCredentials"))  # and what follows them
CHANCE = SystemRandom()  # one for all: it takes 2.5 kB
MOST_MEMBERS = 100  # of groups, on one connection


def _end_of(transport: asyncio.Transport, name: str) -> str:
    """Return an endpoint of a connection as text."""
    found = transport.get_extra_info(name) or ("", 0)
    return str(Address(str(found[0]), found[1]))


async def _made(rule: Rule, *values: Any) -> Any:
    """Return a rule's response: a message, or the result of a function or coroutine function of the values."""
    try:
        made = rule.answer(*values) if callable(rule.answer) else rule.answer
        return await made if inspect.isawaitable(made) else made
    except Exception as error:
        raise FunctionFailed(rule.failure(error)) from error


class ServedConnection(asyncio.BufferedProtocol):
    """One client's connection. A task handles requests while any are waiting: an idle connection has no task.

    An idle connection takes half the memory of asyncio's streams with a waiting task (3 kB; measured by
    benchmarks/idle_connections.py). The socket reads a large frame into its place, without a task for each portion: a
    third of the system calls, and a tenth less processor time for batches of 1 MB.

    Attributes:
        waits_since: when it began to wait for a request; None while it handles one.
        task: handles the received requests.
    """

    __slots__ = (
        "_drained",
        "_ended",
        "_is_filling",
        "_portions",
        "client_id",
        "frames",
        "host",
        "member_ids",
        "node",
        "number",
        "serving",
        "session",
        "share",
        "task",
        "transport",
        "waits_since",
    )

    def __init__(self, serving: Serving, node: Node) -> None:
        self.serving: Serving = serving
        self.node: Node = node
        self.frames: FrameJoiner = FrameJoiner(MOST_REQUEST)
        self.share: Share = serving.memory.share()
        self.client_id: str = ""
        self.waits_since: float | None = time.monotonic()
        self.member_ids: tuple[str, ...] = ()
        self.task: asyncio.Task[None] | None = None
        self._portions: list[bytes] | None = None  # that came and were not looked at
        self._is_filling = False  # whether the socket reads into the memory of an incomplete frame
        self._drained: asyncio.Future[None] | None = None  # when what was sent is taken; None if it is
        self._ended: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start waiting for requests."""
        assert isinstance(transport, asyncio.Transport)
        self.transport: asyncio.Transport = transport
        self.number: int = self.serving.add(self)
        self.host: str = sys.intern(str((transport.get_extra_info("peername") or ("",))[0]))
        settings, users = self.serving.cluster.settings, self.serving.cluster.controller.users
        principal = principal_of(transport.get_extra_info("peercert"))
        self.session: Session = Session(users, settings.sasl_mechanisms, CHANCE, settings.max_reauth, principal)
        if not self.session.is_authenticated:
            self.frames.limit = MOST_UNAUTHENTICATED
        transport.set_write_buffer_limits(PORTION)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return memory for received data: that of an incomplete large frame, or the one that connections share."""
        self._is_filling = False
        if self._portions is None and (room := self.frames.room()) is not None:
            self._is_filling = True
            return room
        return self.serving.portion

    def buffer_updated(self, nbytes: int) -> None:
        """Handle received data. A part of a large frame stays where it is, if there is room for it."""
        data: bytes | None = (
            bytes(self.serving.portion[:nbytes]) if not self._is_filling else self.frames.filled(nbytes)
        )
        if data is None and self.share.hold(self.frames.held):
            self.waits_since = time.monotonic()
        else:
            self._receive(data or b"")

    def _receive(self, data: bytes) -> None:
        """Handle received data; while a request is being handled, buffer it, and pause reading if the buffer is
        large."""
        if self._portions is None:
            self._portions = [data]
            self.waits_since = None
            self.task = self.serving.begin(self._work())
            return
        self._portions.append(data)
        if sum(map(len, self._portions)) >= PORTION:
            self.transport.pause_reading()

    def eof_received(self) -> bool:
        """Keep a half-closed connection open, whose client only waits for responses; TLS has no half-closed
        connections."""
        return self._portions is not None and self.serving.tls is None

    def pause_writing(self) -> None:
        """Pause sending until the client has read the data sent so far."""
        self._drained = self.serving.future()

    def resume_writing(self) -> None:
        """Resume sending."""
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
        self._drained = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Release the connection."""
        self.resume_writing()
        if self._ended is not None:
            self._ended.set_result(None)
        self.share.hold(0)
        self.serving.remove(self)

    def end(self) -> None:
        """Close the connection once the client has read the data sent so far; requests in progress get no response."""
        self.transport.close()
        if self.task is not None:
            self.task.cancel()

    async def _work(self) -> None:
        """Handle requests until none is left, or the connection ends."""
        goes_on = False
        try:
            goes_on = await self._answer_all()
        except (OSError, TimeoutError):
            pass  # the client is gone, or took nothing for too long
        except KwireError as error:
            self.serving.note(f"{self.host}: {error}; closed")
        except FunctionFailed as error:
            self.serving.note(f"{self.host}: {error}; closed")
            cause = error.__cause__
            self.serving.failures.keep(cause if isinstance(cause, Exception) else error)
        except Exception as error:
            self.serving.failures.report(f"{self.host}: a request", error, "closed")
        finally:
            self.serving.finish(self.task)
            self._portions = self.task = None
            if goes_on:
                self.waits_since = time.monotonic()
            else:
                self.transport.close()

    async def _answer_all(self) -> bool:
        """Handle requests until none is left. Returns False if the connection has ended."""
        while self._portions:
            portions, self._portions = self._portions, []
            self.transport.resume_reading()
            for portion in portions:
                if not self.serving.is_open(self.node) or not await self._take(portion):
                    return False
        return True

    async def _take(self, portion: bytes) -> bool:
        """Handle the requests received completely so far. Returns False if the connection has ended.

        Between two requests the other connections get a turn: while a client pipelines requests and reads responses,
        neither reading nor sending has to wait.
        """
        is_first = True
        try:
            for data in self.frames.feed(portion):
                if not is_first:
                    await asyncio.sleep(0)
                is_first = False
                if not await self._answer(data):
                    return False
        except BadFrame as error:
            is_tls = self.frames.rest.startswith(TLS_HANDSHAKE)
            return await self._refuse(b"", "it speaks TLS; kwire serve has no TLS listener" if is_tls else str(error))
        if not self.share.hold(self.frames.held):
            return await self._refuse(b"", "the limit for incomplete requests is reached")
        return True

    async def _answer(self, data: bytes) -> bool:
        """Handle a frame. Returns False if the connection has ended."""
        await self.serving.carry(self.node.node_id)
        self._record(data, is_request=True)
        if self.session.takes_tokens:
            return await self._take_token(data)
        received = read_request(Frame(data), self.serving.cluster.catalog, self.serving.cluster.apis)
        if not isinstance(received, ServedRequest):
            return await self._refuse(received.answer, received.problem)
        return await self._serve(received) and self.serving.is_open(self.node)

    async def _take_token(self, data: bytes) -> bool:
        """Handle a bare SASL token, as after SaslHandshake v0. Returns False if the connection must be closed."""
        try:
            answer = self.session.authenticate(data[SIZE:], self.serving.now())
        except AuthenticationFailed as error:
            return await self._refuse(b"", str(error))
        await self._send(len(answer).to_bytes(SIZE, "big") + answer)
        return True

    def _record(self, data: bytes, *, is_request: bool) -> None:
        if self.serving.recorded.is_on and data:
            client, broker = _end_of(self.transport, "peername"), _end_of(self.transport, "sockname")
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
        """Handle a request and send the response. Returns False if the connection has ended, for example by a test's
        rule."""
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
            await self._send(self._written(received, request, await self._answered(request)))
            return self._is_let_in()
        return await self._treat(received, request, cluster.rules.treat(request)) and self._is_let_in()

    def _is_let_in(self) -> bool:
        """Return whether the connection stays open; after a failed authentication it is closed once the response is
        sent."""
        if self.session.has_failed:
            self.serving.note(f"{self.host}: SASL authentication failed; closed")
        elif self.session.is_authenticated:
            self.frames.limit = MOST_REQUEST
        return not self.session.has_failed

    async def _treat(self, received: ServedRequest, request: RequestContext, treatment: Treatment) -> bool:
        """Handle a request as a test's rules require."""
        if treatment.is_hanging:
            self._ended = self.serving.future()
            await self._ended  # until the connection is reset, or the broker stopped
            return False
        if treatment.drop and not treatment.drop.is_handled:
            return False
        data = await self._treated(received, request, treatment)
        if treatment.delay:
            await asyncio.sleep(treatment.delay)
        if treatment.drop:
            return False
        if treatment.cut:
            await self._send(data[: treatment.cut.after])
            self.transport.close()
            return False
        await self._send(data)
        return True

    async def _treated(self, received: ServedRequest, request: RequestContext, treatment: Treatment) -> bytes:
        """Return the bytes of a response that rules may make or change; what is wrong with theirs is the test's."""
        response = await _made(treatment.respond, received.message) if treatment.respond else None
        is_own = response is None
        if is_own:
            response = await self._answered(request)
        if treatment.change and response is not None:
            is_own, response = False, await _made(treatment.change, received.message, response)
        if is_own or response is None:
            return self._written(received, request, response)
        return write_response(received, response, self.serving.cluster.catalog)

    def _written(self, received: ServedRequest, request: RequestContext, response: Any) -> bytes:
        """Return the bytes of the broker's response; empty if the request gets no response."""
        if response is None:
            return b""
        catalog = self.serving.cluster.catalog
        try:
            return write_response(received, response, catalog)
        except Exception as error:
            return write_response(received, self._failed(request, error), catalog)

    async def _answered(self, request: RequestContext) -> Any:
        """Return the response to a request; None if the request gets no response."""
        try:
            if isinstance(request.message, (messages.FetchRequest, messages.ShareFetchRequest)):
                await self.serving.room()
            response = self.serving.cluster.handle(request)
            self.serving.settle()
            return await self._waited(response) if isinstance(response, Parked) else response
        except FunctionFailed:
            raise  # of a test's rule
        except Exception as error:
            return self._failed(request, error)

    def _failed(self, request: RequestContext, error: Exception) -> Any:
        """Report an error in a handler, and return the response of a broker that failed, as KafkaApis.handleError does.

        Produce with acks=0 gets no response; ConnectionAbortedError then closes the connection, as in Kafka.
        """
        api = api_of(request.message)
        response = request.failed(ErrorCode.UNKNOWN_SERVER_ERROR)
        outcome = "closed" if response is None else "answered UNKNOWN_SERVER_ERROR"
        self.serving.failures.report(
            f"{self.host}: {api} v{request.version}", error, outcome, is_secret=api in SECRETIVE
        )
        if response is None:
            raise ConnectionAbortedError
        return response

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
        whole = memoryview(data)
        with self.serving.sending(self, len(data)):
            for at in range(0, len(data), PIECE):
                if self.transport.is_closing():
                    raise ConnectionResetError
                self.transport.write(whole[at : at + PIECE])
                if self._drained is not None:
                    async with asyncio.timeout(self.serving.idle):
                        await self._drained

    async def _refuse(self, answer: bytes, problem: str) -> bool:
        if answer:
            await self._send(answer)
            return True
        self.serving.note(f"{self.host}: {problem}; closed")
        return False


HANDSHAKE = 10.0  # seconds that a TLS handshake may take
IDLE = 600.0  # seconds, Kafka's connections.max.idle.ms
MOST_AHEAD = 100 * 365 * 24 * 3600  # seconds by which the clock can be ahead of the machine's
CHECKS = 1.0  # seconds between two checks of the log directories
MOST_UNSENT = 128 << 20  # bytes of all answers that clients have not taken yet
PATIENCE = 5.0  # seconds within which a client must read its response while others wait for room

Note = Callable[[str], None]


class Network(NamedTuple):
    """The quality of the network between clients and a broker.

    `delay` is the delay of each response in seconds; `bytes_per_second` is the rate of responses (None for no limit).
    If
    it `is_cut`, connections stay open, and nothing arrives.
    """

    delay: float = 0.0
    bytes_per_second: float | None = None
    is_cut: bool = False


GOOD = Network()


class Serving:
    """Listens for each broker of a cluster.

    Args:
        cluster: the cluster to serve. Nodes with port 0 get the port on which they listen.
        note: called with messages for the operator.
        idle: seconds after which a connection that sends or reads nothing is closed.
        recorded: keeps the frames read and written; by default no frames are kept.
        tls: the TLS settings, if clients must use TLS.

    Attributes:
        networks: the quality of the network to each broker whose network is not normal.
        failures: the exceptions in handlers and in functions of rules.
        halted: set once no broker is left, because the log directories of the last one have failed.
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
        self.failures = Failures(note)
        self.halted = asyncio.Event()
        self._network_changed = asyncio.Event()
        cluster.time_ms = self.wall_ms
        self._skew = 0.0  # seconds that the clock is ahead of the machine's
        self._clients: set[ServedConnection] = set()
        self.connections: int = 0
        self.requests = 0
        self.memory: FrameMemory = FrameMemory()  # of requests that are not whole yet
        self.portion: memoryview = memoryview(bytearray(PORTION))  # received just now, by any connection
        self.unsent: int = 0  # bytes of answers
        self._sending: dict[ServedConnection, tuple[float, int]] = {}  # since when, and bytes; the newest comes last
        self._servers: dict[int, asyncio.Server] = {}
        self._futures: dict[Parked, asyncio.Future[Any]] = {}
        self._woken = asyncio.Event()
        self._deadline: float | None = None
        self._tasks: set[asyncio.Task[None]] = set()  # of connections with requests
        self._noted: set[tuple[int, int]] = set()  # the failed directories that were reported to the operator

    async def start(self) -> list[Address]:
        """Start listening; returns the addresses. Raises CallError if a port is in use."""
        for node in self.cluster.controller.nodes.values():
            await self._listen(node)
        return [Address(node.host, node.port) for node in self.cluster.controller.nodes.values()]

    async def resume(self, node_id: int) -> None:
        """Restart a stopped broker; raises CallError if its port is now in use."""
        if node_id not in self._servers:
            await self._listen(self.cluster.controller.nodes[node_id])
        self.cluster.start(node_id)
        self.settle()

    async def _listen(self, node: Node) -> None:
        with call_errors(Address(node.host, node.port), "cannot listen", "is the port taken?"):
            server = await asyncio.get_running_loop().create_server(
                lambda: ServedConnection(self, node),
                node.host,
                node.port,
                backlog=1024,
                ssl=self.tls,
                ssl_handshake_timeout=HANDSHAKE if self.tls else None,
            )
        self._servers[node.node_id] = server
        node.port = server.sockets[0].getsockname()[1]

    def now(self) -> float:
        """Return the time of the cluster's clock, in seconds."""
        return time.monotonic() + self._skew

    def wall_ms(self) -> int:
        """Return the time of day by the cluster's clock, in milliseconds since 1970."""
        return int((time.time() + self._skew) * 1000)

    def advance(self, seconds: float, *, keep_connected: bool) -> None:
        """Advance the clock.

        Args:
            seconds: by how much.
            keep_connected: whether group members with an open connection are kept from expiring.

        Raises:
            ValueError: the clock would go back, or further than MOST_AHEAD.
        """
        if not (is_number(seconds) and 0 <= seconds <= MOST_AHEAD - self._skew):
            raise ValueError(
                f"the clock cannot advance by {excerpt(seconds)} seconds; it moves forward only, and up to 100 years"
            )
        if keep_connected:
            self.cluster.groups.prolong({one for client in self._clients for one in client.member_ids}, seconds)
        self._skew += seconds
        self.cluster.tick(self.now())
        self.cluster.check()
        self.settle()
        self._woken.set()

    async def run(self) -> None:
        """Advance the cluster's time and check its directories, until cancelled."""
        checked = float("-inf")
        while True:
            try:
                if self.now() >= checked + CHECKS:
                    checked = self.now()
                    self.cluster.check()
                    self.settle()
                    self._close_idle()
                deadline = self._deadline = self.cluster.next_deadline
                self._woken.clear()
                with suppress(TimeoutError):
                    until = min(checked + CHECKS, deadline or checked + CHECKS)
                    left = max(0.0, until - self.now())
                    async with asyncio.timeout(left):  # wait_for of Python 3.11 can lose a cancellation
                        await self._woken.wait()
                self.cluster.tick(self.now())
                self.settle()
            except Exception as error:
                self.failures.report("the broker's clock", error, "it goes on")

    def _close_idle(self) -> None:
        """Close idle connections; a timer for each connection would take a kilobyte."""
        before = time.monotonic() - self.idle
        for client in self._clients:
            if client.waits_since is not None and client.waits_since < before:
                client.transport.abort()

    async def stop(self) -> None:
        """Close all listeners and connections."""
        for server in self._servers.values():
            server.close()
        await asyncio.sleep(0)  # connections that were just accepted begin, so that they can end
        for client in list(self._clients):
            client.end()
        for task in self._tasks:  # those of clients that are gone, too
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)  # and their sockets are closed

    def fail(self, *log_dirs: LogDir) -> None:
        """Make log directories fail as if their disks had failed."""
        self.cluster.fail(*log_dirs)
        self.settle()

    def settle(self) -> None:
        """Deliver responses of parked requests, and close brokers without a working directory."""
        waiting = self.cluster.waiting
        while waiting.answered:
            parked = waiting.answered.pop()
            future = self._futures.pop(parked, None)
            if future is not None and not future.done():
                future.set_result(None)
            elif future is None and parked.failure is not None:
                self.failures.report("a timer", parked.failure, "it goes on")
        self._note_all()
        for node_id, node in self.cluster.controller.nodes.items():
            if node_id in self._servers and not self.is_open(node):
                self._end(node_id)
                reason = "is stopped" if node.is_stopped else "has no log directory left, and stops"
                self.note(f"broker {node_id} {reason}")
        if not any(node.is_alive or node.is_stopped for node in self.cluster.controller.nodes.values()):
            self.halted.set()
        deadline = self.cluster.next_deadline
        if deadline is not None and (self._deadline is None or deadline < self._deadline):
            self._woken.set()

    def _note_all(self) -> None:
        """Print the cluster's messages for the operator, and the directories that have failed."""
        while self.cluster.notes:
            self.note(self.cluster.notes.pop(0))
        for node_id, node in self.cluster.controller.nodes.items():
            for place, log_dir in enumerate(node.log_dirs):
                if not log_dir.is_offline:
                    self._noted.discard((node_id, place))
                elif (node_id, place) not in self._noted:
                    self._noted.add((node_id, place))
                    why_so = f": {log_dir.problem}" if log_dir.problem else ""
                    log_dir.problem = ""
                    self.note(f"broker {node_id}: log directory {log_dir.path} has failed{why_so}")

    def is_open(self, node: Node) -> bool:
        """Return whether a broker keeps its connections; an isolated broker does."""
        return node.is_alive or self.network(node.node_id).is_cut

    def network(self, node_id: int) -> Network:
        """Return the quality of the network to a broker."""
        return self.networks.get(node_id, GOOD)

    def set_network(self, node_id: int, network: Network) -> None:
        """Set the quality of the network to a broker."""
        self.networks[node_id] = network
        self._network_changed.set()
        self._network_changed = asyncio.Event()

    async def carry(self, node_id: int, size: int = 0) -> None:
        """Wait as long as the network to a broker takes for a response of `size` bytes; 0 for a request."""
        while (network := self.network(node_id)).is_cut:
            await self._network_changed.wait()
        pause = network.delay + size / (network.bytes_per_second or float("inf"))
        if size and pause:
            await asyncio.sleep(pause)

    def reset(self, node_id: int | None = None, client_id: str | None = None) -> int:
        """Reset the connections to a broker or of a client id, and return their number."""
        chosen = [
            one for one in self._clients if node_id in (None, one.node.node_id) and client_id in (None, one.client_id)
        ]
        for client in chosen:
            client.transport.abort()
        return len(chosen)

    def _end(self, node_id: int) -> None:
        """Close the listener of a broker and all its connections; a connection with a request in progress closes by
        itself."""
        self._servers.pop(node_id).close()
        current = asyncio.current_task()
        for client in list(self._clients):
            if client.node.node_id == node_id and (client.task is None or client.task is not current):
                client.end()

    def add(self, client: ServedConnection) -> int:
        """Register a new connection; returns its number."""
        self.connections += 1
        self._clients.add(client)
        return self.connections

    def remove(self, client: ServedConnection) -> None:
        """Remove a closed connection and its state, unless the broker is stopped."""
        self._clients.discard(client)
        server = self._servers.get(client.node.node_id)
        if server is not None and server.is_serving():
            self.cluster.shares.disconnected(client.session)
            self.settle()

    def begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start the task of a connection."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        return task

    def finish(self, task: asyncio.Task[None] | None) -> None:
        """Remove a finished task."""
        if task is not None:
            self._tasks.discard(task)

    def future(self) -> asyncio.Future[Any]:
        """Return a new future of the event loop."""
        return asyncio.get_running_loop().create_future()

    async def wait(self, parked: Parked) -> None:
        """Wait until a parked request has its response."""
        future = self._futures[parked] = self.future()
        try:
            await future
        finally:
            self._futures.pop(parked, None)
            self.cluster.waiting.forget(parked)

    async def room(self) -> None:
        """Wait until there is room for a large response, then set `cluster.fetch_max_bytes` to what fits.

        While there is no room, connections that have not read their response within PATIENCE seconds are closed.
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
        """Count a response as unsent until it is sent. Responses that did not wait for room may take as much memory
        again."""
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
        client.transport.abort()
