"""Hostile brokers and clients on sockets: plays the steps of `kwire.hostile`, and reports what the other side does."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from ..broker import Node
from ..errors import BadFrame, KwireError
from ..hostile import ClientKind, End, HostileCluster, Step
from ..protocol import FrameReader
from .client import Address, BrokerConnection
from .deadline import Deadline
from .failures import call_errors

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter

PORTION = 1 << 16
MOST_CONNECTIONS = 500  # of clients at a time


class HostileServing:
    """Listens for the brokers of a hostile cluster.

    Args:
        cluster: the cluster. Nodes with port 0 get the port on which they listen.
        note: called with a line for each request.

    Attributes:
        connections: how many connections there have been.
    """

    def __init__(self, cluster: HostileCluster, note: Callable[[str], None] = lambda text: None) -> None:
        self.cluster: HostileCluster = cluster
        self.connections: int = 0
        self._note = note
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> list[Address]:
        """Start listening; returns the addresses. Raises CallError if a port is taken."""
        for node in self.cluster.nodes:
            with call_errors(Address(node.host, node.port), "cannot listen", "is the port taken?"):
                server = await asyncio.start_server(self._connected(node), node.host, node.port)
            self._servers.append(server)
            node.port = server.sockets[0].getsockname()[1]
        return [Address(node.host, node.port) for node in self.cluster.nodes]

    async def stop(self) -> None:
        """Close all listeners and connections."""
        for server in self._servers:
            server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)  # for the sockets to be closed

    def _connected(self, node: Node) -> Callable[[StreamReader, StreamWriter], None]:
        def serve(reader: StreamReader, writer: StreamWriter) -> None:
            self.connections += 1
            if len(self._tasks) >= MOST_CONNECTIONS:
                writer.close()
                return
            task = asyncio.ensure_future(self._serve(node, reader, writer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        return serve

    async def _serve(self, node: Node, reader: StreamReader, writer: StreamWriter) -> None:
        frames = FrameReader()
        try:
            while portion := await reader.read(PORTION):
                for frame in frames.feed(portion):
                    if not writer.is_closing():
                        await _play(self.cluster.answer(node.node_id, frame), writer)
        except (OSError, BadFrame) as error:  # the client ends the connection, or sends what is no frame
            self._note(f"{node.host}:{node.port}: {error or type(error).__name__}")
        finally:
            writer.close()


async def _play(steps: Iterable[Step], writer: StreamWriter) -> None:
    """Carry out steps; raises OSError once the other side has closed the connection."""
    for step in steps:
        if writer.is_closing():
            raise ConnectionAbortedError("the other side has closed the connection")
        if isinstance(step, bytes):
            writer.write(step)
            await writer.drain()
        elif isinstance(step, float):
            await asyncio.sleep(step)
        else:
            _end(writer, step)
            return


def _end(writer: StreamWriter, end: End) -> None:
    if end is End.CLOSE:
        writer.close()
        return
    with suppress(OSError):
        linger = struct.pack("ii", 1, 0)  # close at once, with RST
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


@dataclass(frozen=True)
class Verdict:
    """What a broker did about a hostile client.

    Attributes:
        kind: the kind of client.
        did: what the broker did with its connections.
        still_serves: whether it answered another client afterwards.
    """

    kind: ClientKind
    did: str
    still_serves: bool


async def attack(address: Address, kinds: Sequence[ClientKind], timeout: float, rng: Random) -> list[Verdict]:
    """Attack a broker with kinds of hostile clients, one after the other.

    Args:
        address: the address of the broker.
        kinds: the kinds of clients.
        timeout: seconds to wait for what the broker does about a kind, and for its response to a sound client after it.
        rng: the random generator.

    Raises:
        CallError: the broker does not answer a sound client even before.
    """
    await asyncio.to_thread(_ask_soundly, address, timeout)
    return [await _attack(address, kind, timeout, rng) for kind in kinds]


def _ask_soundly(address: Address, timeout: float) -> None:
    with BrokerConnection(address, deadline=Deadline(timeout)) as broker:
        broker.versions()


async def _attack(address: Address, kind: ClientKind, timeout: float, rng: Random) -> Verdict:
    steps = [list(kind.steps(rng)) for _ in range(kind.connections)]
    tasks = [asyncio.ensure_future(_observe(address, one, timeout)) for one in steps]
    still_serves = True
    try:
        if kind.connections > 1:  # while they are open
            await asyncio.sleep(timeout / 4)
        await asyncio.to_thread(_ask_soundly, address, timeout)
    except KwireError:
        still_serves = False
    observed = sorted(await asyncio.gather(*tasks))
    counts = {did: observed.count(did) for did in dict.fromkeys(observed)}
    texts = [did if len(counts) == 1 else f"{count} {did}" for did, count in counts.items()]
    return Verdict(kind, ", ".join(texts), still_serves)


async def _observe(address: Address, steps: Sequence[Step], timeout: float) -> str:
    """Play steps on a connection, and return what the broker does until the timeout."""
    answered = 0
    ending = "left the connection open"
    frames = FrameReader()
    try:
        async with asyncio.timeout(timeout):
            reader, writer = await asyncio.open_connection(*address)
            try:
                await _play(steps, writer)
                if End.RESET in steps:
                    return "had no time to answer"
                while portion := await reader.read(PORTION):
                    answered += sum(1 for _ in frames.feed(portion))
                ending = "closed the connection"
            finally:
                writer.transport.abort()
    except TimeoutError:
        pass
    except BadFrame:
        ending = "answered with bytes that are no frame"
    except OSError:
        ending = "closed the connection"
    if not answered:
        return ending
    return f"answered {'once' if answered == 1 else f'{answered} times'}, {ending}"
