"""Kafka for tests: brokers on free ports of this machine, in a thread, in the running event loop, or as a process.

Any client in any language can connect to them. Nothing is left behind when the block ends. A test has `Kafka` in a
thread or as a process, `AsyncKafka` in the running event loop; and rules for requests, brokers, leaders, disks, the
clock, records.

    >>> from kwire import testing
    >>> with testing.Kafka(brokers=3, topics={"orders": 6}) as kafka:
    ...     len(kafka.bootstrap_servers.split(","))
    3
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from ..broker.access_control import MECHANISMS
from ..records import Record
from .backends import AsProcess, Backend, InThread, Plan, Running, Tls, topics_of

INTERVAL = 0.005  # seconds between two looks at what is waited for


class Rule:
    """A rule that was made by `on`; a context manager, behind whose block the rule holds no longer.

    Attributes:
        number: of the rule in its cluster.
    """

    def __init__(self, kafka: Operations, number: int) -> None:
        self._kafka = kafka
        self.number: int = number

    @property
    def hits(self) -> int:
        """To how many requests it applied."""
        return int(self._kafka._do("hits", rule=self.number))

    def remove(self) -> None:
        """Let it hold no longer."""
        self._kafka._do("remove_rule", rule=self.number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class Requests:
    """The requests that a rule is for; a method says what happens to them.

    Each method takes `times`, to how many requests the rule applies; None is all. They return the `Rule`. Rules that
    delay, drop, cut or answer a request go together; of several of one kind the oldest applies.
    """

    def __init__(self, kafka: Operations, fields: dict[str, Any]) -> None:
        self._kafka, self._fields = kafka, fields

    def observe(self) -> Rule:
        """Only count them."""
        return self._rule("observe")

    def error(self, name: str | int, times: int | None = None) -> Rule:
        """Let them fail.

        The broker finds the error where it would find it by itself: of a request with several partitions those that do
        not match are answered as usual, and a batch that fails is not appended.

        Args:
            name: the error by Kafka's name, such as `NOT_LEADER_OR_FOLLOWER`, or its code.
            times: for how many requests.

        Raises:
            UnknownMessage: there is no such error.
            ValueError: responses of this api have no place for it.
        """
        return self._rule("error", times, error=name)

    def respond(self, answer: Any, times: int | None = None) -> Rule:
        """Answer them so; they are not handled.

        Args:
            answer: the response message, its JSON as a dict; or a function of the request message that returns one,
                perhaps a coroutine function, or None to let the broker answer. No function for a process.
            times: for how many requests.
        """
        return self._rule("respond", times, answer=answer)

    def change(self, function: Callable[[Any, Any], Any], times: int | None = None) -> Rule:
        """Answer them with what a function of the request and the broker's response returns. Not for a process."""
        return self._rule("change", times, answer=function)

    def delay(self, seconds: float, times: int | None = None) -> Rule:
        """Let the response leave later; the request is handled at once."""
        return self._rule("delay", times, seconds=seconds)

    def drop(self, times: int | None = None, *, is_handled: bool = False) -> Rule:
        """Close the connection instead of answering; `is_handled` says whether the request is handled before."""
        return self._rule("drop", times, is_handled=is_handled)

    def cut(self, after: int, times: int | None = None) -> Rule:
        """Close the connection behind so many bytes of the response."""
        return self._rule("cut", times, after=after)

    def hang(self, times: int | None = None) -> Rule:
        """Never answer, and handle nothing; the connection stays open."""
        return self._rule("hang", times)

    def _rule(self, action: str, times: int | None = None, **more: Any) -> Rule:
        return Rule(self._kafka, int(self._kafka._do("add_rule", action=action, times=times, **self._fields, **more)))


