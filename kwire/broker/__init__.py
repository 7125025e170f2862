"""A broker for tests, sans-IO: requests in, responses out, for one or several brokers with one controller.

`served.ServedCluster` answers immediately or later (`purgatory`). The caller passes the time, a random generator and
the disks. Replication is instantaneous: a leader writes to all in-sync replicas at once.
"""

from .configs import Node, Settings
from .purgatory import Parked
from .served import ServedCluster
from .storage import Disk, MemoryDisk, Store

__all__ = ["Disk", "MemoryDisk", "Node", "Parked", "ServedCluster", "Settings", "Store"]
