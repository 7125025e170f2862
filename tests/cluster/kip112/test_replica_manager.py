"""A broker's replicas: what it answers the controller, and what it serves."""

from __future__ import annotations

from typing import Any

import pytest

from kwire import messages
from kwire.cluster.events.partition_states import partition_errors
from kwire.cluster.kip112 import (
    Behaviour,
    Ensemble,
    JbodDisk,
    KafkaZkClient,
    LeaderAndIsr,
    LogManager,
    Partition,
    ReplicaManager,
    behaviour_for,
)
from kwire.cluster.kip112.requests import stop_replica_requests

T = ("orders", 0)


def manager(behaviour: Behaviour | None = None) -> ReplicaManager:
    return ReplicaManager(1, LogManager({"/a": JbodDisk(), "/b": JbodDisk()}), behaviour or behaviour_for("kip"))


def told(
    made: ReplicaManager, *, version: int = 1, controller_epoch: int = 1, alive: bool = True, **fields: Any
) -> int:
    """Tell one partition's state; returns its error, or the error for all."""
    values: dict[str, Any] = {"leader": 1, "isr": (1, 2), "replicas": (1, 2), "is_new_replica": True} | fields
    state = messages.LeaderAndIsrRequest.LeaderAndIsrPartitionState(topic_name="orders", **values)
    request = messages.LeaderAndIsrRequest(controller_epoch=controller_epoch, ungrouped_partition_states=(state,))
    answer = made.become_leader_or_follower(request, 1, lambda broker: alive)
    return answer.error_code or partition_errors(answer, {})[T]


def stop(made: ReplicaManager, *, delete: bool = False, epoch: int = -1, controller_epoch: int = 1) -> int:
    (request,) = stop_replica_requests(3, (1, controller_epoch), -1, {T: (delete, epoch)})
    answer = made.stop_replicas(request)
    return answer.error_code or partition_errors(answer, {})[T]


def test_an_older_controller_is_refused() -> None:
    made = manager()
    assert told(made, controller_epoch=3) == 0
    assert told(made, controller_epoch=2, leader_epoch=9) == 11
    assert stop(made, controller_epoch=2) == 11
    assert made.partitions[T].leader_epoch == 0


@pytest.mark.parametrize(("name", "error"), [("kip", 0), ("released", 11)])
def test_nothing_newer_is_stale_for_released_brokers(name: str, error: int) -> None:
    made = manager(behaviour_for(name))  # type: ignore[arg-type]
    assert told(made, leader_epoch=4) == 0
    assert told(made, leader_epoch=4) == error
    assert told(made, leader_epoch=3) == 11


def test_a_broker_without_a_replica_answers_with_an_error() -> None:
    assert told(manager(), replicas=(2, 3)) == 3


def test_a_follower_of_a_dead_leader_takes_the_epoch_when_the_leader_lives() -> None:
    made = manager(behaviour_for("released"))
    assert told(made, leader=2, leader_epoch=4, alive=False) == 0
    assert made.logs.directory_of(T) is not None
    assert told(made, leader=2, leader_epoch=4) == 0
    assert told(made, leader=2, leader_epoch=4) == 11


def test_a_bad_directory_takes_its_replicas_out_of_service() -> None:
    made = manager()
    told(made)
    directory = made.logs.directory_of(T)
    assert directory is not None
    assert isinstance(made.get_partition_or_error(T), Partition)
    assert made.handle_log_dir_failure(directory) == [T]
    assert (made.get_partition_or_error(T), made.offline_replica_count) == (3, 1)
    assert told(made, leader_epoch=9) == 56
    assert made.handle_log_dir_failure(directory) == []


def test_stopping_and_deleting() -> None:
    made = manager()
    told(made, leader_epoch=4)
    assert stop(made, epoch=3) == 74
    assert stop(made, epoch=4) == 0
    assert made.get_partition_or_error(T) == 6
    assert stop(made, epoch=-2, delete=True) == 0
    assert made.logs.directory_of(T) is None
    assert stop(made, delete=True) == 0  # it is not there any more


def test_releases_from_2_6_before_3_0_need_a_newer_epoch() -> None:
    made = manager(behaviour_for("released", "2.8"))
    told(made, leader_epoch=4)
    assert stop(made, epoch=4) == 74
    assert stop(made, epoch=5) == 0


def test_who_follows_is_not_served() -> None:
    made = manager()
    assert made.get_partition_or_error(T) == 3
    told(made, leader=2)
    assert made.get_partition_or_error(T) == 6


def test_an_isr_is_changed_by_the_leader_over_what_it_was_told() -> None:
    made, zk = manager(), KafkaZkClient(Ensemble(), 1)
    assert not made.change_isr(T, (1,), zk)
    zk.create_state(T, LeaderAndIsr(1, (1, 2)))
    told(made)
    assert made.change_isr(T, (1,), zk)
    assert zk.state(T) == made.partitions[T].state == LeaderAndIsr(1, (1,), 0, 0, 1)
    zk.set_state(T, LeaderAndIsr(2, (2,), 1, 0, 1))  # the controller was faster
    assert not made.change_isr(T, (1, 2), zk)
    assert made.partitions[T].state.isr == (1,)
