"""The state of a served cluster on sockets: its connections, the clock, the quality of the network, and responses that
wait. `socket_server` listens; `kwire.broker` creates the responses.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager, suppress
from types import coroutine
from typing import Any, Protocol

from ...errors import excerpt
from ...protocol.frames.frame_memory import FrameMemory
from ...runtime.loggers import BROKER, log_notes
from .. import Node, Parked, ServedCluster
from ..fault_rule_checks import is_number
from ..node import LogDir
from ..security.sasl_session import SaslSession
from .frame_recorder import FrameRecorder
from .handler_errors import HandlerFailures
from .network import GOOD, Network

PORTION = 1 << 16
NO_LIMIT = 2**31 - 1  # the default of max.connections.per.ip
MOST_AHEAD = 100 * 365 * 24 * 3600  # seconds by which the clock can be ahead of the machine's
CHECKS = 1.0  # seconds between two checks of the log directories
MOST_UNSENT = 128 << 20  # bytes of all answers that clients have not taken yet
PATIENCE = 5.0  # seconds within which a client must read its response while others wait for room
Note = Callable[[str], None]


class ConnectedClient(Protocol):
    """What a server uses of a client's connection; see `connection.ServedConnection`."""

    client_id: str
    host: str
    node: Node
    session: SaslSession
    member_ids: tuple[str, ...]
    waits_since: float | None
    task: asyncio.Task[None] | None
    transport: asyncio.Transport

    def end(self) -> None:
        """Close the connection."""


