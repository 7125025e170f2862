"""Spark as `overhead` uses it: a session, and sources that differ from kwire's in one thing each."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from benchmarks.lib.checkouts import ROOT
from kwire.arrow.batch_reader import BatchReader
from kwire.arrow.input_splits import InputSplit
from kwire.arrow.read_options import Options
from kwire.spark.data_source import KwireReader, KwireSource

ANSWERS = {"apis": "MetadataResponse", "body": "struct", "columns": "offset,api_version,message"}
CAPTURED = {"body": "json"}
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.log.level": "ERROR",
    "spark.python.unix.domain.socket.enabled": "true",
    # Else Spark 4.3 turns what a UDF returns from rows to columns and back: from_kwire takes twice as long.
    "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false",
}
Parts = list[list[InputSplit]]


class Tuples(KwireReader):
    """The reader, but that it gives rows one by one."""

    def read(self, partition: Any) -> Iterator[Any]:
        for batch in super().read(partition):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


class Ready(KwireReader):
    """The reader, but that the batches of each part lie in a file."""

    def read(self, partition: Any) -> Iterator[Any]:
        with pa.memory_map(ready_file(partition.units)) as source:
            reader = pa.ipc.open_file(source)
            for index in range(reader.num_record_batches):
                yield reader.get_batch(index)


class TupleSource(KwireSource):
    """`format("tuples")`."""

    kind: type[KwireReader] = Tuples

    @classmethod
    def name(cls) -> str:
        return cls.kind.__name__.lower()

    def reader(self, schema: Any) -> Any:
        reader = super().reader(schema)
        return self.kind(reader.options, reader.columns, reader.paths)


class ReadySource(TupleSource):
    """`format("ready")`."""

    kind = Ready


def ready_file(units: list[InputSplit]) -> str:
    """Say where the batches of a part lie."""
    (unit,) = units
    return f"{unit.path}.{unit.part}.arrow"


def make_ready(path: Path, options: dict[str, str]) -> Parts:
    """Write the batches of each part of a capture; return the parts."""
    reading = BatchReader(Options.parse(options))
    parts = reading.divide([str(path)])
    for units in parts:
        with pa.OSFile(ready_file(units), "wb") as sink, pa.ipc.new_file(sink, reading.schema) as writer:
            for batch in reading.read(units):
                writer.write(batch)
    return parts


def plain(parts: Parts, options: dict[str, str]) -> None:
    """Decode without Spark."""
    reading = BatchReader(Options.parse(options))
    for units in parts:
        for _ in reading.read(units):
            pass


def session(cores: int, jars: str) -> Any:
    """Start Spark, with these jars if there are any."""
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    builder = SparkSession.builder.master(f"local[{cores}]")
    for name, value in (SETTINGS | ({"spark.jars": jars} if jars else {})).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    for source in (KwireSource, TupleSource, ReadySource):
        spark.dataSource.register(source)
    return spark


def load(spark: Any, path: Path, form: str = "kwire", **options: str) -> Any:
    return spark.read.format(form).options(**{**ANSWERS, **options}).load(str(path))


def consume(df: Any) -> None:
    """Have a DataFrame worked out, to nowhere."""
    df.write.format("noop").mode("overwrite").save()
