"""Appends the frames of a stream to a lake: each batch of the stream is a run, which the lake has once."""

from __future__ import annotations

import json
from hashlib import sha256

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.streaming import DataStreamWriter

from ...arrow.read_options import BadOption
from ...capture.files import open_file
from .frame_table import FRAMES, dated_frames
from .lake import OTHER_FOLDER, PARQUET, Lake, Run, local_folder
from .table_formats import DELTA, ICEBERG
from .table_writers import open_tables


def stream_to_lake(
    frames: DataFrame, out: str, checkpoint: str, *, clusters: str | None = None, table_format: str = PARQUET
) -> DataStreamWriter:
    """Write the frames of a stream to the table `OUT/frames`, each frame once, whenever the job is killed.

    The table has the columns of `kwire pipeline`: its folders are `run`, which names the stream and the batch, `dt` and
    `cluster`. Readers see a batch as a whole in Delta Lake and Iceberg, and file by file of a batch in Parquet. Spark
    writes a batch again that it does not know to be complete; a lake that has the batch skips it.

    Args:
        frames: a streaming DataFrame of `stream_captures`.
        out: the folder of the lake, or its URI; not one that `kwire pipeline` has written.
        checkpoint: the folder of the stream's checkpoint, or its URI. It belongs to this stream alone.
        clusters: a regular expression for paths; its first group names the cluster, by default the folder does.
        table_format: `parquet`, or `delta` or `iceberg` in a session with the settings of
            `kwire.spark.lakes.table_formats.format_settings`.

    Returns:
        A writer to start, after its `trigger` has been set.

    Raises:
        BadOption: the format is unknown, or the lake has another one, or runs of `kwire pipeline`.

    Example:
        >>> frames = stream_captures(spark, "/captures", tailTimeout="60s")  # doctest: +SKIP
        >>> stream_to_lake(frames, "lake", "lake-checkpoint").trigger(availableNow=True).start()  # doctest: +SKIP
    """
    if table_format not in (PARQUET, DELTA, ICEBERG):
        raise BadOption("table_format", table_format, "parquet, delta or iceberg is needed")
    lake = Lake(out)
    lake.check_format(table_format)
    if lake.is_foreign or lake.has_files:
        raise BadOption("out", out, "it has files that no stream has written", OTHER_FOLDER)

    def write(batch: DataFrame, number: int) -> None:
        _write_batch(batch, number, out, checkpoint, clusters, table_format)

    return frames.writeStream.option("checkpointLocation", checkpoint).foreachBatch(write)


def _write_batch(
    batch: DataFrame, number: int, out: str, checkpoint: str, clusters: str | None, table_format: str
) -> None:
    lake, stream = Lake(out), _name_of_stream(checkpoint)
    run = Run(f"{stream}-{number:09}", (), False, stream, number)
    if lake.has(run):  # Spark has not noted it: the states of connections after this batch are to be written
        batch.write.format("noop").mode("overwrite").save()
        return
    if lake.streams - {stream}:
        raise BadOption("out", out, "another stream writes this lake", OTHER_FOLDER)
    lake.recover()
    named = None if clusters is None else sql.regexp_extract("path", clusters, 1)
    with open_tables(batch.sparkSession, lake, run, table_format) as tables:
        tables.write(FRAMES, dated_frames(batch, named))
    lake.forget_before(run)


def _name_of_stream(checkpoint: str) -> str:
    """Return a name for the id of a stream, which Spark writes to a new checkpoint before the first batch."""
    with open_file(f"{local_folder(checkpoint) or checkpoint}/metadata") as stream:
        query_id = json.loads(stream.read())["id"]
    return "s" + sha256(query_id.encode()).hexdigest()[:12]
