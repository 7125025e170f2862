"""Reads captures as Arrow record batches, one row per frame, for pyarrow, polars or DuckDB on one machine.

    >>> from kwire import arrow
    >>> batch = next(arrow.read("fixtures/dumps/kafka-3.9-zk.bin", apis="LeaderAndIsrRequest", body="struct"))
    >>> batch.schema.names[:4], batch["message"][0]["live_leaders"][0]["port"].as_py()
    (['path', 'offset', 'length', 'timestamp'], 19011)

Spark's data source uses the same modules. pyarrow and numpy (the extra `arrow`) are imported on first use."""

from .parquet import write_parquet, write_records
from .read_captures import consumer_groups, history, read, schema
from .read_records import records
from .scan_captures import CaptureScan, scan

__all__ = [
    "CaptureScan",
    "consumer_groups",
    "history",
    "read",
    "records",
    "scan",
    "schema",
    "write_parquet",
    "write_records",
]
