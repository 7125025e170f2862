"""A broker as KIP-112 describes it: log directories, replicas, its view of the cluster, requests to ZooKeeper.

Sans-IO: requests come in as messages, responses go out. The caller reports failed disks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ... import messages
from ...zookeeper import BrokerRegistration
from ..events.apply import learn
from ..state import ClusterState
from .kafka_zk_client import KafkaZkClient
from .log_manager import JbodDisk, LogManager
from .releases import KIP, Behaviour, InterBrokerProtocol, protocol_for
from .replica_manager import ReplicaManager
from .values import NONE, STALE_CONTROLLER_EPOCH, TopicPartition

LEADER_NOT_AVAILABLE = 5


class KafkaBroker:
    """One incarnation of a broker.

    Args:
        broker_id: the id of the broker.
        disks: log directory -> its disk; the broker's configuration for this start.
        zk: its session with ZooKeeper.
        registration: the content of its registration.
        behaviour, protocol: as for `KafkaController`.

    `running` becomes false when the broker stops itself: when no log directory is good, or one fails under a protocol
    version that cannot report it.
    """

    def __init__(
        self,
        broker_id: int,
        disks: dict[str, JbodDisk],
        zk: KafkaZkClient,
        registration: BrokerRegistration,
        *,
        behaviour: Behaviour = KIP,
        protocol: InterBrokerProtocol | None = None,
    ) -> None:
        self.broker_id: int = broker_id
        self.zk: KafkaZkClient = zk
        self.registration: BrokerRegistration = registration
        self.protocol: InterBrokerProtocol = protocol or protocol_for("3.9")
        self.logs: LogManager = LogManager(disks)
        self.replicas: ReplicaManager = ReplicaManager(broker_id, self.logs, behaviour)
        self.metadata: ClusterState = ClusterState()
        self.running: bool = self._can_run()
        if self.running:
            zk.register_broker(registration, broker_id)

    def _can_run(self) -> bool:
        if not self.protocol.knows_disk_failure and self.logs.offline_log_directory_count:
            return False
        return bool(self.logs.live)

    def reconnect(self, zk: KafkaZkClient) -> None:
        """Continue with a new session after the old one has expired."""
        self.zk = zk
        zk.register_broker(self.registration, self.broker_id)

    def handle(self, request: Any, version: int) -> Any:
        """Handle a request from the controller: LeaderAndIsr, StopReplica or UpdateMetadata."""
        if isinstance(request, messages.UpdateMetadataRequest):
            return self._update_metadata(request, version)
        if isinstance(request, messages.StopReplicaRequest):
            response = self.replicas.stop_replicas(request)
        else:
            response = self.replicas.become_leader_or_follower(request, version, self._is_alive)
        broken = self.logs.broken
        self.logs.broken = []
        for directory in dict.fromkeys(broken):
            self.log_dir_failed(directory)
        return response

    def _update_metadata(self, request: Any, version: int) -> Any:
        if request.controller_epoch < self.replicas.controller_epoch:
            return messages.UpdateMetadataResponse(error_code=STALE_CONTROLLER_EPOCH)
        self.replicas.controller_epoch = request.controller_epoch
        learn(self.metadata, request, version)
        return messages.UpdateMetadataResponse(error_code=NONE)

    def _is_alive(self, broker_id: int) -> bool:
        return self.metadata.brokers is not None and broker_id in self.metadata.brokers

    def log_dir_failed(self, directory: str) -> list[TopicPartition]:
        """Handle the failure of a log directory (scenario 2); return the partitions whose replicas were in it.

        The broker notifies the controller by a znode. After the failure of its last directory it stops without a
        notification.
        """
        if directory not in self.logs.live:
            return []
        lost = self.replicas.handle_log_dir_failure(directory)
        self.running = self._can_run()
        if self.running:
            self.zk.notify_log_dir_failure(self.broker_id)
        return lost

    def metadata_response(self, topics: Iterable[str] | None = None) -> Any:
        """Return the response to a MetadataRequest (scenario 5).

        Replicas on failed directories and on dead brokers are listed as offline.
        """
        known = sorted(self.metadata.topics) if topics is None else list(topics)
        brokers = self.metadata.brokers or {}
        node = messages.MetadataResponse.MetadataResponseBroker
        return messages.MetadataResponse(
            brokers=tuple(node(broker.node_id, broker.host, broker.port, broker.rack) for broker in brokers.values()),
            controller_id=self.metadata.controller_id,
            topics=tuple(self._topic_metadata(name) for name in known),
        )

    def _topic_metadata(self, name: str) -> Any:
        partitions = self.metadata.partitions(name)
        row = messages.MetadataResponse.MetadataResponsePartition
        brokers = self.metadata.brokers or {}
        return messages.MetadataResponse.MetadataResponseTopic(
            error_code=NONE if partitions else 3,
            name=name,
            partitions=tuple(
                row(
                    error_code=NONE if partition.leader in brokers else LEADER_NOT_AVAILABLE,
                    partition_index=partition.index,
                    leader_id=partition.leader if partition.leader in brokers else -1,
                    leader_epoch=partition.leader_epoch,
                    replica_nodes=partition.replicas,
                    isr_nodes=partition.isr,
                    offline_replicas=tuple(
                        replica
                        for replica in partition.replicas
                        if replica not in brokers or replica in (partition.offline or ())
                    ),
                )
                for partition in partitions
            ),
        )
