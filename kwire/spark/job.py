"""One job from captures to Parquet: all frames, and the history of the clusters that they tell of.

Knows where tables go and what is counted; what is in them, the data source and `cluster` know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, is_remote
from pyspark.sql import functions as sql

from ..arrow.faults import HARMLESS, INCOMPLETE, NOT_CORRUPT
from ..arrow.finding import find_files
from ..arrow.options import Options
from ..cluster.history import ROWS
from ..cluster.history.sources import SEPARATOR
from . import cluster
from .errors import JobFailed, OutputExists

FRAMES = "frames"
PLOTS = "plots"
NOTHING = "no message in these captures tells of a cluster: its history is empty"


class Counts(NamedTuple):
    """What a job has read and written.

    Attributes:
        frames: rows of the table of frames.
        corrupt: those of them that could not be decoded.
        incomplete: those that were not captured whole.
        foreign: those that are no frames but bytes of other protocols, or padding of logs; they are no fault of a dump.
        bytes: of the captures, in all of them.
        rows: of each table of the history.
        plots: files with drawings.
        notices: what the history cannot know, a sentence for each cluster and reason.
    """

    frames: int
    corrupt: int
    incomplete: int
    foreign: int
    bytes: int
    rows: dict[str, int]
    plots: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


def run(
    spark: Any,
    paths: Sequence[str],
    out: str,
    *,
    options: Mapping[str, Any] | None = None,
    clusters: str | None = None,
    overwrite: bool = False,
    plots: bool = False,
) -> Counts:
    """Write captures as Parquet: `OUT/frames`, by api, and a folder a table of the history.

    Args:
        spark: a session that reads `kwire`.
        paths: files, folders and globs.
        out: the folder, or whatever Spark can write to.
        options: of the data source, for the frames.
        clusters: a regular expression whose first group, found in the path of a file, names its cluster; the folder of
            the file does unless given.
        overwrite: replace what is there.
        plots: draw the history of each cluster, to `OUT/plots`.

    Returns:
        The counts.

    Raises:
        BadOption: an option is not known, or there is no such file.
        OutputExists: there is something in that folder; over Spark Connect, Spark says so.
        JobFailed: Spark says why.
    """
    given = {"body": "json", **{name.lower(): value for name, value in (options or {}).items()}}
    parsed = Options.parse(given)
    if not is_remote():  # a server of Spark Connect has files of its own
        find_files(list(paths), parsed)
        if not overwrite and Path(out).is_dir() and any(Path(out).iterdir()):
            raise OutputExists(out)
    try:
        counts = _frames(_load(spark, paths, given), f"{out}/{FRAMES}", overwrite)
        frames = _load(spark, paths, cluster.reading_options(given))
        named = None if clusters is None else sql.regexp_extract("path", clusters, 1)
        told = cluster.history(frames, named, profile=given.get("profile"), release=given.get("release"))
        return _history(told, out, overwrite, plots, counts)
    except PySparkException as error:
        raise JobFailed(str(error)) from None


def _load(spark: Any, paths: Sequence[str], options: Mapping[str, Any]) -> DataFrame:
    return spark.read.format("kwire").options(**options).load(list(paths))


def _frames(frames: DataFrame, out: str, overwrite: bool) -> Counts:
    """Write the frames; they are counted on their way."""
    seen = Observation(FRAMES)
    code = sql.col("_error.code") if "_error" in frames.columns else sql.lit(None).cast("string")
    length = sql.col("length") if "length" in frames.columns else sql.lit(0)
    counted = frames.observe(
        seen,
        sql.count(sql.lit(1)).alias("frames"),
        sql.count_if(~code.isin(sorted(NOT_CORRUPT))).alias("corrupt"),
        sql.count_if(code.isin(sorted(INCOMPLETE))).alias("incomplete"),
        sql.count_if(code.isin(sorted(HARMLESS))).alias("foreign"),
        sql.coalesce(sql.sum(length), sql.lit(0)).alias("bytes"),
    )
    writer = counted.write.mode(_mode(overwrite))
    if "api_name" in frames.columns:
        writer = writer.partitionBy("api_name")
    writer.parquet(out)
    return Counts(**seen.get, rows={})


def _history(told: cluster.History, out: str, overwrite: bool, plots: bool, counts: Counts) -> Counts:
    # Worked out here, the clusters beside each other: behind coalesce one task would have all of them.
    found = {row["table"]: row["count"] for row in told.all.groupBy("table").count().collect()}
    for name in ROWS:
        getattr(told, name).coalesce(1).write.mode(_mode(overwrite)).parquet(f"{out}/{name}")
    drawn: Sequence[str] = ()
    if plots:
        from .plots import draw

        drawn = draw(told, f"{out}/{PLOTS}")
    notices = _notices(told) if found.get("sources") else [NOTHING]
    told.all.unpersist()
    return counts._replace(rows={name: found.get(name, 0) for name in ROWS}, plots=tuple(drawn), notices=tuple(notices))


def _notices(told: cluster.History) -> list[str]:
    """Return what the histories of the clusters cannot know, each sentence once a cluster."""
    rows = told.sources.where("note is not null").select("cluster", "note").distinct().collect()
    notes = sorted({(row["cluster"], note) for row in rows for note in row["note"].split(SEPARATOR)})
    return [f"cluster {name or '(no name)'}: {note}" for name, note in notes]


def _mode(overwrite: bool) -> str:
    return "overwrite" if overwrite else "error"
