"""Runs a cluster for tests in the running event loop, or in a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Protocol

from ..broker import ServedCluster
from ..broker.server.control import Control
from ..broker.server.file_disk import locked
from ..broker.server.listener_tls import tls_context
from ..broker.server.socket_server import SocketServer
from ..errors import CallError
from .cluster_options import PATIENCE, ClusterOptions


class RunningCluster:
    """A cluster that is served in the running event loop."""

    def __init__(self, plan: ClusterOptions) -> None:
        self.plan = plan
        self._stack = ExitStack()

    async def start(self) -> None:
        """Start serving; raises CallError if a log directory is in use."""
        cluster = self._stack.enter_context(_lock_and_create(self.plan))
        self.control: Control = Control.of(cluster, tls=tls_context(*self.plan.tls) if self.plan.tls else None)
        self.serving: SocketServer = self.control.serving
        try:
            self.addresses: list[Any] = await self.serving.start()
        except CallError:
            self._stack.close()
            raise
        self._task = asyncio.ensure_future(self.serving.run())

    async def stop(self) -> None:
        """Stop serving."""
        self._task.cancel()
        await self.serving.stop()
        self._stack.close()
        with suppress(asyncio.CancelledError):
            await self._task


@contextmanager
def _lock_and_create(plan: ClusterOptions) -> Iterator[ServedCluster]:
    nodes = plan.nodes()
    with locked(log_dir for node in nodes for log_dir in node.log_dirs):
        yield plan.cluster(nodes)


class Backend(Protocol):
    """Where a cluster runs."""

    @property
    def addresses(self) -> Sequence[Any]:
        """Where each broker listens."""

    def do(self, operation: str, arguments: dict[str, Any]) -> Any:
        """Perform an operation of `Control` and return its result."""

    def failed(self) -> Exception | None:
        """Return the exception that a function of a rule raised, once."""

    def stop(self) -> None:
        """Stop the cluster."""


class InThread:
    """A cluster in a separate thread."""

    def __init__(self, plan: ClusterOptions) -> None:
        self._running = RunningCluster(plan)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="kwire.testing.Kafka", daemon=True)
        self._thread.start()
        try:
            self._wait(self._running.start())
        except BaseException:
            self._end()
            raise
        self.addresses: list[Any] = self._running.addresses

    def _wait(self, awaitable: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(awaitable, self._loop).result(PATIENCE)

    def do(self, operation: str, arguments: dict[str, Any]) -> Any:
        """Perform an operation of `Control` and return its result."""
        if threading.current_thread() is self._thread:  # called by a rule's function, which must not wait
            return getattr(self._running.control, operation)(**arguments)
        return self._wait(self._running.control.do(operation, arguments))

    def failed(self) -> Exception | None:
        """Return the exception that a function of a rule raised, once."""
        return self._running.control.failed()

    def stop(self) -> None:
        """Stop the cluster."""
        try:
            self._wait(self._running.stop())
        finally:
            self._end()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()
