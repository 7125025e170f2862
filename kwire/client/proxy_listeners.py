"""The listeners of a proxy: one for each broker that the cluster names now, up to a limit."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterable
from errno import EMFILE
from typing import Any

from ..errors import CallError
from .address import Address
from .call_errors import call_errors

MOST_LISTENERS = 500  # each is an open file, and a process may often open 1,024
Serve = Callable[[Address, asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


class Listeners:
    """Listens for the clients of each broker, and stops when no broker names that broker any more.

    Args:
        host: the host to listen on.
        serve: serves one connection of a client to a broker.
        note: called with messages for the operator.
        limit: how many brokers may have a listener at a time.

    Attributes:
        servers: the listener of each broker.
    """

    def __init__(self, host: str, serve: Serve, note: Callable[[str], None], limit: int = MOST_LISTENERS) -> None:
        self.host: str = host
        self.limit: int = limit
        self.servers: dict[Address, asyncio.Server] = {}
        self._serve = serve
        self._note = note
        self._named: dict[Address, set[Address]] = {}  # broker -> the brokers that its responses name

    async def open(self, broker: Address, port: int = 0) -> Address:
        """Return the address on which the clients of a broker are awaited, by default any free port.

        Raises:
            CallError: the port is taken, or the process has too many open files.
        """
        if broker not in self.servers:
            with call_errors(Address(self.host, port), "cannot listen", "is the port taken?"):
                server = await asyncio.start_server(
                    lambda reader, writer: self._serve(broker, reader, writer), self.host, port
                )
                if not server.sockets:  # asyncio passes over sockets that cannot be made
                    raise OSError(EMFILE, os.strerror(EMFILE))
            self.servers[broker] = server
        return Address(self.host, self.servers[broker].sockets[0].getsockname()[1])

    async def name(
        self, reporter: Address, brokers: Iterable[Address], *, first: Address, are_all: bool
    ) -> dict[Address, Address]:
        """Open listeners for the brokers that a response names, and close those that no broker names any more.

        Args:
            reporter: the broker that sent the response.
            brokers: the brokers in the response.
            first: the broker whose listener stays open: clients begin there.
            are_all: whether the response names all brokers of the cluster, as Metadata does, and replaces what the
                reporter named before.

        Returns:
            The address of the listener of each broker. A broker without one keeps its own address in the response.
        """
        brokers = list(dict.fromkeys(brokers))
        named = set(brokers)
        self._named[reporter] = named if are_all else named | self._named.get(reporter, set())
        self._close_unnamed(first)
        await self._open_all([broker for broker in brokers if broker not in self.servers])
        return {broker: await self.open(broker) for broker in brokers if broker in self.servers}

    async def _open_all(self, brokers: list[Address]) -> None:
        room = max(0, self.limit - len(self.servers))
        try:
            for broker in brokers[:room]:
                await self.open(broker)
        except CallError as error:  # too many open files
            self._note(f"clients connect to some brokers without the proxy: {error}")
        if len(brokers) > room:
            self._note(f"clients connect to some brokers without the proxy: {self.limit} have a port here, the limit")

    def _close_unnamed(self, first: Address) -> None:
        """Close the listeners of brokers that no response names: of those that lead there from the first broker."""
        reachable = {first}
        waiting = [first]
        while waiting:
            new = self._named.get(waiting.pop(), set()) - reachable
            reachable |= new
            waiting += new
        self._named = {reporter: named for reporter, named in self._named.items() if reporter in reachable}
        for broker in self.servers.keys() - reachable:
            self.servers.pop(broker).close()

    def close(self) -> None:
        """Close all listeners."""
        for server in self.servers.values():
            server.close()
