"""Znodes of brokers and the controller: their JSON in all versions, byte for byte, and ZooKeeper's client protocol.

The path of a znode decides its type. Keys are read in any order, and unknown keys are kept; a value that was read is
written as the same bytes.
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
