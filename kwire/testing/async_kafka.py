"""A cluster for tests in the running event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Self

from ..codecs.records import Record
from .in_thread import RunningCluster
from .kafka_base import INTERVAL, NOT_YET, KafkaBase, Text
from .operations import Rule
from .running_clusters import note_stop


class AsyncKafka(KafkaBase):
    """A Kafka cluster for tests in the running event loop; the arguments and operations are those of `Kafka`.

    >>> async def run() -> int:
    ...     async with AsyncKafka(topics=["orders"]) as kafka:
    ...         return kafka.produce("orders", b"one")
    >>> asyncio.run(run())
    0
    """

    _running: RunningCluster | None = None

    async def start(self) -> Self:
        """Start the cluster, if `async with` cannot be used."""
        if self._running is not None:
            raise RuntimeError("the cluster runs already")
        if self._is_process:
            raise ValueError("an AsyncKafka runs in the running event loop; as a process, take Kafka(process=True)")
        running = RunningCluster(self._plan)
        await running.start()
        self._running = running
        self._begin(running.addresses)
        return self

    async def stop(self) -> None:
        """Stop the cluster, and remove its temporary files.

        Raises what a function of a rule has raised, or the broker's own code: clients get UNKNOWN_SERVER_ERROR,
        and the test gets the exception, with a note that names the request.
        """
        running = self._running
        if running is not None:
            note_stop(self)
        self._running = None
        self._addresses = ()
        if running is not None:
            await running.stop()
            self._report(running.control.failed())

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def _do(self, operation: str, **arguments: Any) -> Any:
        if self._running is None:
            raise RuntimeError("the cluster does not run; enter it: async with AsyncKafka() as kafka")
        return self._running.control.begin(operation, arguments)

    def _failed(self) -> Exception | None:
        return self._running.control.failed() if self._running is not None else None

    async def stop_broker(self, broker: int) -> None:
        """Stop a broker: its connections close, and other brokers lead its partitions."""
        await self._do("stop_broker", broker=broker)

    async def start_broker(self, broker: int) -> None:
        """Restart a stopped broker on its previous port; its replicas catch up."""
        await self._do("start_broker", broker=broker)

    async def wait_for(self, condition: Callable[[], Any], timeout: float = 30.0, what: Text = NOT_YET) -> None:
        """Wait until a condition holds; raises TimeoutError with the text `what` after `timeout` seconds."""
        until = time.monotonic() + timeout
        while not self._is_due(condition, until, what):
            await asyncio.sleep(INTERVAL)

    async def wait_group(self, group: str, state: str, timeout: float = 30.0) -> None:
        """Wait until a group is in a state, such as `Stable` or `Empty`; `Dead` means that the group does not exist."""
        await self.wait_for(self._is_in(group, state), timeout, self._state_text(group, state, timeout))

    async def wait_hits(self, rule: Rule, hits: int = 1, timeout: float = 30.0) -> None:
        """Wait until a rule has applied to `hits` requests."""
        await self.wait_for(lambda: rule.hits >= hits, timeout, self._hits_text(rule, hits, timeout))

    async def wait_records(self, topic: str, count: int, timeout: float = 30.0) -> list[Record]:
        """Wait until a topic has at least `count` records; returns all its records."""
        await self.wait_for(
            lambda: len(self.records(topic)) >= count, timeout, self._records_text(topic, count, timeout)
        )
        return self.records(topic)
