"""Converts Produce requests, Fetch responses and logs to one row per record, with the columns of the frame.

A batch that cannot be read, or whose decompressed size exceeds the limit, becomes a row with its bytes and the error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Any

import pyarrow as pa

from ...client.registry.schema_registry import open_schemas
from ...codecs.records import LIMIT, Record, RecordBatch, UndecodableRecords, parse_records
from ...protocol.headers.apis import Api, Apis
from ...protocol.record_fields import UNKNOWN, RecordsPartition, find_record_sets, plan_record_fields
from ...schema.catalog import catalog_for
from ...serdes import RecordDeserializer, SchemaValue
from ..read_options import BadOption
from ..rows.arrow_batches import error_column
from ..rows.frame_body import read_carefully
from ..rows.row_faults import fault_of
from ..rows.row_schema import CORRUPT, ERROR_NAME, MESSAGE, TYPES

NEEDED = {MESSAGE: pa.binary(), "direction": pa.string(), "api_key": pa.int16(), "api_version": pa.int16()}
LEFT_OUT = MESSAGE, CORRUPT, ERROR_NAME
_MORE = "path", CORRUPT, ERROR_NAME
RECORD = pa.struct(
    [
        ("topic", pa.string()),
        ("topic_id", pa.binary()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestamp_type", pa.string()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int16()),
        ("sequence", pa.int32()),
        ("is_transactional", pa.bool_()),
        ("is_control", pa.bool_()),
        ("compression", pa.string()),
        ("magic", pa.int8()),
    ]
)
# What key and value say by their schemas: the schema, the value as JSON, or why it does not decode.
BY_SCHEMA = [
    (f"{part}_{name}", pa.string()) for part in ("key", "value") for name in ("schema", "json", "schema_error")
]
MOST_ROWS, MOST_BYTES = 4096, 8 << 20
LATEST = 253402300799999  # milliseconds since 1970: the end of the year 9999
_FOLDER = re.compile(r"(.+)-(\d{1,9})")


class RecordReader:
    """Reads the records of frames.

    Args:
        columns: the columns of the frames, as a `pyarrow.Schema`. `message` (with body=raw), `direction`, `api_key` and
            `api_version` are required; `path` determines the topic of a log.
        limit: the maximum decompressed size of the records of one batch, in bytes.
        registry: the URL of a schema registry, or a folder of schemas, by which keys and values are decoded; the struct
            `record` then has the fields of `BY_SCHEMA`, too.

    Attributes:
        schema: the other columns of the frames, `record`, `_corrupt_record` and `_error`.

    Raises:
        BadOption: a column is missing.
        CallError, DumpError: `registry` is neither the URL of a registry nor a folder of schemas.
    """

    def __init__(self, columns: Any, limit: int = LIMIT, registry: str = "") -> None:
        for name, type_ in NEEDED.items():
            if name not in columns.names or columns.field(name).type != type_:
                hint = "read the frames with body=raw, and keep their columns"
                raise BadOption("columns", name, f"records need the column {name}, {type_}", hint)
        self.limit: int = limit
        self.apis: Apis = Apis(catalog_for())
        self.kept: list[Any] = [name for name in columns.names if name not in LEFT_OUT]
        self.values: RecordDeserializer | None = RecordDeserializer(open_schemas(registry)) if registry else None
        record = RECORD if self.values is None else pa.struct([*RECORD, *BY_SCHEMA])
        more = [("record", record), (CORRUPT, TYPES[CORRUPT]), (ERROR_NAME, TYPES[ERROR_NAME])]
        self.schema: Any = pa.schema([*(columns.field(name) for name in self.kept), *more])

    def read(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the records of frames as record batches; a frame without records gives no rows."""
        for batch in batches:
            output = FoundRecords(batch.select(self.kept), self.schema)
            for index in range(batch.num_rows):
                for _ in self._frame(batch, index, output):
                    if output.is_full:
                        yield output.batch()
            if output.frames:
                yield output.batch()

    def _frame(self, batch: Any, index: int, output: FoundRecords) -> Iterator[None]:
        """Read the records of one frame; yield periodically."""
        cells = {name: batch.column(name)[index].as_py() for name in (*NEEDED, *_MORE) if name in batch.schema.names}
        data, key, version = cells[MESSAGE], cells["api_key"], cells["api_version"]
        if data is None:
            if cells.get(ERROR_NAME) is not None:
                output.fail(index, cells.get(CORRUPT), cells[ERROR_NAME])
        elif key is None or version is None:
            if cells["direction"] is None:
                yield from self._set(index, place_of(cells.get("path")), data, False, output)
        else:
            yield from self._of_api(index, self.apis.get(key << 16 | version & 0xFFFF), cells, output)

    def _of_api(self, index: int, api: Api | None, cells: dict[str, Any], output: FoundRecords) -> Iterator[None]:
        is_request, data = cells["direction"] == "request", cells[MESSAGE]
        codec = api.codec(is_request) if api is not None else None
        if api is None or codec is None or not plan_record_fields(codec):
            return
        read = read_carefully(data, api, is_request)
        if read.codec is None:
            output.fail(index, data, read.fault)
            return
        for partition, some in find_record_sets(read.codec, read.message):
            yield from self._set(index, partition, some, not is_request, output)

    def _set(
        self, index: int, partition: RecordsPartition, data: bytes, may_be_cut: bool, output: FoundRecords
    ) -> Iterator[None]:
        """Read the records of a set of batches; yield periodically.

        Brokers may truncate the last batch of a response, which is not a fault.
        """
        batches = parse_records(data, salvage=True)
        for batch in batches:
            if isinstance(batch, UndecodableRecords):
                output.fail(index, batch.data, fault_of(batch.error))
            else:
                yield from self._batch(index, partition, batch, output)
            yield
        if batches.rest and not may_be_cut:
            output.fail(index, batches.rest, fault_of(batches.faults[0]))
            yield

    def _batch(
        self, index: int, partition: RecordsPartition, batch: RecordBatch, output: FoundRecords
    ) -> Iterator[None]:
        fault = fault_of(batch.faults[0]) if batch.faults else None
        lost: bytes | None = batch.data  # once per batch, for any number of unreadable records
        for record in batch.records(salvage=True, limit=self.limit):
            if isinstance(record, Record):
                output.add(index, partition, batch, record, fault, self._by_schema(partition, batch, record))
            else:
                output.fail(index, lost, fault_of(record.error))
                lost = None
            yield

    def _by_schema(self, partition: RecordsPartition, batch: RecordBatch, record: Record) -> tuple[str | None, ...]:
        """Return the values of `BY_SCHEMA`; an empty tuple without schemas. The topic of an id is not known here."""
        if self.values is None:
            return ()
        if batch.is_control:
            return (None,) * len(BY_SCHEMA)
        key = self.values.read(partition.topic, "key", record.key)
        value = self.values.read(partition.topic, "value", record.value)
        return (*_cells_of(key), *_cells_of(value))


