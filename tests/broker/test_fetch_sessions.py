"""Fetch sessions (KIP-227): what a client names once stays, and responses have what is new."""

from __future__ import annotations

from typing import Any

from kwire.broker import Parked, ServedCluster, Settings
from kwire.values import ErrorCode
from tests.broker.served import M, batch, cluster_of, produce

MOST_SESSIONS = Settings().max_fetch_sessions


def with_topic() -> ServedCluster:
    cluster = cluster_of()
    cluster.controller.create("t", {0: [1], 1: [1]})
    return cluster


def asked(cluster: ServedCluster, session_id: int, epoch: int, *parts: tuple[int, int], **more: Any) -> Any:
    """Fetch partitions, each from an offset."""
    rows = tuple(
        M.FetchRequest.FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20)
        for index, offset in parts
    )
    topics = (M.FetchRequest.FetchTopic(topic="t", partitions=rows),) if rows else ()
    fields = {"session_id": session_id, "session_epoch": epoch, "topics": topics, "max_bytes": 1 << 20, **more}
    return cluster.answer(1, M.FetchRequest(**fields), 11, now=0.0)


def rows(answer: Any) -> list[tuple[int, int]]:
    return [(part.partition_index, len(part.records)) for row in answer.responses for part in row.partitions]


def test_what_is_new_is_there_and_nothing_else() -> None:
    cluster = with_topic()
    size = len(batch(b"a"))
    first = asked(cluster, 0, 0, (0, 0), (1, 0))
    assert first.session_id > 0
    assert rows(first) == [(0, 0), (1, 0)]
    number = first.session_id
    assert rows(asked(cluster, number, 1)) == []
    produce(cluster, batch(b"a"), index=1)
    assert rows(asked(cluster, number, 2)) == [(1, size)]
    assert rows(asked(cluster, number, 3)) == [(1, size)]  # it is as the client has not read it
    assert rows(asked(cluster, number, 4, (1, 1))) == []
    produce(cluster, batch(b"b"), index=0)
    forgotten = M.FetchRequest.ForgottenTopic(topic="t", partitions=(0,))
    assert rows(asked(cluster, number, 5, forgotten_topics_data=(forgotten,))) == []


def test_epochs_go_on_one_by_one() -> None:
    cluster = with_topic()
    number = asked(cluster, 0, 0, (0, 0)).session_id
    assert asked(cluster, number, 2).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert asked(cluster, number + 1, 1).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert asked(cluster, number, 1).error_code == ErrorCode.NONE
    assert rows(asked(cluster, number, -1, (0, 0))) == [(0, 0)]
    assert asked(cluster, number, 2).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_session_without_partitions_is_none() -> None:
    assert asked(with_topic(), 0, 0).session_id == 0


def test_an_error_is_sent_each_time_and_its_end_too() -> None:
    cluster = with_topic()
    number = asked(cluster, 0, 0, (0, 0)).session_id
    log_dir = cluster.controller.nodes[1].log_dirs[0]
    log_dir.is_offline = True
    for epoch in (1, 2):
        (row,) = asked(cluster, number, epoch).responses
        assert row.partitions[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    log_dir.is_offline = False
    assert rows(asked(cluster, number, 3)) == [(0, 0)]
    assert rows(asked(cluster, number, 4)) == []


def test_a_fetch_of_a_session_waits() -> None:
    cluster = with_topic()
    number = asked(cluster, 0, 0, (0, 0)).session_id
    parked = asked(cluster, number, 1, max_wait_ms=500, min_bytes=1)
    assert isinstance(parked, Parked)
    produce(cluster, batch(b"a"))
    assert rows(parked.response) == [(0, len(batch(b"a")))]
    assert parked.response.session_id == number


def test_the_oldest_session_makes_room() -> None:
    cluster = with_topic()
    numbers = [asked(cluster, 0, 0, (0, 0)).session_id for _ in range(MOST_SESSIONS + 1)]
    assert asked(cluster, numbers[0], 1).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert asked(cluster, numbers[1], 1).error_code == ErrorCode.NONE
