"""The schema of frame rows in Arrow and Spark: columns with types and comments (`TYPES`); builds record batches.

Record batches are built from rows, column by column; only selected columns are built. The column `message` contains
bodies as JSON, bytes, or structs with the fields of all versions.

The module defines the content of each column and the treatment of malformed frames in each mode; it reads no files.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from ..caches import once_attribute
from ..capture.files import find_entry
from ..codecs import Codec, arrow_schema
from ..codecs.column_plan import conform, halves
from ..codecs.column_reader import Columns
from ..errors import DecodeError, DefaultTag, EncodeError, without_password
from ..native import FrameRows
from ..protocol import Frame, Undecodable
from ..protocol.frame_codec import FrameReading
from ..protocol.headers import Api, may_be_downgraded
from ..spec.catalog import Catalog
from .frame_rows import HARMLESS, Fault, MalformedFrame, Row, RowEndpoints, fault_of
from .read_options_and_splits import DROPMALFORMED, FAILFAST, Options

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
# Names and types as in Spark's file sources.
FILE = pa.struct(
    [
        ("file_path", pa.string()),
        ("file_name", pa.string()),
        ("file_size", pa.int64()),
        ("file_modification_time", pa.timestamp("us", "UTC")),
    ]
)
# Columns in order; the type of `message` depends on `body`.
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
    "_metadata": FILE,
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
    "_metadata": "the file in which the frame ends, as it was when it was read",
}  # comments of table columns
MESSAGE, CORRUPT, ERROR_NAME, METADATA = "message", "_corrupt_record", "_error", "_metadata"
LONGEST = 2**31 - 1
EARLIEST, LATEST = -62135596800000000, 253402300799999999  # microseconds since 1970: the years 1 to 9999
EXPANSION = 4  # estimated size of columns relative to frames


class Builder:
    """Collects rows and builds record batches.

    Args:
        columns: the names of the selected columns, in order.
        bodies: the builder of the column `message`; None if it is not selected.
        options: the mode for malformed frames, and the limits of a batch; a single row may be larger.

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
        self.rows: FrameRows = FrameRows(keeps_bytes=bodies is not None)
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
            yield from self._batches(part, _shifted(files, start))

    def _batches(self, rows: FrameRows, files: list[tuple[int, str]]) -> Iterator[Any]:
        faults = rows.faults()
        message = self.bodies.column(list(rows), faults) if self.bodies else None
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
            yield from halves(batch, self.max_bytes)

    def _files_metadata(self, shared: _Shared) -> Any:
        paths = _paths(shared).dictionary_encode()
        found = pa.array([self._metadata[path] for path in paths.dictionary.to_pylist()], FILE)
        return found.take(paths.indices)

    def _refuse(self, rows: FrameRows, files: list[tuple[int, str]], faults: dict[int, Fault]) -> None:
        """Raise MalformedFrame for the first fault of a Kafka frame."""
        for index in sorted(faults):
            if faults[index].code not in HARMLESS:
                path = next(path for first, path in reversed(files) if first <= index)
                api = rows[index][5]
                name, version = (api.name or str(api.key), api.version) if api else (None, None)
                raise MalformedFrame(path, rows[index][0], name, version, faults[index].reason)


