"""A broker's side of the protocol, and several brokers in one: requests in, responses out. Sans-IO.

`served` is the whole: it is told the time, gets its chance from an `rng` and its disks from whoever runs it, and
answers at once or later (`waiting`). Replicas are written by their leader, all in one moment; one controller is inside.
"""

from .configs import Node, Settings
from .purgatory import Parked
from .served import ServedCluster
from .storage import Disk, MemoryDisk, Store

__all__ = ["Disk", "MemoryDisk", "Node", "Parked", "ServedCluster", "Settings", "Store"]
