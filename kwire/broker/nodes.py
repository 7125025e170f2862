"""The brokers of a served cluster, and their log directories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..cluster import Broker
from .disks import Disk, MemoryDisk


@dataclass(slots=True)
class LogDir:
    """A log directory of a broker; `is_offline` once it has failed, and from then on; how many `replicas` are in it."""

    disk: Disk
    is_offline: bool = False
    replicas: int = 0

    @property
    def path(self) -> str:
        """Its name, as the broker's settings have it."""
        return self.disk.path


@dataclass(slots=True)
class Node:
    """A broker. `host` and `port` are what clients are told; a broker without a good directory is not alive.

    >>> node = Node(1, rack="/DC1/R1")
    >>> node.is_alive, node.broker().rack
    (True, '/DC1/R1')
    """

    node_id: int
    host: str = "localhost"
    port: int = 9092
    rack: str | None = None
    disks: Sequence[Disk] = field(default_factory=lambda: [MemoryDisk()])
    log_dirs: list[LogDir] = field(init=False)

    def __post_init__(self) -> None:
        self.log_dirs = [LogDir(disk) for disk in self.disks]

    @property
    def is_alive(self) -> bool:
        """Whether it has a directory that works: a broker stops when it has none (KIP-112)."""
        return not all(log_dir.is_offline for log_dir in self.log_dirs)

    def failed(self) -> LogDir | None:
        """Return a directory that has failed; None if all work."""
        return next((log_dir for log_dir in self.log_dirs if log_dir.is_offline), None)

    def broker(self) -> Broker:
        """Return it as placements know brokers."""
        return Broker(self.node_id, self.host, self.port, self.rack, fenced=not self.is_alive)
