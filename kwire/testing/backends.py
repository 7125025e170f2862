"""Runs a cluster for tests in the running event loop, in a thread, or as a process of `kwire serve`."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Protocol

from ..broker import Disk, MemoryDisk, Node, ServedCluster, Settings
from ..broker.authentication_and_acls import MECHANISMS, principal
from ..errors import CallError
from ..net.control import Control, ControlClient
from ..net.log_dirs import FileDisk, locked
from ..net.server import Serving
from ..net.tls import tls_context

HOST = "127.0.0.1"
PATIENCE = 30.0  # seconds for a process or a thread to begin, or to do an operation


class Tls(NamedTuple):
    """The PEM files of a listener with TLS.

    `certificate` is the certificate of the brokers, and `key` its private key, unless the key is in the same file. With
    `client_ca`, clients need a certificate signed by one of these authorities, and its subject is their principal.
    """

    certificate: str
    key: str | None = None
    client_ca: str | None = None


@dataclass(frozen=True)
class Plan:
    """The description of a cluster: the checked arguments of `Kafka`. Raises ValueError for impossible numbers."""

    brokers: int = 1
    racks: Sequence[str | None] = ()
    log_dirs: int = 1
    directory: Path | None = None
    partitions: int = 1
    replication_factor: int | None = None
    topics: Mapping[str, int] = field(default_factory=dict)
    auto_create_topics: bool = True
    seed: int | None = None
    rack_aware_fetch: bool = False
    users: Mapping[str, str] = field(default_factory=dict, repr=False)
    sasl_mechanisms: Sequence[str] = MECHANISMS
    max_reauth: float = 0.0
    acls: bool = False
    super_users: Sequence[str] = ()
    tls: Tls | None = None
    release: str | None = None

    def __post_init__(self) -> None:
        self._check_lists()
        self._check_numbers()

    def _check_numbers(self) -> None:
        for name in ("brokers", "log_dirs", "partitions"):
            if not isinstance(number := getattr(self, name), int):
                raise TypeError(f"{name} is a number, not {type(number).__name__} {number!r}")
        if self.brokers < 1 or self.log_dirs < 1 or self.partitions < 1:
            raise ValueError("a cluster has at least one broker, with one log directory, and topics have a partition")
        if self.racks and len(self.racks) != self.brokers:
            raise ValueError(f"{len(self.racks)} racks for {self.brokers} brokers: name one for each broker")
        if not 1 <= self.replicas <= self.brokers:
            raise ValueError(f"{self.brokers} brokers cannot have {self.replicas} replicas of a partition")

    def _check_lists(self) -> None:
        for name in ("racks", "super_users", "sasl_mechanisms"):
            if isinstance(found := getattr(self, name), str):
                raise TypeError(f"{name} is a list, such as [{found!r}]")
        if unknown := [name for name in self.sasl_mechanisms if name not in MECHANISMS]:
            raise ValueError(f"there is no SASL mechanism {unknown[0]!r}; take from {', '.join(MECHANISMS)}")
        if any(not name or not word or ":" in name or "\n" in name + word for name, word in self.users.items()):
            raise ValueError("users have a name without colon, and a password; neither has a line end")

    @property
    def replicas(self) -> int:
        """The default number of replicas of a partition."""
        return min(3, self.brokers) if self.replication_factor is None else self.replication_factor

    def settings(self) -> Settings:
        """Return the settings of the brokers."""
        return Settings(
            auto_create_topics=self.auto_create_topics,
            num_partitions=self.partitions,
            default_replication_factor=self.replicas,
            rack_aware_fetch=self.rack_aware_fetch,
            passwords=self.users,
            sasl_mechanisms=tuple(self.sasl_mechanisms) if self.users else (),
            max_reauth=self.max_reauth,
            authorizer=self.acls,
            super_users=tuple(map(principal, self.super_users)),
            tls=self.tls is not None,
            release=self.release,
        )

    def paths(self, node_id: int, directory: Path | None) -> list[str]:
        """Return the log directories of a broker, in a directory or in memory."""
        names = [f"broker-{node_id}/{place}" for place in range(self.log_dirs)]
        return [f"/memory/{name}" if directory is None else str(directory / name) for name in names]

    def nodes(self) -> list[Node]:
        """Return the brokers."""
        kind: Callable[[str], Disk] = MemoryDisk if self.directory is None else FileDisk
        racks = self.racks or [None] * self.brokers
        return [
            Node(node_id, HOST, 0, rack, [kind(path) for path in self.paths(node_id, self.directory)])
            for node_id, rack in enumerate(racks, 1)
        ]

    def cluster(self, nodes: Sequence[Node]) -> ServedCluster:
        """Return a cluster of these brokers."""
        return ServedCluster(nodes, self.settings(), Random(self.seed))

    def as_json(self, directory: Path) -> dict[str, Any]:
        """Return the cluster as JSON for `kwire serve --cluster`."""
        racks = self.racks or [None] * self.brokers
        rows = [
            {"id": node_id, "host": HOST, "port": 0, "rack": rack, "logDirs": self.paths(node_id, directory)}
            for node_id, rack in enumerate(racks, 1)
        ]
        return {"brokers": rows}


def topics_of(topics: Mapping[str, int] | Iterable[str], partitions: int) -> dict[str, int]:
    """Return the number of partitions of each topic."""
    if isinstance(topics, str):
        raise TypeError(f"topics is a list of names, such as [{topics!r}], or a dict from names to partitions")
    return dict(topics) if isinstance(topics, Mapping) else dict.fromkeys(topics, partitions)


class Running:
    """A cluster that is served in the running event loop."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._stack = ExitStack()

    async def start(self) -> None:
        """Start serving; raises CallError if a log directory is in use."""
        cluster = self._stack.enter_context(_locked(self.plan))
        self.control: Control = Control.of(cluster, tls=tls_context(*self.plan.tls) if self.plan.tls else None)
        self.serving: Serving = self.control.serving
        try:
            self.addresses = await self.serving.start()
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
def _locked(plan: Plan) -> Iterator[ServedCluster]:
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

    def __init__(self, plan: Plan) -> None:
        self._running = Running(plan)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="kwire.testing.Kafka", daemon=True)
        self._thread.start()
        try:
            self._wait(self._running.start())
        except BaseException:
            self._end()
            raise
        self.addresses = self._running.addresses

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


