"""The types of Kafka's znodes, by path: brokers, topics, the controller, features, configs, ACLs."""

from __future__ import annotations

import re
from typing import Final, Literal

import msgspec

from .znode_struct import ZnodeStruct

Replicas = dict[int, tuple[int, ...]]
_TOPIC = "/brokers/topics/[^/]+"
LOG_DIR_FAILURE: Final = 1
LOG_DIR_RESET: Final = "LogDirReset"  # from an earlier text of KIP-112; no source contains its number


class BrokerRegistration(ZnodeStruct, frozen=True, kw_only=True):
    """`/brokers/ids/ID`: a live broker (KIP-36 for the rack, KIP-103 for the map, KIP-584 for features).

    `host` is None and `port` is -1 if no end point is PLAINTEXT.
    """

    ORDERS = {
        1: "jmx_port timestamp host version port",
        2: "endpoints jmx_port port host version timestamp",
        3: "jmx_port timestamp endpoints host version port rack",
        4: "listener_security_protocol_map endpoints rack jmx_port port host version timestamp",
        5: "features listener_security_protocol_map endpoints rack jmx_port port host version timestamp",
    }
    host: str | None
    port: int
    version: int = 5
    timestamp: str | None = None
    jmx_port: int | None = -1
    endpoints: tuple[str, ...] | None = None
    listener_security_protocol_map: dict[str, str] | None = None
    rack: str | None = None
    features: dict[str, dict[str, int]] | None = None


class TopicState(ZnodeStruct, frozen=True, kw_only=True):
    """`/brokers/topics/TOPIC`: the replicas of each partition (KIP-455: adding, removing; KIP-516: the id)."""

    ORDERS = {
        1: "version partitions",
        2: "version partitions adding_replicas removing_replicas",
        3: "partitions topic_id adding_replicas removing_replicas version",
    }
    partitions: Replicas
    version: int = 3
    topic_id: str | None = None
    adding_replicas: Replicas | None = {}
    removing_replicas: Replicas | None = {}


class PartitionState(ZnodeStruct, frozen=True, kw_only=True):
    """`.../partitions/N/state`: leader and in-sync replicas; the recovery state only if it is 1 (KIP-704)."""

    ORDERS = {1: "controller_epoch leader version leader_recovery_state leader_epoch isr"}
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    version: int = 1
    leader_recovery_state: int | None = None


class ControllerManagedState(ZnodeStruct, frozen=True, kw_only=True):
    """`.../partitions/N/controller_managed_state`, from an earlier text of KIP-112; never released."""

    ORDERS = {1: "version created"}
    created: tuple[int, ...]
    version: int = 1


class ControllerZNode(ZnodeStruct, frozen=True, kw_only=True):
    """`/controller`: the broker that is the controller (KIP-866 for the KRaft epoch)."""

    ORDERS = {1: "version brokerid timestamp", 2: "version brokerid timestamp kraftControllerEpoch"}
    brokerid: int
    timestamp: str
    version: int = 2
    kraft_controller_epoch: int | None = msgspec.field(default=None, name="kraftControllerEpoch")


class LogDirEvent(ZnodeStruct, frozen=True, kw_only=True):
    """`/log_dir_event_notification/log_dir_event_N`: a broker lost a log directory (KIP-112).

    `event` is the int 1; the string `LogDirReset` is from an earlier text of the KIP. Kafka's reader uses only
    `broker`.
    """

    ORDERS = {1: "version broker event"}
    broker: int
    event: int | Literal["LogDirReset"] | None = LOG_DIR_FAILURE
    version: int | None = 1


class ZnodePartition(ZnodeStruct, frozen=True, kw_only=True):
    """A partition, as an element of lists."""

    ORDERS = {None: "topic partition"}
    topic: str
    partition: int


class AssignedPartition(ZnodeStruct, frozen=True, kw_only=True):
    """A partition and its target replicas."""

    ORDERS = {None: "topic partition replicas"}
    topic: str
    partition: int
    replicas: tuple[int, ...]


class IsrChange(ZnodeStruct, frozen=True, kw_only=True):
    """`/isr_change_notification/isr_change_N`: partitions whose leader changed their in-sync replicas."""

    ORDERS = {1: "version partitions"}
    partitions: tuple[ZnodePartition, ...]
    version: int = 1


class PreferredReplicaElection(ZnodeStruct, frozen=True, kw_only=True):
    """`/admin/preferred_replica_election`: partitions whose preferred replica should become the leader."""

    ORDERS = {1: "version partitions"}
    partitions: tuple[ZnodePartition, ...]
    version: int = 1


class PartitionReassignment(ZnodeStruct, frozen=True, kw_only=True):
    """`/admin/reassign_partitions`: requested reassignments that are not complete."""

    ORDERS = {1: "version partitions"}
    partitions: tuple[AssignedPartition, ...]
    version: int = 1


class ClusterId(ZnodeStruct, frozen=True, kw_only=True):
    """`/cluster/id` (KIP-78). The version is a string here."""

    ORDERS = {"1": "version id"}
    id: str
    version: str = "1"


