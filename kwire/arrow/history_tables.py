"""Cluster history as Arrow: batches of whole frames in order become rows of the tables of `kwire.cluster.history`.

Knows columns and types; what becomes of what is heard, it does not know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..cluster.draft_fields import RELEASED
from ..cluster.history import MESSAGES, ROWS, Observation, Tables, history_of
from ..cluster.history.recorder import files_of_ids
from ..codecs import codec_in
from ..errors import KwireError
from ..protocol import Frame, Request, Response
from ..protocol.frame_parser import FrameReading
from ..spec.catalog import Catalog, catalog_for
from .errors import MixedClusters

# What is read of captures, as options of `kwire.arrow.read` and of Spark's data source.
OPTIONS = {
    "apis": ",".join(MESSAGES),
    "body": "raw",
    "columns": "path,offset,timestamp,connection,direction,api_name,api_version,correlation_id,message",
}
COLUMNS = ("timestamp", "connection", "direction", "api_name", "api_version", "correlation_id", "message", "path")
_TYPES = {
    "str": pa.string(),
    "int": pa.int32(),
    "Nodes": pa.list_(pa.int32()),
    "float": pa.timestamp("us", "UTC"),
    "tuple[str, ...]": pa.list_(pa.string()),
    "tuple[str | None, ...]": pa.list_(pa.string()),
}
ROWS_IN_BATCH = 4096


def reading_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that read what the history needs.

    Args:
        given: which files and how; of a draft's profile the messages by its own names are read too.

    >>> reading_options({"profile": "KIP-36"})["apis"].split(",")[-2:]
    ['AssignReplicasToDirsRequest', 'TopicMetadataResponse']
    """
    catalog = catalog_of(given)
    names = [name for name in RELEASED if name in catalog]
    return {**given, **OPTIONS, "apis": ",".join([OPTIONS["apis"], *names])}


def catalog_of(given: Mapping[str, Any]) -> Catalog:
    """Return the specs that the options `profile` and `release` name; raises UnknownMessage as `kwire.codec` does."""
    lower = {name.lower(): value for name, value in given.items()}
    return catalog_for(lower.get("profile") or None, lower.get("release") or None)


def table_schema(table: str) -> Any:
    """Return the `pyarrow.Schema` of a table.

    >>> table_schema("isr_shrinks").field("removed").type
    ListType(list<item: int32>)
    """
    return pa.schema([(field.name, _TYPES[str(field.type).removesuffix(" | None")]) for field in fields(ROWS[table])])


# All tables in one: each row has its struct in the column of its table, and nulls in the others.
UNION = pa.schema(
    [("cluster", pa.string()), ("table", pa.string())]
    + [(table, pa.struct(list(table_schema(table)))) for table in ROWS]
)


def tables_of(batches: Iterable[Any], catalog: Catalog | None = None) -> dict[str, Any]:
    """Return the history of one cluster.

    Args:
        batches: record batches as `reading_options` give them, in any order.
        catalog: the specs of their messages; the released ones unless given.

    Returns:
        A `pyarrow.Table` for each of `kwire.cluster.history.ROWS`.

    Raises:
        MixedClusters: the messages name several cluster ids.
    """
    tables = history_of(_heard((row[1:] for row in _rows(_in_order(list(batches)))), catalog or catalog_for()))
    files = files_of_ids((row.file, row.cluster_ids) for row in tables.sources)
    if len(files) > 1:
        raise MixedClusters("", files)
    return {table: pa.Table.from_pylist(_dicts(tables, table), table_schema(table)) for table in ROWS}


def _in_order(batches: list[Any]) -> list[Any]:
    """Return what was said in its order: by time, requests first; where there is no time, as it lies in the file."""
    if not batches:
        return []
    table = pa.Table.from_batches(batches)
    side = pc.if_else(table["timestamp"].is_valid(), table["direction"], pa.scalar(None, pa.string()))
    order = [(name, "ascending") for name in ("timestamp", "path", "side", "offset")]
    found: list[Any] = table.append_column("side", side).sort_by(order).to_batches()
    return found


def history_batches(batches: Iterable[Any], catalog: Catalog | None = None) -> Iterator[Any]:
    """Write down the history of one cluster after the other.

    Args:
        batches: record batches with the columns `cluster` and `COLUMNS`, as `reading_options` give them; all rows of a
            cluster together, in the order of what was said.
        catalog: the specs of their messages; the released ones unless given.

    Yields:
        Record batches with the schema `UNION`.
    """
    for cluster, rows in groupby(_rows(batches), key=itemgetter(0)):
        tables = history_of(_heard((row[1:] for row in rows), catalog or catalog_for()))
        for table in ROWS:
            found = iter(_dicts(tables, table))
            while part := list(islice(found, ROWS_IN_BATCH)):
                columns = [pa.nulls(len(part), field.type) for field in UNION]
                columns[:2] = [pa.array([value] * len(part), pa.string()) for value in (cluster, table)]
                place = UNION.get_field_index(table)
                columns[place] = pa.array(part, UNION.field(place).type)
                yield pa.record_batch(columns, schema=UNION)


def _rows(batches: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield the cluster, None where there is no such column, and what is in `COLUMNS`."""
    for batch in batches:
        has_clusters = "cluster" in batch.schema.names
        clusters = batch.column("cluster").to_pylist() if has_clusters else [None] * batch.num_rows
        times = batch.column("timestamp").cast(pa.int64()).to_pylist()
        others = [batch.column(name).to_pylist() for name in COLUMNS[1:]]
        yield from zip(clusters, times, *others, strict=True)


def _heard(rows: Iterable[tuple[Any, ...]], catalog: Catalog) -> Iterator[Observation]:
    for time, connection, direction, api_name, api_version, correlation_id, data, path in rows:
        if data is None or api_version is None:
            continue
        try:
            codec = codec_in(catalog, f"{api_name}{str(direction).capitalize()}", api_version)
        except KwireError:
            continue
        frame = Frame(bytes(data), bare=int.from_bytes(data[:4], "big") != len(data) - 4)
        reading = FrameReading(frame, catalog, salvage=True, trace=False)
        read = reading.body if frame.bare else reading.request if direction == "request" else reading.response
        result = read(codec)
        message = result.message if isinstance(result, Request | Response) else None
        yield Observation(
            message, codec, None if time is None else time / 1e6, *_ends(connection), correlation_id, path
        )


def _ends(connection: dict[str, Any] | None) -> tuple[str, str]:
    if connection is None:
        return "", ""
    return _end(connection["src"], connection["src_port"]), _end(connection["dst"], connection["dst_port"])


def _end(host: str | None, port: int | None) -> str:
    return f"[{host}]:{port}" if host and ":" in host else f"{host}:{port}"


def _dicts(tables: Tables, table: str) -> list[dict[str, Any]]:
    names = [field.name for field in fields(ROWS[table])]
    times = [field.name for field in fields(ROWS[table]) if str(field.type).startswith("float")]
    rows = [{name: getattr(row, name) for name in names} for row in getattr(tables, table)]
    for row in rows:
        row.update({name: round(row[name] * 1e6) for name in times if row[name] is not None})
    return rows
