"""The tables of several clusters as batches of one schema: a column of structs for each table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import pyarrow as pa

ARROW_TYPES = {
    "str": pa.string(),
    "bool": pa.bool_(),
    "int": pa.int32(),
    "Nodes": pa.list_(pa.int32()),
    "float": pa.timestamp("us", "UTC"),
    "tuple[str, ...]": pa.list_(pa.string()),
    "tuple[str | None, ...]": pa.list_(pa.string()),
}
ROWS_IN_BATCH = 4096


def union_batches(schema: Any, cluster: Any, table: str, rows: Iterable[dict[str, Any]]) -> Iterator[Any]:
    """Yield the rows of one table of a cluster, in batches of a schema that has a column for each table.

    Args:
        schema: the schema: the cluster, the name of the table, and a column of structs for each table.
        cluster: the id of the cluster.
        table: the name of the table.
        rows: the rows of the table.
    """
    remaining = iter(rows)
    while part := list(islice(remaining, ROWS_IN_BATCH)):
        columns = [pa.nulls(len(part), field.type) for field in schema]
        columns[:2] = [pa.array([value] * len(part), pa.string()) for value in (cluster, table)]
        index = schema.get_field_index(table)
        columns[index] = pa.array(part, schema.field(index).type)
        yield pa.record_batch(columns, schema=schema)