class FeatureState(ZnodeStruct, frozen=True, kw_only=True):
    """`/feature`: finalized features; status 0 is disabled, 1 enabled (KIP-584)."""

    ORDERS = {1: "features version status", 2: "features version status"}
    features: dict[str, dict[str, int]]
    status: int
    version: int = 2


class ProducerIdBlock(ZnodeStruct, frozen=True, kw_only=True):
    """`/latest_producer_id_block`: the last allocated block of producer ids and its broker (KIP-98). Bounds are
    strings.
    """

    ORDERS = {1: "version broker block_start block_end"}
    broker: int
    block_start: str
    block_end: str
    version: int = 1


class ConfigEntity(ZnodeStruct, frozen=True, kw_only=True):
    """`/config/topics/TOPIC`, `/config/users/USER/clients/CLIENT` and so on: the overrides of one entity."""

    ORDERS = {1: "version config"}
    config: dict[str, str]
    version: int = 1


class ConfigChange(ZnodeStruct, frozen=True, kw_only=True):
    """`/config/changes/config_change_N`: the entity whose overrides changed (KIP-55)."""

    ORDERS = {1: "version entity_type entity_name", 2: "version entity_path"}
    version: int = 2
    entity_path: str | None = None
    entity_type: str | None = None
    entity_name: str | None = None


class AclEntry(ZnodeStruct, frozen=True, kw_only=True):
    """One rule of an `AclList`."""

    ORDERS = {None: "principal permissionType host operation"}
    principal: str
    permission_type: str = msgspec.field(name="permissionType")
    host: str
    operation: str


class AclList(ZnodeStruct, frozen=True, kw_only=True):
    """`/kafka-acl/TYPE/NAME`, `/kafka-acl-extended/prefixed/TYPE/NAME`: the rules of a resource (KIP-11, KIP-290)."""

    ORDERS = {1: "acls version"}
    acls: tuple[AclEntry, ...]
    version: int = 1


class DelegationToken(ZnodeStruct, frozen=True, kw_only=True):
    """`/delegation_token/tokens/ID` (KIP-48; KIP-373 for the requester). Times are numbers here."""

    ORDERS = {3: "issueTimestamp renewers tokenRequester tokenId owner expiryTimestamp maxTimestamp version"}
    token_id: str = msgspec.field(name="tokenId")
    owner: str
    token_requester: str | None = msgspec.field(default=None, name="tokenRequester")
    renewers: tuple[str, ...] = ()
    issue_timestamp: int = msgspec.field(name="issueTimestamp")
    expiry_timestamp: int = msgspec.field(name="expiryTimestamp")
    max_timestamp: int = msgspec.field(name="maxTimestamp")
    version: int = 3


class ConsumerRegistration(ZnodeStruct, frozen=True, kw_only=True):
    """`/consumers/GROUP/ids/ID`: a member of a group of the first, ZooKeeper-based consumer."""

    ORDERS = {1: "version subscription pattern timestamp"}
    subscription: dict[str, int]
    pattern: str
    timestamp: str
    version: int = 1


# path -> the class of its JSON; int means a bare number
PATHS: dict[str, type[ZnodeStruct] | type[int]] = {
    r"/brokers/ids/\d+": BrokerRegistration,
    _TOPIC: TopicState,
    rf"{_TOPIC}/partitions/\d+/state": PartitionState,
    # the text of KIP-112 has /broker/
    r"/brokers?/topics/[^/]+/partitions/\d+/controller_managed_state": ControllerManagedState,
    r"/controller": ControllerZNode,
    r"/controller_epoch": int,
    r"/log_dir_event_notification/log_dir_event_-?\d+": LogDirEvent,
    r"/isr_change_notification/isr_change_-?\d+": IsrChange,
    r"/admin/preferred_replica_election": PreferredReplicaElection,
    r"/admin/reassign_partitions": PartitionReassignment,
    r"/cluster/id": ClusterId,
    r"/feature": FeatureState,
    r"/latest_producer_id_block": ProducerIdBlock,
    r"/config/changes/config_change_-?\d+": ConfigChange,
    r"/config/(topics|clients|users|brokers|ips)/.+": ConfigEntity,
    r"/kafka-acl/[^/]+/[^/]+": AclList,
    r"/kafka-acl-extended/[^/]+/[^/]+/[^/]+": AclList,
    r"/delegation_token/tokens/[^/]+": DelegationToken,
    r"/consumers/[^/]+/ids/[^/]+": ConsumerRegistration,
    r"/consumers/[^/]+/offsets/[^/]+/\d+": int,
}


def node_type(path: str) -> type[ZnodeStruct] | type[int] | None:
    """Return the type of a path's data.

    The type is a class or `int`; None for a folder, plain text, or a path that Kafka does not use.

    >>> node_type("/brokers/ids/3"), node_type("/controller_epoch"), node_type("/brokers")
    (<class 'kwire.zookeeper.znode_types.BrokerRegistration'>, <class 'int'>, None)
    """
    return next((kind for pattern, kind in PATHS.items() if re.fullmatch(pattern, path)), None)
