"""The job of `kwire pipeline`: writes all frames of captures, and the history of their clusters, as Parquet.

This module decides where tables are written and what is counted; the data source and `cluster` produce the rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as sql
from pyspark.sql.types import TimestampType

from ..arrow.read_options import BadOption, Options
from ..arrow.rows.row_faults import HARMLESS, INCOMPLETE, NOT_CORRUPT
from ..arrow.rows.row_schema import COMMENTS
from ..capture.files import local_path
from ..cluster import ROWS
from ..cluster.cluster_identity import MixedClusters, files_of_ids
from ..cluster.source_counts import SEPARATOR
from ..errors import KwireError, without_password
from . import cluster
from .captures import plan_reading
from .lakes.lake import Lake
from .lakes.lake_files import LakeFile, find_lake_files
from .session import JobFailed
from .task_inputs import find_files_on_server

FRAMES = "frames"
DATE = "dt"
# The folder for the file of a table without rows. The folders have values, because pyarrow infers no type if all values
# are null.
NO_ROWS = f"{DATE}=1970-01-01/cluster=none"
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
    """Write captures as Parquet: `OUT/frames` and a folder per table of the history, by `run`, `dt` and `cluster`.

    Files that the output already contains are skipped; the others appear atomically.

    Args:
        spark: a session in which the data source `kwire` is registered.
        paths, out: files, folders and globs; the output folder, or any URI that Spark can write to.
        options: options of `read_captures`; all files of a cluster are one capture unless `capture` names captures.
        clusters: a regular expression for paths; its first group names the cluster, by default the folder does.
        overwrite, plots: replace the tables; draw the history of each cluster to `OUT/plots`.

    Raises:
        BadOption, UnnamedFiles, MixedClusters, OutputExists, GrownFiles, JobFailed: nothing was written.
    """
    given = {"body": "json", **{name.lower(): value for name, value in (options or {}).items()}}
    drawings = _drawings(local_folder(out), out) if plots else None
    _check_names([file.path for file in find_files_on_server(spark, paths, Options.parse(given))], clusters)
    lake = Lake(str(local_folder(out) or out))
    if lake.is_foreign and not overwrite:
        raise OutputExists(out)
    try:
        lake.recover()
        sources = find_lake_files(spark, paths, given)
        wanted = sources if overwrite else lake.new(sources)
        if sources and not wanted:
            return Counts(0, 0, 0, 0, 0, dict.fromkeys(ROWS, 0), notices=(f"{out} has these captures: {DONE}",))
        return _write(spark, wanted, lake, given, clusters, overwrite, drawings)
    except PySparkException as error:
        raise JobFailed(str(error)) from None


def _write(
    spark: Any,
    sources: Sequence[LakeFile],
    lake: Lake,
    given: Mapping[str, Any],
    clusters: str | None,
    overwrite: bool,
    drawings: str | None,
) -> Counts:
    """Write the tables, and the plots to the folder `drawings`; for the arguments see `run`."""
    captures = {"capture": clusters or "", **given}
    paths = [source.path for source in sources]
    parsed = Options.parse(captures)
    plan = plan_reading(spark, paths, parsed)
    plan.persist(parsed)
    named = None if clusters is None else sql.regexp_extract("path", clusters, 1)
    try:
        frames = plan.frames(Options.parse(cluster.reading_options(given)))
        history = cluster.history(frames, named, profile=given.get("profile"), release=given.get("release"))
        notices = _notices(history, clusters)
        run, staged = lake.stage(sources, overwrite=overwrite)
        counts = _frames(plan.frames(parsed), named, f"{lake.out}/{staged}/{FRAMES}")
        counts = counts._replace(rows=_history(history, f"{lake.out}/{staged}"), notices=tuple(notices))
        lake.commit(run, staged, sources, overwrite=overwrite)
        if drawings is not None:
            from .history_plots import draw

            counts = counts._replace(plots=tuple(draw(history, drawings)))
        history.all.unpersist()
    finally:
        plan.unpersist()
    return counts


def _drawings(folder: Path | None, out: str) -> str:
    """Return the folder of plots; raise BadOption if it is not on this machine."""
    if folder is None:
        raise BadOption("plots", None, f"drawings are files of this machine, and {out} is not", "leave out --plots")
    return str(folder / PLOTS)


def _frames(frames: DataFrame, named: Any, out: str) -> Counts:
    """Write the frames by date and cluster, and count them at the same time."""
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
    for name, comment in COMMENTS.items():
        counted = counted.withMetadata(name, {"comment": comment}) if name in frames.columns else counted
    where = cluster.name_of(named) if "path" in frames.columns else sql.lit(None).cast("string")
    _write_table(counted.withColumn("cluster", where), "timestamp" if "timestamp" in frames.columns else None, out)
    return Counts(**seen.get, rows={})


def _history(history: cluster.History, out: str) -> dict[str, int]:
    """Write the tables of the history by date and cluster; return their row counts."""
    # Computed before coalesce, with clusters in parallel; after coalesce, one task would process all clusters.
    counts = {row["table"]: row["count"] for row in history.all.groupBy("table").count().collect()}
    for name in ROWS:
        table = getattr(history, name).coalesce(1)
        when = next((field.name for field in table.schema if isinstance(field.dataType, TimestampType)), None)
        _write_table(table, when, f"{out}/{name}", is_empty=not counts.get(name))
    return {name: counts.get(name, 0) for name in ROWS}


def _write_table(table: DataFrame, when: str | None, out: str, *, is_empty: bool = False) -> None:
    """Write a table by the date of a column, and by cluster."""
    table = table.withColumn(DATE, sql.lit(None).cast("date") if when is None else sql.to_date(when))
    if is_empty:  # write a file without rows, so that readers find the columns
        table.drop(DATE, "cluster").write.parquet(f"{out}/{NO_ROWS}")
    else:
        table.write.partitionBy(DATE, "cluster").parquet(out)


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


def local_folder(out: str) -> Path | None:
    """Return the local folder of a path or URI; None for another file system.

    Raises:
        BadOption: a `file:` URI has no absolute path; Spark would interpret it differently.

    >>> local_folder("lake"), local_folder("file:///data/lake"), local_folder("s3a://lake/kafka")
    (PosixPath('lake'), PosixPath('/data/lake'), None)
    """
    rest = re.sub("^file:(//(localhost)?(?=/))?", "", out, flags=re.IGNORECASE)
    if rest != out and (not rest.startswith("/") or rest.startswith("//")):
        raise BadOption("out", out, "a file: URI has an absolute path", "write file:///data/lake")
    return local_path(rest)
