"""What became of a cluster: tables of its partitions, brokers and offline replicas, from messages that told of them.

LeaderAndIsr, UpdateMetadata and StopReplica requests with their answers, and Metadata responses, in; what was said to
every broker is taken down once. Knows messages by their attributes; knows no files and no Spark.
"""

from .chronicle import History, history_of
from .hearing import APIS, Heard, heard
from .tables import ROWS, BrokerLife, IsrShrink, OfflineReplica, PartitionState, RackViolation, Tables

__all__ = [
    "APIS",
    "ROWS",
    "BrokerLife",
    "Heard",
    "History",
    "IsrShrink",
    "OfflineReplica",
    "PartitionState",
    "RackViolation",
    "Tables",
    "heard",
    "history_of",
]
