"""A broker for tests, sans-IO: requests in, responses out, for one or several brokers with one controller.

`apis.ServedCluster` answers immediately or later (`purgatory`). The caller passes the time, a random generator
and the disks. Replication is instantaneous: a leader writes to all in-sync replicas at once.
"""

from .apis import ServedCluster
from .purgatory import Parked
from .settings import Node, Settings
from .storage import Disk, MemoryDisk, Store

__all__ = ["Disk", "MemoryDisk", "Node", "Parked", "ServedCluster", "Settings", "Store"]
