"""The controller's messages, made and read in every version."""

from __future__ import annotations

import pytest

from kwire.cluster import learn
from kwire.cluster.events.partition_states import partition_states, stopped_partitions, topic_ids_in
from kwire.cluster.kip112 import LeaderAndIsr, ReplicaAssignment
from kwire.cluster.kip112.requests import leader_and_isr_request, stop_replica_requests, update_metadata_request
from kwire.cluster.state import Broker, ClusterState
from kwire.codecs.message_codec import codec

A, B, C = ("a", 0), ("b", 1), ("a", 2)
STATE, ASSIGNMENT = LeaderAndIsr(1, (1, 2), 3, 4, 5), ReplicaAssignment((2, 1, 3), (3,), (2,))
LIVE = [Broker(1, "h", 7, "r"), Broker(2, "i", 8)]
IDS = {"a": bytes(15) + b"\1", "b": bytes(15) + b"\2"}


def through_bytes(message: object, version: int) -> object:
    found = codec(type(message).__name__, version)
    return found.decode(found.encode(message))


@pytest.mark.parametrize("version", range(8))
def test_leader_and_isr_has_leaders_and_new_replicas(version: int) -> None:
    states = {A: (STATE, ASSIGNMENT, True), B: (STATE, ASSIGNMENT, False), C: (STATE, ASSIGNMENT, False)}
    made = leader_and_isr_request(version, (9, 6), 11, states, LIVE, IDS)
    read = through_bytes(made, version)
    rows = dict(partition_states(read))
    assert set(rows) == {A, B, C}
    row = rows[A]
    assert (row.leader, tuple(row.isr), row.leader_epoch, row.partition_epoch) == (1, (1, 2), 3, 5)
    assert tuple(row.replicas) == (2, 1, 3)
    assert tuple(row.adding_replicas) == ((3,) if version >= 3 else ())
    assert [rows[one].is_new_replica for one in (A, B)] == [version >= 1, False]
    assert [one.broker_id for one in read.live_leaders] == [1]  # type: ignore[attr-defined]
    if version >= 5:
        assert topic_ids_in(read) == IDS


@pytest.mark.parametrize("version", range(9))
def test_update_metadata_lists_offline_replicas(version: int) -> None:
    states = {A: (STATE, ASSIGNMENT, (2, 3)), C: (STATE, ASSIGNMENT, ())}
    read = through_bytes(update_metadata_request(version, (9, 6), 11, states, LIVE, IDS), version)
    rows = dict(partition_states(read))
    assert [tuple(rows[one].offline_replicas) for one in (A, C)] == [(2, 3) if version >= 4 else (), ()]
    state = ClusterState()
    assert learn(state, read, version)
    assert state.brokers == {
        1: Broker(1, "h", 7, "r" if version >= 2 else None),
        2: Broker(2, "i", 8),
    }


@pytest.mark.parametrize("version", range(5))
def test_stop_replica_has_deletion_flags(version: int) -> None:
    wanted = {A: (True, 3), B: (False, 4), C: (False, -2)}
    made = stop_replica_requests(version, (9, 6), 11, wanted)
    assert len(made) == (2 if version < 3 else 1)
    read = {
        one: (delete, epoch) for each in made for one, delete, epoch in stopped_partitions(through_bytes(each, version))
    }
    assert read == {one: (delete, epoch if version >= 3 else -1) for one, (delete, epoch) in wanted.items()}


def test_nothing_to_stop_is_no_request() -> None:
    assert stop_replica_requests(0, (9, 6), -1, {}) == []
