"""A controller's parts with three live brokers and nothing around them, for tests of one part."""

from __future__ import annotations

from typing import Any

from kwire.cluster.events.partition_states import partition_states, stopped_partitions
from kwire.cluster.kip112 import (
    Behaviour,
    Ensemble,
    KafkaZkClient,
    LeaderAndIsr,
    ReplicaAssignment,
    behaviour_for,
    protocol_for,
)
from kwire.cluster.kip112.controller.request_batch import ControllerBrokerRequestBatch
from kwire.cluster.kip112.controller.state_machines import Machines
from kwire.cluster.state import Broker

T = ("orders", 0)


def machines(behaviour: Behaviour | None = None, *, unclean: bool = False) -> Machines:
    zk = KafkaZkClient(Ensemble(), 1)
    made = Machines(1, 5, zk, behaviour or behaviour_for("kip"), protocol_for("3.9"), unclean)
    made.context.add_brokers({one: (Broker(one), one) for one in (1, 2, 3)})
    return made


def with_partition(made: Machines, state: LeaderAndIsr | None, replicas: tuple[int, ...] = (1, 2, 3)) -> Machines:
    """Give the parts a partition, in memory and in ZooKeeper."""
    made.context.assignments[T] = ReplicaAssignment(replicas)
    made.zk.write_topic("orders", {0: made.context.assignments[T]})
    made.context.topic_ids["orders"] = made.zk.topic_id("orders")
    if state is not None:
        made.zk.create_state(T, state)
        made.context.leaders[T] = state
    return made


def sent(batch: ControllerBrokerRequestBatch) -> list[tuple[Any, ...]]:
    """Return what the outbox tells of the partition: (api, broker, ...), and empty it.

    LeaderAndIsr: leader, ISR, is_new_replica. UpdateMetadata: leader, offline replicas. StopReplica: delete, epoch.
    """
    rows: list[tuple[Any, ...]] = []
    for one in batch.outbox:
        api = type(one.message).__name__.removesuffix("Request")
        if api == "StopReplica":
            rows += [(api, one.broker_id, delete, epoch) for _, delete, epoch in stopped_partitions(one.message)]
        elif api == "LeaderAndIsr":
            states = [state for _, state in partition_states(one.message)]
            rows += [(api, one.broker_id, state.leader, tuple(state.isr), state.is_new_replica) for state in states]
        else:
            told = [(state.leader, tuple(state.offline_replicas)) for _, state in partition_states(one.message)]
            rows += [(api, one.broker_id, *row) for row in told]
    batch.outbox.clear()
    return rows
