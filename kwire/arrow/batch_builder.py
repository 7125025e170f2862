"""Builds record batches from rows, column by column; columns that are not selected are not built.

Knows the content of each column and how a mode treats malformed frames; reads no files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ..codecs.columns.python_columns import halves
from ..errors import without_password
from .errors import HARMLESS, Fault, MalformedFrame
from .frame_rows import Row, RowEndpoints
from .message_column import Bodies
from .options import DROPMALFORMED, FAILFAST, Options

CONNECTION = pa.struct(
    [
        ("src", pa.string()),
        ("src_port", pa.int32()),
        ("dst", pa.string()),
        ("dst_port", pa.int32()),
        ("began", pa.timestamp("us", "UTC")),
    ]
)
ERROR = pa.struct([("code", pa.string()), ("reason", pa.string()), ("field", pa.string()), ("position", pa.int64())])
# The columns in order; the type of `message` depends on `body`.
TYPES: dict[str, Any] = {
    "path": pa.string(),
    "offset": pa.int64(),
    "length": pa.int32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "connection": CONNECTION,
    "direction": pa.string(),
    "api_key": pa.int16(),
    "api_name": pa.string(),
    "api_version": pa.int16(),
    "correlation_id": pa.int32(),
    "client_id": pa.string(),
    "message": None,
    "_corrupt_record": pa.binary(),
    "_error": ERROR,
}
COMMENTS = {
    "path": "the file in which the frame ends",
    "offset": "of a capture: bytes of the stream before the frame; of other files: the place in the file",
    "length": "bytes of the frame, with its length prefix",
    "timestamp": "when the frame's last byte was captured",
    "connection": "addresses of the client and the broker, and when the connection began",
    "direction": "request or response",
    "api_key": "the api's number in the protocol",
    "api_name": "the api, such as Fetch; null if it is not known",
    "api_version": "the version of the request",
    "correlation_id": "pairs a response with its request",
    "client_id": "what the client calls itself",
    "message": "the decoded body",
    "_corrupt_record": "the bytes of what could not be decoded",
    "_error": "why a frame could not be decoded",
}  # on columns of tables
MESSAGE, CORRUPT, ERROR_NAME = "message", "_corrupt_record", "_error"
LONGEST = 2**31 - 1
EARLIEST, LATEST = -62135596800000000, 253402300799999999  # microseconds since 1970: the years 1 to 9999
EXPANSION = 4  # estimated size of columns, relative to frames


class Builder:
    """Collects rows and builds record batches.

    Args:
        columns: names of the selected columns, in order.
        bodies: builder of the column `message`; None if it is not selected.
        options: the mode for malformed frames, and limits of a batch; a single row may be larger.

    Attributes:
        rows: the list to append rows to.
        schema: the schema of the batches.
    """

    def __init__(self, columns: Sequence[str], bodies: Bodies | None, options: Options) -> None:
        self.bodies: Bodies | None = bodies
        self.mode: str = options.mode
        self.max_rows: int = options.max_records_per_batch
        self.max_bytes: int = options.max_bytes_per_batch
        corrupt = options.column_name_of_corrupt_record
        self._columns = [CORRUPT if name == corrupt else name for name in columns]
        types = [bodies.type if name == MESSAGE and bodies else TYPES[name] for name in self._columns]
        self.schema: Any = pa.schema(list(zip(columns, types, strict=True)))
        self.rows: list[Row] = []
        self._files: list[tuple[int, str]] = []  # the first row of each file
        self._measured = self._bytes = 0  # rows, and their size in bytes

    def clear(self) -> None:
        """Forget all rows."""
        self.rows.clear()
        self._files.clear()
        self._measured = self._bytes = 0

    def begin(self, path: str) -> None:
        """Set the file of the next rows."""
        self._files.append((len(self.rows), without_password(path)))

    def ready(self) -> Iterator[Any]:
        """Yield full batches."""
        rows, size = self.rows, self._bytes
        for index in range(self._measured, len(rows)):
            size += len(rows[index][1])
        self._measured, self._bytes = len(rows), size
        if len(rows) >= self.max_rows or size * EXPANSION >= self.max_bytes:
            yield from self.rest()

    def rest(self) -> Iterator[Any]:
        """Yield the remaining batches."""
        rows, files = self.rows[:], self._files[:]
        self.rows.clear()
        self._files[:] = [(0, files[-1][1])] if files else []
        self._measured = self._bytes = 0
        start = size = 0
        for index, row in enumerate(rows):
            size += len(row[1])
            if size * EXPANSION >= self.max_bytes or index - start + 1 >= self.max_rows:
                yield from self._batches(rows[start : index + 1], _shifted(files, start))
                start, size = index + 1, 0
        if start < len(rows):
            yield from self._batches(rows[start:], _shifted(files, start))

    def _batches(self, rows: list[Row], files: list[tuple[int, str]]) -> Iterator[Any]:
        faults = {index: row[8] for index, row in enumerate(rows) if row[8] is not None}
        message = self.bodies.column(rows, faults) if self.bodies else None
        if self.mode == FAILFAST and faults:
            self._refuse(rows, files, faults)
        arrays = [message if name == MESSAGE else MAKERS[name](rows, faults, files) for name in self._columns]
        batch = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        if self.mode == DROPMALFORMED and faults:
            kept = np.ones(len(rows), bool)
            kept[list(faults)] = False
            batch = batch.filter(pa.array(kept))
        if batch.num_rows:
            yield from halves(batch, self.max_bytes)

    def _refuse(self, rows: list[Row], files: list[tuple[int, str]], faults: dict[int, Fault]) -> None:
        """Raise for the first fault of a Kafka frame."""
        for index in sorted(faults):
            if faults[index].code not in HARMLESS:
                path = next(path for first, path in reversed(files) if first <= index)
                api = rows[index][5]
                name, version = (api.name or str(api.key), api.version) if api else (None, None)
                raise MalformedFrame(path, rows[index][0], name, version, faults[index].reason)


def _shifted(files: list[tuple[int, str]], start: int) -> list[tuple[int, str]]:
    """Return the files of rows, counted from another first row."""
    return [(max(0, first - start), path) for first, path in files]


def _paths(rows: list[Row], _: Any, files: list[tuple[int, str]]) -> Any:
    firsts = np.minimum([*(first for first, _ in files), len(rows)], len(rows))
    return pa.array([path for _, path in files]).take(pa.array(np.repeat(np.arange(len(files)), np.diff(firsts))))


def _lengths(rows: list[Row], faults: dict[int, Fault], _: Any) -> Any:
    lengths = [len(row[1]) for row in rows]
    for index, fault in faults.items():
        if fault.bytes is not None:
            lengths[index] = min(fault.bytes, LONGEST)
    return pa.array(lengths, pa.int32())


def _timestamps(rows: list[Row], _: Any, __: Any) -> Any:
    return pa.array([_microseconds(row[2]) for row in rows], TYPES["timestamp"])


def _microseconds(nanoseconds: int | None) -> int | None:
    """Return a time for the column; a file may have times outside the calendar and Arrow's integers."""
    time = None if nanoseconds is None else nanoseconds // 1000
    return time if time is not None and EARLIEST <= time <= LATEST else None


