"""A lake grows by what is new, each frame once, whatever ends a job."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kwire.cluster import ROWS
from kwire.spark.lakes.lake import MANIFEST, STAGING, GrownFiles, Lake
from kwire.spark.lakes.lake_files import identify_file
from kwire.spark.session import JobFailed
from tests.arrow.captures import FRAMES, PCAP, rows_of
from tests.conftest import ROOT


class Crash(BaseException):
    """The process ends."""


class Crashing:
    """A file system that ends the process at its operation of a number."""

    def __init__(self, store: Any, number: int) -> None:
        self.store, self.left = store, number

    def __getattr__(self, name: str) -> Any:
        def operate(*arguments: Any, **options: Any) -> Any:
            if name in ("move", "delete_dir", "delete_file", "open_output_stream", "create_dir"):
                self.left -= 1
                if not self.left:
                    raise Crash
            return getattr(self.store, name)(*arguments, **options)

        return operate


def files_of(lake: Path) -> set[str]:
    return {path.relative_to(lake).as_posix() for path in lake.rglob("*") if path.is_file()}


def staged(lake: Path, name: str, run: str, staged_as: str) -> None:
    for table in ("frames", "brokers"):
        for number in range(2):
            path = lake / staged_as / table / f"dt=2026-11-0{number}" / f"{name}.parquet"
            path.parent.mkdir(parents=True)
            path.write_text(f"{run} {table} {number}")


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_lake_is_the_same_wherever_a_commit_ends(tmp_path: Path, overwrite: bool) -> None:
    sources = [identify_file(str(path), path.stat().st_size) for path in (PCAP, FRAMES)]
    crashes, number = 0, 0
    while crashes == number:
        number += 1
        out = tmp_path / f"{number}"
        lake = Lake(str(out))
        first = lake.new_run(sources[:1])
        place = lake.place_of(first)
        staged(out, "a", first.name, place)
        lake.commit(first, place)
        run = lake.new_run(sources[1:], overwrite=overwrite)
        place = lake.place_of(run)
        staged(out, "b", run.name, place)
        crashing: Any = Lake(str(out))
        crashing._store = Crashing(crashing._store, number)
        try:
            crashing.commit(run, place)
        except Crash:
            crashes += 1
        lake.recover()
        if lake.new(sources[1:]):  # nothing was decided
            assert files_of(out) == expected_files({first.name: "a"})
        else:
            assert files_of(out) == expected_files({run.name: "b"} if overwrite else {first.name: "a", run.name: "b"})
    assert crashes > 10


def expected_files(runs: dict[str, str]) -> set[str]:
    tables = ("frames", "brokers")
    found = {
        f"{t}/run={run}/dt=2026-11-0{n}/{name}.parquet" for run, name in runs.items() for t in tables for n in (0, 1)
    }
    return found | {f"{table}/_SUCCESS" for table in tables} | {f"{MANIFEST}/{run}.json" for run in runs}


def test_files_are_identified_by_their_content(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"))
    path = tmp_path / "a.pcap"
    path.write_bytes(PCAP.read_bytes())
    source = identify_file(str(path), path.stat().st_size)
    run = lake.new_run([source])
    place = lake.place_of(run)
    staged(tmp_path / "lake", "a", run.name, place)
    lake.commit(run, place)
    renamed = path.rename(tmp_path / "b.pcap")
    assert lake.new([identify_file(str(renamed), renamed.stat().st_size)]) == []
    path.write_bytes(PCAP.read_bytes() + PCAP.read_bytes()[24:])
    with pytest.raises(GrownFiles, match=r"a\.pcap: written to the lake when it was shorter; write captures that are"):
        lake.new([identify_file(str(path), path.stat().st_size)])


def test_a_run_that_is_somewhere_else_is_named(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"))
    run = lake.new_run([])
    with pytest.raises(JobFailed, match="is not seen from here; name the folder by its URI"):
        lake.commit(run, lake.place_of(run))


def rows_in(spark: Any, lake: Path) -> dict[str, list[str]]:
    """Return all rows of all tables."""
    tables = {name: spark.read.parquet(str(lake / name)).drop("run") for name in ("frames", *ROWS)}
    return {name: sorted(map(repr, table.toArrow().to_pylist())) for name, table in tables.items()}


def test_captures_are_added_once(spark: Any, tmp_path: Path) -> None:
    from kwire.spark import pipeline

    folder, lake = tmp_path / "in", tmp_path / "lake"
    folder.mkdir()
    shutil.copy(PCAP, folder / "1.pcap")
    assert pipeline.run(spark, [str(folder)], str(lake)).frames == len(rows_of(PCAP))
    (folder / "1.pcap").rename(folder / "1.pcap.done")
    shutil.copy(FRAMES, folder / "2.bin")
    assert pipeline.run(spark, [str(folder)], str(lake)).frames == len(rows_of(FRAMES))
    assert pipeline.run(spark, [str(folder)], str(lake)).notices == (f"{lake} has these captures: {pipeline.DONE}",)
    frames = spark.read.parquet(str(lake / "frames"))
    assert frames.count() == len(rows_of([PCAP, FRAMES]))
    assert {"dt", "cluster", "run"} < set(frames.columns)
    assert "bytes of the frame" in frames.schema["length"].metadata["comment"]
    assert {str(row.dt) for row in frames.where("timestamp is not null").select("dt").distinct().collect()} == {
        str(row["timestamp"].date()) for row in rows_of(PCAP)
    }
    counts = pipeline.run(spark, [str(folder / "2.bin")], str(lake), overwrite=True)
    assert counts.frames == spark.read.parquet(str(lake / "frames")).count() == len(rows_of(FRAMES))


def test_a_killed_job_and_another_are_one_job(spark: Any, tmp_path: Path) -> None:
    from kwire.spark import pipeline

    code = "import sys; from kwire.cli.main import main; sys.exit(main(sys.argv[1:]))"
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    words = ["pipeline", str(PCAP), "--master", "local[2]", "--out", str(killed)]
    settings = ["--conf", "spark.sql.shuffle.partitions=2"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    command = [sys.executable, "-c", code, *words, *settings]
    begun = subprocess.Popen(command, env=environment, start_new_session=True, **quiet)
    while begun.poll() is None and not list(killed.glob(f"{STAGING}/*/frames")):
        time.sleep(0.01)
    if begun.poll() is None:
        os.killpg(begun.pid, signal.SIGKILL)
    begun.wait()
    assert not list(killed.glob("frames/*")) or (killed / MANIFEST).exists()
    for out in (killed, whole):
        pipeline.run(spark, [str(PCAP)], str(out))
    assert rows_in(spark, killed) == rows_in(spark, whole)
    assert not list(killed.glob(f"{STAGING}/*"))
