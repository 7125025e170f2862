"""`records`: the records in frames as rows, by `kwire.arrow.records`, with the options of a DataFrame."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pyarrow as pa

from ..arrow.records import RecordReader
from ..records import LIMIT
from .types import schema_to_arrow, to_spark


def records(df: Any, limit: int = LIMIT) -> Any:
    """Return the records of Produce requests, Fetch answers and logs as rows.

    Args:
        df: frames as `format("kwire")` with body=raw gives them. Of its columns, `message`, `direction`, `api_key` and
            `api_version` are needed; `path` tells the topic of a log, by its folder.
        limit: the most bytes that the records of one batch may take once decompressed.

    Returns:
        A DataFrame with the other columns of the frames; the struct `record`: topic, topic_id, partition, offset,
        timestamp, key, value, headers, producer and so on; and `_corrupt_record` with `_error` for what cannot be read.
        Of a batch with a wrong checksum, records and error are both there.

    Raises:
        BadOption: a column is missing.
    """
    schema = schema_to_arrow(df.schema)
    reader = _reader(schema, limit)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _reader(schema, limit).read(batches)

    return df.mapInArrow(read, to_spark(reader.schema))


@lru_cache(maxsize=4)
def _reader(schema: Any, limit: int) -> RecordReader:
    return RecordReader(schema, limit)
