"""What became of a cluster: tables of its partitions, brokers and offline replicas, from messages that told of them.

In go LeaderAndIsr, UpdateMetadata and StopReplica requests with their responses (a controller of ZooKeeper's), what
clients were told (Metadata, DescribeTopicPartitions), and what brokers of KRaft report of their log directories
(BrokerHeartbeat, BrokerRegistration, AssignReplicasToDirs); a state that is sent to every broker is one row. The table
`sources` says which of these there were. Knows messages by their attributes; knows no files and no Spark.
"""

from .extractor import MESSAGES, Observation, heard
from .recorder import History, history_of
from .tables import ROWS, BrokerLife, IsrShrink, OfflineReplica, PartitionState, RackViolation, Source, Tables

__all__ = [
    "MESSAGES",
    "ROWS",
    "BrokerLife",
    "History",
    "IsrShrink",
    "Observation",
    "OfflineReplica",
    "PartitionState",
    "RackViolation",
    "Source",
    "Tables",
    "heard",
    "history_of",
]
