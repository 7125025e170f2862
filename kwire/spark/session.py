"""A session of Spark for `kwire pipeline`: on this machine unless told otherwise, or the one that spark-submit gives.

What can be known before Spark starts is said before: that is quicker, and clearer than what Spark says.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from . import register
from .errors import MissingJava
from .shipping import write_zip

LEAST_JAVA = 17
HERE = "local[*]"
LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false"}
ALWAYS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.log.level": "ERROR",
    "spark.python.unix.domain.socket.enabled": "true",
}
_PACKAGE = Path(__file__).parent.parent


@contextmanager
def session(master: str | None = None, settings: Mapping[str, str] | None = None) -> Iterator[Any]:
    """Give a session that reads `kwire`, and stop it at the end.

    Args:
        master: where Spark runs, `local[2]` or `spark://host:7077`; None for what spark-submit says, or else all cores
            of this machine.
        settings: of Spark, by name; they go before those of kwire.

    Raises:
        MissingExtra: pyspark is not installed.
        MissingJava: there is no Java, or one too old.
    """
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # by spark-submit, which has started Java
    if master is None and not submitted and "spark.master" not in (settings or {}):
        master = HERE
    is_here = re.fullmatch(r"local(\[.*\])?", master or "") is not None
    if not submitted:
        need_java()
    _prepare(is_here)
    spark = _builder(master, {**ALWAYS, **(LOCAL if is_here else {}), **(settings or {})}).getOrCreate()
    try:
        with TemporaryDirectory() as folder:
            if not submitted and not is_here:
                file = Path(folder) / "kwire.zip"
                write_zip(file)
                # Before `register`, which notes what a data source needs; what addArtifacts sends is none of that.
                spark.sparkContext.addPyFile(str(file))
            register(spark)
            yield spark
    finally:
        spark.stop()


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


def _builder(master: str | None, settings: Mapping[str, str]) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("kwire pipeline")
    if master is not None:
        builder = builder.master(master)
    builder = builder.config("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower())
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder
