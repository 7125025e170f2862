"""The history through Spark is the history, cluster by cluster, however the captures are divided."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import kwire.spark
from kwire import arrow
from kwire.arrow.read_options import BadOption
from kwire.cluster import ROWS
from tests.arrow.captures import FRAMES, PCAP
from tests.conftest import SHARED, needs_shared
from tests.spark.test_data_source import load


@pytest.fixture(scope="session")
def cluster(spark: Any) -> Any:
    return kwire.spark.cluster


def rows(df: Any, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = df.where(f"cluster = '{name}'").drop("cluster").toArrow().to_pylist()
    return sorted(found, key=repr)


def test_each_folder_is_a_cluster(spark: Any, cluster: Any, tmp_path: Path) -> None:
    for name, path in (("a", PCAP), ("b", FRAMES)):
        (tmp_path / name).mkdir()
        shutil.copy(path, tmp_path / name)
    history = cluster.history(load(spark, tmp_path / "*" / "*", **cluster.OPTIONS))
    for name, path in (("a", PCAP), ("b", FRAMES)):
        for table, expected in arrow.history(str(tmp_path / name / path.name)).items():
            assert rows(getattr(history, table), f"{tmp_path}/{name}") == sorted(expected.to_pylist(), key=repr)
    history.all.unpersist()


@needs_shared
def test_many_real_clusters_in_many_parts(spark: Any, cluster: Any) -> None:
    from pyspark.sql import functions as sql

    runs = ["kafka-1.1-zk", "kafka-2.4-zk", "kafka-3.9-zk"]
    paths = [SHARED / "captures" / f"{run}.{kind}.pcap" for run in runs for kind in ("controller", "clients")]
    frames = load(spark, *paths, maxPartitionBytes="64k", minPartitions=8, openCostInBytes=0, **cluster.OPTIONS)
    history = cluster.history(frames, sql.regexp_extract("path", r"([^/]+)\.[^.]+\.pcap", 1))
    for run in runs:
        expected = arrow.history([str(path) for path in paths if path.name.startswith(f"{run}.")])
        for table in ROWS:
            assert rows(getattr(history, table), run) == sorted(expected[table].to_pylist(), key=repr)
    story = history.offline_replicas.where("topic = 'lonely' and partition = 0 and cause = 'log directory'")
    found = story.groupBy("cluster", "leader_after").count().orderBy("cluster").collect()
    assert [(row["cluster"], row["leader_after"]) for row in found] == [(run, -1) for run in runs]
    history.all.unpersist()


@needs_shared
def test_znodes_as_json_and_envelopes_in_many_parts(spark: Any, cluster: Any) -> None:
    from pyspark.sql import functions as sql

    kinds = {
        "kafka-2.4-zk": ("zookeeper.pcap", "znodes.history.jsonl"),
        "kafka-3.9-zk": ("znodes.json", "controller.pcap"),
        "kafka-4.4-kraft": ("controllers.pcap", "clients.pcap"),
    }
    files = {run: [SHARED / "captures" / f"{run}.{kind}" for kind in ends] for run, ends in kinds.items()}
    every = [path for paths in files.values() for path in paths]
    frames = load(spark, *every, maxPartitionBytes="64k", minPartitions=8, openCostInBytes=0, **cluster.OPTIONS)
    history = cluster.history(frames, sql.regexp_extract("path", r"(kafka-[0-9.]+-[a-z]+)", 1))
    for run, paths in files.items():
        expected = arrow.history([str(path) for path in paths])
        for table in ROWS:
            assert rows(getattr(history, table), run) == sorted(expected[table].to_pylist(), key=repr)
    assert {row["source"] for row in history.sources.where("cluster = 'kafka-2.4-zk'").collect()} == {"znode"}
    asked = history.sources.where("source = 'AlterPartitionReassignmentsRequest'").collect()
    assert sorted(Path(row["file"]).name for row in asked) == [
        "kafka-4.4-kraft.clients.pcap",
        "kafka-4.4-kraft.controllers.pcap",  # in an Envelope
    ]
    history.all.unpersist()


def test_frames_may_come_from_a_table(spark: Any, cluster: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions as sql

    load(spark, PCAP, body="raw").write.parquet(str(tmp_path / "kept"))
    kept = spark.read.parquet(str(tmp_path / "kept"))
    history = cluster.history(kept.orderBy(sql.rand(7)), sql.lit("c"))
    expected = arrow.history(str(PCAP))["partition_states"].to_pylist()
    assert rows(history.partition_states, "c") == sorted(expected, key=repr)
    history.all.unpersist()


def test_what_is_missing_is_said(spark: Any, cluster: Any) -> None:
    with pytest.raises(BadOption, match="message is string, not the whole frame; read with"):
        cluster.history(load(spark, PCAP))
    with pytest.raises(BadOption, match="the column timestamp is missing"):
        cluster.history(load(spark, PCAP, body="raw").drop("timestamp"))


def test_the_schema_is_known_before_anything_is_read(spark: Any, cluster: Any) -> None:
    history = cluster.history(load(spark, PCAP, **cluster.OPTIONS))
    assert history.offline_replicas.schema.simpleString() == (
        "struct<cluster:string,topic:string,partition:int,broker:int,cause:string,leader_before:int,leader_after:int,"
        "offline_from:timestamp,offline_to:timestamp,ended_by:string,source:string>"
    )
    history.all.unpersist()


def test_consumer_groups_of_each_folder(spark: Any, cluster: Any, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        shutil.copy(PCAP, tmp_path / name)
    groups = cluster.consumer_groups(load(spark, tmp_path / "*" / "*", **cluster.GROUP_OPTIONS))
    for name in ("a", "b"):
        for table, expected in arrow.consumer_groups(str(tmp_path / name / PCAP.name)).items():
            assert expected.num_rows
            assert rows(getattr(groups, table), f"{tmp_path}/{name}") == sorted(expected.to_pylist(), key=repr)
    groups.all.unpersist()
    with pytest.raises(BadOption, match="the column offset is missing"):
        cluster.consumer_groups(spark.range(1))
