"""The history as Arrow is the history, value for value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kwire
from kwire import arrow
from kwire.arrow.clusters.history_tables import UNION, history_batches, table_schema
from kwire.arrow.clusters.message_rows import COLUMNS, OPTIONS
from kwire.cluster import ROWS, history_of, observed
from kwire.cluster.cluster_identity import MixedClusters
from kwire.schema.catalog import catalog_for
from tests.arrow.captures import FRAMES, PCAP
from tests.conftest import SHARED, needs_shared


def plain(value: Any) -> Any:
    """Return a value of Arrow as a row of the history has it."""
    if isinstance(value, datetime):
        return round(value.timestamp(), 6)
    return tuple(value) if isinstance(value, list) else value


def told(path: Any) -> dict[str, list[tuple[Any, ...]]]:
    results = kwire.decode_frames(kwire.read_dump(str(path)))
    tables = history_of(one for result in results if (one := observed(result)) is not None)
    return {name: [tuple(map(rounded, astuple(row))) for row in getattr(tables, name)] for name in ROWS}


def rounded(value: Any) -> Any:
    return round(value, 6) if isinstance(value, float) else value


@pytest.mark.parametrize("path", [FRAMES, PCAP], ids=["frames", "pcap"])
def test_tables_are_those_of_the_history(path: Any) -> None:
    tables = arrow.history(str(path))
    assert list(tables) == list(ROWS)
    for name, rows in told(path).items():
        assert tables[name].schema == table_schema(name)
        assert [tuple(map(plain, row.values())) for row in tables[name].to_pylist()] == rows
    assert tables["partition_states"].num_rows > 0


@needs_shared
@pytest.mark.parametrize("run", ["kafka-0.8.2", "kafka-1.1-zk", "kafka-2.8-ipv6", "kafka-3.9-zk", "kafka-4.4-kraft"])
def test_tables_of_real_clusters_are_those_of_the_history(run: str) -> None:
    kind = "clients" if "kraft" in run else "controller"
    path = SHARED / "captures" / f"{run}.{kind}.pcap"
    tables = arrow.history(str(path))
    for name, rows in told(path).items():
        assert [tuple(map(plain, row.values())) for row in tables[name].to_pylist()] == rows


def batches(cluster: str | None = None) -> Iterator[Any]:
    for batch in arrow.read(str(PCAP), **OPTIONS):
        yield batch if cluster is None else batch.append_column("cluster", pa.array([cluster] * len(batch)))


def test_one_cluster_follows_the_other_in_one_stream() -> None:
    rows = list(history_batches([*batches("a"), *batches("b")]))
    assert all(batch.schema == UNION for batch in rows)
    found = pa.Table.from_batches(rows).to_pylist()
    alone = {name: [row[name] for row in found if row["cluster"] == "a" and row["table"] == name] for name in ROWS}
    assert alone == {name: table.to_pylist() for name, table in arrow.history(str(PCAP)).items()}
    assert {row["cluster"] for row in found} == {"a", "b"}
    assert all(row[name] is None for row in found for name in ROWS if name != row["table"])


def test_frames_that_cannot_be_read_say_nothing() -> None:
    (batch,) = batches()
    cells = {name: batch.column(name).to_pylist() for name in batch.schema.names}
    for name, value in (("message", b"\x00\x00\x00\x01\xff"), ("message", None), ("api_version", 99)):
        wrong = {**cells, name: [value] * len(batch)}
        changed = pa.record_batch([pa.array(wrong[field.name], field.type) for field in batch.schema], batch.schema)
        found = pa.Table.from_batches(history_batches([changed]), UNION).to_pylist()
        assert {row["table"] for row in found} == ({"sources"} if "x01" in repr(value) else set())
        for row in found:
            assert row["sources"]["messages"] == 0
            assert "could not be decoded" in row["sources"]["note"]


def test_nothing_in_nothing_out() -> None:
    assert list(history_batches([])) == []
    assert {table.num_rows for table in arrow.history(str(PCAP), path_glob_filter="*.none").values()} == {0}


def test_what_is_read_is_what_is_needed() -> None:
    rows = [row for batch in batches() for row in batch.to_pylist()]
    assert set(COLUMNS) <= set(rows[0])
    names = {(row["api_name"], row["direction"]) for row in rows}
    assert ("Metadata", "response") in names
    assert ("Metadata", "request") not in names
    assert {name for name, _ in names} <= {
        "UpdateMetadata",
        "LeaderAndIsr",
        "StopReplica",
        "Metadata",
        "DescribeCluster",
        "DescribeLogDirs",
        "Fetch",
    }


def exchange(request: Any, version: int, response: Any, profile: str, *, header: bool = True) -> bytes:
    """A request and its response of a draft, as raw frames."""
    asked = kwire.encode_request(request, version, correlation_id=7, catalog=catalog_for(profile))
    name = type(response).__name__
    body = (bytes([0, 0, 0, 7]) if header else b"") + kwire.codec(name, version, profile=profile).encode(response)
    return asked + len(body).to_bytes(4, "big") + body


def test_frames_of_drafts_are_read_with_their_profile(tmp_path: Path) -> None:
    kind = kwire.codec("MetadataResponse", 3, profile="KIP-112").message_class
    one = kind.MetadataResponsePartition(leader_id=1, replica_nodes=(1, 2), isr_nodes=(1,), offline_replicas=(2,))
    broker = kind.MetadataResponseBroker(node_id=1, host="h", port=9, rack="r")
    response = kind(brokers=(broker,), topics=(kind.MetadataResponseTopic(name="t", partitions=(one,)),))
    file = tmp_path / "112.bin"
    file.write_bytes(exchange(kwire.messages.MetadataRequest(topics=None), 3, response, "KIP-112"))
    (row,) = arrow.history(file.as_posix(), profile="KIP-112")["offline_replicas"].to_pylist()
    assert (row["topic"], row["broker"], row["source"]) == ("t", 2, "MetadataResponse")


def test_kip_36s_own_response_tells_racks(tmp_path: Path) -> None:
    catalog = getattr(kwire.messages, "KIP-36")
    kind = catalog.TopicMetadataResponse
    broker = kind.BrokerEndPoint(broker_id=1, host="h", port=9, rack="us-east-1c")
    request = catalog.TopicMetadataRequest()
    file = tmp_path / "36.bin"
    response = kind(correlation_id=7, broker_end_points=(broker,))
    file.write_bytes(exchange(request, 1, response, "KIP-36", header=False))
    (row,) = arrow.history(file.as_posix(), profile="KIP-36")["brokers"].to_pylist()
    assert (row["broker"], row["rack"], row["source"]) == (1, "us-east-1c", "MetadataResponse")


def test_two_cluster_ids_are_two_clusters_and_their_files_are_named(tmp_path: Path) -> None:
    kind = kwire.messages.MetadataResponse
    for cluster_id in ("one", "two"):
        response = kind(cluster_id=cluster_id, brokers=(kind.MetadataResponseBroker(node_id=1, host="h", port=9),))
        data = exchange(kwire.messages.MetadataRequest(topics=None), 4, response, "")
        (tmp_path / f"{cluster_id}.bin").write_bytes(data)
    with pytest.raises(MixedClusters, match=r"2 cluster ids: one \(.*/one\.bin\), two \(.*/two\.bin\)"):
        arrow.history(str(tmp_path))
    (row,) = arrow.history(str(tmp_path / "two.bin"))["sources"].to_pylist()
    assert (row["source"], row["cluster_ids"], Path(row["file"]).name) == ("MetadataResponse", ["two"], "two.bin")
