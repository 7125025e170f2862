"""A served cluster on sockets: one listener per broker.

This module uses asyncio and the clock; `kwire.broker` creates the responses.
"""

from __future__ import annotations

import asyncio

from ...client.address import Address
from ...client.call_errors import call_errors
from ..node import Node
from .connection import ServedConnection
from .server_state import ServerState

HANDSHAKE = 10.0  # seconds that a TLS handshake may take


class SocketServer(ServerState):
    """Listens for each broker of a cluster; see `ServerState` for the arguments."""

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
