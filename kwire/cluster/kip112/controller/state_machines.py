"""The state machines of a controller, with what they share."""

from __future__ import annotations

from ..kafka_zk_client import KafkaZkClient
from ..releases import Behaviour, InterBrokerProtocol
from .controller_context import ControllerContext
from .partition_state_machine import PartitionStateMachine
from .replica_state_machine import ReplicaStateMachine
from .request_batch import ControllerBrokerRequestBatch


class Machines:
    """State that topics, deletions, reassignments and liveness share; for the arguments see `KafkaController`."""

    def __init__(
        self,
        broker_id: int,
        epoch: int,
        zk: KafkaZkClient,
        behaviour: Behaviour,
        protocol: InterBrokerProtocol,
        unclean: bool,
    ) -> None:
        self.zk: KafkaZkClient = zk
        self.behaviour: Behaviour = behaviour
        self.context: ControllerContext = ControllerContext(epoch)
        self.batch: ControllerBrokerRequestBatch = ControllerBrokerRequestBatch(
            broker_id, self.context, protocol, behaviour
        )
        self.replicas: ReplicaStateMachine = ReplicaStateMachine(self.context, zk, self.batch)
        self.partitions: PartitionStateMachine = PartitionStateMachine(self.context, zk, self.batch, unclean)


class ControllerPart:
    """A part of the controller; all parts share the state machines."""

    def __init__(self, machines: Machines) -> None:
        self.context: ControllerContext = machines.context
        self.zk: KafkaZkClient = machines.zk
        self.batch: ControllerBrokerRequestBatch = machines.batch
        self.behaviour: Behaviour = machines.behaviour
        self.replicas: ReplicaStateMachine = machines.replicas
        self.partitions: PartitionStateMachine = machines.partitions
