"""Computes the history of clusters from captures as DataFrames: partitions, brokers, offline replicas and more.

The data source

    spark.read.format("kwire").options(**cluster.OPTIONS).load("captures/")

reads only the required messages with these options. `kwire.cluster` contains the logic. This module sorts the rows and
processes each cluster in one task, in parallel with the others.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from ..arrow.cluster_tables import (
    COLUMNS,
    GROUP_OPTIONS,
    GROUP_UNION,
    OPTIONS,
    UNION,
    catalog_of,
    group_batches,
    history_batches,
    reading_options,
)
from ..arrow.read_options_and_splits import BadOption
from ..capture.kafka.other_protocols import ZOOKEEPER
from ..errors import MissingExtra
from ..protocol.framing import NotKafka
from ..redact.metadata_log_secrets import TOPIC, TOPIC_ID
from .data_source import to_spark

__all__ = ["GROUP_OPTIONS", "OPTIONS", "ConsumerGroups", "History", "consumer_groups", "history", "reading_options"]
# Fetch responses and logs are only needed for the metadata log.
_NEEDED = (
    "case when api_name is null then "
    "connection is not null or lower(path) like '%cluster_metadata%' or path like '%.checkpoint' "
    "or substr(message, 1, 1) = X'7B' "  # znodes as JSON
    f"when api_name like 'Fetch%' then contains(message, X'{TOPIC.encode().hex()}') "
    f"or contains(message, X'{TOPIC_ID.hex()}') else true end"
)
FOLDER = r"/?[^/]*$"  # a file name, with the slash before it


class History(NamedTuple):
    """The history of clusters; every table has the column `cluster` in addition to the columns of `kwire.cluster`.

    Attributes:
        all: all tables in one DataFrame, computed once and cached; `all.unpersist()` frees it.
        partition_states: states of partitions, as intervals of time.
        brokers: brokers with their racks, as intervals of time.
        offline_replicas: replicas that were offline (KIP-112): start, end, cause, leaders before and after.
        rack_violations: replicas that violated a rack `rule` (KIP-36, or the draft KIP-879), as intervals of time.
        isr_shrinks: the times when replicas left the ISR.
        reassignments: reassignments of replicas (KIP-455), as intervals of time.
        metrics: KIP-112's `OfflineReplicaCount` and `OfflineLogDirectoryCount` of each broker, as intervals of time.
        conflicts: contradictions between two sources with different authority, at equal epochs.
        sources: the messages from which the tables are derived; `note` describes what cannot be derived from them.
    """

    all: DataFrame
    partition_states: DataFrame
    brokers: DataFrame
    offline_replicas: DataFrame
    rack_violations: DataFrame
    isr_shrinks: DataFrame
    reassignments: DataFrame
    metrics: DataFrame
    conflicts: DataFrame
    sources: DataFrame


def history(
    frames: DataFrame, cluster: Column | None = None, *, profile: str | None = None, release: str | None = None
) -> History:
    """Compute the history of clusters.

    Args:
        frames: complete frames (`body=raw`) from the data source with `OPTIONS`, or from a table that stores them;
            additional columns are ignored. Frames of a file without times must be in order.
        cluster: an expression over these columns that identifies the cluster; by default, the folder of the file.
        profile, release: the specs of the messages, like the options of the data source (see `reading_options`).

    Returns:
        DataFrames, evaluated lazily.

    Raises:
        BadOption: a column is missing, or `message` is not a complete frame.
        UnknownMessage: a profile or release does not exist.

    Example:
        >>> frames = spark.read.format("kwire").options(**OPTIONS).load("captures/")  # doctest: +SKIP
        >>> history(frames).offline_replicas.where("cause = 'log directory'").show()  # doctest: +SKIP
    """
    _check(frames)
    needed = _with_packets(frames).where(_NEEDED)
    return History(*_tables(needed, cluster, _history_function({"profile": profile, "release": release}), UNION))


def _with_packets(frames: DataFrame) -> DataFrame:
    """Move ZooKeeper packets, which are read as malformed frames, to the column `message`."""
    if not {"_error", "_corrupt_record"} <= set(frames.columns):
        return frames
    is_packet = sql.col("_error.code").eqNullSafe(NotKafka.code) & sql.col("_error.reason").contains(ZOOKEEPER)
    return frames.withColumn("message", sql.when(is_packet, sql.col("_corrupt_record")).otherwise(sql.col("message")))


class ConsumerGroups(NamedTuple):
    """The consumer groups of clusters.

    The tables have the column `cluster` in addition to the columns of `kwire.arrow.consumer_groups`.

    Attributes:
        all: both tables in one DataFrame, computed once and cached; `all.unpersist()` frees it.
        members: the partitions of each member, as intervals of time; racks, lag, reads across racks (KIP-881).
        partitions: owners and committed offsets of partitions, at the end.
    """

    all: DataFrame
    members: DataFrame
    partitions: DataFrame


def consumer_groups(
    frames: DataFrame, cluster: Column | None = None, *, profile: str | None = None, release: str | None = None
) -> ConsumerGroups:
    """Compute the consumer groups of clusters.

    Args:
        frames: frames from the data source with `GROUP_OPTIONS`; otherwise see `history`.
        cluster, profile, release: see `history`.

    Returns, raises: see `history`.

    Example:
        >>> frames = spark.read.format("kwire").options(**GROUP_OPTIONS).load("captures/")  # doctest: +SKIP
        >>> consumer_groups(frames).members.where("read_across > 0").show()  # doctest: +SKIP
    """
    specs = {"profile": profile, "release": release}
    catalog_of(specs)

    def learn(batches: Iterator[Any]) -> Iterator[Any]:
        return group_batches(batches, catalog_of(specs))

    return ConsumerGroups(*_tables(frames, cluster, learn, GROUP_UNION))


def _tables(
    frames: DataFrame, cluster: Column | None, compute: Callable[[Iterator[Any]], Iterator[Any]], union: Any
) -> list[DataFrame]:
    """Run a computation for each cluster; return all rows, and the rows of each table."""
    _check(frames)
    named = name_of(cluster)
    side = sql.when(sql.col("timestamp").isNotNull(), sql.col("direction"))  # at the same time, requests come first
    messages = frames.where("message is not null").select(named.cast("string").alias("cluster"), "offset", *COLUMNS)
    order = ["cluster", "timestamp", "path", side, "offset"]
    rows = messages.repartition("cluster").sortWithinPartitions(*order).mapInArrow(compute, to_spark(union)).persist()
    return [rows, *(_table(rows, name) for name in union.names[2:])]


def name_of(cluster: Column | None) -> Column:
    """Return the expression for the cluster of a frame: by default, the folder of its file."""
    return sql.regexp_replace("path", FOLDER, "") if cluster is None else cluster


def _history_function(specs: dict[str, str | None]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return the function that workers run; it contains the names of the specs, not the specs."""
    catalog_of(specs)
    return lambda batches: history_batches(batches, catalog_of(specs))


