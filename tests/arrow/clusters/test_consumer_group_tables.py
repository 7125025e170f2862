"""Consumer groups as Arrow are those of the frames, value for value."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

import kwire
from kwire import arrow
from kwire.arrow.clusters.consumer_group_tables import (
    GROUP_OPTIONS,
    GROUP_ROWS,
    GROUP_UNION,
    group_batches,
    group_schema,
)
from kwire.cluster.consumer_groups.tracker import GroupTracker
from tests.arrow.captures import PCAP
from tests.conftest import SHARED, needs_shared


def plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return round(value.timestamp(), 6)
    return tuple(value) if isinstance(value, list) else round(value, 6) if isinstance(value, float) else value


def learnt(path: Any) -> dict[str, list[tuple[Any, ...]]]:
    groups = GroupTracker()
    for result in kwire.decode_frames(kwire.read_dump(path)):
        groups.apply(result)
    found: dict[str, Any] = {"members": groups.history(), "partitions": groups.partitions()}
    return {name: [tuple(map(plain, row)) for row in rows] for name, rows in found.items()}


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    return [tuple(map(plain, row.values())) for row in table.to_pylist()]


def test_tables_are_those_of_the_frames() -> None:
    tables = arrow.consumer_groups(str(PCAP))
    expected = learnt(PCAP)
    assert list(tables) == list(GROUP_ROWS)
    for name in GROUP_ROWS:
        assert tables[name].schema == group_schema(name)
        assert rows_of(tables[name]) == expected[name]
        assert expected[name]


@needs_shared
@pytest.mark.parametrize("run", ["kafka-0.9", "kafka-3.9-zk-admin", "kafka-4.4-kraft"])
def test_tables_of_real_clusters(run: str) -> None:
    path = SHARED / "captures" / f"{run}.clients.pcap"
    tables, expected = arrow.consumer_groups(str(path)), learnt(path)
    for name in GROUP_ROWS:
        assert sorted(rows_of(tables[name]), key=repr) == sorted(expected[name], key=repr)


def test_clusters_follow_each_other() -> None:
    (batch,) = arrow.read(str(PCAP), **GROUP_OPTIONS).read_all().combine_chunks().to_batches()
    order = sorted(range(batch.num_rows), key=lambda row: batch["timestamp"][row].value)
    batch = batch.take(pa.array(order))
    one, two = (batch.append_column("cluster", pa.array([name] * batch.num_rows)) for name in ("a", "b"))
    found = [*group_batches([one, two])]
    assert all(part.schema == GROUP_UNION for part in found)
    assert [(part["cluster"][0].as_py(), part["table"][0].as_py()) for part in found] == [
        ("a", "members"),
        ("a", "partitions"),
        ("b", "members"),
        ("b", "partitions"),
    ]
    assert [tuple(map(plain, row["members"].values())) for row in found[0].to_pylist()] == learnt(PCAP)["members"]
