"""Collects the requests of the controller to brokers. Ports ControllerBrokerRequestBatch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...state import EPOCH_DURING_DELETE, LEADER_DURING_DELETE, NO_EPOCH
from ..releases import Behaviour, InterBrokerProtocol
from ..requests import leader_and_isr_request, stop_replica_requests, update_metadata_request
from ..values import LeaderAndIsr, ReplicaAssignment, TopicPartition
from .controller_context import ControllerContext


@dataclass(frozen=True, slots=True)
class SendRequest:
    """A request to a broker. `broker_epoch` identifies an incarnation of the broker; a later one must not receive
    it.
    """

    broker_id: int
    broker_epoch: int
    message: Any
    version: int


class ControllerBrokerRequestBatch:
    """Collects requests and sends them in Kafka's order: LeaderAndIsr, then UpdateMetadata, then StopReplica.

    In Kafka, ControllerChannelManager then sends the outbox, one request at a time to each broker.
    """

    def __init__(
        self, broker_id: int, context: ControllerContext, protocol: InterBrokerProtocol, behaviour: Behaviour
    ) -> None:
        self.broker_id: int = broker_id
        self.context: ControllerContext = context
        self.protocol: InterBrokerProtocol = protocol
        self.behaviour: Behaviour = behaviour
        self.outbox: list[SendRequest] = []
        self._new_batch()

    def _new_batch(self) -> None:
        self._leader_and_isr: dict[int, dict[TopicPartition, tuple[LeaderAndIsr, ReplicaAssignment, bool]]] = {}
        self._metadata: dict[TopicPartition, tuple[LeaderAndIsr, ReplicaAssignment, tuple[int, ...]]] = {}
        self._metadata_brokers: set[int] = set()
        self._stop: dict[int, dict[TopicPartition, tuple[bool, int]]] = {}

    def add_leader_and_isr(
        self, brokers: Iterable[int], partition: TopicPartition, state: LeaderAndIsr, *, is_new: bool
    ) -> None:
        """Add the leader and ISR of a partition for its brokers, and its metadata for all brokers.

        `is_new` is KIP-112's `is_new_replica`: true only when the replica goes from NewReplica to Online. Ports
        ControllerBrokerRequestBatch.addLeaderAndIsrRequestForBrokers.
        """
        assignment = self.context.assignments[partition]
        for broker in brokers:
            rows = self._leader_and_isr.setdefault(broker, {})
            rows[partition] = (state, assignment, is_new or (partition in rows and rows[partition][2]))
        self.add_update_metadata(self.context.brokers, {partition})

    def add_update_metadata(self, brokers: Iterable[int], partitions: Iterable[TopicPartition]) -> None:
        """Add the metadata of partitions and the live brokers, for given brokers."""
        self._metadata_brokers.update(brokers)
        wanted = set(partitions)
        if self.behaviour.metadata_of_all:
            wanted = wanted or {
                partition for partition in self.context.leaders if not self.context.is_deleted(partition)
            }
            wanted |= {partition for partition in self.context.assignments if self.context.is_deleted(partition)}
        for partition in sorted(wanted):
            self._add_metadata(partition)

    def update_metadata(self, brokers: Iterable[int], partitions: Iterable[TopicPartition]) -> None:
        """Send the metadata of partitions and the live brokers to given brokers immediately."""
        self.add_update_metadata(brokers, partitions)
        self.send_requests()

    def _add_metadata(self, partition: TopicPartition) -> None:
        state = self.context.leaders.get(partition)
        if state is None:
            return
        if self.context.is_deleted(partition):
            state = LeaderAndIsr(LEADER_DURING_DELETE, state.isr, controller_epoch=state.controller_epoch)
        offline = self.context.offline_replicas(partition)
        self._metadata[partition] = (state, self.context.assignments[partition], offline)

    def add_stop_replica(self, broker: int, partition: TopicPartition, *, delete: bool) -> None:
        """Add a request that a broker stop a replica, or delete it."""
        rows = self._stop.setdefault(broker, {})
        state = self.context.leaders.get(partition)
        epoch = state.leader_epoch if state else NO_EPOCH
        deleted = EPOCH_DURING_DELETE if self.context.is_deleted(partition) else epoch
        rows[partition] = (delete or (partition in rows and rows[partition][0]), deleted)

    def send_requests(self) -> None:
        """Put the collected requests for live brokers into the outbox, and start a new batch.

        Ports ControllerBrokerRequestBatch.sendRequestsToBrokers.
        """
        controller = (self.broker_id, self.context.epoch)
        live = list(self.context.brokers.values())
        ids = self.context.topic_ids
        for broker, rows in self._leader_and_isr.items():
            version = self.protocol.leader_and_isr
            epoch = self.context.broker_epochs.get(broker, -1)
            self._send(broker, leader_and_isr_request(version, controller, epoch, rows, live, ids), version)
        for broker in sorted(self._metadata_brokers):
            version = self.protocol.update_metadata
            epoch = self.context.broker_epochs.get(broker, -1)
            self._send(broker, update_metadata_request(version, controller, epoch, self._metadata, live, ids), version)
        for broker, stops in self._stop.items():
            version = self.protocol.stop_replica
            epoch = self.context.broker_epochs.get(broker, -1)
            for message in stop_replica_requests(version, controller, epoch, stops):
                self._send(broker, message, version)
        self._new_batch()

    def _send(self, broker: int, message: Any, version: int) -> None:
        if broker in self.context.brokers:
            self.outbox.append(SendRequest(broker, self.context.broker_epochs[broker], message, version))
