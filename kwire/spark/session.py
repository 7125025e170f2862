"""Creates the Spark session of `kwire pipeline` and ships kwire to a cluster."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..errors import KwireError, MissingExtra
from .java import APPLICATION, need_java, start_java
from .java import MissingJava as MissingJava  # pickles of b6d4b524 name it so
from .package_zip import PACKAGE, library_files, package_files, write_archive, write_zip

_DETAILS = "details = "  # gRPC's error message contains the reason after this text
_PYTHON = re.compile(r"[A-Z]\w*(Error|Exception): ").match  # the last line of a traceback
HERE = "local[*]"
REMOTE = "sc://"  # prefix of a Spark Connect server
LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": str(4 * (os.cpu_count() or 1)),  # the default is 200, and each starts Python
}
SESSION = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # other readers find no time zone in INT96
}  # settings that a Spark Connect server accepts
ALWAYS = {
    "spark.log.level": "ERROR",
    "spark.python.unix.domain.socket.enabled": "true",
}
SHIPPED = "kwire_shipped"  # the folder on a worker into which the archive is unpacked


class JobFailed(KwireError):
    """A Spark job failed: `problem` is Spark's message, whose first line is shown."""

    def __init__(self, problem: str = "") -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        lines = [line.strip() for line in self.problem.splitlines() if line.strip()]
        own = [line for line in lines if "[KWIRE_" in line or line.startswith("kwire.")]
        python = [line for line in lines if _PYTHON(line)]
        grpc = [line.removeprefix(_DETAILS).strip('"') for line in lines if line.startswith(_DETAILS)]
        return f"Spark: {[*own, *python[::-1], *grpc, *lines, 'the job failed'][0]}"


@contextmanager
def session(master: str | None = None, settings: Mapping[str, str] | None = None) -> Iterator[Any]:
    """Create a session with the data source `kwire`, and stop it at the end.

    Args:
        master: the Spark master, `local[2]`, `spark://host:7077` or `sc://host:15002`; None for the master of
            spark-submit, or else all cores of this machine.
        settings: Spark settings by name; they override kwire's settings.

    Raises:
        MissingExtra: pyspark, or the libraries of Spark Connect, are not installed.
        MissingJava: Java is missing or too old; Spark Connect does not need it.
        JobFailed: the server does not respond, or refuses the session.
    """
    start = _remote if (master or "").startswith(REMOTE) else _classic
    with TemporaryDirectory() as folder:  # kept until the end, because executors download the file
        spark = start(master, settings or {}, Path(folder))
        try:
            from .registration import register  # PySpark is imported by now

            register(spark)
            yield spark
        finally:
            spark.stop()


def _classic(master: str | None, settings: Mapping[str, str], folder: Path) -> Any:
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # spark-submit has started Java
    if master is None and not submitted and "spark.master" not in settings:
        master = HERE
    is_here = re.fullmatch(r"local(\[.*\])?", master or "") is not None
    if not submitted:
        need_java()
    _prepare(is_here)
    progress = {"spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower()}
    given = {**SESSION, **ALWAYS, **progress, **(LOCAL if is_here else {}), **settings}
    if not submitted and not is_here:
        given = _shipping(given, folder)
    if master is not None:
        given["spark.master"] = master
    if not submitted:
        start_java(given)
    return _builder(given).getOrCreate()


def _shipping(settings: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return the settings with which executors unpack and find kwire: a native engine cannot be loaded from a zip."""
    file = folder / "kwire.zip"
    write_zip(file)
    archives = [*filter(None, [settings.get("spark.archives")]), f"{file}#{SHIPPED}"]
    name = "spark.executorEnv.PYTHONPATH"
    places = [SHIPPED, *filter(None, [settings.get(name)])]
    return {**settings, "spark.archives": ",".join(archives), name: os.pathsep.join(places)}


def _remote(url: str | None, settings: Mapping[str, str], folder: Path) -> Any:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    if find_spec("grpc") is None:  # otherwise, PySpark would exit the process
        raise MissingExtra(f"{REMOTE}...", "grpcio", "connect")
    try:
        spark = SparkSession.builder.remote(url).getOrCreate()
        patience = spark.client.get_retry_policies()
        spark.client.set_retry_policies([])  # otherwise an unreachable server is retried for ten minutes
        for name, value in {**SESSION, **settings}.items():
            spark.conf.set(name, value)
        spark.client.set_retry_policies(patience)
    except PySparkException as error:
        raise JobFailed(str(error)) from None
    # A worker has the folder of a session's files on its path, and archives are unpacked there. The folder is named
    # kwire, so that the native engine can be loaded, which is impossible from a zip.
    write_archive(folder / "package.zip", package_files(""))
    write_archive(folder / "libraries.zip", library_files())
    spark.addArtifacts(f"{folder / 'package.zip'}#kwire", archive=True)
    spark.addArtifacts(str(folder / "libraries.zip"), pyfile=True)
    return spark


def _prepare(is_here: bool) -> None:
    """Make Spark's local workers use the current Python and kwire."""
    if is_here:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        places = [str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(places)


def _builder(settings: Mapping[str, str]) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(APPLICATION)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder
