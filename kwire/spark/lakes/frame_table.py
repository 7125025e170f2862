"""The table of frames in a lake: the columns of `read_captures`, by date and cluster."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from ...arrow.rows.row_schema import COMMENTS
from ..cluster import name_of
from .table_writers import CLUSTER, DATE

FRAMES = "frames"


def dated_frames(frames: DataFrame, named: Column | None) -> DataFrame:
    """Return frames with their comments, and with the columns `cluster` and `dt`.

    Args:
        frames: frames as from `read_captures` or `stream_captures`.
        named: the expression for the name of a frame's cluster; by default the folder of its file.
    """
    for name, comment in COMMENTS.items():
        frames = frames.withMetadata(name, {"comment": comment}) if name in frames.columns else frames
    cluster = name_of(named) if "path" in frames.columns else sql.lit(None).cast("string")
    return add_date(frames.withColumn(CLUSTER, cluster), "timestamp" if "timestamp" in frames.columns else None)


def add_date(table: DataFrame, when: str | None) -> DataFrame:
    """Add the date of a column."""
    return table.withColumn(DATE, sql.lit(None).cast("date") if when is None else sql.to_date(when))
