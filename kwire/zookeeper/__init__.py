"""What brokers and their controller kept in ZooKeeper's nodes: their JSON in all its versions, to the byte, and the
packets that read and write them.

Knows which path holds what, and the form each release wrote; knows no sockets. Reading takes the keys
in any order and keeps unknown ones; what was read is written as it stood.
"""

from .client_protocol import Znode, ZooKeeperConnection, ZooKeeperSessions
from .znode_values import (
    LOG_DIR_FAILURE,
    LOG_DIR_RESET,
    Acl,
    AclList,
    AssignedPartition,
    BrokerRegistration,
    ClusterId,
    ConfigChange,
    ConfigEntity,
    ConsumerRegistration,
    Controller,
    ControllerManagedState,
    DelegationToken,
    FeatureState,
    IsrChange,
    LogDirEvent,
    Node,
    PartitionReassignment,
    PartitionState,
    PreferredReplicaElection,
    ProducerIdBlock,
    TopicPartition,
    TopicState,
)
from .znodes import looks_like_znodes, node_type, read_znode, write_znode, znodes_in

__all__ = [
    "LOG_DIR_FAILURE",
    "LOG_DIR_RESET",
    "Acl",
    "AclList",
    "AssignedPartition",
    "BrokerRegistration",
    "ClusterId",
    "ConfigChange",
    "ConfigEntity",
    "ConsumerRegistration",
    "Controller",
    "ControllerManagedState",
    "DelegationToken",
    "FeatureState",
    "IsrChange",
    "LogDirEvent",
    "Node",
    "PartitionReassignment",
    "PartitionState",
    "PreferredReplicaElection",
    "ProducerIdBlock",
    "TopicPartition",
    "TopicState",
    "Znode",
    "ZooKeeperConnection",
    "ZooKeeperSessions",
    "looks_like_znodes",
    "node_type",
    "read_znode",
    "write_znode",
    "znodes_in",
]
