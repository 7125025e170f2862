"""A broker's side of the protocol, and several brokers in one: requests in, responses out. Sans-IO.

`served` is the whole: it is told the time, gets its chance from an `rng` and its disks from whoever runs it, and
answers at once or later (`waiting`). Replicas are written by their leader, all in one moment; one controller is inside.
"""

from .disks import Disk, MemoryDisk, Store
from .nodes import Node
from .served import ServedCluster
from .settings import Settings
from .waiting import Parked

__all__ = ["Disk", "MemoryDisk", "Node", "Parked", "ServedCluster", "Settings", "Store"]
