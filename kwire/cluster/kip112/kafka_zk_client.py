"""What Kafka stores in ZooKeeper: registrations, states and notifications. Ports KafkaZkClient."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from typing import Any

from ...zookeeper import (
    BrokerRegistration,
    ConfigEntity,
    IsrChange,
    LogDirEvent,
    PartitionState,
    TopicState,
    read_znode,
    write_znode,
)
from ...zookeeper.znode_types import ControllerZNode
from ...zookeeper.znode_types import ZnodePartition as PartitionNode
from ..state import Broker
from .ensemble import Ensemble, StoredZnode
from .values import LeaderAndIsr, ReplicaAssignment, TopicPartition

CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
BROKERS = "/brokers/ids"
TOPICS = "/brokers/topics"
DELETE_TOPICS = "/admin/delete_topics"
LOG_DIR_EVENTS = "/log_dir_event_notification"
ISR_CHANGES = "/isr_change_notification"
REASSIGN = "/admin/reassign_partitions"
PREFERRED_ELECTION = "/admin/preferred_replica_election"


class KafkaZkClient:
    """Kafka's access to an `Ensemble` in one session."""

    def __init__(self, zk: Ensemble, session: int) -> None:
        self.zk: Ensemble = zk
        self.session: int = session

    def read(self, path: str) -> Any:
        """Return the contents of a path as a value of `kwire.zookeeper`; None if the node does not exist."""
        node = self.zk.get(path)
        return read_znode(path, node.data) if node else None

    def register_broker(self, registration: BrokerRegistration, broker_id: int) -> None:
        """Write a broker's registration, which lasts as long as the session."""
        self.zk.create(f"{BROKERS}/{broker_id}", write_znode(registration), owner=self.session)

    def brokers(self) -> dict[int, tuple[Broker, int]]:
        """Return the live brokers, each with its epoch: the transaction that registered it (KIP-380)."""
        brokers = {}
        for name in self.zk.children(BROKERS):
            node = self.zk.nodes[f"{BROKERS}/{name}"]
            if node.data:
                stored: BrokerRegistration = read_znode(f"{BROKERS}/{name}", node.data)
                brokers[int(name)] = (_broker(int(name), stored), node.czxid)
        return brokers

    def elect_controller(self, broker_id: int) -> int | None:
        """Become the controller if there is none; return the new controller epoch, or None."""
        node = ControllerZNode(brokerid=broker_id, timestamp="0", version=1)
        if self.zk.create(CONTROLLER, write_znode(node), owner=self.session) is None:
            return None
        epoch = (self.read(CONTROLLER_EPOCH) or 0) + 1
        if self.zk.create(CONTROLLER_EPOCH, write_znode(epoch)) is None:
            self.zk.set(CONTROLLER_EPOCH, write_znode(epoch))
        return int(epoch)

    def controller_id(self) -> int | None:
        """Return the id of the controller."""
        stored: ControllerZNode | None = self.read(CONTROLLER)
        return stored.brokerid if stored else None

    def topics(self) -> dict[str, TopicState]:
        """Return all topics, in the order of their names."""
        names = self.zk.children(TOPICS)
        return {name: self.read(f"{TOPICS}/{name}") for name in names if self.read(f"{TOPICS}/{name}")}

    def topic_id(self, topic: str) -> bytes:
        """Return a topic's id (KIP-516); a zero UUID if it has none."""
        stored: TopicState | None = self.read(f"{TOPICS}/{topic}")
        return base64.urlsafe_b64decode(f"{stored.topic_id}==") if stored and stored.topic_id else bytes(16)

    def write_topic(self, topic: str, assignments: dict[int, ReplicaAssignment]) -> None:
        """Write the assignment of a topic.

        An existing topic keeps its version and id; a new topic gets the next id.
        """
        old: TopicState | None = self.read(f"{TOPICS}/{topic}")
        new_id = base64.urlsafe_b64encode((self.zk.zxid + 1).to_bytes(16, "big")).decode().rstrip("=")
        stored = TopicState(
            partitions={index: assignment.replicas for index, assignment in assignments.items()},
            version=old.version if old else 3,
            topic_id=old.topic_id if old else new_id,
            adding_replicas={
                index: assignment.adding for index, assignment in assignments.items() if assignment.adding
            },
            removing_replicas={
                index: assignment.removing for index, assignment in assignments.items() if assignment.removing
            },
        )
        if self.zk.create(f"{TOPICS}/{topic}", write_znode(stored)) is None:
            self.zk.set(f"{TOPICS}/{topic}", write_znode(stored))

    def unclean_leader_election(self, topic: str, default: bool) -> bool:
        """Return whether an out-of-sync replica may become the leader of a partition of a topic."""
        stored: ConfigEntity | None = self.read(f"/config/topics/{topic}")
        text = (stored.config if stored else {}).get("unclean.leader.election.enable")
        return default if text is None else text == "true"

    def state(self, partition: TopicPartition) -> LeaderAndIsr | None:
        """Return the leader and ISR of a partition."""
        node = self.zk.get(state_path(partition))
        return None if node is None else _leader_and_isr(state_path(partition), node)

    def create_state(self, partition: TopicPartition, state: LeaderAndIsr) -> bool:
        """Write the first state of a partition; return whether it had none."""
        return self.zk.create(state_path(partition), _state_data(state)) is not None

    def set_state(self, partition: TopicPartition, state: LeaderAndIsr) -> int | None:
        """Write the state of a partition if its znode still has the version that was read; return the new version, or
        None.
        """
        return self.zk.set(state_path(partition), _state_data(state), state.zk_version)

    def notify_log_dir_failure(self, broker_id: int) -> None:
        """Notify the controller of a failed log directory (KIP-112) by a sequential node with the broker's id."""
        data = write_znode(LogDirEvent(broker=broker_id))
        self.zk.create(f"{LOG_DIR_EVENTS}/log_dir_event_", data, sequential=True)

    def notify_isr_change(self, partitions: Iterable[TopicPartition]) -> None:
        """Notify the controller that leaders have changed the ISR of partitions."""
        nodes = tuple(PartitionNode(topic=topic, partition=index) for topic, index in partitions)
        self.zk.create(f"{ISR_CHANGES}/isr_change_", write_znode(IsrChange(partitions=nodes)), sequential=True)

    def notifications(self, folder: str) -> dict[str, Any]:
        """Return the path and value of each node in a folder of notifications, oldest first."""
        paths = [f"{folder}/{name}" for name in self.zk.children(folder)]
        return {path: self.read(path) for path in paths}

    def delete(self, paths: Iterable[str]) -> None:
        """Delete nodes with their descendants."""
        for path in paths:
            self.zk.delete(path)