class ServerState:
    """What the connections to a served cluster share.

    Args:
        cluster: the cluster to serve. Nodes with port 0 get the port on which they listen.
        note: called with messages for the operator.
        idle: seconds after which a connection that sends or reads nothing is closed; by default as in the settings.
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
        idle: float | None = None,
        recorded: FrameRecorder | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.cluster: ServedCluster = cluster
        self.note: Note = log_notes(BROKER, note)
        self.tls: ssl.SSLContext | None = tls
        self.idle: float = cluster.settings.connections_max_idle if idle is None else idle
        self.recorded: FrameRecorder = recorded or FrameRecorder(0)
        self.networks: dict[int, Network] = {}
        self.failures: HandlerFailures = HandlerFailures(note)
        self.halted: asyncio.Event = asyncio.Event()
        self._network_changed = asyncio.Event()
        cluster.time_ms = self.wall_ms
        self._skew = 0.0  # seconds that the clock is ahead of the machine's
        self._clients: set[ConnectedClient] = set()
        self.connections: int = 0
        self.requests = 0
        self.memory: FrameMemory = FrameMemory()  # of requests that are not whole yet
        self.portion: memoryview = memoryview(bytearray(PORTION))  # received just now, by any connection
        self.unsent: int = 0  # bytes of answers
        self._sending: dict[ConnectedClient, tuple[float, int]] = {}  # since when, and bytes; the newest comes last
        self._servers: dict[int, asyncio.Server] = {}
        self._futures: dict[Parked[Any], asyncio.Future[Any]] = {}
        self._woken = asyncio.Event()
        self._deadline: float | None = None
        self._tasks: set[asyncio.Task[None]] = set()  # of connections with requests
        self._log_dirs = cluster.controller.log_dirs()
        self._noted: set[tuple[int, int]] = set()  # the failed directories that were reported to the operator

    def now(self) -> float:
        """Return the time of the cluster's clock, in seconds."""
        return time.monotonic() + self._skew

    def wall_ms(self) -> int:
        """Return the time of day by the cluster's clock, in milliseconds since 1970."""
        return int((time.time() + self._skew) * 1000)

    def connected_members(self) -> set[str]:
        """Return the ids of group members with an open connection."""
        return {member for client in self._clients for member in client.member_ids}

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
            self.cluster.groups.prolong(self.connected_members(), seconds)
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
        if self.cluster.controller.notes or self._noted or not self._all_work():
            self._report_failures()
        deadline = waiting.next_deadline
        if deadline is not None and (self._deadline is None or deadline < self._deadline):
            self._woken.set()

    def _all_work(self) -> bool:
        for log_dir in self._log_dirs:  # noqa: SIM110 (asked for each request; `any` takes three times as long)
            if log_dir.is_offline or log_dir.is_stopped:
                return False
        return True

    def _report_failures(self) -> None:
        """Print what the operator should know, and close brokers without a working directory."""
        self._note_all()
        for node_id, node in self.cluster.controller.nodes.items():
            if node_id in self._servers and not self.is_open(node):
                self._end(node_id)
                reason = "is stopped" if node.is_stopped else "has no log directory left, and stops"
                self.note(f"broker {node_id} {reason}")
        if not any(node.is_alive or node.is_stopped for node in self.cluster.controller.nodes.values()):
            self.halted.set()

    def _note_all(self) -> None:
        """Print the cluster's messages for the operator, and the directories that have failed."""
        while self.cluster.notes:
            self.note(self.cluster.notes.pop(0))
        for node_id, node in self.cluster.controller.nodes.items():
            for index, log_dir in enumerate(node.log_dirs):
                if not log_dir.is_offline:
                    self._noted.discard((node_id, index))
                elif (node_id, index) not in self._noted:
                    self._noted.add((node_id, index))
                    why_so = f": {log_dir.problem}" if log_dir.problem else ""
                    log_dir.problem = ""
                    self.note(f"broker {node_id}: log directory {log_dir.path} has failed{why_so}")

    def is_open(self, node: Node) -> bool:
        """Return whether a broker keeps its connections; an isolated broker does."""
        return self._all_work() or node.is_alive or self.network(node.node_id).is_cut

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
            candidate
            for candidate in self._clients
            if node_id in (None, candidate.node.node_id) and client_id in (None, candidate.client_id)
        ]
        for client in chosen:
            client.transport.abort()
        return len(chosen)

    def _end(self, node_id: int) -> None:
        """Close the listener of a broker and all its connections; a connection with a request in progress closes by
        itself."""
        self._servers.pop(node_id).close()
        for client in list(self._clients):  # a request in progress that has not waited yet has no task
            is_in_progress = client.waits_since is None and client.task in (None, asyncio.current_task())
            if client.node.node_id == node_id and not is_in_progress:
                client.end()

    def add(self, client: ConnectedClient) -> int:
        """Register a new connection; returns its number."""
        self.connections += 1
        self._clients.add(client)
        return self.connections

    def has_too_many(self, client: ConnectedClient) -> bool:
        """Return whether a new connection is one too many of its address (max.connections.per.ip)."""
        limit = self.cluster.settings.max_connections_per_ip
        if limit >= NO_LIMIT:
            return False
        return sum(other.host == client.host and other.node is client.node for other in self._clients) > limit

    def remove(self, client: ConnectedClient) -> None:
        """Remove a closed connection and its state, unless the broker is stopped."""
        self._clients.discard(client)
        server = self._servers.get(client.node.node_id)
        if server is not None and server.is_serving():
            self.cluster.shares.disconnected(client.session)
            self.settle()

    def begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
        """Do the work of a connection until it waits for anything; return the task that goes on then, None if the work
        is done."""
        try:
            waits_for = work.send(None)
        except StopIteration:
            return None
        task = asyncio.get_running_loop().create_task(_go_on(work, waits_for))
        self._tasks.add(task)
        return task

    def finish(self, task: asyncio.Task[None] | None) -> None:
        """Remove a finished task."""
        if task is not None:
            self._tasks.discard(task)

    def future(self) -> asyncio.Future[Any]:
        """Return a new future of the event loop."""
        return asyncio.get_running_loop().create_future()

    async def wait(self, parked: Parked[Any]) -> None:
        """Wait until a parked request has its response."""
        future = self._futures[parked] = self.future()
        try:
            await future
        finally:
            self._futures.pop(parked, None)
            self.cluster.waiting.forget(parked)

    async def room(self) -> None:
        """Wait until there is room for a large response.

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

    @property
    def has_room(self) -> bool:
        """Whether there is room for a large response."""
        return self.unsent <= MOST_UNSENT

    def limit_fetches(self) -> None:
        """Set `cluster.fetch_max_bytes` to what there is room for."""
        share = (MOST_UNSENT - self.unsent) // 8
        self.cluster.fetch_max_bytes = min(self.cluster.settings.fetch_max_bytes, max(share, PORTION))

    @contextmanager
    def sending(self, client: ConnectedClient, size: int) -> Iterator[None]:
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

    def _give_up(self, client: ConnectedClient) -> None:
        self.note(f"{client.host}: it does not read its answers; closed")
        self.unsent -= self._sending.pop(client)[1]
        client.transport.abort()


@coroutine
def _go_on(work: Coroutine[Any, Any, None], waits_for: Any) -> Generator[Any, Any, None]:
    """Go on with work that waits, in a task. As eager tasks of Python 3.12, which Python 3.11 does not have."""
    while True:
        try:
            yield waits_for
            break
        except asyncio.CancelledError as error:
            try:
                waits_for = work.throw(error)
            except StopIteration:
                return
    yield from work
