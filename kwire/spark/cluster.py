"""The history of clusters from captures, as DataFrames: states of partitions, brokers, offline replicas and more.

    spark.read.format("kwire").options(**cluster.OPTIONS).load("captures/")

reads what it takes and no more. What becomes of it `kwire.cluster` decides; here it is brought into order, a
cluster in one task, all clusters beside each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from ..arrow.errors import BadOption
from ..arrow.history_tables import COLUMNS, OPTIONS, UNION, catalog_of, history_batches, reading_options
from ..cluster import ROWS
from ..redaction.rules import TOPIC, TOPIC_ID
from .source import to_spark

__all__ = ["OPTIONS", "History", "history", "reading_options"]
# Of Fetch responses and of logs, those of the metadata log.
_NEEDED = (
    "case when api_name is null then lower(path) like '%cluster_metadata%' or path like '%.checkpoint' "
    f"when api_name like 'Fetch%' then contains(message, X'{TOPIC.encode().hex()}') "
    f"or contains(message, X'{TOPIC_ID.hex()}') else true end"
)
FOLDER = r"/?[^/]*$"  # a file's name, with the slash before it


class History(NamedTuple):
    """What became of clusters; every table has the column `cluster`, the others are as `kwire.cluster` says.

    Attributes:
        all: all tables in one, which is worked out once and kept: `all.unpersist()` lets go of it.
        partition_states: states of partitions, from when to when.
        brokers: brokers with their racks, from when to when.
        offline_replicas: replicas that were offline (KIP-112): since when, until when, why, who led before and after.
        rack_violations: replicas that lay on racks as they should not, from when to when, and by which `rule`: KIP-36,
            or the draft KIP-879.
        isr_shrinks: when replicas left the ISR.
        reassignments: of replicas (KIP-455), from when to when.
        metrics: KIP-112's `OfflineReplicaCount` and `OfflineLogDirectoryCount` of each broker, from when to when.
        conflicts: what a source says of a partition, and one with more authority says otherwise at the same epochs.
        sources: the messages that all this is made of; `note` says what it cannot know without the others.
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
    """Write down the history of clusters.

    Args:
        frames: frames as the data source gives them with `OPTIONS`, whole (`body=raw`); more columns do not matter,
            and they may come from a table that keeps them. Where they have no time, those of a file are in order.
        cluster: tells the clusters apart, by any of their columns; the folder of the file unless given.
        profile, release: the specs of the messages, as the option of the data source (see `reading_options`).

    Returns:
        DataFrames; nothing is read until one of them is asked for.

    Raises:
        BadOption: a column is missing, or `message` is no whole frame.
        UnknownMessage: there is no such profile or release.

    Example:
        >>> frames = spark.read.format("kwire").options(**OPTIONS).load("captures/")  # doctest: +SKIP
        >>> history(frames).offline_replicas.where("cause = 'log directory'").show()  # doctest: +SKIP
    """
    _check(frames)
    named = sql.regexp_replace("path", FOLDER, "") if cluster is None else cluster
    side = sql.when(sql.col("timestamp").isNotNull(), sql.col("direction"))  # at one moment, requests come first
    told = (
        frames.where("message is not null")
        .where(_NEEDED)
        .select(named.cast("string").alias("cluster"), "offset", *COLUMNS)
    )
    order = ["cluster", "timestamp", "path", side, "offset"]
    rows = (
        told.repartition("cluster")
        .sortWithinPartitions(*order)
        .mapInArrow(_chronicles({"profile": profile, "release": release}), to_spark(UNION))
        .persist()
    )
    return History(rows, *(_table(rows, name) for name in ROWS))


def _chronicles(specs: dict[str, str | None]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return what a worker runs: the names of the specs go there, not the specs."""
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
