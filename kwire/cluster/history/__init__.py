"""The history of a cluster: tables of its partitions, brokers and offline replicas over time, made from messages.

The messages are LeaderAndIsr, UpdateMetadata and StopReplica requests with their responses (from a ZooKeeper-era
controller), responses to clients (Metadata, DescribeTopicPartitions), and reports of KRaft brokers about their log
directories (BrokerHeartbeat, BrokerRegistration, AssignReplicasToDirs). A state that is sent to every broker is one
row. The table `sources` lists the messages that were found. Knows no files and no Spark.
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
