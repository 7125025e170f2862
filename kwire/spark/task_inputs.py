"""Runs tasks over inputs that the driver chose, on every Spark: a Python data source does this only since Spark 4.1."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.utils import is_remote

from ..arrow.find_files import InputFile, find_files
from ..arrow.read_options import BadOption, Options

FEW = 64  # files that the driver, or one task, looks at
Input = TypeVar("Input")


def read_in_tasks(
    spark: Any, inputs: Sequence[Input], read: Callable[[Input], Iterator[pa.RecordBatch]], schema: Any
) -> DataFrame:
    """Return the rows that tasks read, one task per input.

    Args:
        spark: the session, which may be a Spark Connect session.
        inputs: the inputs, which can be pickled.
        read: the function that runs in a task; it yields record batches.
        schema: the schema of the batches, as a Spark type or as text.
    """
    pickled = [pickle.dumps(value) for value in inputs]  # a task unpickles only its own

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from read(pickle.loads(pickled[number]))  # noqa: S301  # of this process

    # A range has exactly so many partitions; rows that are repartitioned may meet in one.
    return spark.range(0, len(inputs), 1, max(1, len(inputs))).mapInArrow(run, schema)


def collect_rows(
    spark: Any, values: Sequence[Input], read: Callable[[Sequence[Input]], Iterator[pa.RecordBatch]], schema: Any
) -> list[dict[str, Any]]:
    """Return the rows that a function reads of values: of a few here, of more in tasks; see `read_in_tasks`."""
    if len(values) <= FEW and not is_remote():
        return [row for batch in read(values) for row in batch.to_pylist()]
    parts = [values[start : start + FEW] for start in range(0, len(values), FEW)]
    return [row.asDict() for row in read_in_tasks(spark, parts, read, schema).collect()]


def find_files_on_server(spark: Any, paths: Sequence[str], options: Options) -> list[InputFile]:
    """Find files as `find_files` does: over Spark Connect in a task, because the server has another file system."""
    if not is_remote():
        return find_files(paths, options)

    def find(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            try:
                answer: Any = {"files": find_files(paths, options)}
            except BadOption as error:
                answer = {"refused": error.args}
            yield pa.record_batch({"answer": pa.array([json.dumps(answer)])})

    (row,) = spark.range(0, 1, 1, 1).mapInArrow(find, "answer string").collect()
    answer = json.loads(row["answer"])
    if "refused" in answer:
        raise BadOption(*answer["refused"])
    return [InputFile(*file) for file in answer["files"]]
