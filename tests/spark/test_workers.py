"""A standalone cluster of two workers whose Python has no kwire: it is shipped, and workers may die."""

from __future__ import annotations

import json
import os
import re
import signal
import site
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

import kwire
from kwire import arrow
from kwire.cluster import ROWS
from tests.arrow.captures import PCAP
from tests.arrow.pieces import cut_at_packets
from tests.conftest import ROOT
from tests.spark.test_capture_stream import check as check_frames

JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # its processes live for seconds
SETTINGS = {
    "spark.driver.extraJavaOptions": JVM,
    "spark.executor.extraJavaOptions": JVM,
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.deploy.maxExecutorRetries": "-1",
    "spark.log.level": "OFF",
}


class Cluster:
    """Processes of Spark, which end with `stop`."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        self.folder, self._home = folder, Path(pyspark.__file__).parent
        self.python = without_kwire(folder)
        self._processes: list[subprocess.Popen[bytes]] = []
        self.url = self._start("master.Master", "--port", "0", until=r"spark://127\.0\.0\.1:\d+")
        for number in range(2):
            place = str(folder / f"worker-{number}")
            more = ("-c", "1", "-m", "1g", "-d", place)
            self._start("worker.Worker", self.url, *more, until="Successfully registered with master")

    def _start(self, name: str, *words: str, until: str) -> str:
        log = self.folder / f"log-{len(self._processes)}"
        command = [str(self._home / "bin/spark-class"), f"org.apache.spark.deploy.{name}", *words]
        command += ["--host", "127.0.0.1", "--webui-port", "0"]
        env = {"SPARK_HOME": str(self._home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_JAVA_OPTS": JVM}
        env |= {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ}
        with log.open("wb") as out:
            process = subprocess.Popen(
                command, env=env, cwd=self.folder, stdout=out, stderr=out, start_new_session=True
            )
        self._processes.append(process)
        deadline = time.monotonic() + 300
        while process.poll() is None and time.monotonic() < deadline:
            if found := re.search(until, log.read_text()):
                return found[0]
            time.sleep(0.2)
        pytest.fail(f"{name}: {log.read_text()[-3000:]}")

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run Python as a client of the cluster."""
        env = {**os.environ, "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1"}
        env |= {"PYSPARK_PYTHON": str(self.python), "PYSPARK_DRIVER_PYTHON": sys.executable}
        return subprocess.run([sys.executable, *words], cwd=self.folder, env=env, capture_output=True, text=True)

    def stop(self) -> None:
        for process in reversed(self._processes):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def without_kwire(folder: Path) -> Path:
    """Return a Python that has this one's libraries, but not kwire."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "python")], check=True)
    (own,) = (folder / "python/lib").glob("python*/site-packages")
    for place in filter(Path.is_dir, map(Path, site.getsitepackages())):  # Debian's Python names one that is not there
        for one in place.iterdir():
            if "kwire" not in one.name and one.suffix != ".pth" and not (own / one.name).exists():
                (own / one.name).symlink_to(one)
    python = folder / "python/bin/python"
    found = subprocess.run(
        [python, "-c", "import pyarrow; import kwire"], cwd=folder, env={}, capture_output=True, text=True
    )
    assert "No module named 'kwire'" in found.stderr
    return python


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        yield made
    finally:
        made.stop()


def rows_of(lake: Path, name: str) -> list[str]:
    """Return the rows of a table without the columns that its folders give."""
    table = parquet.read_table(lake / name)
    return sorted(str(row) for row in table.drop(["run", "dt", "cluster"]).to_pylist())


def check(lake: Path) -> None:
    """Compare the tables with those that are made without Spark."""
    expected = arrow.history(str(PCAP))
    for name in ROWS:
        assert rows_of(lake, name) == sorted(str(row) for row in expected[name].to_pylist()), name


def test_workers_without_kwire_get_it_with_the_native_engine(cluster: Cluster, tmp_path: Path) -> None:
    settings = [word for one in SETTINGS.items() for word in ("--conf", "=".join(one))]
    words = ["pipeline", str(PCAP), "--out", str(tmp_path / "lake"), "--json", *settings]
    done = cluster.run("-m", "kwire", *words, "--master", cluster.url)
    assert done.returncode == 0, done.stderr[-3000:]
    check(tmp_path / "lake")
    assert ("without the native engine" in done.stderr) == (kwire.engine != "native"), done.stderr[-3000:]


KILLING = """
import os, signal, sys, threading, time
from pathlib import Path
from kwire.spark import pipeline as pipeline, session, stream_captures

url, capture, out = sys.argv[1:4]
settings = dict(word.split("=", 1) for word in sys.argv[4:])
killed = []

def executors(app):
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().split(b"\\0")
        except OSError:
            continue
        if b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in words and app.encode() in words:
            yield int(place.parent.name)

def watch(context, ended):
    seen, tracker = set(), context.statusTracker()
    while not ended.wait(0.02):
        for stage in tracker.getActiveStageIds():
            info = tracker.getStageInfo(stage)
            there = sorted(executors(context.applicationId))
            if len(killed) < 4 and stage not in seen and info is not None and info.numActiveTasks and there:
                seen.add(stage)
                os.kill(there[len(killed) % len(there)], signal.SIGKILL)
                killed.append(stage)

with session.session(url, settings) as spark:
    ended = threading.Event()
    thread = threading.Thread(target=watch, args=(spark.sparkContext, ended))
    thread.start()
    try:
        JOB
    finally:
        ended.set()
        thread.join()
print("killed", len(killed))
"""


def test_workers_that_die_in_the_first_stages_change_no_table(cluster: Cluster, tmp_path: Path) -> None:
    run_killing(cluster, "pipeline.run(spark, [capture], out)", PCAP, tmp_path / "lake", least=3)
    check(tmp_path / "lake")


STREAM = """
        frames = stream_captures(spark, capture, body="raw", maxFilesPerTrigger=1)
        writer = frames.writeStream.option("checkpointLocation", out + "-checkpoint").trigger(availableNow=True)
        writer.start(out, format="parquet").awaitTermination()
"""


def test_workers_that_die_change_no_stream(cluster: Cluster, tmp_path: Path) -> None:
    cut_at_packets(PCAP, tmp_path / "in", 3)
    run_killing(cluster, STREAM.strip(), tmp_path / "in", tmp_path / "out", least=1)
    files = [
        json.loads(line)["path"]
        for path in (tmp_path / "out/_spark_metadata").glob("[0-9]*")
        for line in path.read_text().splitlines()[1:]
    ]
    rows = parquet.ParquetDataset([name.removeprefix("file://") for name in files]).read().to_pylist()
    check_frames(rows)


def run_killing(cluster: Cluster, job: str, capture: Path, out: Path, least: int) -> None:
    """Run a job, and kill executors in its first stages, at least so many."""
    settings = [f"{name}={value}" for name, value in SETTINGS.items()]
    done = cluster.run("-c", KILLING.replace("JOB", job), cluster.url, str(capture), str(out), *settings)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[-1]) >= least
