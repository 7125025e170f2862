"""The clusters that tests make: `Kafka` in a thread or as a process, `AsyncKafka` in the running event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from ..broker.authentication import MECHANISMS
from ..records import Record
from .backends import AsProcess, Backend, InThread, Plan, Running, Tls, topics_of
from .operations import Operations, Rule

INTERVAL = 0.005  # seconds between two looks at what is waited for


class _Cluster(Operations):
    """What both kinds of cluster have."""

    def __init__(
        self,
        brokers: int = 1,
        *,
        racks: Sequence[str | None] = (),
        log_dirs: int = 1,
        directory: str | Path | None = None,
        partitions: int = 1,
        replication_factor: int | None = None,
        topics: Mapping[str, int] | Iterable[str] = (),
        auto_create_topics: bool = True,
        seed: int | None = None,
        rack_aware_fetch: bool = False,
        users: Mapping[str, str] | None = None,
        sasl_mechanisms: Sequence[str] = MECHANISMS,
        max_reauth: float = 0.0,
        acls: bool = False,
        super_users: Sequence[str] = (),
        tls: Tls | None = None,
        release: str | None = None,
    ) -> None:
        security = users or {}, tuple(sasl_mechanisms), max_reauth, acls, tuple(super_users), tls, release
        self._plan = Plan(
            brokers,
            tuple(racks),
            log_dirs,
            None if directory is None else Path(directory),
            partitions,
            replication_factor,
            topics_of(topics, partitions),
            auto_create_topics,
            seed,
            rack_aware_fetch,
            *security,
        )
        self._addresses: Sequence[Any] = ()

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of all brokers, as clients take them: `127.0.0.1:40001,127.0.0.1:40002`."""
        if not self._addresses:
            raise RuntimeError("the cluster does not run; enter it: with Kafka() as kafka")
        return ",".join(map(str, self._addresses))

    def address(self, broker: int) -> str:
        """Return the address of one broker."""
        return self.bootstrap_servers.split(",")[broker - 1]

    def _begin(self, addresses: Sequence[Any]) -> None:
        self._addresses = addresses
        for topic, partitions in self._plan.topics.items():
            self.create_topic(topic, partitions)

    def _is_in(self, group: str, state: str) -> Callable[[], bool]:
        return lambda: self.group_state(group) == state


class Kafka(_Cluster):
    """A Kafka cluster for tests, in a thread or as a process; a context manager.

    Args:
        brokers: how many; their ids are 1, 2 and so on.
        racks: of the brokers, one for each; none unless given.
        log_dirs: how many log directories each broker has; in memory, unless there is a `directory`.
        directory: where log directories are on the disk, also after the test; in a process that has none they are in a
            temporary directory.
        partitions: of a topic that is made without a number.
        replication_factor: of such a topic; unless given 3, or as many as there are brokers.
        topics: names of topics to create, or names with numbers of partitions.
        auto_create_topics: whether clients create topics by asking for them.
        seed: for ids and placements; random by default.
        rack_aware_fetch: whether consumers are sent to a replica in their rack (KIP-392).
        users: names with passwords, with which clients authenticate (SASL); without any, they do not.
        sasl_mechanisms: that clients may choose, of PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512.
        max_reauth: seconds after which clients authenticate again (KIP-368); 0 is never.
        acls: whether ACLs hold, as with Kafka's StandardAuthorizer: without one, nothing is allowed.
        super_users: names or principals that may do everything.
        tls: the files of a listener with TLS.
        release: a Kafka release such as `2.8`; only the apis and versions that it had are served.
        process: whether it runs as a process of its own, so that it takes no time of this one's threads.

    Raises:
        ValueError: numbers that cannot be.
        CallError: a log directory is in use.

    >>> with Kafka(topics=["orders"]) as kafka:
    ...     _ = kafka.produce("orders", b"one", b"two")
    ...     [record.value for record in kafka.records("orders")]
    [b'one', b'two']
    """

    def __init__(self, brokers: int = 1, *, process: bool = False, **more: Any) -> None:
        super().__init__(brokers, **more)
        self._is_process = process
        self._backend: Backend | None = None

    def start(self) -> Self:
        """Begin; for who cannot use `with`."""
        if self._backend is not None:
            raise RuntimeError("the cluster runs already")
        backend: Backend = AsProcess(self._plan) if self._is_process else InThread(self._plan)
        self._backend = backend
        self._begin(backend.addresses)
        return self

    def stop(self) -> None:
        """End, and remove what was begun."""
        backend, self._backend, self._addresses = self._backend, None, ()
        if backend is not None:
            backend.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _do(self, operation: str, **arguments: Any) -> Any:
        if self._backend is None:
            raise RuntimeError("the cluster does not run; enter it: with Kafka() as kafka")
        return self._backend.do(operation, arguments)

    def stop_broker(self, broker: int) -> None:
        """Stop a broker: its connections end, and others lead."""
        self._do("stop_broker", broker=broker)

    def start_broker(self, broker: int) -> None:
        """Start a broker that was stopped, on the port that it had; its replicas catch up."""
        self._do("start_broker", broker=broker)

    def wait_for(self, condition: Callable[[], Any], timeout: float = 10.0, what: str = "the condition") -> None:
        """Wait until a condition holds; raises TimeoutError after so many seconds."""
        until = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > until:
                raise TimeoutError(f"{what} does not hold after {timeout} s")
            time.sleep(INTERVAL)

    def wait_group(self, group: str, state: str, timeout: float = 10.0) -> None:
        """Wait until a group is in a state, such as `Stable` or `Empty`; `Dead` is a group that is not there."""
        self.wait_for(self._is_in(group, state), timeout, f"group {group} {state}")

    def wait_hits(self, rule: Rule, hits: int = 1, timeout: float = 10.0) -> None:
        """Wait until a rule has applied so many times."""
        self.wait_for(lambda: rule.hits >= hits, timeout, f"{hits} hits of the rule")

    def wait_records(self, topic: str, count: int, timeout: float = 10.0) -> list[Record]:
        """Wait until a topic has so many records; returns all of them."""
        self.wait_for(lambda: len(self.records(topic)) >= count, timeout, f"{count} records in {topic}")
        return self.records(topic)


