"""Captures become tables on disk, and are counted."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire import arrow
from kwire.arrow.read_options import BadOption
from kwire.cluster import ROWS
from kwire.cluster.cluster_identity import MixedClusters
from kwire.spark.lakes.lake import local_folder
from kwire.spark.package_zip import write_zip
from kwire.spark.pipeline import OutputExists, UnnamedFiles
from kwire.spark.session import JobFailed
from tests.arrow.captures import FRAMES, PCAP, rows_of
from tests.conftest import ROOT, SHARED, lacking
from tests.spark.conftest import SETTINGS


@pytest.fixture(scope="session")
def job(spark: Any) -> Any:
    from kwire.spark import pipeline

    return pipeline


def test_tables_are_written_and_counted(spark: Any, job: Any, tmp_path: Path) -> None:
    broken = tmp_path / "in/b"
    broken.mkdir(parents=True)
    (broken / "dump.bin").write_bytes(FRAMES.read_bytes() + b"\x00\x00\x00\x09\x00\x03\x00\x0c\xff")
    shutil.copy(PCAP, tmp_path / "in")
    out = str(tmp_path / "lake")
    counts = job.run(spark, [str(tmp_path / "in/*.pcap"), str(broken)], out, clusters=r"/([^/]+)\.\w+$")
    rows = rows_of([tmp_path / "in" / PCAP.name, broken / "dump.bin"])
    assert (counts.frames, counts.incomplete, counts.bytes) == (len(rows), 1, sum(row["length"] for row in rows))
    kept = spark.read.parquet(f"{out}/frames").toArrow().to_pylist()
    assert sorted((row["path"], row["offset"], row["api_name"] or "") for row in kept) == sorted(
        (row["path"], row["offset"], row["api_name"] or "") for row in rows
    )
    assert {row["_corrupt_record"] for row in kept} - {None} == {b"\x00\x00\x00\x09\x00\x03\x00\x0c\xff"}
    expected = arrow.history(str(tmp_path / "in" / PCAP.name))
    for name in ROWS:
        table = spark.read.parquet(f"{out}/{name}")
        found = table.where("cluster = 'kafka-3.9-zk'").drop("cluster", "run", "dt").toArrow().to_pylist()
        assert sorted(found, key=repr) == sorted(expected[name].to_pylist(), key=repr)
        assert counts.rows[name] == table.count()


def test_nothing_is_replaced_unless_it_is_asked_for(spark: Any, job: Any, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here/mine").write_text("x")
    with pytest.raises(OutputExists, match="not empty; --overwrite replaces it"):
        job.run(spark, [str(FRAMES)], str(tmp_path / "here"))
    with pytest.raises(BadOption, match="no such option; did you mean mode"):
        job.run(spark, [str(FRAMES)], str(tmp_path / "new"), options={"mod": "x"})
    with pytest.raises(BadOption, match="none"):
        job.run(spark, [str(tmp_path / "none")], str(tmp_path / "new"))
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


def test_a_frame_that_ends_the_job_is_named(spark: Any, job: Any, tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(FRAMES.read_bytes() + b"\x00\x00\x00\x09\x00\x03\x00\x0c\xff")
    with pytest.raises(JobFailed, match=r"KWIRE_MALFORMED_FRAME\] path=.*dump, offset=\d+"):
        job.run(spark, [str(tmp_path / "dump")], str(tmp_path / "out"), options={"mode": "FAILFAST", "body": "raw"})


def test_spark_submit_runs_it_from_the_zip(tmp_path: Path) -> None:
    script = write_zip(tmp_path / "kwire.zip")
    poison = tmp_path / "poison"
    poison.mkdir()
    (poison / "kwire.py").write_text("raise RuntimeError('this is not the zip')")
    submit = shutil.which("spark-submit", path=str(Path(sys.executable).parent))
    assert submit is not None
    words = ["--master", "local[1]", *(word for one in SETTINGS.items() for word in ("--conf", "=".join(one)))]
    words += ["--py-files", str(tmp_path / "kwire.zip"), str(script), str(FRAMES), "--out", str(tmp_path / "lake")]
    done = subprocess.run(
        [submit, *words],
        env={
            **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            "PYTHONPATH": str(poison),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        cwd=ROOT.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[0].split() == ["frames", "6"]
    assert (tmp_path / "lake/partition_states/_SUCCESS").exists()


def test_other_protocols_are_no_corruption_and_a_cluster_without_controller_is_named(
    spark: Any, job: Any, tmp_path: Path
) -> None:
    if not (SHARED / "captures").is_dir():
        lacking("the shared captures", "KWIRE_SPARK")
    for kind, name in (("clients", "lab"), ("zookeeper", "keeper")):
        (tmp_path / "in" / name).mkdir(parents=True)
        shutil.copy(SHARED / f"captures/kafka-3.9-ibp-3.3.{kind}.pcap", tmp_path / "in" / name)
    folders = [str(tmp_path / "in" / name) for name in ("lab", "keeper")]
    counts = job.run(spark, folders, str(tmp_path / "lake"), options={"body": "none"})
    assert counts.corrupt == 0
    assert counts.foreign > 0
    of_znodes, of_clients = counts.notices
    assert "/in/keeper: znodes do not have which replicas lie in failed log directories" in of_znodes
    assert "/in/lab: no controller was captured" in of_clients
    notes = spark.read.parquet(str(tmp_path / "lake/sources")).where("note is not null").toArrow().to_pylist()
    assert {row["source"] for row in notes} == {"DescribeClusterResponse", "MetadataResponse", "znode"}


def test_captures_that_tell_of_no_cluster_are_named(spark: Any, job: Any, tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(bytes.fromhex("00000012 0012 0000 00000007 0008 6b77697265206d65"))
    counts = job.run(spark, [str(tmp_path / "dump")], str(tmp_path / "lake"))
    assert counts.frames == 1
    assert counts.notices == (job.NOTHING,)


def test_every_file_has_a_cluster(spark: Any, job: Any, tmp_path: Path) -> None:
    for name in ("a.controller.pcap", "b.pcap"):
        shutil.copy(PCAP, tmp_path / name)
    with pytest.raises(UnnamedFiles, match=r"names no cluster for .*/b\.pcap; its first group"):
        job.run(spark, [str(tmp_path)], str(tmp_path / "lake"), clusters=r"/(\w+)\.controller\.pcap$")
    assert not (tmp_path / "lake").exists()


def test_two_cluster_ids_in_one_folder_end_the_job_before_it_writes(spark: Any, job: Any, tmp_path: Path) -> None:
    for cluster_id in ("one", "two"):
        kind = kwire.messages.MetadataResponse
        body = kwire.codec("MetadataResponse", 4).encode(kind(cluster_id=cluster_id, controller_id=1))
        answer = (len(body) + 4).to_bytes(4, "big") + bytes([0, 0, 0, 7]) + body
        asked = kwire.encode_request(kwire.messages.MetadataRequest(topics=None), 4, correlation_id=7)
        (tmp_path / f"{cluster_id}.bin").write_bytes(asked + answer)
    with pytest.raises(MixedClusters, match=r"2 cluster ids: one \(.*one\.bin\), two \(.*two\.bin\)"):
        job.run(spark, [str(tmp_path)], str(tmp_path / "lake"))
    assert not (tmp_path / "lake").exists()
    counts = job.run(spark, [str(tmp_path)], str(tmp_path / "lake"), clusters=r"/(\w+)\.bin$")
    assert counts.rows["sources"] == 2


def test_an_uri_of_a_local_folder_is_that_folder(spark: Any, job: Any, tmp_path: Path) -> None:
    if find_spec("matplotlib") is None:
        lacking("matplotlib", "KWIRE_SPARK")
    out = tmp_path / "lake"
    counts = job.run(spark, [str(PCAP)], out.as_uri(), plots=True)
    assert [Path(file).parent for file in counts.plots] == [out / "plots"]
    assert (out / "brokers/_SUCCESS").exists()
    assert job.run(spark, [str(PCAP)], f"file:{out}").notices == (f"file:{out} has these captures: {job.DONE}",)
    with pytest.raises(BadOption, match="drawings are files of this machine, and s3a://lake/x is not"):
        job.run(spark, [str(PCAP)], "s3a://lake/x", plots=True)
    for uri in ("file://lake5", "file:lake", "file://host/lake"):
        with pytest.raises(BadOption, match="write file:///data/lake"):
            job.run(spark, [str(PCAP)], uri)
    assert local_folder("file://localhost/data") == Path("/data")