def _table(rows: DataFrame, name: str) -> DataFrame:
    return rows.where(sql.col("table") == name).select("cluster", f"{name}.*")


def _check(frames: DataFrame) -> None:
    types = dict(frames.dtypes)
    for name in ("offset", *COLUMNS):
        if name not in types:
            raise BadOption("columns", None, f"the column {name} is missing", _HINT)
    if types["message"] != "binary":
        raise BadOption("body", None, f"message is {types['message'][:40]}, not the whole frame", _HINT)


_HINT = "read with .options(**kwire.spark.cluster.OPTIONS)"


MOST_STEPS = 2000  # maximum steps per line; a change between two steps is drawn at the second one
NOBODY, UNKNOWN = "no leader", "rack not known"
NO_CAUSE = "cause not known"
CAUSES = {"log directory": "#c0392b", "broker": "#e6a23c", NO_CAUSE: "#909399"}
COLOURS = ("#2f6db3", "#3f9b5f", "#8e63b0", "#d08a2e", "#3aa6a6", "#b05a7a", "#7a7a3a", "#5a7ab0")


class Line(NamedTuple):
    """A named step function: counts, each with the time from which it is valid."""

    name: str
    times: list[datetime]
    counts: list[int]


def draw(history: History, folder: str) -> list[str]:
    """Draw the history of each cluster as `CLUSTER.png`.

    Args:
        history: the history of the clusters.
        folder: the local output folder.

    Returns:
        The paths of the files, in order.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    pyplot = need_matplotlib()
    offline = _lines(_turns(history.offline_replicas, "offline_from", "offline_to", _cause()))
    leaders = _lines(_turns(_with_racks(history), "valid_from", "valid_to", sql.col("kind")))
    Path(folder).mkdir(parents=True, exist_ok=True)
    files: list[str] = []
    for cluster in sorted(leaders):
        file = Path(folder) / f"{_file_name(cluster, files)}.png"
        _draw(pyplot, cluster, offline.get(cluster, []), leaders[cluster], file)
        files.append(str(file))
    return files


def need_matplotlib() -> Any:
    """Return matplotlib's pyplot with a backend for files; raise MissingExtra without matplotlib."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtra("a drawing", "matplotlib", "plots") from None
    return pyplot


def _cause() -> Any:
    return sql.coalesce(sql.col("cause"), sql.lit(NO_CAUSE))


def _with_racks(history: History) -> DataFrame:
    """Return the states of partitions, each with the last known rack of the leader."""
    racks = history.brokers.groupBy("cluster", "broker").agg(sql.max_by("rack", "valid_from").alias("rack"))
    led = history.partition_states.join(racks.withColumnRenamed("broker", "leader"), ["cluster", "leader"], "left")
    kind = sql.when(sql.col("leader") < 0, NOBODY).otherwise(sql.coalesce("rack", sql.lit(UNKNOWN)))
    return led.withColumn("kind", kind)