class AsyncKafka(_Cluster):
    """A Kafka cluster for tests in the running event loop; the arguments and operations are those of `Kafka`.

    >>> async def run() -> int:
    ...     async with AsyncKafka(topics=["orders"]) as kafka:
    ...         return kafka.produce("orders", b"one")
    >>> asyncio.run(run())
    0
    """

    _running: Running | None = None

    async def start(self) -> Self:
        """Begin; for who cannot use `async with`."""
        if self._running is not None:
            raise RuntimeError("the cluster runs already")
        running = Running(self._plan)
        await running.start()
        self._running = running
        self._begin(running.addresses)
        return self

    async def stop(self) -> None:
        """End, and remove what was begun."""
        running, self._running, self._addresses = self._running, None, ()
        if running is not None:
            await running.stop()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def _do(self, operation: str, **arguments: Any) -> Any:
        if self._running is None:
            raise RuntimeError("the cluster does not run; enter it: async with AsyncKafka() as kafka")
        return getattr(self._running.control, operation)(**arguments)

    async def stop_broker(self, broker: int) -> None:
        """Stop a broker: its connections end, and others lead."""
        await self._do("stop_broker", broker=broker)

    async def start_broker(self, broker: int) -> None:
        """Start a broker that was stopped, on the port that it had; its replicas catch up."""
        await self._do("start_broker", broker=broker)

    async def wait_for(self, condition: Callable[[], Any], timeout: float = 10.0, what: str = "the condition") -> None:
        """Wait until a condition holds; raises TimeoutError after so many seconds."""
        until = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > until:
                raise TimeoutError(f"{what} does not hold after {timeout} s")
            await asyncio.sleep(INTERVAL)

    async def wait_group(self, group: str, state: str, timeout: float = 10.0) -> None:
        """Wait until a group is in a state, such as `Stable` or `Empty`; `Dead` is a group that is not there."""
        await self.wait_for(self._is_in(group, state), timeout, f"group {group} {state}")

    async def wait_hits(self, rule: Rule, hits: int = 1, timeout: float = 10.0) -> None:
        """Wait until a rule has applied so many times."""
        await self.wait_for(lambda: rule.hits >= hits, timeout, f"{hits} hits of the rule")

    async def wait_records(self, topic: str, count: int, timeout: float = 10.0) -> list[Record]:
        """Wait until a topic has so many records; returns all of them."""
        await self.wait_for(lambda: len(self.records(topic)) >= count, timeout, f"{count} records in {topic}")
        return self.records(topic)
