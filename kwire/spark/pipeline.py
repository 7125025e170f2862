"""The job of `kwire pipeline`: writes all frames of captures, and the history of their clusters, to a lake.

This module decides where tables are written and what is counted; the data source and `cluster` produce the rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.types import TimestampType

from ..arrow.read_options import BadOption, Options
from ..arrow.rows.row_faults import HARMLESS, INCOMPLETE, NOT_CORRUPT
from ..cluster import ROWS
from ..cluster.cluster_identity import MixedClusters, files_of_ids
from ..cluster.source_counts import SEPARATOR
from ..errors import KwireError, without_password
from ..runtime.telemetry import JOB, observe
from . import cluster
from .captures import plan_reading
from .lakes.frame_table import FRAMES, add_date, dated_frames
from .lakes.lake import OTHER_FOLDER, PARQUET, Lake, Run, local_folder
from .lakes.lake_files import LakeFile, identify_files
from .lakes.table_writers import TableWriter, open_tables
from .session import JobFailed
from .task_inputs import find_files_on_server

DONE = "nothing was written; --overwrite replaces the tables"
PLOTS = "plots"
NOTHING = "no message in these captures tells of a cluster: its history is empty"


class OutputExists(KwireError):
    """The output folder is not empty: `path`."""

    hint = "--overwrite replaces it"  # without it, rows are appended to a lake

    def __init__(self, path: str = "") -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path}: it is there already, and not empty; {self.hint}"


class UnnamedFiles(KwireError):
    """The expression `pattern` does not match the paths of these `files`, so their cluster is unknown."""

    hint = "its first group has to be found in every path; --option pathGlobFilter=GLOB leaves files out"
    most = 5  # maximum number of files to list

    def __init__(self, pattern: str = "", files: tuple[str, ...] = ()) -> None:
        super().__init__(pattern, files)
        self.pattern: str = pattern
        self.files: tuple[str, ...] = tuple(map(without_password, files))

    def __str__(self) -> str:
        more = len(self.files) - self.most
        named = ", ".join(self.files[: self.most]) + (f" and {more} more" if more > 0 else "")
        return f"--cluster {self.pattern} names no cluster for {named}; {self.hint}"


class Counts(NamedTuple):
    """Statistics of a job.

    Attributes:
        frames: the number of rows in the table of frames.
        corrupt: the number of frames that could not be decoded.
        incomplete: the number of frames that were not captured completely.
        foreign: the number of rows with bytes of other protocols, or padding of logs, which are not errors.
        bytes: the size of all frames.
        rows: the number of rows in each table of the history.
        plots: the files with plots.
        notices: sentences about what the history cannot contain, one per cluster and reason.
    """

    frames: int
    corrupt: int
    incomplete: int
    foreign: int
    bytes: int
    rows: dict[str, int]
    plots: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


NOTHING_NEW = Counts(0, 0, 0, 0, 0, dict.fromkeys(ROWS, 0))


class Job(NamedTuple):
    """A job that writes to a lake.

    Attributes:
        spark, lake: the session; the lake.
        given: the options of the read.
        clusters: see `run`.
        table_format: the format of the tables.
        drawings: the folder of plots; None without plots.
    """

    spark: Any
    lake: Lake
    given: Mapping[str, Any]
    clusters: str | None
    table_format: str
    drawings: str | None


def run(
    spark: Any,
    paths: Sequence[str],
    out: str,
    *,
    options: Mapping[str, Any] | None = None,
    clusters: str | None = None,
    overwrite: bool = False,
    plots: bool = False,
    table_format: str = PARQUET,
) -> Counts:
    """Write captures as tables: `OUT/frames` and a folder per table of the history, by `run`, `dt` and `cluster`.

    Files that the output already contains are skipped; the others appear atomically.

    Args:
        spark: a session in which the data source `kwire` is registered.
        paths, out: files, folders and globs; the output folder, or any URI that Spark can write to.
        options: options of `read_captures`; all files of a cluster are one capture unless `capture` names captures.
        clusters: a regular expression for paths; its first group names the cluster, by default the folder does.
        overwrite, plots: replace the tables; draw the history of each cluster to `OUT/plots`.
        table_format: `parquet`, or `delta` or `iceberg` in a session with the settings of
            `kwire.spark.lakes.table_formats.format_settings`.

    Raises:
        BadOption, UnnamedFiles, MixedClusters, OutputExists, GrownFiles, JobFailed: nothing was written.
    """
    given = {"body": "json", **{name.lower(): value for name, value in (options or {}).items()}}
    drawings = _drawings(local_folder(out), out) if plots else None
    files = find_files_on_server(spark, paths, Options.parse(given))
    _check_names([file.path for file in files], clusters)
    lake = Lake(out)
    if lake.is_foreign and not overwrite:
        raise OutputExists(out)
    if lake.streams:
        raise BadOption("out", out, "a stream writes this lake, and only it knows what it has read", OTHER_FOLDER)
    lake.check_format(table_format)
    with observe(JOB, "kwire pipeline") as measurement:
        counts = _run_job(Job(spark, lake, given, clusters, table_format, drawings), files, out, overwrite)
        measurement.note(frames=counts.frames, corrupt=counts.corrupt, bytes=counts.bytes)
        return counts


def _run_job(job: Job, files: Any, out: str, overwrite: bool) -> Counts:
    """Write what the lake does not have; return what was written."""
    spark, lake = job.spark, job.lake
    try:
        lake.recover()
        sources = identify_files(spark, files)
        runs = _choose_runs(lake, sources, overwrite)
        if sources and not runs:
            return NOTHING_NEW._replace(notices=(f"{out} has these captures: {DONE}",))
        return reduce(_add_counts, [_write(job, run) for run in runs])
    except PySparkException as error:
        raise JobFailed(str(error)) from None


def _choose_runs(lake: Lake, sources: Sequence[LakeFile], overwrite: bool) -> list[Run]:
    """Return the runs to write: those of killed jobs, and one with the files that the lake does not have."""
    begun = lake.begun()
    if overwrite:
        for run in begun:
            lake.forget(run)
        return [lake.new_run(sources, overwrite=True)]
    known = {source.identity: source for source in sources}  # their paths have the passwords that a lake does not keep
    runs = [run._replace(files=tuple(known.get(file.identity, file) for file in run.files)) for run in begun]
    wanted = lake.new(sources)
    return [*runs, lake.new_run(wanted)] if wanted or not sources else runs


def _write(job: Job, run: Run) -> Counts:
    """Write the tables of a run, and the plots."""
    spark, given, clusters = job.spark, job.given, job.clusters
    parsed = Options.parse({"capture": clusters or "", **given})
    plan = plan_reading(spark, [source.path for source in run.files], parsed)
    plan.persist(parsed)
    named = None if clusters is None else sql.regexp_extract("path", clusters, 1)
    try:
        frames = plan.frames(Options.parse(cluster.reading_options(given)))
        history = cluster.history(frames, named, profile=given.get("profile"), release=given.get("release"))
        notices = _notices(history, clusters)
        with open_tables(spark, job.lake, run, job.table_format) as tables:
            counts = _frames(plan.frames(parsed), named, tables)
            counts = counts._replace(rows=_history(history, tables), notices=tuple(notices))
        if job.drawings is not None:
            from .history_plots import draw

            counts = counts._replace(plots=tuple(draw(history, job.drawings)))
        history.all.unpersist()
    finally:
        plan.unpersist()
    return counts


def _add_counts(one: Counts, other: Counts) -> Counts:
    """Add the statistics of two runs."""
    return Counts(
        frames=one.frames + other.frames,
        corrupt=one.corrupt + other.corrupt,
        incomplete=one.incomplete + other.incomplete,
        foreign=one.foreign + other.foreign,
        bytes=one.bytes + other.bytes,
        rows={name: one.rows[name] + other.rows[name] for name in ROWS},
        plots=other.plots,
        notices=(*one.notices, *other.notices),
    )


def _drawings(folder: Path | None, out: str) -> str:
    """Return the folder of plots; raise BadOption if it is not on this machine."""
    if folder is None:
        raise BadOption("plots", None, f"drawings are files of this machine, and {out} is not", "leave out --plots")
    return str(folder / PLOTS)


def _frames(frames: DataFrame, named: Any, tables: TableWriter) -> Counts:
    """Write the frames by date and cluster, and count what was written."""
    dated = dated_frames(frames, named)
    tables.write(FRAMES, dated)
    code = sql.col("_error.code") if "_error" in frames.columns else sql.lit(None).cast("string")
    length = sql.col("length") if "length" in frames.columns else sql.lit(0)
    counted = tables.read(FRAMES, dated.schema).agg(
        sql.count(sql.lit(1)).alias("frames"),
        sql.count_if(~code.isin(sorted(NOT_CORRUPT))).alias("corrupt"),
        sql.count_if(code.isin(sorted(INCOMPLETE))).alias("incomplete"),
        sql.count_if(code.isin(sorted(HARMLESS))).alias("foreign"),
        sql.coalesce(sql.sum(length), sql.lit(0)).alias("bytes"),
    )
    return Counts(**counted.collect()[0].asDict(), rows={})


def _history(history: cluster.History, tables: TableWriter) -> dict[str, int]:
    """Write the tables of the history by date and cluster; return their row counts."""
    # Computed before coalesce, with clusters in parallel; after coalesce, one task would process all clusters.
    counts = {row["table"]: row["count"] for row in history.all.groupBy("table").count().collect()}
    for name in ROWS:
        table = getattr(history, name).coalesce(1)
        when = next((field.name for field in table.schema if isinstance(field.dataType, TimestampType)), None)
        tables.write(name, add_date(table, when), is_empty=not counts.get(name))
    return {name: counts.get(name, 0) for name in ROWS}


def _notices(history: cluster.History, clusters: str | None) -> list[str]:
    """Return sentences about what the histories of clusters cannot contain, each sentence once per cluster.

    Raises:
        UnnamedFiles, MixedClusters: see `run`.
    """
    rows = history.sources.select("cluster", "file", "cluster_ids", "note").distinct().collect()
    if clusters is not None:
        _refuse_unnamed([row["file"] for row in rows if not row["cluster"]], clusters)
    for name in sorted({row["cluster"] for row in rows}):
        files = files_of_ids((row["file"], row["cluster_ids"]) for row in rows if row["cluster"] == name)
        if len(files) > 1:
            raise MixedClusters(name, files)
    notes = sorted({(row["cluster"], note) for row in rows for note in (row["note"] or "").split(SEPARATOR) if note})
    return [f"cluster {name}: {note}" for name, note in notes] if rows else [NOTHING]


def _check_names(files: Sequence[str], clusters: str | None) -> None:
    """Raise UnnamedFiles if the expression does not match the path of a file."""
    if clusters is not None:
        matches = ((file, re.search(clusters, file)) for file in files)
        _refuse_unnamed([file for file, match in matches if match is None or not match[1]], clusters)


def _refuse_unnamed(files: Sequence[str], clusters: str) -> None:
    if files:
        raise UnnamedFiles(clusters, tuple(sorted(set(files))))