def _connections(rows: list[Row], _: Any, __: Any) -> Any:
    known: dict[RowEndpoints | None, int] = {}
    order = [known.setdefault(row[3], len(known)) for row in rows]
    return pa.array([_ends(ends) for ends in known], CONNECTION).take(pa.array(order))


def _ends(ends: RowEndpoints | None) -> dict[str, Any] | None:
    if ends is None:
        return None
    (src, src_port), (dst, dst_port) = _address(ends.client), _address(ends.broker)
    began = _microseconds(ends.began)
    return {"src": src, "src_port": src_port, "dst": dst, "dst_port": dst_port, "began": began}


def _address(text: str) -> tuple[str, int | None]:
    """Split an address into host and port; without a port, all is host.

    >>> _address("[::1]:9092"), _address("client-1")
    (('::1', 9092), ('client-1', None))
    """
    host, _, port = text.rpartition(":")
    return (host.strip("[]"), int(port)) if host and port.isdecimal() and len(port) < 6 else (text, None)


def _directions(rows: list[Row], _: Any, __: Any) -> Any:
    return pa.array(["request" if row[4] else None if row[4] is None else "response" for row in rows], pa.string())


def corrupt_column(data: Sequence[bytes | None], faults: Mapping[int, Any]) -> Any:
    """Return the bytes of rows with a fault, null for others."""
    return pa.array([one if index in faults else None for index, one in enumerate(data)], pa.binary())


def error_column(count: int, faults: Mapping[int, Any]) -> Any:
    """Return the error of each row, null for rows without fault."""
    if not faults:
        return pa.nulls(count, ERROR)
    errors = {index: one if isinstance(one, dict) else one._asdict() for index, one in faults.items()}
    return pa.array([errors.get(index) for index in range(count)], ERROR)


Maker = Callable[[list[Row], dict[int, Fault], list[tuple[int, str]]], Any]
MAKERS: dict[str, Maker] = {
    "path": _paths,
    "offset": lambda rows, _, __: pa.array([row[0] for row in rows], pa.int64()),
    "length": _lengths,
    "timestamp": _timestamps,
    "connection": _connections,
    "direction": _directions,
    "api_key": lambda rows, _, __: pa.array([row[5] and row[5].key for row in rows], pa.int16()),
    "api_name": lambda rows, _, __: pa.array([row[5] and row[5].name for row in rows], pa.string()),
    "api_version": lambda rows, _, __: pa.array([row[5] and row[5].version for row in rows], pa.int16()),
    "correlation_id": lambda rows, _, __: pa.array([row[6] for row in rows], pa.int32()),
    "client_id": lambda rows, _, __: pa.array([row[7] for row in rows], pa.string()),
    CORRUPT: lambda rows, faults, _: corrupt_column([row[1] or None for row in rows], faults),
    ERROR_NAME: lambda rows, faults, _: error_column(len(rows), faults),
}