class Operations:
    """What can be done to a cluster, and asked of it, without waiting. Raises ValueError for what is not there."""

    def _do(self, operation: str, **arguments: Any) -> Any:
        raise NotImplementedError

    def on(
        self,
        api: str | None = None,
        *,
        broker: int | None = None,
        client: str | None = None,
        topic: str | None = None,
        partition: int | None = None,
        group: str | None = None,
        where: Callable[[Any], bool] | None = None,
    ) -> Requests:
        """Choose requests for a rule.

        Args:
            api: their name, such as `Produce`; None is all.
            broker: the id of the broker that gets them.
            client: their client id, perhaps with wildcards.
            topic, partition: what they are about.
            group: the group or transactional id that they are about, perhaps with wildcards.
            where: says of a request message whether it is one. Not for a process.
        """
        given = {"api": api, "broker": broker, "client": client, "topic": topic, "partition": partition, "group": group}
        return Requests(self, {**given, **({"where": where} if where else {})})

    def clear_rules(self) -> None:
        """Remove all rules."""
        self._do("clear_rules")

    def set_network(
        self,
        broker: int | None = None,
        *,
        delay: float = 0.0,
        bytes_per_second: float | None = None,
        is_cut: bool = False,
    ) -> None:
        """Set what the network between clients and a broker is like; without arguments it is good again.

        Args:
            broker: which one; None is all.
            delay: of each response, in seconds.
            bytes_per_second: how fast responses go; None is at once.
            is_cut: whether nothing arrives, while connections stay open.
        """
        self._do("set_network", broker=broker, delay=delay, bytes_per_second=bytes_per_second, is_cut=is_cut)

    def isolate_broker(self, broker: int) -> None:
        """Cut a broker off from clients and from the other brokers: others lead, and its connections hang."""
        self._do("isolate_broker", broker=broker)

    def rejoin_broker(self, broker: int) -> None:
        """Let a broker that was isolated catch up and serve again."""
        self._do("rejoin_broker", broker=broker)

    def kill_connections(self, broker: int | None = None, client: str | None = None) -> int:
        """Close connections at once, to a broker, or of a client id; returns how many."""
        return int(self._do("kill_connections", broker=broker, client=client))

    def create_topic(
        self,
        topic: str,
        partitions: int = -1,
        replication_factor: int = -1,
        *,
        configs: Mapping[str, str] | None = None,
        assignment: Sequence[Sequence[int]] | None = None,
    ) -> None:
        """Create a topic.

        Args:
            topic: its name.
            partitions, replication_factor: how many; -1 is the cluster's default.
            configs: what it has of its own, by Kafka's names.
            assignment: the brokers of each partition, the preferred leader first; instead of both numbers.

        Raises:
            Refused: it cannot be created; `error_code` is Kafka's.
        """
        self._do(
            "create_topic",
            topic=topic,
            partitions=partitions,
            replication_factor=replication_factor,
            configs=dict(configs or {}),
            assignment=[list(row) for row in assignment] if assignment else None,
        )

    def delete_topic(self, topic: str) -> None:
        """Delete a topic."""
        self._do("delete_topic", topic=topic)

    def partition(self, topic: str, partition: int = 0) -> dict[str, Any]:
        """Return leader, leader_epoch, replicas, isr, offline, start and end of a partition."""
        return dict(self._do("partition", topic=topic, partition=partition))

    def move_leader(self, topic: str, partition: int, broker: int) -> None:
        """Let another replica in sync lead."""
        self._do("move_leader", topic=topic, partition=partition, broker=broker)

    def shrink_isr(self, topic: str, partition: int, *brokers: int) -> None:
        """Take replicas out of sync; they get no records until `expand_isr`."""
        self._do("shrink_isr", topic=topic, partition=partition, brokers=list(brokers))

    def expand_isr(self, topic: str, partition: int) -> None:
        """Let all reachable replicas catch up and join the ISR."""
        self._do("expand_isr", topic=topic, partition=partition)

    def log_dirs(self, broker: int) -> list[str]:
        """Return the paths of the log directories of a broker."""
        return list(self._do("log_dirs", broker=broker))

    def fail_log_dir(self, broker: int, log_dir: int | str = 0) -> None:
        """Let a log directory fail, as if its disk did (KIP-112); by number from 0 on, or by path."""
        self._do("fail_log_dir", broker=broker, log_dir=log_dir)

    def fill_log_dir(self, broker: int, log_dir: int | str = 0) -> None:
        """Let a disk be full: the next write to it fails and takes the log directory offline, as in Kafka."""
        self._do("fill_log_dir", broker=broker, log_dir=log_dir)

    def heal_log_dir(self, broker: int, log_dir: int | str = 0) -> None:
        """Let a log directory work again, and its replicas catch up."""
        self._do("heal_log_dir", broker=broker, log_dir=log_dir)

    def advance(self, seconds: float, *, keep_connected: bool = True) -> None:
        """Move the clock of the cluster on: sessions and transactions expire, and old records go.

        Args:
            seconds: how far.
            keep_connected: members of groups do not expire by it while their connection is open.
        """
        self._do("advance", seconds=seconds, keep_connected=keep_connected)

    def group_state(self, group: str) -> str:
        """Return the state of a group in Kafka's words: `Empty`, `Stable`; `Dead` where there is none."""
        return str(self._do("group_state", group=group))

    def committed(self, group: str, topic: str, partition: int = 0) -> int:
        """Return the offset that a group has committed; -1 where there is none."""
        return int(self._do("committed", group=group, topic=topic, partition=partition))

    def notes(self) -> list[str]:
        """Return what an operator would have read: failed directories, refused connections, healed logs."""
        return list(self._do("notes"))

    def produce(
        self,
        topic: str,
        *values: bytes | None,
        key: bytes | None = None,
        headers: Iterable[tuple[str, bytes | None]] = (),
        timestamp: int | None = None,
        partition: int = 0,
    ) -> int:
        """Append records without a client.

        Args:
            topic, partition: where to.
            values: of the records, in one batch.
            key, headers: of all of them.
            timestamp: of all of them, in milliseconds since 1970; now unless given.

        Returns:
            The offset of the first one.
        """
        more = {"timestamp": timestamp} if timestamp is not None else {}
        rows = [{"key": key, "value": value, "headers": list(headers), **more} for value in values]
        return int(self._do("produce", topic=topic, records=rows, partition=partition))

    def records(self, topic: str, partition: int | None = None) -> list[Record]:
        """Return the records of a topic, or of one partition, without a client."""
        return list(self._do("records", topic=topic, partition=partition))

    def frames(self, api: str | None = None, *, client: str | None = None) -> list[Any]:
        """Return what was sent and received, decoded: `kwire.Request` and `kwire.Response`, in their order.

        Args:
            api: only those of an api, such as `Produce`.
            client: only those of a client id.

        The newest 64 MiB are kept.
        """
        return list(self._do("frames", api=api, client=client))

    def save_capture(self, path: str | Path) -> None:
        """Write what was sent and received to a pcap file, as `kwire decode` and Wireshark read it."""
        Path(path).write_bytes(self._do("capture"))

    def forget_frames(self) -> None:
        """Forget what was sent and received so far."""
        self._do("forget_frames")


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

    def wait_for(self, condition: Callable[[], Any], timeout: float = 30.0, what: str = "the condition") -> None:
        """Wait until a condition holds; raises TimeoutError after so many seconds."""
        until = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > until:
                raise TimeoutError(f"{what} does not hold after {timeout} s")
            time.sleep(INTERVAL)

    def wait_group(self, group: str, state: str, timeout: float = 30.0) -> None:
        """Wait until a group is in a state, such as `Stable` or `Empty`; `Dead` is a group that is not there."""
        self.wait_for(self._is_in(group, state), timeout, f"group {group} {state}")

    def wait_hits(self, rule: Rule, hits: int = 1, timeout: float = 30.0) -> None:
        """Wait until a rule has applied so many times."""
        self.wait_for(lambda: rule.hits >= hits, timeout, f"{hits} hits of the rule")

    def wait_records(self, topic: str, count: int, timeout: float = 30.0) -> list[Record]:
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

    async def wait_for(self, condition: Callable[[], Any], timeout: float = 30.0, what: str = "the condition") -> None:
        """Wait until a condition holds; raises TimeoutError after so many seconds."""
        until = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > until:
                raise TimeoutError(f"{what} does not hold after {timeout} s")
            await asyncio.sleep(INTERVAL)

    async def wait_group(self, group: str, state: str, timeout: float = 30.0) -> None:
        """Wait until a group is in a state, such as `Stable` or `Empty`; `Dead` is a group that is not there."""
        await self.wait_for(self._is_in(group, state), timeout, f"group {group} {state}")

    async def wait_hits(self, rule: Rule, hits: int = 1, timeout: float = 30.0) -> None:
        """Wait until a rule has applied so many times."""
        await self.wait_for(lambda: rule.hits >= hits, timeout, f"{hits} hits of the rule")

    async def wait_records(self, topic: str, count: int, timeout: float = 30.0) -> list[Record]:
        """Wait until a topic has so many records; returns all of them."""
        await self.wait_for(lambda: len(self.records(topic)) >= count, timeout, f"{count} records in {topic}")
        return self.records(topic)


__all__ = ["AsyncKafka", "Kafka", "Requests", "Rule", "Tls"]
