"""Znodes of brokers, topics and the controller. Attributes are the JSON's names, in snake case.

`ORDERS` gives for each JSON version the keys in the order in which they are written: that of the newest release
that writes this version, as captures show it.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from .base import Node

LOG_DIR_FAILURE: Final = 1
LOG_DIR_RESET: Final = "LogDirReset"  # KIP-112's earlier wording; no source gives it a number
Replicas = dict[int, tuple[int, ...]]


class BrokerRegistration(Node, frozen=True, kw_only=True):
    """`/brokers/ids/ID`: a live broker (KIP-36 for the rack, KIP-103 for the map, KIP-584 for features).

    `host` is None and `port` -1 where no end point is PLAINTEXT.
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


class TopicState(Node, frozen=True, kw_only=True):
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


class PartitionState(Node, frozen=True, kw_only=True):
    """`.../partitions/N/state`: leader and in-sync replicas; the recovery state only while 1 (KIP-704)."""

    ORDERS = {1: "controller_epoch leader version leader_recovery_state leader_epoch isr"}
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    version: int = 1
    leader_recovery_state: int | None = None


class ControllerManagedState(Node, frozen=True, kw_only=True):
    """`.../partitions/N/controller_managed_state` of KIP-112's earlier wording, which was never released."""

    ORDERS = {1: "version created"}
    created: tuple[int, ...]
    version: int = 1


class Controller(Node, frozen=True, kw_only=True):
    """`/controller`: the broker that is the controller (KIP-866 for the KRaft epoch)."""

    ORDERS = {1: "version brokerid timestamp", 2: "version brokerid timestamp kraftControllerEpoch"}
    brokerid: int
    timestamp: str
    version: int = 2
    kraft_controller_epoch: int | None = msgspec.field(default=None, name="kraftControllerEpoch")


class LogDirEvent(Node, frozen=True, kw_only=True):
    """`/log_dir_event_notification/log_dir_event_N`: a broker lost a log directory (KIP-112).

    `event` is the int 1; the word `LogDirReset` is of the KIP's earlier wording. Kafka's own reader looks at
    `broker` alone.
    """

    ORDERS = {1: "version broker event"}
    broker: int
    event: int | Literal["LogDirReset"] | None = LOG_DIR_FAILURE
    version: int | None = 1


class TopicPartition(Node, frozen=True, kw_only=True):
    """A partition, in lists of them."""

    ORDERS = {None: "topic partition"}
    topic: str
    partition: int


class AssignedPartition(Node, frozen=True, kw_only=True):
    """A partition and the replicas it is to have."""

    ORDERS = {None: "topic partition replicas"}
    topic: str
    partition: int
    replicas: tuple[int, ...]


class IsrChange(Node, frozen=True, kw_only=True):
    """`/isr_change_notification/isr_change_N`: partitions whose leader changed their in-sync replicas."""

    ORDERS = {1: "version partitions"}
    partitions: tuple[TopicPartition, ...]
    version: int = 1


class PreferredReplicaElection(Node, frozen=True, kw_only=True):
    """`/admin/preferred_replica_election`: partitions whose preferred leader is to lead."""

    ORDERS = {1: "version partitions"}
    partitions: tuple[TopicPartition, ...]
    version: int = 1


class PartitionReassignment(Node, frozen=True, kw_only=True):
    """`/admin/reassign_partitions`: reassignments asked for and not done yet."""

    ORDERS = {1: "version partitions"}
    partitions: tuple[AssignedPartition, ...]
    version: int = 1
