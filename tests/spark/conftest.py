"""One real Spark for all tests; it takes seconds to start, and each question to it a fifth of one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import ROOT

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # INT96 has no time zone
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.log.level": "OFF",  # what fails on purpose would print a page
}


SERVER = "KWIRE_SPARK_SERVER"  # of Spark Connect; where it is set, the same tests go there, see test_connect.py


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session of two threads, which can read `kwire`."""
    if SERVER in os.environ:
        from kwire.spark.session import session

        with session(os.environ[SERVER], {"spark.sql.shuffle.partitions": "2"}) as remote:
            assert type(remote).__module__.startswith("pyspark.sql.connect.")
            yield remote
        return
    from pyspark.sql import SparkSession

    from kwire.spark import register

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
        builder = SparkSession.builder.master("local[2]").appName("kwire")
        builder = builder.config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        for name, value in SETTINGS.items():
            builder = builder.config(name, value)
        classic = builder.getOrCreate()
        register(classic)
        yield classic
        classic.stop()
