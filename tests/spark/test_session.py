"""What stands in the way of a session is said before Spark starts."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest

from kwire.spark.java import MissingJava, need_java, pass_on
from kwire.spark.session import JobFailed


def java(folder: Path, version: str) -> str:
    """Make a Java that says its version and does nothing else."""
    (folder / "bin").mkdir(parents=True)
    script = folder / "bin/java"
    script.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2020-01-01' >&2\n")
    script.chmod(0o755)
    return str(folder)


def test_java_is_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingJava, match=r"needs Java 17 or newer, and there is no Java; install it \(apt-get"):
        need_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    with pytest.raises(MissingJava, match="there is no Java"):
        need_java()


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2"])
def test_an_old_java_will_not_do(version: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", java(tmp_path, version))
    found = version.removeprefix("1.").split(".")[0]
    with pytest.raises(MissingJava, match=f"there is Java {found};"):
        need_java()


@pytest.mark.parametrize("version", ["17.0.15", "21", "25-ea"])
def test_a_newer_one_will(version: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", java(tmp_path, version))
    need_java()


def test_of_what_spark_says_the_line_that_matters_is_shown() -> None:
    assert (
        str(JobFailed("[PATH_NOT_FOUND] no such path\n  at java.lang.Thread")) == "Spark: [PATH_NOT_FOUND] no such path"
    )
    long = (
        "job aborted\nTraceback\n  kwire.arrow.rows.row_faults.MalformedFrame: [KWIRE_MALFORMED_FRAME] path=x\n\tat y"
    )
    assert "[KWIRE_MALFORMED_FRAME] path=x" in str(JobFailed(long))
    python = "[PYTHON_EXCEPTION] from the worker:\nTraceback\nModuleNotFoundError: No module named 'msgspec'\n\tat y"
    assert str(JobFailed(python)) == "Spark: ModuleNotFoundError: No module named 'msgspec'"
    grpc = '<_InactiveRpcError of RPC that terminated with:\n\tstatus = UNAVAILABLE\n\tdetails = "no route"\n>'
    assert str(JobFailed(grpc)) == "Spark: no route"
    assert str(JobFailed("")) == "Spark: the job failed"


class Portions(BytesIO):
    """A stream that gives a few bytes at a time."""

    def read(self, _: int | None = -1) -> bytes:
        return super().read(7)


def test_what_every_run_of_spark_prints_is_left_out() -> None:
    usual = [
        "WARNING: Using incubator modules: jdk.incubator.vector",
        "Using Spark's default log4j profile: org/apache/spark/log4j2-defaults.properties",
        "26/11/23 08:01:31 WARN NativeCodeLoader: Unable to load native-hadoop library for your platform...",
        'Setting Spark log level to "ERROR".',
    ]
    broken = ["Traceback (most recent call last):", '  File "x/pyspark/daemon.py", line 95, in worker', "    flush()"]
    pipe = "BrokenPipeError: [Errno 32] Broken pipe"
    announced = "PySpark daemon failed to flush the output to the worker process:"
    others = [
        "26/11/23 08:01:31 ERROR Executor: Exception in task 0.0",
        *broken,
        "OSError: [Errno 28] No space left on device",
        "Traceback (most recent call last):",
        '  File "mine.py", line 1',
        pipe,
        "\r[Stage 0:>   (0 + 1) / 2]\r[Stage 0:==> (1 + 1) / 2]\r",
    ]
    lines = [*usual, *broken, pipe, *others[:1], announced, *broken, pipe, *others[1:]]
    target = BytesIO()
    pass_on(Portions("\n".join(lines).encode()), target)
    assert target.getvalue().decode() == "\n".join(others)
