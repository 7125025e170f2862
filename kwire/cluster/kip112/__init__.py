"""Disk failure with JBOD (KIP-112): the ZooKeeper-era controller and brokers as sans-IO state machines.

`KafkaController` and `KafkaBroker` take and return kwire's messages. `JbodCluster` connects them by encoded bytes and
advances one step at a time. The package uses no sockets, clocks or random numbers.
"""

from .controller.kafka_controller import KafkaController
from .controller.request_batch import SendRequest
from .ensemble import Ensemble
from .jbod_cluster import Host, JbodCluster
from .kafka_broker import KafkaBroker
from .kafka_zk_client import KafkaZkClient
from .links import Link, RequestExchange
from .log_manager import JbodDisk, LogManager, PartitionLog
from .releases import KIP, Behaviour, InterBrokerProtocol, behaviour_for, protocol_for
from .replica_manager import Fetch, Fetched, Partition, ReplicaManager
from .values import LeaderAndIsr, ReplicaAssignment, TopicPartition

__all__ = [
    "KIP",
    "Behaviour",
    "Ensemble",
    "Fetch",
    "Fetched",
    "Host",
    "InterBrokerProtocol",
    "JbodCluster",
    "JbodDisk",
    "KafkaBroker",
    "KafkaController",
    "KafkaZkClient",
    "LeaderAndIsr",
    "Link",
    "LogManager",
    "Partition",
    "PartitionLog",
    "ReplicaAssignment",
    "ReplicaManager",
    "RequestExchange",
    "SendRequest",
    "TopicPartition",
    "behaviour_for",
    "protocol_for",
]