def _cells_of(value: SchemaValue | None) -> tuple[str | None, str | None, str | None]:
    if value is None:
        return None, None, None
    error = None if value.error is None else f"{value.error.code}: {value.error}"
    return value.title, value.json or None, error


class FoundRecords:
    """Collects records of the frames of one batch, column by column.

    Args:
        frames: the columns of the frames to keep.
        schema: the schema of the batches.
    """

    def __init__(self, frames: Any, schema: Any) -> None:
        self._kept, self._schema = frames, schema
        self.frames: list[int] = []  # the frame index of each row
        self._values: list[tuple[Any, ...] | None] = []
        self._lost: list[bytes | None] = []
        self._faults: dict[int, Any] = {}
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether a batch should be built now."""
        return len(self.frames) >= MOST_ROWS or self._bytes >= MOST_BYTES

    def add(
        self,
        index: int,
        partition: RecordsPartition,
        batch: RecordBatch,
        record: Record,
        fault: Any,
        by_schema: tuple[str | None, ...] = (),
    ) -> None:
        """Add a record; its value is valid even if its batch has a fault."""
        if fault is not None:
            self._faults[len(self.frames)] = fault
        time = record.timestamp * 1000 if 0 <= record.timestamp <= LATEST else None
        headers = [header._asdict() for header in record.headers]
        values = (record.offset, time, batch.timestamp_type, record.key, record.value, headers)
        kind = batch.is_transactional, batch.is_control, batch.compression, batch.magic
        producer = batch.producer_id, batch.producer_epoch, batch.sequence(record)
        self._put(index, (*partition, *values, *producer, *kind, *by_schema), None)
        self._bytes += len(record.key or b"") + len(record.value or b"") + sum(len(cell or "") for cell in by_schema)

    def fail(self, index: int, data: bytes | None, fault: Any) -> None:
        """Add data that could not be read."""
        self._faults[len(self.frames)] = fault
        self._put(index, None, data)
        self._bytes += len(data or b"")

    def _put(self, index: int, values: tuple[Any, ...] | None, data: bytes | None) -> None:
        self.frames.append(index)
        self._values.append(values)
        self._lost.append(data)

    def batch(self) -> Any:
        """Return all rows as a record batch, and clear them."""
        type_ = self._schema.field("record").type
        none = (None,) * type_.num_fields
        columns = zip(*(none if values is None else values for values in self._values), strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, type_, strict=True)]
        missing = pa.array([values is None for values in self._values])
        records = pa.StructArray.from_arrays(arrays, fields=list(type_), mask=missing)
        kept = self._kept.take(pa.array(self.frames)).columns
        lost, errors = pa.array(self._lost, pa.binary()), error_column(len(self.frames), self._faults)
        batch = pa.RecordBatch.from_arrays([*kept, records, lost, errors], schema=self._schema)
        self.frames, self._values, self._lost, self._faults, self._bytes = [], [], [], {}, 0
        return batch


def place_of(path: str | None) -> RecordsPartition:
    """Return the partition of a log, from the name of its folder.

    >>> place_of("/data/orders-7/00000000000000000000.log")
    RecordsPartition(topic='orders', topic_id=None, partition=7)
    """
    match = _FOLDER.fullmatch(PurePath(path).parent.name) if path else None
    return RecordsPartition(match[1], None, int(match[2])) if match else UNKNOWN
