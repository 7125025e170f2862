"""Topics and partitions created and deleted by clients, and the draft of KIP-879."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.broker import Parked, ServedCluster, Settings
from kwire.broker.apis.topics.create_topics import FIRST_WITH_DETAILS
from kwire.broker.request_frames import ServedRequest, read_request
from kwire.cluster.placement.create_replica_assignment import create_replica_assignment
from kwire.protocol import Frame, encode_request
from kwire.values import ErrorCode
from tests.broker.served import M, ask, cluster_of, fetching

ROW = M.CreateTopicsRequest.CreatableTopic
MORE = M.CreatePartitionsRequest.CreatePartitionsTopic


def row(name: str = "t", partitions: int = -1, replicas: int = -1, assignment: Any = None, **configs: Any) -> Any:
    given = M.CreateTopicsRequest.CreatableReplicaAssignment
    own = M.CreateTopicsRequest.CreatableTopicConfig
    return ROW(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        assignments=tuple(given(partition_index=index, broker_ids=ids) for index, ids in assignment or ()),
        configs=tuple(own(name=name.replace("_", "."), value=value) for name, value in configs.items()),
    )


def create(cluster: ServedCluster, *rows: Any, version: int = 7, **more: Any) -> list[Any]:
    return list(ask(cluster, M.CreateTopicsRequest(topics=rows, **more), version).topics)


def replicas(cluster: ServedCluster, name: str = "t") -> list[list[int]]:
    return [list(one.replicas) for one in cluster.controller.topics[name].partitions]


@pytest.mark.parametrize("version", range(8))
def test_a_topic_is_made_in_every_version(version: int) -> None:
    cluster = cluster_of(3)
    (made,) = create(cluster, row(partitions=6, replicas=2), version=version)
    assert made.error_code == 0
    racks = [len({cluster.controller.nodes[node].rack for node in ids}) for ids in replicas(cluster)]
    assert racks == [2] * 6
    known = version >= FIRST_WITH_DETAILS
    assert (made.num_partitions, made.replication_factor) == ((6, 2) if known else (-1, -1))
    assert made.topic_id == (cluster.controller.topics["t"].topic_id if version == 7 else bytes(16))


def test_an_operators_assignor_that_fails_is_named() -> None:
    name = "tests.cluster.placement.test_replica_assignors:raises"
    cluster = cluster_of(3, Settings(replica_assignor=name, profile="KIP-879"))
    (refused,) = create(cluster, row(partitions=1, replicas=1))
    assert refused.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert f"the replica assignor {name} raised ValueError: 'no idea'" in refused.error_message
    assert cluster.answer(1, create_replica_assignment(1, 1).request, 0, now=0.0).replica_assignment == ()
    assert cluster.notes == [refused.error_message] * 2


def test_the_settings_numbers_are_taken_where_none_are_given() -> None:
    cluster = cluster_of(2, Settings(num_partitions=3, default_replication_factor=2))
    create(cluster, row())
    assert [len(ids) for ids in replicas(cluster)] == [2, 2, 2]


def test_an_assignment_by_hand_and_configs() -> None:
    cluster = cluster_of(3)
    (made,) = create(cluster, row(assignment=[(0, (3, 1)), (1, (1, 2))], retention_bytes="77"))
    assert replicas(cluster) == [[3, 1], [1, 2]]
    shown = {one.name: (one.value, int(one.config_source)) for one in made.configs}
    assert (shown["retention.bytes"], shown["cleanup.policy"]) == (("77", 1), ("delete", 5))
    assert cluster.controller.topics["t"].configs == {"retention.bytes": "77"}


def test_what_is_only_to_be_validated_is_not_made() -> None:
    cluster = cluster_of(2)
    good, bad = create(cluster, row("a", 4, 2), row("b", 4, 3), validate_only=True)
    assert (good.error_code, good.num_partitions, good.topic_id) == (0, 4, bytes(16))
    assert ErrorCode(bad.error_code).name == "INVALID_REPLICATION_FACTOR"
    assert cluster.controller.topics == {}


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (row("../t"), "INVALID_TOPIC_EXCEPTION"),
        (row("__cluster_metadata"), "INVALID_REQUEST"),
        (row("there.is"), "TOPIC_ALREADY_EXISTS"),
        (row("there_is"), "INVALID_TOPIC_EXCEPTION"),
        (row(partitions=0), "INVALID_PARTITIONS"),
        (row(partitions=-2), "INVALID_PARTITIONS"),
        (row(partitions=1000), "POLICY_VIOLATION"),
        (row(replicas=0), "INVALID_REPLICATION_FACTOR"),
        (row(replicas=3), "INVALID_REPLICATION_FACTOR"),
        (row(partitions=1, assignment=[(0, (1,))]), "INVALID_REQUEST"),
        (row(replicas=1, assignment=[(0, (1,))]), "INVALID_REQUEST"),
        (row(assignment=[(0, (1,)), (0, (2,))]), "INVALID_REPLICA_ASSIGNMENT"),
        (row(assignment=[(1, (1,))]), "INVALID_REPLICA_ASSIGNMENT"),
        (row(assignment=[(0, (9,))]), "INVALID_REPLICA_ASSIGNMENT"),
        (row(assignment=[(0, (1,)), (1, (1, 2))]), "INVALID_REPLICA_ASSIGNMENT"),
        (row(retention_bytes="many"), "INVALID_CONFIG"),
        (row(no_such="1"), "INVALID_CONFIG"),
    ],
)
@pytest.mark.parametrize("only", [True, False])
def test_topics_that_cannot_be(wrong: Any, code: str, only: bool) -> None:
    cluster = cluster_of(2, Settings(most_partitions=10))
    create(cluster, row("there.is"))
    (refused,) = create(cluster, wrong, validate_only=only)
    assert ErrorCode(refused.error_code).name == code
    assert refused.error_message
    assert list(cluster.controller.topics) == ["there.is"]


def test_a_name_twice_is_refused_once() -> None:
    cluster = cluster_of()
    rows = create(cluster, row("a"), row("b"), row("a"))
    assert [(one.name, ErrorCode(one.error_code).name) for one in rows] == [("a", "INVALID_REQUEST"), ("b", "NONE")]
    assert list(cluster.controller.topics) == ["b"]


def test_an_assignment_to_the_dead_alone_is_refused() -> None:
    cluster = cluster_of(2)
    cluster.fail(*cluster.controller.nodes[2].log_dirs)
    (refused,) = create(cluster, row(assignment=[(0, (2,))]))
    assert ErrorCode(refused.error_code).name == "INVALID_REPLICA_ASSIGNMENT"


def more(cluster: ServedCluster, count: int, *given: Any, name: str = "t", version: int = 3, **other: Any) -> Any:
    ids = M.CreatePartitionsRequest.CreatePartitionsAssignment
    rows = tuple(ids(broker_ids=one) for one in given) or None
    topics = (MORE(name=name, count=count, assignments=rows),)
    return ask(cluster, M.CreatePartitionsRequest(topics=topics, **other), version).results[0]


@pytest.mark.parametrize("version", range(4))
def test_partitions_are_added_where_the_first_left_off(version: int) -> None:
    cluster = cluster_of(3)
    create(cluster, row(assignment=[(0, (2, 3))]))
    assert more(cluster, 4, version=version).error_code == 0
    assert replicas(cluster) == [
        [2, 3],
        [3, 2],
        [1, 3],
        [2, 3],
    ]  # as AdminUtils: steps of 2, 2 and, from partition 3 on, 1


@pytest.mark.parametrize("assignor", ["simple", "striped", "multi-level"])
def test_other_assignors_add_partitions_too(assignor: str) -> None:
    cluster = cluster_of(3, Settings(replica_assignor=assignor))
    for node in cluster.controller.nodes.values():
        node.rack = f"/{node.rack}"
    create(cluster, row(partitions=1, replicas=3))
    assert more(cluster, 5).error_code == 0
    assert [sorted(ids) for ids in replicas(cluster)] == [[1, 2, 3]] * 5


def test_partitions_by_hand_and_only_validated() -> None:
    cluster = cluster_of(3)
    create(cluster, row(assignment=[(0, (1, 2))]))
    assert more(cluster, 2, (3, 1), validate_only=True).error_code == 0
    assert more(cluster, 2, (3, 1)).error_code == 0
    assert replicas(cluster) == [[1, 2], [3, 1]]


@pytest.mark.parametrize(
    ("count", "given", "code"),
    [
        (2, (), "INVALID_PARTITIONS"),
        (1, (), "INVALID_PARTITIONS"),
        (99, (), "POLICY_VIOLATION"),
        (3, ((1, 2), (2, 1)), "INVALID_REPLICA_ASSIGNMENT"),
        (3, ((1,),), "INVALID_REPLICA_ASSIGNMENT"),
        (3, ((1, 1),), "INVALID_REPLICA_ASSIGNMENT"),
        (3, ((1, 9),), "INVALID_REPLICA_ASSIGNMENT"),
    ],
)
def test_partitions_that_cannot_be_added(count: int, given: Any, code: str) -> None:
    cluster = cluster_of(2, Settings(most_partitions=10))
    create(cluster, row(partitions=2, replicas=2))
    refused = more(cluster, count, *given)
    assert ErrorCode(refused.error_code).name == code
    assert len(replicas(cluster)) == 2
    assert ErrorCode(more(cluster, 3, name="no").error_code).name == "UNKNOWN_TOPIC_OR_PARTITION"


STATE = M.DeleteTopicsRequest.DeleteTopicState


@pytest.mark.parametrize("version", range(7))
def test_by_name_in_every_version(version: int) -> None:
    cluster = cluster_of()
    cluster.controller.create("t", {0: [1]})
    rows: Any = {"topics": (STATE(name="t"),)} if version == 6 else {"topic_names": ("t",)}
    (row,) = ask(cluster, M.DeleteTopicsRequest(**rows), version).responses
    assert (row.name, row.error_code, cluster.controller.topics) == ("t", 0, {})


def test_by_id_and_what_cannot_be() -> None:
    cluster = cluster_of()
    topic = cluster.controller.create("t", {0: [1]})
    rows = [
        STATE(name="no"),
        STATE(name=None, topic_id=b"x" * 16),
        STATE(name="t", topic_id=topic.topic_id),
        STATE(name=None),
        STATE(name="twice"),
        STATE(name="twice"),
        STATE(name=None, topic_id=topic.topic_id),
    ]
    found = ask(cluster, M.DeleteTopicsRequest(topics=tuple(rows)), 6).responses
    assert [ErrorCode(row.error_code).name for row in found] == [
        "UNKNOWN_TOPIC_OR_PARTITION",
        "UNKNOWN_TOPIC_ID",
        *["INVALID_REQUEST"] * 3,
        "NONE",
    ]
    assert (found[-1].name, found[-1].topic_id, cluster.controller.by_id) == ("t", topic.topic_id, {})


def test_a_fetch_that_waits_is_told() -> None:
    cluster = cluster_of()
    topic = cluster.controller.create("t", {0: [1]})
    parked = cluster.answer(1, fetching(max_wait_ms=1000, min_bytes=1), 11, now=0.0)
    assert isinstance(parked, Parked)
    cluster.delete(topic)
    assert parked.response.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_it_is_served_with_the_profile_alone() -> None:
    cluster = cluster_of(3, Settings(profile="KIP-879"))
    call = create_replica_assignment(4, 2)
    frame = Frame(encode_request(call.request, 0, correlation_id=1, catalog=cluster.catalog))
    served = read_request(frame, cluster.catalog, cluster.apis)
    assert isinstance(served, ServedRequest)
    found = call.assignment(cluster.answer(1, served.message, served.version, now=0.0))
    assert [len(set(ids)) for ids in found.values()] == [2, 2, 2, 2]
    plain = cluster_of(3)
    assert not isinstance(read_request(frame, plain.catalog, plain.apis), ServedRequest)
