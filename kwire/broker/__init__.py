"""A broker for tests, sans-IO: requests in, responses out, for one or several brokers with one controller.

`served.ServedCluster` answers at once or later (`purgatory`). Its caller gives it the time, a random generator and
the disks. A leader writes to all replicas in sync at the same moment.
"""

from .configs import Node, Settings
from .purgatory import Parked
from .served import ServedCluster
from .storage import Disk, MemoryDisk, Store

__all__ = ["Disk", "MemoryDisk", "Node", "Parked", "ServedCluster", "Settings", "Store"]