def metadata_of(path: str) -> dict[str, Any]:
    """Return the value of the column `_metadata` for a file; only the names if the file no longer exists."""
    entry = find_entry(path)
    shown = without_password(path)
    found: dict[str, Any] = {"file_path": shown, "file_name": shown.rpartition("/")[2]}
    if entry is not None:
        found |= {"file_size": entry.size, "file_modification_time": entry.changed // 1000}
    return found


def _shifted(files: list[tuple[int, str]], start: int) -> list[tuple[int, str]]:
    """Return the files of rows, with row numbers relative to `start`."""
    return [(max(0, first - start), path) for first, path in files]


class _Shared:
    """The rows of a batch, and what several of its columns are made of.

    Args:
        rows: the rows.
        faults: their faults, by index.
        files: the first row of each file.
    """

    def __init__(self, rows: FrameRows, faults: dict[int, Fault], files: list[tuple[int, str]]) -> None:
        self.rows, self.faults, self.files = rows, faults, files

    @once_attribute
    def calls(self) -> tuple[list[tuple[Api | None, str | None]], Any]:
        """The different pairs of api and client id, and which of them each row has."""
        calls, index = self.rows.calls()
        return calls, self.fixed(index, pa.int32())

    def fixed(self, found: Any, type_: Any) -> Any:
        """Return an array of numbers: memory that the native engine has filled, or a list."""
        if isinstance(found, list):
            return pa.array(found, type_)
        valid, values = found
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
    found = lengths.to_pylist()
    for index, count in known.items():
        found[index] = min(count, LONGEST)
    return pa.array(found, pa.int32())


def _microseconds(nanoseconds: int | None) -> int | None:
    """Return a time in microseconds; None if it is outside the calendar or the range of Arrow's integers."""
    time = None if nanoseconds is None else nanoseconds // 1000
    return time if time is not None and EARLIEST <= time <= LATEST else None


def _connections(shared: _Shared) -> Any:
    found, index = shared.rows.ends()
    return pa.array([_ends(ends) for ends in found], CONNECTION).take(shared.fixed(index, pa.int32()))


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
    count, faults = len(shared.rows), shared.faults
    data = {index: shared.rows[index][1] or None for index in faults}
    return corrupt_column([data.get(index) for index in range(count)], faults) if data else pa.nulls(count, pa.binary())


def corrupt_column(data: Sequence[bytes | None], faults: Mapping[int, Any]) -> Any:
    """Return the bytes of rows with a fault, null for the others."""
    return pa.array([one if index in faults else None for index, one in enumerate(data)], pa.binary())


def error_column(count: int, faults: Mapping[int, Any]) -> Any:
    """Return the error of each row, null for rows without a fault."""
    if not faults:
        return pa.nulls(count, ERROR)
    errors = {index: one if isinstance(one, dict) else one._asdict() for index, one in faults.items()}
    return pa.array([errors.get(index) for index in range(count)], ERROR)


Maker = Callable[[_Shared], Any]
DIRECTIONS = pa.array(["response", "request"])
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


class Read(NamedTuple):
    """The result of decoding a frame on the reference path: codec and message, if any, and the error."""

    codec: Codec | None
    message: Any
    fault: Fault | None


def read_carefully(data: bytes, api: Api, asked: bool | None) -> Read:
    """Decode one frame on the reference path; never raise for invalid bytes."""
    codec = api.codec(asked)
    assert codec is not None
    reading = FrameReading(Frame(data, bare=api.bare), api.catalog, salvage=True, trace=False)
    read = reading.body if api.bare else reading.request if asked else reading.response
    result: Any = read(codec)
    if isinstance(result, Undecodable):
        return Read(None, None, fault_of(result.error))
    faults = [fault for fault in result.faults if not isinstance(fault, DefaultTag)]
    return Read(result.codec, result.message, fault_of(faults[0]) if faults else None)


def body_start(data: bytes, api: Api, asked: bool | None) -> int:
    """Return where the body of a frame starts; -1 if only the reference path can determine it."""
    if api.bare:
        return 0
    if not asked:
        if api.response_header is None:
            return 4
        start = 8
        flexible = api.response_header == 1
        if may_be_downgraded(api.key, data):
            return -1
    else:
        version = api.request_header
        start = 14 + max(0, int.from_bytes(data[12:14], "big", signed=True)) if version else 12
        flexible = version == 2
    if not flexible:
        return start
    return start + 1 if data[start : start + 1] == b"\0" else -1


class Bodies(ABC):
    """Builds the column `message` from rows.

    Attributes:
        type: the type of the column.
    """

    type: Any

    @abstractmethod
    def column(self, rows: Sequence[Row], faults: dict[int, Fault]) -> Any:
        """Return the column as an Arrow array.

        Args:
            rows: the rows of one batch.
            faults: receives the errors of bodies, by row index.
        """


class Raw(Bodies):
    """Complete frames with size and header, not decoded."""

    type = pa.binary()

    def column(self, rows: Sequence[Row], faults: dict[int, Fault]) -> Any:
        """Return all frames, and null for fragments."""
        return pa.array([row[1] if row[8] is None else None for row in rows], self.type)


class Json(Bodies):
    """Bodies in Kafka's JSON form, as text."""

    type = pa.string()

    def column(self, rows: Sequence[Row], faults: dict[int, Fault]) -> Any:
        """Return the JSON texts."""
        texts: list[str | None] = []
        for index, (_, data, _, _, asked, api, _, _, fault) in enumerate(rows):
            codec = api.codec(asked) if api is not None and fault is None else None
            if codec is None or api is None:
                texts.append(None)
                continue
            start = body_start(data, api, asked)
            text = codec.json_text(data, start) if start >= 0 else None
            texts.append(_carefully(data, api, asked, index, faults) if text is None else text)
        return pa.array(texts, self.type)


def _carefully(data: bytes, api: Api, asked: bool | None, index: int, faults: dict[int, Fault]) -> str | None:
    codec, message, fault = read_carefully(data, api, asked)
    if fault is not None:
        faults[index] = fault
    return None if codec is None else msgspec.json.encode(codec.jsonable(message)).decode()


BODY = "body_index"
LONG = 4  # average length above which runs are concatenated
NOWHERE = -2  # not adjacent to any position
WHOLE = 1 << 30  # rows or bytes: no limit, since the input is small enough for one batch
Groups = dict[int, tuple[list[int], list[bytes]]]  # version -> the rows, and the body of each row


class _Quick(Columns):
    """Columns whose errors have no details, because the reference path decodes invalid bodies again."""

    def explain(self, body: bytes) -> DecodeError:
        """Return an error without details."""
        return DecodeError()


class Structs(Bodies):
    """Bodies of one message as structs.

    Args:
        name: the name of the message.
        fields: the fields to include, in this order, with dots for fields of structs; None means all.
        catalog: the specs.

    Attributes:
        type: the type of the column. Fields that do not exist in a version are null.
    """

    def __init__(self, name: str, fields: Sequence[str] | None, catalog: Catalog) -> None:
        self.name: str = name
        self.catalog: Catalog = catalog
        schema = arrow_schema(name, columns=fields, catalog=catalog)
        self.type = pa.struct([field for field in schema if field.name != BODY])
        self._fields = [*(fields if fields is not None else self.type.names), BODY]
        self._columns: dict[int, Columns] = {}

    def column(self, rows: Sequence[Row], faults: dict[int, Fault]) -> Any:
        """Return structs, null for other messages."""
        groups, careful = self._groups(rows)
        found = []
        for version, (indices, bodies) in groups.items():
            for piece, places, errors in self._read(version, indices, bodies):
                found.append((piece, places))
                careful += [index for index, _ in errors]
        again: Groups = {}
        for index in careful:
            self._carefully(rows[index], index, again, faults)
        for version, (indices, bodies) in again.items():
            for piece, places, errors in self._read(version, indices, bodies):
                found.append((piece, places))
                for index, error in errors:
                    faults.setdefault(index, fault_of(error) or Fault("BAD_FIELD", str(error), None, None))
        return in_order(found, len(rows), self.type)

    def _groups(self, rows: Sequence[Row]) -> tuple[Groups, list[int]]:
        """Return the bodies by version, and the rows whose body position only the reference path can determine."""
        groups: Groups = {}
        careful = []
        for index, (_, data, _, _, asked, api, _, _, fault) in enumerate(rows):
            codec = api.codec(asked) if api is not None and fault is None else None
            if api is None or codec is None or codec.name != self.name:
                continue
            start = body_start(data, api, asked)
            if start < 0:
                careful.append(index)
                continue
            indices, bodies = groups.get(codec.version) or groups.setdefault(codec.version, ([], []))
            indices.append(index)
            bodies.append(data[start:])
        return groups, careful

    def _carefully(self, row: Row, index: int, groups: Groups, faults: dict[int, Fault]) -> None:
        """Decode a frame on the reference path; encode the decoded part again for its group."""
        assert row[5] is not None
        codec, message, fault = read_carefully(row[1], row[5], row[4])
        if fault is not None:
            faults[index] = fault
        if codec is None:
            return
        try:
            body = codec.encode(message)
        except EncodeError:  # for example, replacing invalid UTF-8 has made a text too long
            return
        indices, bodies = groups.setdefault(codec.version, ([], []))
        indices.append(index)
        bodies.append(body)

    def _read(
        self, version: int, indices: Sequence[int], bodies: Sequence[bytes | None]
    ) -> Iterator[tuple[Any, list[int], list[tuple[int, DecodeError]]]]:
        columns = self._columns.get(version)
        if columns is None:
            spec = self.catalog.spec(self.name, version)
            columns = _Quick(spec, version, "", self._fields, union=True, max_rows=WHOLE, max_bytes=WHOLE)
            self._columns[version] = columns
        for batch, errors in columns.read(bodies):
            structs = pa.Array.from_buffers(self.type, batch.num_rows, [None], children=batch.columns[:-1])
            places = [indices[place] for place in batch.column(batch.num_columns - 1).to_pylist()]
            yield structs, places, [(indices[error.body_index], error.error) for error in errors]


class Both(Bodies):
    """Bodies of an api as a struct with two fields, the request and the response; one of them is null.

    Args:
        parts: the builders of the two structs.
    """

    def __init__(self, parts: Mapping[str, Structs]) -> None:
        self.parts = parts
        self.type = pa.struct([(name, structs.type) for name, structs in parts.items()])

    def column(self, rows: Sequence[Row], faults: dict[int, Fault]) -> Any:
        """Return structs; null if both fields are null."""
        arrays = [structs.column(rows, faults) for structs in self.parts.values()]
        there = np.zeros(len(rows), bool)
        for array in arrays:
            there |= array.is_valid().to_numpy(zero_copy_only=False)
        return pa.StructArray.from_arrays(arrays, fields=list(self.type), mask=pa.array(~there))


class Projected(Bodies):
    """Structs with the fields and field order of a user's schema.

    Args:
        bodies: the builder of structs with these fields, in any order.
        type_: the target type.
    """

    def __init__(self, bodies: Bodies, type_: Any) -> None:
        self.bodies: Bodies = bodies
        self.type = type_

    def column(self, rows: Sequence[Row], faults: dict[int, Fault]) -> Any:
        """Return structs of this type."""
        return conform(self.bodies.column(rows, faults), self.type)


def in_order(found: Sequence[tuple[Any, list[int]]], count: int, type_: Any) -> Any:
    """Concatenate arrays whose values have positions in the result; positions without a value are null."""
    if len(found) == 1 and found[0][1] == list(range(count)):
        return found[0][0]
    if not found:
        return pa.nulls(count, type_)
    places = np.array([place for _, some in found for place in some], np.int64)
    order = np.full(count, NOWHERE)
    order[places] = np.arange(len(places))
    values = pa.concat_arrays([array for array, _ in found])
    # The ends of runs. Concatenating long runs is faster than taking single values.
    bounds = np.flatnonzero(np.diff(order, prepend=2 * NOWHERE) != (order >= 0))
    if len(bounds) * LONG > count:
        return values.take(pa.array(order, mask=order < 0))
    pieces = [
        pa.nulls(stop - start, type_) if order[start] < 0 else values.slice(order[start], stop - start)
        for start, stop in pairwise([*bounds.tolist(), count])
    ]
    return pa.concat_arrays(pieces)
