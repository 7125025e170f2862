"""Kafka's data in ZooKeeper: `znodes` has the values of znodes, `client_protocol` ZooKeeper's client protocol."""

from .client_protocol import Znode, ZooKeeperConnection, ZooKeeperSessions
from .znodes import Acl, AclList, AssignedPartition, BrokerRegistration, ClusterId, ConfigChange, ConfigEntity, ConsumerRegistration, Controller, ControllerManagedState, DelegationToken, FeatureState, IsrChange, LOG_DIR_FAILURE, LOG_DIR_RESET, LogDirEvent, Node, PartitionReassignment, PartitionState, PreferredReplicaElection, ProducerIdBlock, TopicPartition, TopicState, looks_like_znodes, node_type, read_znode, write_znode, znodes_in

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
