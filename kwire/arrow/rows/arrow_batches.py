"""Builds record batches from rows, column by column; only selected columns are built.

The module treats malformed frames as the mode requires; it reads no files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ...capture.files import find_entry
from ...codecs.columns.record_batches import halve_batch
from ...codecs.native import FrameRows
from ...errors import without_password
from ...protocol.headers.apis import Api
from ...runtime.caches import once_attribute
from ..read_options import DROPMALFORMED, FAILFAST, Options
from .frame_rows import RowEndpoints
from .masked_rows import RowMasking
from .message_column import Bodies
from .row_faults import HARMLESS, MalformedFrame, RowFault
from .row_schema import CONNECTION, CORRUPT, ERROR, ERROR_NAME, FILE, MESSAGE, METADATA, TYPES

LONGEST = 2**31 - 1
EARLIEST, LATEST = -62135596800000000, 253402300799999999  # microseconds since 1970: the years 1 to 9999
EXPANSION = 4  # estimated size of columns relative to frames
DIRECTIONS = pa.array(["response", "request"])


class RowBatchBuilder:
    """Collects rows and builds record batches.

    Args:
        columns: the names of the selected columns, in order.
        bodies: the builder of the column `message`; None if it is not selected.
        options: the mode for malformed frames, and the limits of a batch; a single row may be larger.
        masking: masks the secrets of rows; None to leave them as they are.

    Attributes:
        rows: the list to append rows to.
        schema: the schema of the batches.
    """

    def __init__(
        self, columns: Sequence[str], bodies: Bodies | None, options: Options, masking: RowMasking | None = None
    ) -> None:
        self.bodies: Bodies | None = bodies
        self._masking = masking
        self.mode: str = options.mode
        self.max_rows: int = options.max_records_per_batch
        self.max_bytes: int = options.max_bytes_per_batch
        corrupt = options.column_name_of_corrupt_record
        self._columns = [CORRUPT if name == corrupt else name for name in columns]
        types = [bodies.type if name == MESSAGE and bodies else TYPES[name] for name in self._columns]
        self.schema: Any = pa.schema(list(zip(columns, types, strict=True)))
        self.rows: FrameRows = FrameRows(keeps_bytes=bodies is not None or masking is not None)
        self._files: list[tuple[int, str]] = []  # the index of the first row of each file
        self._metadata: dict[str, dict[str, Any]] = {}  # the metadata of each file, if the column is selected

    def clear(self) -> None:
        """Discard all rows."""
        self.rows.clear()
        self._files.clear()
        self._metadata.clear()

    def begin(self, path: str) -> None:
        """Set the file of the next rows."""
        shown = without_password(path)
        self._files.append((len(self.rows), shown))
        if METADATA in self._columns and shown not in self._metadata:
            self._metadata[shown] = metadata_of(path)

    def ready(self) -> Iterator[Any]:
        """Yield complete batches."""
        if len(self.rows) >= self.max_rows or self.rows.size * EXPANSION >= self.max_bytes:
            yield from self.rest()

    def rest(self) -> Iterator[Any]:
        """Yield the remaining rows as batches."""
        rows, files = self.rows.take(), self._files[:]
        self._files[:] = [(0, files[-1][1])] if files else []
        for start, part in rows.parts(self.max_rows, -(-self.max_bytes // EXPANSION)):
            yield from self._batches(part, _shift_files(files, start))

    def _batches(self, rows: FrameRows, files: list[tuple[int, str]]) -> Iterator[Any]:
        faults = rows.faults()
        message = self.bodies.column(list(rows), faults) if self.bodies else None
        if self._masking is not None:
            rows = self._masking.mask_rows(rows, faults)
        if self.mode == FAILFAST and faults:
            self._refuse(rows, files, faults)
        shared = _Shared(rows, faults, files)
        makers = {**MAKERS, MESSAGE: lambda _: message, METADATA: self._files_metadata}
        arrays = [makers[name](shared) for name in self._columns]
        batch = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        if self.mode == DROPMALFORMED and faults:
            kept = np.ones(len(rows), bool)
            kept[list(faults)] = False
            batch = batch.filter(pa.array(kept))
        if batch.num_rows:
            yield from halve_batch(batch, self.max_bytes)

    def _files_metadata(self, shared: _Shared) -> Any:
        paths = _paths(shared).dictionary_encode()
        metadata = pa.array([self._metadata[path] for path in paths.dictionary.to_pylist()], FILE)
        return metadata.take(paths.indices)

    def _refuse(self, rows: FrameRows, files: list[tuple[int, str]], faults: dict[int, RowFault]) -> None:
        """Raise MalformedFrame for the first fault of a Kafka frame."""
        for index in sorted(faults):
            if faults[index].code not in HARMLESS:
                path = next(path for first, path in reversed(files) if first <= index)
                api = rows[index].api
                name, version = (api.name or str(api.key), api.version) if api else (None, None)
                raise MalformedFrame(path, rows[index].offset, name, version, faults[index].reason)


def metadata_of(path: str) -> dict[str, Any]:
    """Return the value of the column `_metadata` for a file; only the names if the file no longer exists."""
    entry = find_entry(path)
    shown = without_password(path)
    metadata: dict[str, Any] = {"file_path": shown, "file_name": shown.rpartition("/")[2]}
    if entry is not None:
        metadata |= {"file_size": entry.size, "file_modification_time": entry.changed // 1000}
    return metadata


def _shift_files(files: list[tuple[int, str]], start: int) -> list[tuple[int, str]]:
    """Return the files of rows, with row numbers relative to `start`."""
    return [(max(0, first - start), path) for first, path in files]


class _Shared:
    """The rows of a batch, and what several of its columns are made of.

    Args:
        rows: the rows.
        faults: their faults, by index.
        files: the first row of each file.
    """

    def __init__(self, rows: FrameRows, faults: dict[int, RowFault], files: list[tuple[int, str]]) -> None:
        self.rows, self.faults, self.files = rows, faults, files

    @once_attribute
    def calls(self) -> tuple[list[tuple[Api | None, str | None]], Any]:
        """The different pairs of api and client id, and which of them each row has."""
        calls, index = self.rows.calls()
        return calls, self.fixed(index, pa.int32())

    def fixed(self, cells: Any, type_: Any) -> Any:
        """Return an array of numbers: memory that the native engine has filled, or a list."""
        if isinstance(cells, list):
            return pa.array(cells, type_)
        valid, values = cells
        bits = None if valid is None else pa.py_buffer(valid)
        return pa.Array.from_buffers(type_, len(self.rows), [bits, pa.py_buffer(values)])


def _paths(shared: _Shared) -> Any:
    count, files = len(shared.rows), shared.files
    firsts = np.minimum([*(first for first, _ in files), count], count)
    return pa.array([path for _, path in files]).take(pa.array(np.repeat(np.arange(len(files)), np.diff(firsts))))


def _lengths(shared: _Shared) -> Any:
    lengths = shared.fixed(shared.rows.sizes(), pa.int32())
    known = {index: fault.bytes for index, fault in shared.faults.items() if fault.bytes is not None}
    if not known:
        return lengths
    counts = lengths.to_pylist()
    for index, count in known.items():
        counts[index] = min(count, LONGEST)
    return pa.array(counts, pa.int32())


def _microseconds(nanoseconds: int | None) -> int | None:
    """Return a time in microseconds; None if it is outside the calendar or the range of Arrow's integers."""
    time = None if nanoseconds is None else nanoseconds // 1000
    return time if time is not None and EARLIEST <= time <= LATEST else None


