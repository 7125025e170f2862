"""CreateReplicaAssignment asked of a served cluster over a socket (KIP-879)."""

from __future__ import annotations

from random import Random

import pytest

from kwire.broker import Settings
from kwire.broker.server.socket_server import SocketServer
from kwire.client.create_replica_assignment import Admin
from kwire.cluster.placement.replica_assignors import rack_aware
from kwire.errors import CallError
from kwire.errors.refused import ReplicaAssignmentRefused
from tests.broker.server.test_socket_server import place, used

DRAFT = Settings(profile="KIP-879")


def test_an_assignment_is_made_and_nothing_created() -> None:
    def use(made: SocketServer) -> None:
        brokers = made.cluster.controller.brokers()
        made.cluster.rng = Random(7)
        with Admin(str(place(made)), timeout=90) as admin:
            assert admin.create_replica_assignment(4, 2) == rack_aware(brokers, 4, 2, Random(7))
            found = admin.create_replica_assignment(2, 2, node_ids=[1, 3], force_simple_assignment=True)
            assert [sorted(replicas) for replicas in found.values()] == [[1, 3], [1, 3]]
        assert made.cluster.controller.topics == {}

    assert used(use, 3, DRAFT)[1] == []


def test_an_empty_array_is_an_error_that_names_the_causes() -> None:
    def use(made: SocketServer) -> None:
        with Admin(place(made), timeout=90) as admin, pytest.raises(ReplicaAssignmentRefused) as refused:
            admin.create_replica_assignment(1, 4)
        assert "the replication factor may be larger than the number of these brokers" in str(refused.value)

    used(use, 3, DRAFT)


def test_a_broker_without_the_draft() -> None:
    def use(made: SocketServer) -> None:
        with Admin(place(made), timeout=90) as admin, pytest.raises(CallError):
            admin.create_replica_assignment(1, 1)

    # The draft took a number that Kafka gave to ConsumerGroupHeartbeat later (KIP-848).
    refused = "ConsumerGroupHeartbeatRequest v0: group_id: null (length -1) is not allowed here (offset 20)"
    assert used(use)[1] == [f"127.0.0.1: {refused}; closed"]
