"""A broker for tests, sans-IO: requests in, responses out, for one or several brokers with one controller.

`apis.ServedCluster` answers immediately or later (`purgatory_and_fetch_sessions`). The caller passes the time, a random
generator and the disks. Replication is instantaneous: a leader writes to all in-sync replicas at once.
"""

from .apis import ServedCluster
from .purgatory_and_fetch_sessions import Parked
from .settings_and_quotas import Node, Settings
from .storage import Disk, MemoryDisk, Store

__all__ = ["Disk", "MemoryDisk", "Node", "Parked", "ServedCluster", "Settings", "Store"]
