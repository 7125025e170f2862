"""A hostile broker on sockets: plays the steps of its kind instead of responding."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from ...broker import Node
from ...client.address import Address
from ...client.call_errors import call_errors
from ...errors import BadFrame
from ...protocol import FrameReader
from . import End, HostileCluster, Step

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
                server = await asyncio.start_server(self._server_of(node), node.host, node.port)
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

    def _server_of(self, node: Node) -> Callable[[StreamReader, StreamWriter], None]:
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
                        await play_steps(self.cluster.answer(node.node_id, frame), writer)
        except (OSError, BadFrame) as error:  # the client ends the connection, or sends what is no frame
            self._note(f"{node.host}:{node.port}: {error or type(error).__name__}")
        finally:
            writer.close()


async def play_steps(steps: Iterable[Step], writer: StreamWriter) -> None:
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