def _turns(rows: DataFrame, start: str, end: str, kind: Any) -> DataFrame:
    """Return the number of starts and ends per kind and time step."""
    begins = rows.select("cluster", kind.alias("kind"), sql.col(start).alias("time"), sql.lit(1).alias("change"))
    ends = rows.select("cluster", kind.alias("kind"), sql.col(end).alias("time"), sql.lit(-1).alias("change"))
    turns = begins.union(ends).where("time is not null").withColumn("at", sql.unix_micros("time"))
    spans = turns.groupBy("cluster").agg(sql.min("at").alias("first"), sql.max("at").alias("last"))
    step = sql.greatest(sql.lit(1), sql.ceil((sql.col("last") - sql.col("first")) / MOST_STEPS))
    at = sql.col("first") + sql.ceil((sql.col("at") - sql.col("first")) / step) * step
    found = turns.join(spans, "cluster").withColumn("at", at).groupBy("cluster", "kind", "at").agg(sql.sum("change"))
    return found.orderBy("cluster", "kind", "at")


def _lines(turns: DataFrame) -> dict[str, list[Line]]:
    found: dict[str, list[Line]] = {}
    for (cluster, kind), rows in groupby(map(tuple, turns.collect()), key=itemgetter(0, 1)):
        found.setdefault(cluster, []).append(_line(kind, ((at, change) for _, _, at, change in rows)))
    return found


def _line(name: str, turns: Iterable[tuple[int, int]]) -> Line:
    """Return a line as the cumulative sum of changes, with times in microseconds since 1970."""
    times, counts, count = [], [], 0
    for at, change in turns:
        count += change
        times.append(datetime(1970, 1, 1) + timedelta(microseconds=at))
        counts.append(count)
    return Line(name, times, counts)


def _draw(pyplot: Any, cluster: str, offline: list[Line], leaders: list[Line], file: Path) -> None:
    figure, (upper, lower) = pyplot.subplots(2, 1, sharex=True, figsize=(11, 6.5), dpi=110, layout="constrained")
    last = max(line.times[-1] for line in [*offline, *leaders])
    first = min(line.times[0] for line in [*offline, *leaders])
    figure.suptitle(f"cluster {_plain(cluster)}", x=0.01, ha="left", fontsize=13)
    colours = iter(COLOURS * (1 + len(leaders) // len(COLOURS)))
    _panel(upper, "offline replicas, by cause", [(line, CAUSES[line.name]) for line in offline], first, last)
    colored = [(line, "#202020" if line.name == NOBODY else next(colours)) for line in leaders]
    _panel(lower, "leaders, by rack", colored, first, last)
    lower.set_xlabel(f"time (UTC), from {first:%Y-%m-%d %H:%M:%S} to {last:%Y-%m-%d %H:%M:%S}")
    figure.savefig(file, format="png")
    pyplot.close(figure)


def _panel(axes: Any, title: str, lines: list[tuple[Line, str]], first: datetime, last: datetime) -> None:
    """Draw stacked areas, the first line at the bottom; the upper edge is the sum."""
    times = sorted({first, last, *(time for line, _ in lines for time in line.times)})
    below = [0] * len(times)
    for line, colour in lines:
        counts = counts_at(line, times)
        above = [low + count for low, count in zip(below, counts, strict=True)]
        is_there = [bool(count or before) for before, count in pairwise([0, *counts])]  # an empty area has no edge
        axes.fill_between(
            times, below, above, is_there, step="post", color=colour, linewidth=0.6, label=_plain(line.name)
        )
        below = above
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_ylim(bottom=0)
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.grid(axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    if lines:
        axes.legend(reverse=True, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    else:
        axes.text(0.5, 0.5, "none", transform=axes.transAxes, ha="center", color="#909090")


def counts_at(line: Line, times: Iterable[datetime]) -> list[int]:
    """Return the counts of a line at the given times; 0 before the line's first time.

    >>> moments = [datetime(2026, 11, day) for day in (1, 2, 3, 4)]
    >>> counts_at(Line("a", moments[1::2], [5, 2]), moments)
    [0, 5, 5, 2]
    """
    counts = [0, *line.counts]
    return [counts[bisect_right(line.times, time)] for time in times]


def _file_name(cluster: str, taken: list[str]) -> str:
    """Return an unused file name for a cluster that contains only valid characters."""
    plain = re.sub(r"[^\w.-]+", "_", cluster.rstrip("/").rpartition("/")[2]).strip("._")[:100] or "cluster"
    names = {Path(file).stem for file in taken}
    return next(name for name in _numbered(plain) if name not in names)


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1


def _plain(text: str) -> str:
    """Return text without matplotlib's markup."""
    return text.replace("$", r"\$")
