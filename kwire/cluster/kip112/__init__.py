"""Disk failure with JBOD (KIP-112): the ZooKeeper-era controller and brokers as sans-IO state machines.

`KafkaController` and `KafkaBroker` take and return kwire's messages. `JbodCluster` connects them by encoded bytes and
advances one step at a time. The package uses no sockets, clocks or random numbers.
"""

from .jbod_cluster import (
    Exchange,
    Host,
    JbodCluster,
    Link,
)
from .kafka_broker import (
    Disk,
    Fetch,
    Fetched,
    KafkaBroker,
    LogManager,
    Partition,
    PartitionLog,
    ReplicaManager,
)
from .kafka_controller import (
    KafkaController,
)
from .kafka_zk_client import (
    Ensemble,
    KafkaZkClient,
)
from .replica_states import (
    KIP,
    Behaviour,
    InterBrokerProtocol,
    LeaderAndIsr,
    ReplicaAssignment,
    TopicPartition,
    behaviour_for,
    protocol_for,
)
from .state_machines import (
    Send,
)

__all__ = [
    "KIP",
    "Behaviour",
    "Disk",
    "Ensemble",
    "Exchange",
    "Fetch",
    "Fetched",
    "Host",
    "InterBrokerProtocol",
    "JbodCluster",
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
    "Send",
    "TopicPartition",
    "behaviour_for",
    "protocol_for",
]
