"""Lakes of Delta Lake and Iceberg: each frame once, also after a job that died between two tables."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kwire.arrow.read_options import BadOption
from kwire.spark.lakes.table_formats import RUNTIMES, format_settings
from tests.arrow.captures import FRAMES, PCAP, rows_of
from tests.conftest import ROOT
from tests.spark.test_older_sparks import pyspark

# A session of its own, on a Spark for which there is a runtime, which must be there when the JVM starts.
PROGRAM = """
import json, shutil, sys
from pathlib import Path
from kwire.errors import KwireError
from kwire.spark.lakes import table_writers
from kwire.spark.lakes.table_formats import CATALOG, format_settings
from kwire.spark.pipeline import run
from kwire.spark.session import session
from tests.spark.conftest import SETTINGS

form, folder, out, second = sys.argv[1:]
writers = {"delta": table_writers.DeltaTables, "iceberg": table_writers.IcebergTables}[form]
write, left = writers.write, [2]

def dying(*arguments, **options):
    if not left[0]:
        raise KeyboardInterrupt
    left[0] -= 1
    write(*arguments, **options)

def rows(spark, name):
    return spark.table(f"{CATALOG}.{name}") if form == "iceberg" else spark.read.format("delta").load(f"{out}/{name}")

answers = {}
few = {"spark.log.level": "ERROR", "spark.databricks.delta.snapshotPartitions": "2"}
with session("local[2]", {**SETTINGS, **few, **format_settings(form, out)}) as spark:
    writers.write = dying
    try:
        run(spark, [folder], out, table_format=form)
    except KeyboardInterrupt:
        answers["died with"] = rows(spark, "frames").count()
    writers.write = write
    shutil.copy(second, folder)
    answers["both"] = run(spark, [folder], out, table_format=form).frames
    answers["rows"] = rows(spark, "frames").count()
    answers["runs"] = rows(spark, "frames").select("run").distinct().count()
    answers["brokers"] = rows(spark, "brokers").count()
    answers["columns"] = rows(spark, "frames").columns
    answers["again"] = run(spark, [folder], out, table_format=form).frames
    try:
        run(spark, [folder], out)
    except KwireError as error:
        answers["refused"] = str(error)
    answers["replaced"] = run(spark, [second], out, table_format=form, overwrite=True).frames
    answers["left"] = rows(spark, "frames").count()
print(json.dumps(answers))
"""


@pytest.mark.limit(600)
@pytest.mark.parametrize(("form", "version"), [("delta", "4.1.4"), ("iceberg", "3.5.9")])
def test_a_job_that_died_is_written_once(form: str, version: str, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    shutil.copy(PCAP, folder / "1.pcap")
    words = [form, str(folder), str(tmp_path / "lake"), str(FRAMES)]
    places = os.pathsep.join([str(pyspark(version)), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": places}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, *words],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    answers: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    first, second = len(rows_of(PCAP)), len(rows_of(FRAMES))
    assert answers["died with"] == first
    assert (answers["both"], answers["rows"], answers["runs"]) == (first + second, first + second, 2)
    assert answers["brokers"] > 0
    assert {"dt", "cluster", "run", "message"} < set(answers["columns"])
    assert answers["again"] == 0
    assert f"option format='parquet': the tables in {tmp_path / 'lake'} are {form}; name another" in answers["refused"]
    assert (answers["replaced"], answers["left"]) == (second, second)


def test_a_spark_without_a_runtime_is_named() -> None:
    for form in RUNTIMES:
        with pytest.raises(BadOption, match=rf"no runtime of {form} for Spark 4\.3; install pyspark 3\.5, 4\.0"):
            format_settings(form, "lake", "4.3.0")
    assert format_settings("parquet", "lake", "4.3.0") == {}
