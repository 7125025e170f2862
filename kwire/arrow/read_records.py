"""The records of captures and logs as Arrow rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from ..codecs.columns.read_columns import need_libraries
from ..codecs.records import LIMIT
from .read_captures import Paths, read

if TYPE_CHECKING:
    from .read_keywords import ReadOptions


def records(paths: Paths, *, registry: str = "", limit: int = LIMIT, **options: Unpack[ReadOptions]) -> Any:
    """Read the records of Produce requests, Fetch responses and logs, one row per record.

    Args:
        paths: one or several files, folders and globs.
        registry: the URL of a schema registry, or a folder of schemas, by which keys and values are decoded.
        limit: the maximum decompressed size of the records of one batch, in bytes.
        options: the options of `read`, but not `body`.

    Returns:
        A `pyarrow.RecordBatchReader` with the columns of the frames; the struct `record`: topic, topic_id, partition,
        offset, timestamp, key, value, headers, producer and so on, with `registry` also `key_json` and `value_json`
        (null if a key or value has no schema or does not decode), `key_schema`, `value_schema` (such as
        `shop.Order, schema 7`), `key_schema_error`, `value_schema_error`; and `_corrupt_record` and `_error` for
        records that cannot be read.

    Raises:
        CallError, DumpError: `registry` is neither the URL of a registry nor a folder of schemas.
        Others as `read`.

    >>> rows = records("fixtures/logs/__consumer_offsets-1").read_all().to_pylist()
    >>> rows[0]["record"]["topic"], rows[0]["record"]["offset"]
    ('__consumer_offsets', 0)
    """
    need_libraries()
    from pyarrow import RecordBatchReader

    from .binary_columns.record_rows import RecordReader

    options["body"] = "raw"
    frames = read(paths, **options)
    reader = RecordReader(frames.schema, limit, registry)
    return RecordBatchReader.from_batches(reader.schema, reader.read(frames))