def _connections(shared: _Shared) -> Any:
    distinct, index = shared.rows.ends()
    return pa.array([_ends(ends) for ends in distinct], CONNECTION).take(shared.fixed(index, pa.int32()))


def _ends(ends: RowEndpoints | None) -> dict[str, Any] | None:
    if ends is None:
        return None
    (src, src_port), (dst, dst_port) = _address(ends.client), _address(ends.broker)
    began = _microseconds(ends.began)
    return {"src": src, "src_port": src_port, "dst": dst, "dst_port": dst_port, "began": began}


def _address(text: str) -> tuple[str, int | None]:
    """Split an address into host and port; without a port, the whole text is the host.

    >>> _address("[::1]:9092"), _address("client-1")
    (('::1', 9092), ('client-1', None))
    """
    host, _, port = text.rpartition(":")
    return (host.strip("[]"), int(port)) if host and port.isdecimal() and len(port) < 6 else (text, None)


def _directions(shared: _Shared) -> Any:
    return DIRECTIONS.take(shared.fixed(shared.rows.directions(), pa.int8()))


def _of_apis(attribute: str, type_: Any) -> Maker:
    def make(shared: _Shared) -> Any:
        calls, index = shared.calls
        return pa.array([api and getattr(api, attribute) for api, _ in calls], type_).take(index)

    return make


def _client_ids(shared: _Shared) -> Any:
    calls, index = shared.calls
    return pa.array([client for _, client in calls], pa.string()).take(index)


def _corrupt(shared: _Shared) -> Any:
    data = {index: shared.rows[index].data or None for index in shared.faults}
    return sparse_column(data, len(shared.rows), pa.binary())


def sparse_column(values: Mapping[int, Any], count: int, type_: Any) -> Any:
    """Return a column of `count` rows that is null except at few indices; work is in proportion to these."""
    if not values:
        return pa.nulls(count, type_)
    order = np.full(count, -1, np.int32)
    order[list(values)] = np.arange(len(values), dtype=np.int32)
    return pa.array(list(values.values()), type_).take(pa.array(order, mask=order < 0))


def corrupt_column(data: Sequence[bytes | None], faults: Mapping[int, Any]) -> Any:
    """Return the bytes of rows with a fault, null for the others."""
    return sparse_column({index: data[index] for index in faults}, len(data), pa.binary())


def error_column(count: int, faults: Mapping[int, Any]) -> Any:
    """Return the error of each row, null for rows without a fault."""
    errors = {index: fault if isinstance(fault, dict) else fault._asdict() for index, fault in faults.items()}
    return sparse_column(errors, count, ERROR)


Maker = Callable[[_Shared], Any]


MAKERS: dict[str, Maker] = {
    "path": _paths,
    "offset": lambda shared: shared.fixed(shared.rows.offsets(), pa.int64()),
    "length": _lengths,
    "timestamp": lambda shared: shared.fixed(shared.rows.times(_microseconds), TYPES["timestamp"]),
    "connection": _connections,
    "direction": _directions,
    "api_key": _of_apis("key", pa.int16()),
    "api_name": _of_apis("name", pa.string()),
    "api_version": _of_apis("version", pa.int16()),
    "correlation_id": lambda shared: shared.fixed(shared.rows.correlation_ids(), pa.int32()),
    "client_id": _client_ids,
    CORRUPT: _corrupt,
    ERROR_NAME: lambda shared: error_column(len(shared.rows), shared.faults),
}
