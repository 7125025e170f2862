"""Writes the tables of a run in the format of a lake; each table has a run once, whatever ends a job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from .lake import PARQUET, Lake, Run
from .table_formats import CATALOG, DELTA

DATE, CLUSTER, RUN = "dt", "cluster", "run"
# The folder for the file of a table without rows. The folders have values, because pyarrow infers no type if all values
# are null.
NO_ROWS = f"{DATE}=1970-01-01/{CLUSTER}=none"
RUN_PROPERTY = "kwire-run"  # of Iceberg's snapshots


class TableWriter(Protocol):
    """Writes tables by date and cluster, and reads what it wrote."""

    def write(self, name: str, rows: DataFrame, *, is_empty: bool = False) -> None:
        """Write the rows of a table, which has the columns `dt` and `cluster`."""

    def read(self, name: str, schema: Any) -> DataFrame:
        """Return the rows that this run wrote to a table with this schema."""


class ParquetTables(TableWriter):
    """Tables as files of Parquet, in the folder of a run that no reader lists yet.

    Args:
        spark, folder: the session; the folder or its URI.
    """

    def __init__(self, spark: Any, folder: str) -> None:
        self._spark, self._folder = spark, folder

    def write(self, name: str, rows: DataFrame, *, is_empty: bool = False) -> None:
        """See `TableWriter.write`."""
        if is_empty:  # write a file without rows, so that readers find the columns
            rows.drop(DATE, CLUSTER).write.parquet(f"{self._folder}/{name}/{NO_ROWS}")
        else:
            rows.write.partitionBy(DATE, CLUSTER).parquet(f"{self._folder}/{name}")

    def read(self, name: str, schema: Any) -> DataFrame:
        """See `TableWriter.read`."""
        frame: DataFrame = self._spark.read.schema(schema).parquet(f"{self._folder}/{name}")
        return frame


@contextmanager
def open_tables(spark: Any, lake: Lake, run: Run, table_format: str) -> Iterator[TableWriter]:
    """Yield the tables of a run; the lake has the run if no error is raised.

    Args:
        spark, lake: the session; the lake.
        run: the run.
        table_format: the format of the tables.
    """
    if table_format == PARQUET:
        staged = lake.place_of(run)
        yield ParquetTables(spark, f"{lake.out}/{staged}")
        lake.commit(run, staged)
        return
    lake.begin(run, table_format)
    yield DeltaTables(spark, lake.out, run) if table_format == DELTA else IcebergTables(spark, run)
    lake.finish(run, table_format)


class DeltaTables(TableWriter):
    """Tables of Delta Lake, which skip a transaction that they have: its application is the run, or the stream.

    Args:
        spark, out, run: the session; the folder of the lake or its URI; the run.
    """

    def __init__(self, spark: Any, out: str, run: Run) -> None:
        self._spark, self._out, self._run = spark, out, run

    def write(self, name: str, rows: DataFrame, *, is_empty: bool = False) -> None:
        """See `TableWriter.write`."""
        run = self._run
        writer = rows.withColumn(RUN, sql.lit(run.name)).write.format(DELTA).partitionBy(DATE, CLUSTER)
        writer = writer.mode("overwrite" if run.overwrite else "append")
        writer = writer.option("overwriteSchema" if run.overwrite else "mergeSchema", True)
        application, version = (run.stream, run.batch) if run.stream else (run.name, 1)
        writer.option("txnAppId", application).option("txnVersion", version).save(f"{self._out}/{name}")

    def read(self, name: str, schema: Any) -> DataFrame:
        """See `TableWriter.read`."""
        frame: DataFrame = self._spark.read.format(DELTA).load(f"{self._out}/{name}")
        return frame.where(sql.col(RUN) == self._run.name)


class IcebergTables(TableWriter):
    """Tables of Iceberg, whose snapshots are named by their runs.

    Args:
        spark, run: the session, whose catalog `kwire_lake` is the lake; the run.
    """

    def __init__(self, spark: Any, run: Run) -> None:
        self._spark, self._run = spark, run

    def write(self, name: str, rows: DataFrame, *, is_empty: bool = False) -> None:
        """See `TableWriter.write`."""
        table, run = f"{CATALOG}.{name}", self._run
        is_there = self._spark.catalog.tableExists(table)
        if is_there and self._has_run(table):
            return
        writer = rows.withColumn(RUN, sql.lit(run.name)).writeTo(table)
        writer = writer.option(f"snapshot-property.{RUN_PROPERTY}", run.name)
        if is_there and not run.overwrite:
            writer.append()
        else:
            writer.using("iceberg").partitionedBy(sql.col(DATE), sql.col(CLUSTER)).createOrReplace()

    def _has_run(self, table: str) -> bool:
        snapshots = self._spark.table(f"{table}.snapshots")
        return bool(snapshots.where(sql.col("summary")[RUN_PROPERTY] == self._run.name).count())

    def read(self, name: str, schema: Any) -> DataFrame:
        """See `TableWriter.read`."""
        frame: DataFrame = self._spark.table(f"{CATALOG}.{name}")
        return frame.where(sql.col(RUN) == self._run.name)
