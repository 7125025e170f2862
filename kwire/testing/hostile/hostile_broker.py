"""A broker for tests of clients that breaks the protocol in one way, in a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Self

from ...broker import Node
from ...client.address import Address
from . import HostileCluster
from .serving import HostileServing

PATIENCE = 30.0  # seconds for the thread to begin or to end


class HostileBroker:
    """A broker, or several, that break the protocol in one way; a context manager.

    A test starts the client under test beside it, and asserts that the client ends at its deadline, with an error that
    says what is wrong, and with bounded memory. `kwire serve --hostile list` describes all kinds.

    Args:
        kind: the kind, such as `drip`; with `drip:Fetch`, all other apis are answered soundly.
        brokers: the number of brokers; their ids are 1, 2 and so on.
        seed: the seed of what is random; by default random.

    Raises:
        UnknownMessage: there is no such kind, or no such api.
        ValueError: there are no brokers.

    >>> import socket
    >>> with HostileBroker("http") as broker:
    ...     host, _, port = broker.bootstrap_servers.partition(":")
    ...     with socket.create_connection((host, int(port))) as client:
    ...         _ = client.sendall(bytes.fromhex("0000000a 0012 0000 00000001 0000"))  # ApiVersions 0
    ...         client.recv(12)
    b'HTTP/1.1 400'
    """

    def __init__(self, kind: str, brokers: int = 1, *, seed: int | None = None) -> None:
        if brokers < 1:
            raise ValueError("there is at least one broker")
        nodes = [Node(node_id, "127.0.0.1", 0) for node_id in range(1, brokers + 1)]
        self._serving = HostileServing(HostileCluster(kind, nodes, seed))
        self._addresses: Sequence[Address] = ()

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of all brokers in the form that clients expect, such as `127.0.0.1:40001`."""
        if not self._addresses:
            raise RuntimeError("the broker does not run; enter it: with HostileBroker(kind) as broker")
        return ",".join(map(str, self._addresses))

    @property
    def connections(self) -> int:
        """How many connections there have been."""
        return self._serving.connections

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="kwire.testing.HostileBroker", daemon=True)
        self._thread.start()
        try:
            self._addresses = asyncio.run_coroutine_threadsafe(self._serving.start(), self._loop).result(PATIENCE)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            asyncio.run_coroutine_threadsafe(self._serving.stop(), self._loop).result(PATIENCE)
        finally:
            self._end()

    def _end(self) -> None:
        self._addresses = ()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()
