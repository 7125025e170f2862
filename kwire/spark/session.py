"""A session of Spark for `kwire pipeline`: on this machine unless told otherwise, the one that spark-submit gives, or
one of a server of Spark Connect.

What can be known before Spark starts is said before: that is quicker, and clearer than what Spark says.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..errors import MissingExtra
from . import register
from .errors import JobFailed, MissingJava
from .shipping import write_zip

LEAST_JAVA = 17
HERE = "local[*]"
REMOTE = "sc://"  # servers of Spark Connect
LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": str(4 * (os.cpu_count() or 1)),  # of 200, Python would be started for each
}
SESSION = {"spark.sql.session.timeZone": "UTC"}  # what a server lets one set, too
ALWAYS = {
    "spark.log.level": "ERROR",
    "spark.python.unix.domain.socket.enabled": "true",
}
_PACKAGE = Path(__file__).parent.parent
_Started = tuple[Any, Callable[[str], None] | None]  # a session, and how a file is shipped to where it has to be


@contextmanager
def session(master: str | None = None, settings: Mapping[str, str] | None = None) -> Iterator[Any]:
    """Give a session that reads `kwire`, and stop it at the end.

    Args:
        master: where Spark runs, `local[2]`, `spark://host:7077` or `sc://host:15002`; None for what spark-submit says,
            or else all cores of this machine.
        settings: of Spark, by name; they go before those of kwire.

    Raises:
        MissingExtra: pyspark is not installed, or what Spark Connect takes is not.
        MissingJava: there is no Java, or one too old; a server has its own.
        JobFailed: a server does not answer, or refuses.
    """
    start = _remote if (master or "").startswith(REMOTE) else _classic
    spark, ship = start(master, settings or {})
    try:
        with TemporaryDirectory() as folder:  # until the end: executors fetch the file from here
            if ship is not None:
                file = Path(folder) / "kwire.zip"
                write_zip(file)
                ship(str(file))
            register(spark)
            yield spark
    finally:
        spark.stop()


def _classic(master: str | None, settings: Mapping[str, str]) -> _Started:
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # by spark-submit, which has started Java
    if master is None and not submitted and "spark.master" not in settings:
        master = HERE
    is_here = re.fullmatch(r"local(\[.*\])?", master or "") is not None
    if not submitted:
        need_java()
    _prepare(is_here)
    progress = {"spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower()}
    builder = _builder({**SESSION, **ALWAYS, **progress, **(LOCAL if is_here else {}), **settings})
    spark = (builder if master is None else builder.master(master)).getOrCreate()
    # Before `register`, which notes what a data source needs; what addArtifacts sends is none of that.
    return spark, None if submitted or is_here else spark.sparkContext.addPyFile


def _remote(url: str | None, settings: Mapping[str, str]) -> _Started:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    if find_spec("grpc") is None:  # PySpark would end the process
        raise MissingExtra(f"{REMOTE}...", "grpcio", "connect")
    try:
        spark = SparkSession.builder.remote(url).getOrCreate()
        patience = spark.client.get_retry_policies()
        spark.client.set_retry_policies([])  # where nobody is, nobody answers for ten minutes
        for name, value in {**SESSION, **settings}.items():
            spark.conf.set(name, value)
        spark.client.set_retry_policies(patience)
    except PySparkException as error:
        raise JobFailed(str(error)) from None
    return spark, lambda file: spark.addArtifacts(file, pyfile=True)


def need_java() -> None:
    """Raise MissingJava unless there is a Java that runs Spark."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin/java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        raise MissingJava
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    if found is not None and int(found[1]) < LEAST_JAVA:
        raise MissingJava(int(found[1]))


def _prepare(is_here: bool) -> None:
    """Let Spark's workers on this machine run the same Python, with the same kwire."""
    if is_here:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        places = [str(_PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(places)


def _builder(settings: Mapping[str, str]) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("kwire pipeline")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder
