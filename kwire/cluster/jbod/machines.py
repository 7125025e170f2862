"""What the parts of a controller share: its memory, its session, its requests and the two state machines."""

from __future__ import annotations

from .behaviours import Behaviour, InterBrokerProtocol
from .controller_context import ControllerContext
from .partition_state_machine import PartitionStateMachine
from .replica_state_machine import ReplicaStateMachine
from .request_batch import ControllerBrokerRequestBatch
from .znodes import KafkaZkClient


class Machines:
    """The common ground of topics, deletions, reassignments and liveness; arguments as those of `KafkaController`."""

    def __init__(
        self,
        broker_id: int,
        epoch: int,
        zk: KafkaZkClient,
        behaviour: Behaviour,
        protocol: InterBrokerProtocol,
        unclean: bool,
    ) -> None:
        self.zk, self.behaviour = zk, behaviour
        self.context = ControllerContext(epoch)
        self.batch = ControllerBrokerRequestBatch(broker_id, self.context, protocol, behaviour)
        self.replicas = ReplicaStateMachine(self.context, zk, self.batch)
        self.partitions = PartitionStateMachine(self.context, zk, self.batch, unclean)
