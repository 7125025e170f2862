"""A topic is being deleted until the last of its replicas is gone, as controllers, brokers and ZooKeeper tell it."""

from __future__ import annotations

import json

from kwire import messages
from kwire.cluster import ClusterModel, Observation, model_of
from kwire.cluster.activity.cluster_events import cluster_events
from kwire.cluster.refused_requests import Seen
from kwire.render.cluster.cluster_json import cluster_json
from kwire.render.cluster.cluster_text import cluster_lines
from kwire.zookeeper import Znode
from tests.cluster.observations import brokers, leader_and_isr, update, view

LIVE = {1: "r", 2: "s"}
CREATED = update(1.0, leader=1, live=LIVE), leader_and_isr(1.1)
BEGUN = update(2.0, leader=-2, offline=(2,), live=LIVE)
STOP_REPLICA_ERROR = messages.StopReplicaResponse.StopReplicaPartitionError


def stop(time: float, to: int, error: int, deletes: bool = True) -> list[Observation]:
    """A StopReplica request of version 1, about t-0, and its response."""
    partition = messages.StopReplicaRequest.StopReplicaPartitionV0(topic_name="t", partition_index=0)
    request = messages.StopReplicaRequest(
        controller_epoch=1, delete_partitions=deletes, ungrouped_partitions=(partition,)
    )
    errors = (STOP_REPLICA_ERROR(topic_name="t", partition_index=0, error_code=error),)
    response = messages.StopReplicaResponse(partition_errors=errors)
    number = round(time * 10)
    return [
        Observation(request, 0, time, "c:1", f"b{to}:9", number),
        Observation(response, 0, time + 0.01, "c:1", f"b{to}:9", number),
    ]


def deleting(model: ClusterModel) -> list[tuple[int, ...] | None]:
    return [partition.deleting for partition in model.state().partitions()]


def test_a_deletion_waits_for_the_replica_whose_directory_failed() -> None:
    """KIP-112, scenario 8: the broker answers KAFKA_STORAGE_ERROR (56) for a replica that it cannot delete."""
    assert deleting(model_of(CREATED)) == [None]
    assert deleting(model_of([*CREATED, BEGUN])) == [(1, 2)]
    assert deleting(model_of([*CREATED, BEGUN, *stop(3.0, 1, 0, deletes=False)])) == [(1, 2)]
    waiting = [*CREATED, BEGUN, *stop(3.0, 1, 0), *stop(3.1, 2, 56)]
    model = model_of(waiting)
    assert deleting(model) == [(2,)]
    (partition,) = model.state().partitions()
    assert (partition.leader, partition.isr, partition.offline) == (1, (1, 2), (2,))
    assert any("being deleted: waits for replica 2, offline" in line for line in cluster_lines(model.state()))
    assert [row["deletionWaitsFor"] for row in cluster_json(model.state())["partitions"]] == [(2,)]
    assert deleting(model_of([*waiting, *stop(60.0, 2, 0)])) == []
    events = [event.text for event in cluster_events(model_of([*waiting, *stop(60.0, 2, 0)]), {}, {})]
    assert [text for text in events if "delet" in text] == ["t-0: its deletion begins", "t-0: deleted"]


def test_a_replica_that_cannot_be_deleted_counts_as_offline() -> None:
    model = model_of([*CREATED, BEGUN, *stop(3.0, 1, 0), *stop(3.1, 2, 56)])
    rows = [row for row in model.tables().metrics if row.metric == "OfflineReplicaCount" and row.broker == 2]
    assert [(row.value, row.valid_to) for row in rows] == [(0, 2.0), (1, None)]


def test_nothing_returns_from_the_dead() -> None:
    """A new controller tells live replicas their state before it goes on with the deletion."""
    new_controller = leader_and_isr(70.0, leader=-1, isr=(1,), epochs=(1, 1), term=2)
    model = model_of([*CREATED, BEGUN, new_controller, view(71.0, topic_error=3)])
    assert deleting(model) == [(1, 2)]
    rows = model.tables().partition_states
    assert [(row.leader, row.being_deleted) for row in rows] == [(1, False), (1, True), (-1, True)]
    assert [row.valid_to for row in rows] == [2.0, 70.0, None]


def test_a_late_message_to_another_broker_calls_no_deletion_off() -> None:
    assert deleting(model_of([*CREATED, BEGUN, update(2.1, to=2, live=LIVE)])) == [(1, 2)]


def test_a_topic_that_is_created_again_is_another_one() -> None:
    """The end of the deletion is not captured; the epochs start again."""
    first = update(1.0, leader=1, epochs=(4, 7), live=LIVE)
    again = update(90.0, leader=2, isr=(2,), epochs=(0, 0), live=LIVE)
    model = model_of([first, BEGUN, again])
    assert deleting(model) == [None]
    rows = model.tables().partition_states
    assert [(row.leader, row.leader_epoch, row.being_deleted, row.valid_to) for row in rows] == [
        (1, 4, False, 2.0),
        (1, 4, True, 90.0),
        (2, 0, False, None),
    ]


STATE = {"controller_epoch": 1, "leader": 1, "version": 1, "leader_epoch": 0, "isr": [1, 2]}
TOPIC = {"version": 1, "partitions": {"0": [1, 2]}}
REQUEST = "/admin/delete_topics/t"


def znode(path: str, value: object, zxid: int, version: int = 0) -> Znode:
    data = None if value is None else b"" if value == "" else json.dumps(value).encode()
    return Znode(path, data, version, zxid, float(zxid))


TOPIC_ZNODES = znode("/brokers/topics/t", TOPIC, 1), znode("/brokers/topics/t/partitions/0/state", STATE, 2)


def test_zookeeper_has_the_wish_and_the_topic_until_it_is_gone() -> None:
    begun = [*TOPIC_ZNODES, znode(REQUEST, "", 3)]
    assert deleting(model_of(begun)) == [(1, 2)]
    leaderless = znode("/brokers/topics/t/partitions/0/state", {**STATE, "leader": -1, "leader_epoch": 1}, 4, 1)
    model = model_of([*begun, leaderless])
    assert [(one.leader, one.leader_epoch) for one in model.state().partitions()] == [(-1, 1)]
    assert deleting(model) == [(1, 2)]
    gone = [znode("/brokers/topics/t", None, 5), znode(REQUEST, None, 6)]
    assert deleting(model_of([*begun, leaderless, *gone])) == []
    assert len(model_of([*begun, leaderless, *gone]).tables().partition_states) == 3


def test_the_children_of_a_znode_are_the_topics_that_are_being_deleted() -> None:
    listed = Znode("/admin/delete_topics", None, -1, 7, 7.0, ("t",))
    assert deleting(model_of([*TOPIC_ZNODES, listed])) == [(1, 2)]
    # Operators remove the znode by hand to call a deletion off that hangs.
    assert deleting(model_of([*TOPIC_ZNODES, listed, listed._replace(zxid=8, children=())])) == [None]


def test_answers_do_not_end_what_zookeeper_still_has() -> None:
    seen: list[Seen] = [*TOPIC_ZNODES, znode(REQUEST, "", 3), *stop(3.0, 1, 0), *stop(3.1, 2, 0)]
    model = model_of([brokers(0.5, LIVE), *seen])
    assert deleting(model) == [()]
    assert any("being deleted" in line for line in cluster_lines(model.state()))