def _security_options(plan: Plan, folder: Path) -> list[str]:
    """Return the security options for `kwire serve`; passwords are in a file that other users cannot read."""
    options = ["--release", plan.release] if plan.release else []
    if plan.users:
        file = folder / "users"
        file.touch(0o600)
        file.write_text("".join(f"{name}:{password}\n" for name, password in plan.users.items()), "utf-8")
        options += ["--sasl-users", str(file), "--sasl-mechanisms", ",".join(plan.sasl_mechanisms)]
        options += ["--max-reauth", str(plan.max_reauth)]
    if plan.tls is not None:
        names = ("--tls-cert", "--tls-key", "--tls-client-ca")
        options += [word for name, one in zip(names, plan.tls, strict=True) if one for word in (name, str(one))]
    if plan.acls:
        options += ["--acls", *(word for name in plan.super_users for word in ("--super-user", name))]
    return options


class AsProcess:
    """A cluster that `kwire serve` runs."""

    def __init__(self, plan: Plan) -> None:
        self._client: ControlClient | None = None
        self._failures: list[str] = []
        self._folder = TemporaryDirectory(prefix="kwire-")
        folder = Path(self._folder.name)
        (folder / "cluster.json").write_text(json.dumps(plan.as_json(plan.directory or folder)), "utf-8")
        options = ["--partitions", str(plan.partitions), "--replication-factor", str(plan.replicas), "--control", "0"]
        options += [] if plan.seed is None else ["--seed", str(plan.seed)]
        options += [] if plan.auto_create_topics else ["--no-auto-create"]
        options += ["--rack-aware-fetch"] if plan.rack_aware_fetch else []
        options += _security_options(plan, folder)
        command = [sys.executable, "-u", "-m", "kwire", "serve", "--cluster", str(folder / "cluster.json"), *options]
        with (folder / "places").open("w") as places, (folder / "log").open("w") as log:
            self._process = subprocess.Popen([*command, "--json"], stdout=places, stderr=log)
        try:
            found = self._begun(folder)
        except CallError:
            self.stop()
            raise
        self.addresses = found["bootstrapServers"].split(",")
        self._client = ControlClient(found["control"], found["controlToken"])

    def _begun(self, folder: Path) -> dict[str, str]:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            ended = self._process.poll() is not None
            if (line := (folder / "places").read_text("utf-8")).endswith("\n"):
                return dict(json.loads(line))
            if ended:
                break
            time.sleep(0.01)
        raise CallError("kwire serve", f"it does not begin: {(folder / 'log').read_text('utf-8').strip()}", "")

    def do(self, operation: str, arguments: dict[str, Any]) -> Any:
        """Perform an operation of `Control` and return its result."""
        assert self._client is not None
        return self._client.do(operation, arguments)

    def failed(self) -> Exception | None:
        """Return an exception with the errors in the broker's own code, once the cluster is stopped; rules have no
        functions in another process."""
        failures, self._failures = self._failures, []
        return RuntimeError("\n".join(failures)) if failures else None

    def stop(self) -> None:
        """Stop the cluster."""
        if self._client is not None:
            with suppress(CallError):  # it has ended already
                self._failures = self._client.do("failures", {})
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()
