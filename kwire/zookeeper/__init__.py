"""Kafka's data in ZooKeeper: the types of znodes and their JSON, and ZooKeeper's client protocol."""

from .client_protocol import ZooKeeperConnection, ZooKeeperSessions
from .znode import Znode
from .znode_json import read_znode, write_znode
from .znode_lines import looks_like_znodes, znodes_in
from .znode_struct import ZnodeStruct
from .znode_types import AclEntry, AclList, AssignedPartition, BrokerRegistration, ClusterId, ConfigChange, ConfigEntity, ConsumerRegistration, ControllerManagedState, ControllerZNode, DelegationToken, FeatureState, IsrChange, LOG_DIR_FAILURE, LOG_DIR_RESET, LogDirEvent, PartitionReassignment, PartitionState, PreferredReplicaElection, ProducerIdBlock, TopicState, ZnodePartition, node_type

__all__ = [
    "LOG_DIR_FAILURE",
    "LOG_DIR_RESET",
    "AclEntry",
    "AclList",
    "AssignedPartition",
    "BrokerRegistration",
    "ClusterId",
    "ConfigChange",
    "ConfigEntity",
    "ConsumerRegistration",
    "ControllerManagedState",
    "ControllerZNode",
    "DelegationToken",
    "FeatureState",
    "IsrChange",
    "LogDirEvent",
    "PartitionReassignment",
    "PartitionState",
    "PreferredReplicaElection",
    "ProducerIdBlock",
    "TopicState",
    "Znode",
    "ZnodePartition",
    "ZnodeStruct",
    "ZooKeeperConnection",
    "ZooKeeperSessions",
    "looks_like_znodes",
    "node_type",
    "read_znode",
    "write_znode",
    "znodes_in",
]
