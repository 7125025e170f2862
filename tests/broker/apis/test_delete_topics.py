"""Topics deleted, by name and by id; who waits for one is told."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.broker import Parked, codes
from kwire.values import ErrorCode
from tests.broker.served import M, ask, cluster_of, fetching

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
    assert parked.response.responses[0].partitions[0].error_code == codes.UNKNOWN_TOPIC_OR_PARTITION
