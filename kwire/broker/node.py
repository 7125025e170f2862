"""The brokers of a served cluster, and their log directories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..cluster import Broker
from .log.disk import Disk
from .log.memory_disk import MemoryDisk

# Loggers of Kafka's whose levels clients may read and alter (KIP-412); they have no effect.
LOGGERS = (
    "root kafka kafka.authorizer.logger kafka.controller kafka.log.LogCleaner kafka.network.RequestChannel$"
    " kafka.request.logger kafka.server.KafkaApis kafka.server.ReplicaManager org.apache.kafka"
    " org.apache.kafka.controller state.change.logger"
).split()


@dataclass(slots=True)
class LogDir:
    """A log directory of a broker.

    Attributes:
        disk: stores the logs.
        is_offline: whether it has failed.
        replicas: the number of replicas in the directory.
        is_stopped: whether its broker is stopped or unreachable.
        is_full: whether the next write fails.
        starts: the first offsets of partitions with records deleted by clients, by topic and partition index.
        problem: the system's reason for the failure, until the operator is notified; empty if a test caused it.
    """

    disk: Disk
    is_offline: bool = False
    replicas: int = 0
    is_stopped: bool = False
    is_full: bool = False
    starts: dict[tuple[str, int], int] = field(default_factory=dict)
    problem: str = ""

    @property
    def works(self) -> bool:
        """Whether the directory can be read and written."""
        return not (self.is_offline or self.is_stopped)

    @property
    def path(self) -> str:
        """The path of the directory, as in the broker's `log.dirs`."""
        return self.disk.path


@dataclass(slots=True)
class Node:
    """A broker. Clients connect to `host` and `port`, or to the `advertised` address where another program forwards
    connections; a broker without a working directory is not alive.

    >>> node = Node(1, rack="/DC1/R1")
    >>> node.is_alive, node.broker().rack
    (True, '/DC1/R1')
    """

    node_id: int
    host: str = "localhost"
    port: int = 9092
    rack: str | None = None
    disks: Sequence[Disk] = field(default_factory=lambda: [MemoryDisk()])
    advertised: tuple[str, int] | None = None  # Kafka's advertised.listeners
    static_configs: dict[str, str] = field(default_factory=dict)  # that only this broker has, by Kafka's names
    log_dirs: list[LogDir] = field(init=False)
    logger_levels: dict[str, str] = field(init=False, default_factory=lambda: dict.fromkeys(LOGGERS, "INFO"))

    def __post_init__(self) -> None:
        self.log_dirs = [LogDir(disk) for disk in self.disks]

    @property
    def address(self) -> tuple[str, int]:
        """The host and port that clients are given."""
        return self.advertised or (self.host, self.port)

    @property
    def is_alive(self) -> bool:
        """Whether the broker has a working log directory; a broker without one stops (KIP-112)."""
        for log_dir in self.log_dirs:  # noqa: SIM110 (asked for each request; `any` takes three times as long)
            if not (log_dir.is_offline or log_dir.is_stopped):
                return True
        return False

    @property
    def is_stopped(self) -> bool:
        """Whether the broker was stopped or isolated, so that it can be started again."""
        return any(log_dir.is_stopped for log_dir in self.log_dirs)

    def set_stopped(self, is_stopped: bool) -> None:
        """Mark the broker as stopped or running."""
        for log_dir in self.log_dirs:
            log_dir.is_stopped = is_stopped

    def failed(self) -> LogDir | None:
        """Return a failed directory; None if all directories work."""
        return next((log_dir for log_dir in self.log_dirs if log_dir.is_offline), None)

    def broker(self) -> Broker:
        """Return the node as a `Broker` for replica placement."""
        return Broker(self.node_id, *self.address, self.rack, fenced=not self.is_alive)
