"""The consumer groups of clusters as Arrow tables, from batches of complete frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any, get_args, get_type_hints

import pyarrow as pa

from ...cluster.consumer_groups.rows import MemberRow, PartitionRow
from ...cluster.consumer_groups.tracker import APIS, GroupTracker
from ...protocol import Client, Frame, Request, Response, Source
from ...schema.catalog import Catalog, catalog_for
from .message_rows import OPTIONS, ends_of, read_row, rows_in, sort_messages
from .table_batches import ARROW_TYPES, union_batches

# The messages to read from captures, as options of `kwire.arrow.read` and of Spark's data source.
GROUP_OPTIONS = {**OPTIONS, "apis": ",".join(f"{api}{side}" for api in APIS for side in ("Request", "Response"))}
GROUP_ROWS: dict[str, type[MemberRow] | type[PartitionRow]] = {"members": MemberRow, "partitions": PartitionRow}
_GROUP_TYPES = {**ARROW_TYPES, "int": pa.int64(), "bool": pa.bool_(), "tuple[int, ...]": pa.list_(pa.int32())}


def group_schema(table: str) -> Any:
    """Return the `pyarrow.Schema` of a table.

    >>> group_schema("members").field("rack").type, group_schema("partitions").field("lag").type
    (DataType(string), DataType(int64))
    """
    return pa.schema([(name, _GROUP_TYPES[kind]) for name, kind in _kinds(table).items()])


def _kinds(table: str) -> dict[str, str]:
    """Return the types of the fields of a row, without `| None`, as text."""
    hints = get_type_hints(GROUP_ROWS[table])
    texts = {
        name: kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)
        for name, kind in hints.items()
    }
    return {name: text.removesuffix(" | None") for name, text in texts.items()}


# All tables in one: each row has a struct in the column of its table, and null in the others.
GROUP_UNION = pa.schema(
    [("cluster", pa.string()), ("table", pa.string())]
    + [(table, pa.struct(list(group_schema(table)))) for table in GROUP_ROWS]
)


def groups_of(batches: Iterable[Any], catalog: Catalog | None = None) -> dict[str, Any]:
    """Return the consumer groups of one cluster.

    Args:
        batches: record batches read with `GROUP_OPTIONS`, in any order.
        catalog: the specs of the messages; by default those of Kafka's releases.

    Returns:
        A `pyarrow.Table` for `members` and for `partitions`.
    """
    rows = (row[1:] for row in rows_in(sort_messages([*batches])))
    groups = _track_groups(rows, catalog or catalog_for())
    return {table: pa.Table.from_pylist(_group_dicts(groups, table), group_schema(table)) for table in GROUP_ROWS}


def group_batches(batches: Iterable[Any], catalog: Catalog | None = None) -> Iterator[Any]:
    """Compute the consumer groups of clusters, one after the other.

    Args:
        batches: record batches with the columns `cluster` and `COLUMNS`, read with
            `GROUP_OPTIONS`; all rows of a cluster must be adjacent and in order.
        catalog: the specs of the messages; by default those of Kafka's releases.

    Yields:
        Record batches with the schema `GROUP_UNION`.
    """
    for cluster, rows in groupby(rows_in(batches), key=itemgetter(0)):
        groups = _track_groups((row[1:] for row in rows), catalog or catalog_for())
        for table in GROUP_ROWS:
            yield from union_batches(GROUP_UNION, cluster, table, _group_dicts(groups, table))


def _track_groups(rows: Iterable[tuple[Any, ...]], catalog: Catalog) -> GroupTracker:
    groups, numbers = GroupTracker(), dict[tuple[Any, ...], int]()
    for time, connection, direction, api_name, api_version, correlation_id, data, path in rows:
        if data is None or api_version is None:
            continue
        ends = ends_of(connection)
        number = numbers.setdefault((path, *ends), len(numbers))
        source = Source(path, None, None, None if time is None else time / 1e6, *ends, number, direction)
        result = read_row(Frame(bytes(data), source), api_name, direction, api_version, catalog)
        if isinstance(result, Request):
            client = Client(getattr(result.header, "client_id", None))
            groups.apply(replace(result, correlation_id=correlation_id, client=client))
        elif isinstance(result, Response):
            groups.apply(replace(result, correlation_id=correlation_id))
    return groups


def _group_dicts(groups: GroupTracker, table: str) -> list[dict[str, Any]]:
    entries: Iterable[Any] = groups.history() if table == "members" else groups.partitions()
    times = [name for name, kind in _kinds(table).items() if kind == "float"]
    rows = [row._asdict() for row in entries]
    for row in rows:
        row.update({name: round(row[name] * 1e6) for name in times if row[name] is not None})
    return rows
