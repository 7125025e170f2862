"""Systems of whole clusters: what brokers and partitions there are. Values in, values out.

Knows nodes, replicas and racks; knows no bytes, no frames and no files. `learning` turns messages into state by the
names of their attributes.
"""

from .learning import LESSONS, learn
from .state import Broker, ClusterState, Partition

__all__ = ["LESSONS", "Broker", "ClusterState", "Partition", "learn"]
