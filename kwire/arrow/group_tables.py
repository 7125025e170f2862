"""Consumer groups as Arrow: batches of complete frames become the rows of `kwire.cluster.consumer_groups`.

Converts columns and types; `kwire.cluster.consumer_groups` interprets the messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any, get_args, get_type_hints

import pyarrow as pa

from ..cluster.consumer_groups import APIS, ConsumerGroups
from ..cluster.group_state import MemberRow, PartitionRow
from ..protocol import Client, Frame, Request, Response, Source
from ..spec.catalog import Catalog, catalog_for
from .history_tables import OPTIONS as HISTORY_OPTIONS
from .history_tables import ends_of, in_order, read_row, rows_in, union_batches

# The messages to read from captures, as options of `kwire.arrow.read` and of Spark's data source.
OPTIONS = {**HISTORY_OPTIONS, "apis": ",".join(f"{api}{side}" for api in APIS for side in ("Request", "Response"))}
ROWS = {"members": MemberRow, "partitions": PartitionRow}
_TYPES = {
    "str": pa.string(),
    "int": pa.int64(),
    "bool": pa.bool_(),
    "float": pa.timestamp("us", "UTC"),
    "tuple[int, ...]": pa.list_(pa.int32()),
    "tuple[str, ...]": pa.list_(pa.string()),
    "tuple[str | None, ...]": pa.list_(pa.string()),
}


def table_schema(table: str) -> Any:
    """Return the `pyarrow.Schema` of a table.

    >>> table_schema("members").field("rack").type, table_schema("partitions").field("lag").type
    (DataType(string), DataType(int64))
    """
    return pa.schema([(name, _TYPES[kind]) for name, kind in _kinds(table).items()])


def _kinds(table: str) -> dict[str, str]:
    """Return the types of the fields of a row, without `| None`, as text."""
    hints = get_type_hints(ROWS[table])
    texts = {
        name: kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)
        for name, kind in hints.items()
    }
    return {name: text.removesuffix(" | None") for name, text in texts.items()}


# All tables in one: each row has its struct in the column of its table, and null in the others.
UNION = pa.schema(
    [("cluster", pa.string()), ("table", pa.string())]
    + [(table, pa.struct(list(table_schema(table)))) for table in ROWS]
)


def tables_of(batches: Iterable[Any], catalog: Catalog | None = None) -> dict[str, Any]:
    """Return the consumer groups of one cluster.

    Args:
        batches: record batches read with `OPTIONS`, in any order.
        catalog: the specs of their messages; those of Kafka's releases by default.

    Returns:
        A `pyarrow.Table` for `members` and for `partitions`.
    """
    rows = (row[1:] for row in rows_in(in_order([*batches])))
    groups = _learnt(rows, catalog or catalog_for())
    return {table: pa.Table.from_pylist(_dicts(groups, table), table_schema(table)) for table in ROWS}


def group_batches(batches: Iterable[Any], catalog: Catalog | None = None) -> Iterator[Any]:
    """Compute the groups of one cluster after the other.

    Args:
        batches: record batches with the columns `cluster` and `kwire.arrow.history_tables.COLUMNS`, read with
            `OPTIONS`; all rows of a cluster must be adjacent and in order.
        catalog: the specs of their messages; those of Kafka's releases by default.

    Yields:
        Record batches with the schema `UNION`.
    """
    for cluster, rows in groupby(rows_in(batches), key=itemgetter(0)):
        groups = _learnt((row[1:] for row in rows), catalog or catalog_for())
        for table in ROWS:
            yield from union_batches(UNION, cluster, table, _dicts(groups, table))


def _learnt(rows: Iterable[tuple[Any, ...]], catalog: Catalog) -> ConsumerGroups:
    groups, numbers = ConsumerGroups(), dict[tuple[Any, ...], int]()
    for time, connection, direction, api_name, api_version, correlation_id, data, path in rows:
        if data is None or api_version is None:
            continue
        ends = ends_of(connection)
        number = numbers.setdefault((path, *ends), len(numbers))
        source = Source(path, None, None, None if time is None else time / 1e6, *ends, number, direction)
        result = read_row(Frame(bytes(data), source), api_name, direction, api_version, catalog)
        if isinstance(result, Request):
            client = Client(getattr(result.header, "client_id", None))
            groups.see(replace(result, correlation_id=correlation_id, client=client))
        elif isinstance(result, Response):
            groups.see(replace(result, correlation_id=correlation_id))
    return groups


def _dicts(groups: ConsumerGroups, table: str) -> list[dict[str, Any]]:
    found: Iterable[Any] = groups.history() if table == "members" else groups.partitions()
    times = [name for name, kind in _kinds(table).items() if kind == "float"]
    rows = [row._asdict() for row in found]
    for row in rows:
        row.update({name: round(row[name] * 1e6) for name in times if row[name] is not None})
    return rows
