"""Computes the history of clusters from captures as DataFrames: partitions, brokers, offline replicas and more.

The data source

    spark.read.format("kwire").options(**cluster.OPTIONS).load("captures/")

reads only the required messages with these options. `kwire.cluster` contains the logic. This module sorts the rows and
processes each cluster in one task, in parallel with the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from ..arrow.clusters.consumer_group_tables import GROUP_OPTIONS, GROUP_UNION, group_batches
from ..arrow.clusters.history_tables import UNION, history_batches, reading_options
from ..arrow.clusters.message_rows import COLUMNS, OPTIONS, catalog_of
from ..arrow.read_options import BadOption
from ..capture.kafka.other_protocols import ZOOKEEPER
from ..protocol.frames.stream_faults import NotKafka
from ..protocol.message_summary import METADATA_TOPIC, METADATA_TOPIC_ID
from .column_types import to_spark

__all__ = ["GROUP_OPTIONS", "OPTIONS", "ConsumerGroups", "History", "consumer_groups", "history", "reading_options"]
# Fetch responses and logs are only needed for the metadata log.
_NEEDED = (
    "case when api_name is null then "
    "connection is not null or lower(path) like '%cluster_metadata%' or path like '%.checkpoint' "
    "or substr(message, 1, 1) = X'7B' "  # znodes as JSON
    f"when api_name like 'Fetch%' then contains(message, X'{METADATA_TOPIC.encode().hex()}') "
    f"or contains(message, X'{METADATA_TOPIC_ID.hex()}') else true end"
)
FOLDER = r"/?[^/]*$"  # a file name, with the slash before it
_HINT = "read with .options(**kwire.spark.cluster.OPTIONS)"


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
