"""The history of clusters from captures, as DataFrames: states of partitions, brokers, offline replicas and more.

    spark.read.format("kwire").options(**cluster.OPTIONS).load("captures/")

reads only the messages that are needed. `kwire.cluster` has the logic; here rows are sorted, and each cluster is
processed in one task, in parallel with the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from ..arrow import group_tables
from ..arrow.errors import BadOption
from ..arrow.history_tables import COLUMNS, OPTIONS, UNION, catalog_of, history_batches, reading_options
from ..capture.kafka_connection_detection import ZOOKEEPER
from ..protocol.framing import NotKafka
from ..redaction.rules import TOPIC, TOPIC_ID
from .source import to_spark

__all__ = ["GROUP_OPTIONS", "OPTIONS", "ConsumerGroups", "History", "consumer_groups", "history", "reading_options"]
# Of Fetch responses and logs, only those of the metadata log.
_NEEDED = (
    "case when api_name is null then "
    "connection is not null or lower(path) like '%cluster_metadata%' or path like '%.checkpoint' "
    "or substr(message, 1, 1) = X'7B' "  # znodes as JSON
    f"when api_name like 'Fetch%' then contains(message, X'{TOPIC.encode().hex()}') "
    f"or contains(message, X'{TOPIC_ID.hex()}') else true end"
)
GROUP_OPTIONS = group_tables.OPTIONS
FOLDER = r"/?[^/]*$"  # a file name, with the slash before it


class History(NamedTuple):
    """The history of clusters; every table has the column `cluster` besides those of `kwire.cluster`.

    Attributes:
        all: all tables in one DataFrame, computed once and cached: `all.unpersist()` frees it.
        partition_states: states of partitions, as intervals of time.
        brokers: brokers with their racks, as intervals of time.
        offline_replicas: replicas that were offline (KIP-112): start, end, cause, leaders before and after.
        rack_violations: replicas that violated a rack `rule` (KIP-36, or the draft KIP-879), as intervals of time.
        isr_shrinks: when replicas left the ISR.
        reassignments: reassignments of replicas (KIP-455), as intervals of time.
        metrics: KIP-112's `OfflineReplicaCount` and `OfflineLogDirectoryCount` of each broker, as intervals of time.
        conflicts: contradictions between a source and one with more authority at the same epochs.
        sources: the messages that the tables are derived from; `note` names what cannot be derived from them.
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
        frames: frames from the data source with `OPTIONS`, complete (`body=raw`), or from a table that stores them;
            additional columns are ignored. Frames of a file without time must be in order.
        cluster: an expression of their columns that identifies the cluster; the folder of the file by default.
        profile, release: the specs of the messages, as the option of the data source (see `reading_options`).

    Returns:
        DataFrames, evaluated lazily.

    Raises:
        BadOption: a column is missing, or `message` is not a complete frame.
        UnknownMessage: there is no such profile or release.

    Example:
        >>> frames = spark.read.format("kwire").options(**OPTIONS).load("captures/")  # doctest: +SKIP
        >>> history(frames).offline_replicas.where("cause = 'log directory'").show()  # doctest: +SKIP
    """
    _check(frames)
    needed = _with_packets(frames).where(_NEEDED)
    return History(*_tables(needed, cluster, _history_function({"profile": profile, "release": release}), UNION))


def _with_packets(frames: DataFrame) -> DataFrame:
    """Put packets of ZooKeeper into the column `message`, where a reading has them as malformed frames."""
    if not {"_error", "_corrupt_record"} <= set(frames.columns):
        return frames
    is_packet = sql.col("_error.code").eqNullSafe(NotKafka.code) & sql.col("_error.reason").contains(ZOOKEEPER)
    return frames.withColumn("message", sql.when(is_packet, sql.col("_corrupt_record")).otherwise(sql.col("message")))


class ConsumerGroups(NamedTuple):
    """The consumer groups of clusters; tables have the column `cluster` besides those of `kwire.arrow.consumer_groups`.

    Attributes:
        all: both tables in one DataFrame, computed once and cached: `all.unpersist()` frees it.
        members: who had which partitions, as intervals of time: racks, lag, what was read across racks (KIP-881).
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
        frames: frames from the data source with `GROUP_OPTIONS`; otherwise as of `history`.
        cluster, profile, release: as of `history`.

    Returns, raises: as `history`.

    Example:
        >>> frames = spark.read.format("kwire").options(**GROUP_OPTIONS).load("captures/")  # doctest: +SKIP
        >>> consumer_groups(frames).members.where("read_across > 0").show()  # doctest: +SKIP
    """
    specs = {"profile": profile, "release": release}
    catalog_of(specs)

    def learn(batches: Iterator[Any]) -> Iterator[Any]:
        return group_tables.group_batches(batches, catalog_of(specs))

    return ConsumerGroups(*_tables(frames, cluster, learn, group_tables.UNION))


def _tables(
    frames: DataFrame, cluster: Column | None, compute: Callable[[Iterator[Any]], Iterator[Any]], union: Any
) -> list[DataFrame]:
    """Return all rows of a computation by cluster, and each of its tables."""
    _check(frames)
    named = name_of(cluster)
    side = sql.when(sql.col("timestamp").isNotNull(), sql.col("direction"))  # at the same time, requests come first
    messages = frames.where("message is not null").select(named.cast("string").alias("cluster"), "offset", *COLUMNS)
    order = ["cluster", "timestamp", "path", side, "offset"]
    rows = messages.repartition("cluster").sortWithinPartitions(*order).mapInArrow(compute, to_spark(union)).persist()
    return [rows, *(_table(rows, name) for name in union.names[2:])]


def name_of(cluster: Column | None) -> Column:
    """Return the expression that names the cluster of a frame: that of its folder, unless another one is given."""
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
