"""The job of `kwire pipeline`: writes all frames of captures, and the history of their clusters, as Parquet.

This module decides where tables are written and what is counted; the data source and `cluster` produce the rows.

The tables are a lake that grows run by run: each run appears atomically, and no file of a capture is written twice.
Spark writes a run beside the tables, in a folder that no reader lists. When the run is complete, a decision is
written; then the folders of the run are moved to the tables. A job that finds a decision moves the remaining folders;
it deletes runs without a decision. Therefore, after a killed job and another run, a lake is the same as after one run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow.fs import FileSelector, FileType
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, is_remote
from pyspark.sql import functions as sql
from pyspark.sql.types import TimestampType

from ..arrow.cluster_tables import MixedClusters
from ..arrow.frame_rows import HARMLESS, INCOMPLETE, NOT_CORRUPT
from ..arrow.read_options_and_splits import BadOption, Options, find_files
from ..arrow.row_schema_and_batches import COMMENTS
from ..capture.files import find_store, local_path, open_file
from ..cluster import ROWS
from ..cluster.sources import SEPARATOR, files_of_ids
from ..errors import KwireError, without_password
from . import cluster_history as cluster
from .data_source import frames_of, packets_of, windows_in
from .session import JobFailed

MANIFEST, STAGING, DECISION, SUCCESS = "_manifest", "_staging", "decision.json", "_SUCCESS"
SAMPLE = 64 << 10  # bytes at the start and end of a file that, with its size, identify it
HEAD = 256  # first bytes that do not change when a file grows: the file header, and the time of the first packet
FEW = 64  # files that the driver, or one task, examines
_FILES = pa.schema([("path", pa.string()), ("size", pa.int64())])
_SOURCES = pa.schema([*_FILES, ("head", pa.string()), ("identity", pa.string())])


class GrownFiles(KwireError):
    """These `files` have grown since they were written to the lake."""

    hint = "write captures that are complete; --overwrite writes all of them anew"

    def __init__(self, files: tuple[str, ...] = ()) -> None:
        super().__init__(files)
        self.files: tuple[str, ...] = tuple(map(without_password, files))

    def __str__(self) -> str:
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        return f"{''.join(self.files[:1])}{more}: written to the lake when it was shorter; {self.hint}"


class Source(NamedTuple):
    """A file of a capture: its path, its size, and two hashes.

    The first hash is of its first bytes; the second one is of its size, first and last bytes.
    """

    path: str
    size: int
    head: str
    identity: str


def sources_of(spark: Any, paths: Sequence[str], given: Mapping[str, Any]) -> list[Source]:
    """Return the non-empty files that match the paths; over Spark Connect, the files on the server.

    Raises:
        BadOption: see `kwire.arrow.read_options_and_splits.find_files`.
    """
    wanted, options = list(paths), dict(given)

    def listed(batches: Iterator[Any]) -> Iterator[Any]:
        for _ in batches:
            files = [file for file in find_files(wanted, Options.parse(options)) if file.size]
            yield pa.RecordBatch.from_pylist([{"path": file.path, "size": file.size} for file in files], _FILES)

    columns = "path string, size long"
    if is_remote():
        named = spark.range(1).repartition(1).mapInArrow(listed, columns)
    else:
        (batch,) = listed(iter([None]))
        if batch.num_rows <= FEW:
            return [Source(**row) for found in _identified([batch]) for row in found.to_pylist()]
        named = spark.createDataFrame([tuple(row.values()) for row in batch.to_pylist()], columns)
        named = named.repartition(-(-batch.num_rows // FEW))
    found = named.mapInArrow(_identified, f"{columns}, head string, identity string").toArrow()
    return [Source(**row) for row in found.to_pylist()]


def _identified(batches: Any) -> Iterator[Any]:
    for batch in batches:
        rows = [source_of(row["path"], row["size"])._asdict() for row in batch.to_pylist()]
        yield pa.RecordBatch.from_pylist(rows, _SOURCES)


def source_of(path: str, size: int) -> Source:
    """Identify a file by its size, first and last bytes; its name may change."""
    with open_file(path, SAMPLE) as stream:
        head = stream.read(min(SAMPLE, size))
        stream.seek(max(0, size - SAMPLE))
        tail = stream.read(min(SAMPLE, size))
    identity = sha256(b"%d %d " % (size, len(head)) + head + tail).hexdigest()
    return Source(path, size, sha256(head[:HEAD]).hexdigest(), identity)


class Lake:
    """The tables in a folder; one job at a time writes to it.

    Args:
        out: the folder, or its URI.
    """

    def __init__(self, out: str) -> None:
        self.out: str = out.rstrip("/")
        self._store, self._root = find_store(self.out)

    @property
    def is_foreign(self) -> bool:
        """Whether the folder contains files that were not written by a run."""
        names = {name for name, _ in self._within("")}
        return bool(names) and not names & {MANIFEST, STAGING}

    def done(self) -> dict[str, Source]:
        """Return the files that have been written, by identity."""
        runs = [json.loads(self._read(f"{MANIFEST}/{name}")) for name, _ in self._within(MANIFEST)]
        return {source.identity: source for run in runs for source in (Source(**one) for one in run["files"])}

    def new(self, sources: Sequence[Source]) -> list[Source]:
        """Return the files that have not been written yet, without duplicates.

        Raises:
            GrownFiles: a file was written when it was shorter.
        """
        done = self.done()
        grown = {(one.path, one.head): one.size for one in done.values()}
        found = {one.identity: one for one in sources if one.identity not in done}
        longer = [one.path for one in found.values() if one.size > grown.get(_shown(one), one.size)]
        if longer:
            raise GrownFiles(tuple(sorted(longer)))
        return list(found.values())

    def stage(self, sources: Sequence[Source], *, overwrite: bool = False) -> tuple[str, str]:
        """Return the name of a run over these files, and the folder in the lake under which Spark writes its tables.

        A run that replaces other runs has a new name.
        """
        names = "".join(sorted(source.identity for source in sources)) + (token_hex(8) if overwrite else "")
        run = "r" + sha256(names.encode()).hexdigest()[:12]  # "r": readers would parse digits as a number
        return run, f"{STAGING}/{run}-{token_hex(4)}"

    def commit(self, run: str, staged: str, sources: Sequence[Source], *, overwrite: bool = False) -> None:
        """Make a run with complete tables visible; raise JobFailed if it has no tables."""
        files = [source._replace(path=without_password(source.path))._asdict() for source in sources]
        tables = [name for name, is_folder in self._within(staged) if is_folder]
        if not tables:
            raise JobFailed(f"what was written to {self.out} is not seen from here; name the folder by its URI")
        decision = {"run": run, "overwrite": overwrite, "tables": tables, "files": files}
        self._write(f"{staged}/{DECISION}", json.dumps(decision).encode())
        self._carry_out(staged, decision)

    def recover(self) -> None:
        """Complete a killed job if its decision was written; otherwise delete its run."""
        for name, _ in self._within(STAGING):
            staged = f"{STAGING}/{name}"
            decision = self._read(f"{staged}/{DECISION}")
            if decision:
                self._carry_out(staged, json.loads(decision))
            else:
                self._delete(staged)

    def _carry_out(self, staged: str, decision: Mapping[str, Any]) -> None:
        """Carry out a decision; this may be repeated after a crash at any point."""
        run, tables = decision["run"], decision["tables"]
        for name in (*tables, MANIFEST) if decision["overwrite"] else ():
            for one, _ in self._within(name):
                if one not in (f"run={run}", f"{run}.json"):
                    self._delete(f"{name}/{one}")
        for table in tables:
            self._move(f"{staged}/{table}", f"{table}/run={run}")
            self._write(f"{table}/{SUCCESS}", b"")
        self._write(f"{MANIFEST}/{run}.json", json.dumps({"files": decision["files"]}).encode())
        self._delete(staged)

    def _within(self, folder: str) -> list[tuple[str, bool]]:
        """List the names in a folder, and whether they are folders."""
        infos = self._store.get_file_info(FileSelector(self._at(folder), allow_not_found=True))
        return sorted((info.base_name, info.type == FileType.Directory) for info in infos)

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    def _read(self, name: str) -> bytes:
        """Return the contents of a file; empty bytes if the file does not exist."""
        if self._store.get_file_info(self._at(name)).type != FileType.File:
            return b""
        with self._store.open_input_stream(self._at(name)) as stream:
            data: bytes = stream.read()
        return data

    def _write(self, name: str, data: bytes) -> None:
        """Write a file atomically."""
        path, part = self._at(name), self._at(f"{STAGING}/{token_hex(8)}.part")
        for one in (path, part):
            self._store.create_dir(one.rpartition("/")[0], recursive=True)
        with self._store.open_output_stream(part) as stream:
            stream.write(data)
        self._store.move(part, path)

    def _move(self, source: str, target: str) -> None:
        """Move a folder; move file by file if the store has no folders."""
        start, stop = self._at(source), self._at(target)
        infos = self._store.get_file_info(FileSelector(start, recursive=True, allow_not_found=True))
        for info in infos:
            if info.type == FileType.File and info.base_name != SUCCESS and not info.base_name.startswith("."):
                path = stop + info.path[len(start) :]
                self._store.create_dir(path.rpartition("/")[0], recursive=True)
                self._store.move(info.path, path)
        self._delete(source)

    def _delete(self, name: str) -> None:
        path = self._at(name)
        kind = self._store.get_file_info(path).type
        if kind == FileType.Directory:
            self._store.delete_dir(path)
        elif kind == FileType.File:
            self._store.delete_file(path)


def _shown(source: Source) -> tuple[str, str]:
    """Return the key by which a manifest finds a file that has since grown."""
    return without_password(source.path), source.head


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
    if not is_remote():  # a Spark Connect server has another file system
        _check_names([file.path for file in find_files(list(paths), Options.parse(given))], clusters)
    lake = Lake(str(local_folder(out) or out))
    if lake.is_foreign and not overwrite:
        raise OutputExists(out)
    try:
        lake.recover()
        sources = sources_of(spark, paths, given)
        wanted = sources if overwrite else lake.new(sources)
        if sources and not wanted:
            return Counts(0, 0, 0, 0, 0, dict.fromkeys(ROWS, 0), notices=(f"{out} has these captures: {DONE}",))
        return _write(spark, wanted, lake, given, clusters, overwrite, drawings)
    except PySparkException as error:
        raise JobFailed(str(error)) from None


def _write(
    spark: Any,
    sources: Sequence[Source],
    lake: Lake,
    given: Mapping[str, Any],
    clusters: str | None,
    overwrite: bool,
    drawings: str | None,
) -> Counts:
    """Write the tables, and the plots to the folder `drawings`; for the arguments see `run`."""
    captures = {"capture": clusters or "", **given}
    paths = [source.path for source in sources]
    windows = windows_in(spark, paths, captures)
    packets = packets_of(spark, paths, captures, windows).persist(StorageLevel.DISK_ONLY)  # files are read once
    named = None if clusters is None else sql.regexp_extract("path", clusters, 1)
    try:
        frames = frames_of(packets, Options.parse(cluster.reading_options(given)), windows)
        history = cluster.history(frames, named, profile=given.get("profile"), release=given.get("release"))
        notices = _notices(history, clusters)
        run, staged = lake.stage(sources, overwrite=overwrite)
        counts = _frames(frames_of(packets, Options.parse(given), windows), named, f"{lake.out}/{staged}/{FRAMES}")
        counts = counts._replace(rows=_history(history, f"{lake.out}/{staged}"), notices=tuple(notices))
        lake.commit(run, staged, sources, overwrite=overwrite)
        if drawings is not None:
            from .cluster_history import draw

            counts = counts._replace(plots=tuple(draw(history, drawings)))
        history.all.unpersist()
    finally:
        packets.unpersist()
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
    found = {row["table"]: row["count"] for row in history.all.groupBy("table").count().collect()}
    for name in ROWS:
        table = getattr(history, name).coalesce(1)
        when = next((field.name for field in table.schema if isinstance(field.dataType, TimestampType)), None)
        _write_table(table, when, f"{out}/{name}", is_empty=not found.get(name))
    return {name: found.get(name, 0) for name in ROWS}


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
        found = ((file, re.search(clusters, file)) for file in files)
        _refuse_unnamed([file for file, match in found if match is None or not match[1]], clusters)


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
