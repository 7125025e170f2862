"""Disk failure with JBOD, KIP-112: a controller and brokers as sans-IO state machines.

`KafkaController` and `KafkaBroker` take kwire's messages and give them; `JbodCluster` joins them by bytes, and moves
only when told to. Knows no sockets, no clock and no chance.
"""

from .behaviours import KIP, Behaviour, InterBrokerProtocol, behaviour_for, protocol_for
from .broker import KafkaBroker
from .cluster import JbodCluster
from .controller import KafkaController
from .ensemble import Ensemble
from .links import Exchange, Link
from .log_manager import Disk, LogManager
from .logs import PartitionLog
from .partition import Fetch, Fetched, Partition
from .replica_manager import ReplicaManager
from .request_batch import Send
from .steps import Host
from .values import LeaderAndIsr, ReplicaAssignment, TopicPartition
from .znodes import KafkaZkClient

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
