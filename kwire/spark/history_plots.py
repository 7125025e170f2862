"""Draws the history of clusters: the replicas of partitions over time (`kwire pipeline --plots`)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from ..errors import MissingExtra
from .cluster import History

MOST_STEPS = 2000  # maximum steps per line; a change between two steps is drawn at the second one
NOBODY, UNKNOWN = "no leader", "rack not known"
NO_CAUSE = "cause not known"
CAUSES = {"log directory": "#c0392b", "broker": "#e6a23c", NO_CAUSE: "#909399"}
COLOURS = ("#2f6db3", "#3f9b5f", "#8e63b0", "#d08a2e", "#3aa6a6", "#b05a7a", "#7a7a3a", "#5a7ab0")


class PlotLine(NamedTuple):
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
    changes = turns.join(spans, "cluster").withColumn("at", at).groupBy("cluster", "kind", "at").agg(sql.sum("change"))
    return changes.orderBy("cluster", "kind", "at")


def _lines(turns: DataFrame) -> dict[str, list[PlotLine]]:
    lines: dict[str, list[PlotLine]] = {}
    for (cluster, kind), rows in groupby(map(tuple, turns.collect()), key=itemgetter(0, 1)):
        lines.setdefault(cluster, []).append(_line(kind, ((at, change) for _, _, at, change in rows)))
    return lines


def _line(name: str, turns: Iterable[tuple[int, int]]) -> PlotLine:
    """Return a line as the cumulative sum of changes, with times in microseconds since 1970."""
    times, counts, count = [], [], 0
    for at, change in turns:
        count += change
        times.append(datetime(1970, 1, 1) + timedelta(microseconds=at))
        counts.append(count)
    return PlotLine(name, times, counts)


def _draw(pyplot: Any, cluster: str, offline: list[PlotLine], leaders: list[PlotLine], file: Path) -> None:
    figure, (upper, lower) = pyplot.subplots(2, 1, sharex=True, figsize=(11, 6.5), dpi=110, layout="constrained")
    last = max(line.times[-1] for line in [*offline, *leaders])
    first = min(line.times[0] for line in [*offline, *leaders])
    figure.suptitle(f"cluster {_escape_markup(cluster)}", x=0.01, ha="left", fontsize=13)
    colours = iter(COLOURS * (1 + len(leaders) // len(COLOURS)))
    _panel(upper, "offline replicas, by cause", [(line, CAUSES[line.name]) for line in offline], first, last)
    colored = [(line, "#202020" if line.name == NOBODY else next(colours)) for line in leaders]
    _panel(lower, "leaders, by rack", colored, first, last)
    lower.set_xlabel(f"time (UTC), from {first:%Y-%m-%d %H:%M:%S} to {last:%Y-%m-%d %H:%M:%S}")
    figure.savefig(file, format="png")
    pyplot.close(figure)


def _panel(axes: Any, title: str, lines: list[tuple[PlotLine, str]], first: datetime, last: datetime) -> None:
    """Draw stacked areas, the first line at the bottom; the upper edge is the sum."""
    times = sorted({first, last, *(time for line, _ in lines for time in line.times)})
    below = [0] * len(times)
    for line, colour in lines:
        counts = counts_at(line, times)
        above = [low + count for low, count in zip(below, counts, strict=True)]
        is_there = [bool(count or before) for before, count in pairwise([0, *counts])]  # an empty area has no edge
        axes.fill_between(
            times, below, above, is_there, step="post", color=colour, linewidth=0.6, label=_escape_markup(line.name)
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


def counts_at(line: PlotLine, times: Iterable[datetime]) -> list[int]:
    """Return the counts of a line at the given times; 0 before the line's first time.

    >>> moments = [datetime(2026, 11, day) for day in (1, 2, 3, 4)]
    >>> counts_at(PlotLine("a", moments[1::2], [5, 2]), moments)
    [0, 5, 5, 2]
    """
    counts = [0, *line.counts]
    return [counts[bisect_right(line.times, time)] for time in times]


def _file_name(cluster: str, taken: list[str]) -> str:
    """Return an unused file name for a cluster that contains only valid characters."""
    plain = re.sub(r"[^\w.-]+", "_", cluster.rstrip("/").rpartition("/")[2]).strip("._")[:100] or "cluster"
    names = {Path(file).stem for file in taken}
    return next(name for name in _number_names(plain) if name not in names)


def _number_names(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1


def _escape_markup(text: str) -> str:
    """Return text without matplotlib's markup."""
    return text.replace("$", r"\$")
