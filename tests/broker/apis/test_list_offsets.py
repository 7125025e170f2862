"""ListOffsets: ends, times, and versions without epochs."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
from kwire.broker import ServedCluster, codes
from tests.broker.served import M, batch, cluster_of, produce


def listed(cluster: ServedCluster, timestamp: int, topic: str = "t", version: int = 6) -> Any:
    part = M.ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    row = M.ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=(part,))
    answer = cluster.answer(1, M.ListOffsetsRequest(topics=(row,)), version, now=0.0)
    kwire.codec("ListOffsetsResponse", version).encode(answer)
    return answer.topics[0].partitions[0]


@pytest.mark.parametrize(
    ("timestamp", "offset"),
    [(-1, 4), (-2, 0), (-3, 1), (-4, 0), (-5, -1), (0, 0), (1000, 0), (1001, 1), (1002, -1)],
)
def test_ends_and_times(timestamp: int, offset: int) -> None:
    cluster = cluster_of()
    cluster.controller.create("t", {0: [1]})
    produce(cluster, batch(b"a", b"b"))
    produce(cluster, batch(b"c", b"d"))
    assert listed(cluster, timestamp).offset == offset


def test_old_versions_have_no_epochs() -> None:
    cluster = cluster_of()
    cluster.controller.create("t", {0: [1]})
    produce(cluster, batch(b"a"))
    assert [listed(cluster, -1, version=version).leader_epoch for version in (1, 3, 4, 6)] == [-1, -1, 0, 0]


def test_an_unknown_topic() -> None:
    assert listed(cluster_of(), -1, "x").error_code == codes.UNKNOWN_TOPIC_OR_PARTITION