def state_path(partition: TopicPartition) -> str:
    """Return the path of a partition's state."""
    return f"{TOPICS}/{partition[0]}/partitions/{partition[1]}/state"


def partition_of(path: str) -> TopicPartition | None:
    """Return the partition whose state is stored at a path; None for other paths.

    >>> partition_of("/brokers/topics/flaky/partitions/3/state"), partition_of("/brokers/topics/flaky")
    (('flaky', 3), None)
    """
    matched = re.fullmatch(rf"{TOPICS}/([^/]+)/partitions/(\d+)/state", path)
    return (matched[1], int(matched[2])) if matched else None


def _leader_and_isr(path: str, node: StoredZnode) -> LeaderAndIsr:
    stored: PartitionState = read_znode(path, node.data)
    return LeaderAndIsr(stored.leader, stored.isr, stored.leader_epoch, stored.controller_epoch, node.version)


def _state_data(state: LeaderAndIsr) -> bytes:
    stored = PartitionState(
        leader=state.leader, leader_epoch=state.leader_epoch, isr=state.isr, controller_epoch=state.controller_epoch
    )
    return write_znode(stored)


def _broker(broker_id: int, stored: BrokerRegistration) -> Broker:
    if stored.host is not None:
        return Broker(broker_id, stored.host, stored.port, stored.rack)
    host, _, port = (stored.endpoints or ("//:-1",))[0].rpartition("//")[2].rpartition(":")
    return Broker(broker_id, host, int(port), stored.rack)
