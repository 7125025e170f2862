"""A broker for tests, sans-IO: requests in, responses out, for one or several brokers with one controller.

`ServedCluster` answers immediately or later (`purgatory`). The caller passes the time, a random generator and the
disks. Replication is instantaneous: a leader writes to all in-sync replicas at once.
"""

from .log.disk import Disk, Store
from .log.memory_disk import MemoryDisk
from .node import Node
from .purgatory import Parked
from .served_cluster import ServedCluster
from .settings import Settings

__all__ = [
    "Disk",
    "MemoryDisk",
    "Node",
    "Parked",
    "ServedCluster",
    "Settings",
    "Store",
]
