"""Decodes binary columns to structs, and encodes structs to bodies (`from_kwire`, `to_kwire`); extracts records.

The version is in a prefix of each cell or in a column. Structs have the fields of all versions, as from
`kwire.columns`; a null in them is encoded as null if the version allows it, otherwise as the default.

`RecordReader` converts Produce requests, Fetch responses and logs to one row per record, with the columns of the frame.
A batch that cannot be read, or whose decompressed size exceeds the limit, becomes a row with its bytes and the error.
The module does not depend on Spark or files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .. import wire
from ..codecs import Codec, Step, codec_in, found_in, plan_of
from ..codecs import Place as FieldPlace
from ..codecs.column_plan import fields_of, trees_of
from ..errors import BadFrame, DecodeError, KwireError, Truncated, UnknownField, UnknownVersion
from ..internal.topic_records import FRAME_VERSION, OFFSET_COMMIT, RecordType, key_version, log_of, record_types
from ..protocol import LEAST, Connection
from ..protocol.framing import bytes_after_frame
from ..protocol.headers import Api, Apis
from ..records import LIMIT, Record, RecordBatch, UndecodableRecords, parse_records
from ..spec import MessageSpec
from ..spec.catalog import Catalog, catalog_for
from ..wire import INT16, UNSIGNED_VARINT, Reader
from .frame_rows import Fault, MalformedFrame, Row, fault_of
from .read_options_and_splits import FAILFAST, BadOption
from .row_schema_and_batches import (
    CORRUPT,
    ERROR_NAME,
    MESSAGE,
    TYPES,
    Json,
    Structs,
    corrupt_column,
    error_column,
    read_carefully,
)

Found = tuple[Api, bytes]  # api of a cell, and its bytes from the body on
PROTOCOL = "ConsumerProtocol"  # a newer version than the newest known one is decoded as the newest
AT_ONCE = 2 << 20  # bytes of cells per array
TYPE = pa.struct(
    [
        ("length", pa.int32()),
        ("api_key", pa.int16()),
        ("api_name", pa.string()),
        ("api_version", pa.int16()),
        ("correlation_id", pa.int32()),
        ("client_id", pa.string()),
    ]
)
Make = Callable[[Any], Any]
ROWS_AT_ONCE = 1024  # rows


class Prefix:
    """The prefix of the cells of a column.

    Args:
        spec: the message in the cells.
        catalog: the specs.
        framed: whether cells include size and header.
    """

    def __init__(self, spec: MessageSpec, catalog: Catalog, framed: bool = False) -> None:
        self.spec: MessageSpec = spec
        self.catalog: Catalog = catalog
        self.framed: bool = framed
        self.asked: bool | None = {"request": True, "response": False}.get(spec.type)
        self._api = lru_cache(maxsize=256)(self._make)

    @property
    def has_version(self) -> bool:
        """Whether cells contain their version."""
        return self.asked is None or (self.framed and self.asked)

    def read(self, data: bytes, version: int | None) -> Found | None:
        """Return the content of a cell; None if it is another message, as logs may contain.

        Args:
            data: the cell.
            version: the version of the message; None if the cell contains it.

        Raises:
            DecodeError: the version is missing or invalid.
        """
        if self.framed:
            check_size(data)
        if version is not None:
            return self._api(version), data
        if self.framed:
            return self._framed(data)
        return self._recorded(data) if self.spec.type == "metadata" else self._behind_int16(data)

    def _recorded(self, data: bytes) -> Found | None:
        """Parse the prefix of a record of the metadata log: three varints."""
        reader = Reader(data)
        frame, number = reader.child("frame_version", UNSIGNED_VARINT), reader.child("type", UNSIGNED_VARINT)
        version = reader.child("version", UNSIGNED_VARINT)
        if frame != FRAME_VERSION or self._known(number).value != self.spec.name:
            return None
        return self._api(version), data[reader.pos :]

    def _behind_int16(self, data: bytes) -> Found | None:
        """Parse the int16 prefix of a coordinator's record, or of a message of the consumer protocol."""
        reader = Reader(data)
        version = reader.child("version", INT16)
        if self.spec.type == "coordinator-key":
            if not self._is_key(version):
                return None
            version = key_version(self.spec.name, version)
        elif self.spec.name.startswith(PROTOCOL):
            version = min(version, self.spec.versions.last)
        return self._api(version), data[reader.pos :]

    def _framed(self, data: bytes) -> Found | None:
        """Parse the header of a request."""
        key, version = (int.from_bytes(data[at : at + 2], "big", signed=True) for at in (4, 6))
        return (self._api(version), data) if key == self.spec.api_key else None

    def _make(self, version: int) -> Api:
        spec = self.spec
        if version not in spec.versions:
            raise UnknownVersion(found=(spec.name, version, str(spec.versions)))
        if self.framed:
            return Api(spec.api_key, version, spec.api_name, self.catalog)
        return Api(None, version, spec.name, self.catalog, message=spec.name, bare=True)

    def _known(self, number: int) -> RecordType:
        log = log_of(self.spec.name, self.spec.type)
        return record_types(self.catalog).get((log, number), RecordType())

    def _is_key(self, number: int) -> bool:
        if self.spec.name == OFFSET_COMMIT.key and number in self.spec.versions:
            return True  # up to Kafka 4.0, each version of this schema is a separate type
        return self._known(number).key == self.spec.name


def check_size(data: bytes) -> None:
    """Raise an error if the size field does not match the length of the data."""
    size = int.from_bytes(data[:4], "big", signed=True)
    if len(data) < LEAST + 4 or LEAST <= size > len(data) - 4:
        raise Truncated(offset=0, need=max(size, LEAST) + 4, have=len(data))
    if size < LEAST:
        raise BadFrame(offset=0, found=size, need=LEAST, have=len(data) - 4)
    if size != len(data) - 4:
        raise bytes_after_frame(data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Describes the content of a binary column, and how to decode it.

    Attributes:
        name: a message: `MetadataResponse`, `OffsetCommitValue`; or an api, with a `direction`.
        direction: `request` or `response`, if `name` is an api.
        framed: whether cells include size and header.
        fields: the fields to decode, with dots for fields of structs; None means all.
        mode: `PERMISSIVE`, in which an invalid cell becomes null, or `FAILFAST`, in which it raises an error.
        include_errors: whether the structs include the fields `_corrupt_record` and `_error`.
        profile, release: the specs, as for `kwire.codec`.
    """

    name: str
    direction: str | None = None
    framed: bool = False
    fields: tuple[str, ...] | None = None
    mode: str = "PERMISSIVE"
    include_errors: bool = False
    profile: str = ""
    release: str = ""

    @property
    def catalog(self) -> Catalog:
        """The specs."""
        return catalog_for(self.profile or None, self.release or None)

    def spec(self) -> MessageSpec:
        """Return the spec of the message; raises UnknownMessage, or BadOption if the direction is missing."""
        specs = [self.catalog.spec(name) for name in self.catalog.named(self.name)]
        if len(specs) == 1:
            return specs[0]
        if self.direction not in ("request", "response"):
            raise BadOption("direction", self.direction, f"{self.name} is an api: request or response is needed")
        return next(spec for spec in specs if spec.type == self.direction)


class CellReader:
    """Decodes the cells of a column.

    Args:
        cells: the description of the column.

    Attributes:
        type: the Arrow type of the result.
        tells: whether the cells contain their version.

    Raises:
        UnknownMessage, BadOption: a message or field does not exist.
    """

    def __init__(self, cells: Cells) -> None:
        spec = cells.spec()
        self.mode: str = cells.mode
        self.include_errors: bool = cells.include_errors
        self._front = Prefix(spec, cells.catalog, cells.framed)
        self._structs = Structs(spec.name, cells.fields, cells.catalog)
        self.has_version: bool = self._front.has_version
        self.type: Any = self._structs.type
        if cells.include_errors:
            self.type = pa.struct([*self.type, (CORRUPT, TYPES[CORRUPT]), (ERROR_NAME, TYPES[ERROR_NAME])])

    def read(self, cells: Any, versions: Any) -> Iterator[Any]:
        """Decode a column.

        Args:
            cells: an array of binary.
            versions: the versions of the messages: a number, an array of numbers, or None if the cells contain them.

        Yields:
            Arrays of structs, together as long as the column; null for null, for another message of the same log, and
            for an invalid cell.

        Raises:
            MalformedFrame: a cell is invalid, in the mode FAILFAST.
        """
        for start, stop in portions(cells):
            some = versions.slice(start, stop - start).to_pylist() if isinstance(versions, pa.Array) else None
            numbers = some if some is not None else [versions] * (stop - start)
            yield self._read(cells.slice(start, stop - start).to_pylist(), numbers, versions is not None, start)

    def _read(self, cells: list[bytes | None], versions: list[int | None], given: bool, start: int) -> Any:
        rows, faults = list[Row](), dict[int, Fault]()
        for index, (cell, version) in enumerate(zip(cells, versions, strict=True)):
            try:
                missing = cell is None or (given and version is None)
                found = None if missing or cell is None else self._front.read(cell, version)
            except DecodeError as error:
                found, faults[index] = None, fault_of(error) or Fault("BAD_FIELD", str(error), None, None)
            api, data = found or (None, cell or b"")
            rows.append((0, data, None, None, self._front.asked, api, None, None, None))
        structs = self._structs.column(rows, faults)
        if self.mode == FAILFAST and faults:
            index = min(faults)
            api = rows[index][5]
            version = api.version if api else versions[index]
            raise MalformedFrame(f"row {start + index}", 0, self._front.spec.name, version, faults[index].reason)
        return self._with_errors(structs, cells, faults) if self.include_errors else structs

    def _with_errors(self, structs: Any, cells: list[bytes | None], faults: dict[int, Fault]) -> Any:
        empty = pa.array([cell is None for cell in cells])
        arrays = [*structs.flatten(), corrupt_column(cells, faults), error_column(len(cells), faults)]
        return pa.StructArray.from_arrays(arrays, fields=list(self.type), mask=empty)


@lru_cache(maxsize=16)
def cell_reader(cells: Cells) -> CellReader:
    """Return the reader of the described cells; cached per process."""
    return CellReader(cells)


def body_text(cells: Cells, data: bytes, version: int | None) -> str | None:
    """Return one cell as JSON; None if it is invalid, or another message of the same log.

    Args:
        cells: the description of the column; only `name`, `direction`, `framed` and the specs matter.
        data: the cell.
        version: the version of the message; None if the cell contains it.

    >>> body_text(Cells(name="HeartbeatResponse"), bytes(4) + bytes([0, 7]), 1)
    '{"throttleTimeMs":0,"errorCode":7}'
    """
    prefix = _prefix(cells)
    try:
        found = prefix.read(data, version)
    except DecodeError:
        return None
    if found is None:
        return None
    api, body = found
    (text,) = Json().column([(0, body, None, None, prefix.asked, api, None, None, None)], {}).to_pylist()
    return None if text is None else str(text)


@lru_cache(maxsize=16)
def _prefix(cells: Cells) -> Prefix:
    return Prefix(cells.spec(), cells.catalog, cells.framed)


def portions(cells: Any) -> Iterator[tuple[int, int]]:
    """Yield the ranges of cells that are decoded together.

    >>> list(portions(pa.array([b"a" * AT_ONCE, b"b", None, b"c"])))
    [(0, 1), (1, 4)]
    """
    lengths = pc.binary_length(cells).fill_null(0).to_numpy()
    offsets, start = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]), 0
    while start < len(cells):
        stop = max(start + 1, int(np.searchsorted(offsets, offsets[start] + AT_ONCE, "right")) - 1)
        yield start, stop
        start = stop


def header_column(cells: Any, apis: Apis, asked: bool) -> Any:
    """Return the headers of frames as structs.

    Args:
        cells: an array of binary, each a frame with its size field.
        apis: the apis to use.
        asked: whether the frames are requests; headers of responses have only the correlation id.

    Returns:
        An array of structs; null for an incomplete frame. Fields of an unknown api are null.
    """
    connection = Connection(apis=apis)
    return pa.array([_header(cell, connection, asked) for cell in cells.to_pylist()], TYPE)


def _header(data: bytes | None, connection: Connection, asked: bool) -> dict[str, Any] | None:
    if data is None or len(data) < (12 if asked else 8) or int.from_bytes(data[:4], "big") != len(data) - 4:
        return None
    if not asked:
        return {"length": len(data), "correlation_id": int.from_bytes(data[4:8], "big", signed=True)}
    request = connection.read_request(data)
    api = connection.apis.get(int.from_bytes(data[4:8], "big", signed=True))
    return {
        "length": len(data),
        "api_key": int.from_bytes(data[4:6], "big", signed=True),
        "api_name": api.name if api else None,
        "api_version": int.from_bytes(data[6:8], "big", signed=True),
        "correlation_id": int.from_bytes(data[8:12], "big", signed=True),
        "client_id": request.client_id if request else None,
    }


class CellWriter:
    """Encodes structs of one message.

    Args:
        cells: the description of the column.

    Raises:
        UnknownMessage, BadOption: the message does not exist.
    """

    def __init__(self, cells: Cells) -> None:
        self.mode: str = cells.mode
        self._spec, self._catalog = cells.spec(), cells.catalog
        self._makers: dict[int, tuple[Codec, Make]] = {}

    def write(self, structs: Any, versions: Any) -> Iterator[Any]:
        """Encode a column.

        Args:
            structs: an array of structs.
            versions: the versions of the bodies: a number, or an array of numbers.

        Yields:
            Arrays of binary, together as long as the column; null for null, and in the mode PERMISSIVE for a value that
            cannot be encoded.

        Raises:
            EncodeError, UnsupportedVersion: a value cannot be encoded, in the mode FAILFAST.
        """
        for start in range(0, len(structs), ROWS_AT_ONCE):
            some = structs.slice(start, ROWS_AT_ONCE).to_pylist()
            each = isinstance(versions, pa.Array)
            numbers = versions.slice(start, ROWS_AT_ONCE).to_pylist() if each else [versions] * len(some)
            yield pa.array([self._body(*row) for row in zip(some, numbers, strict=True)], pa.binary())

    def _body(self, value: Any, version: int | None) -> bytes | None:
        if value is None or version is None:
            return None
        try:
            codec, make = self._makers.get(version) or self._made(version)
            return codec.encode(make(value))
        except KwireError:
            if self.mode == "FAILFAST":
                raise
            return None

    def _made(self, version: int) -> tuple[Codec, Make]:
        codec = codec_in(self._catalog, self._spec.name, version)
        found = self._makers[version] = codec, maker(trees_of(codec.spec), codec.schema)
        return found


def maker(nodes: Sequence[Any], now: Any) -> Make:
    """Return the function that converts a plain value to a value in a message.

    Args:
        nodes: the corresponding nodes in the trees of all versions.
        now: the node in the tree of the version to encode; None if this version does not have it.
    """
    _, struct, is_array = wire.content_of(nodes[0])
    make: Make = _plain
    if struct is not None:
        structs = [wire.content_of(node).node for node in nodes]
        make = _struct_maker(structs, None if now is None else wire.content_of(now).node)
    return (lambda value: tuple(map(make, value)) if isinstance(value, list) else value) if is_array else make


def _plain(value: Any) -> Any:
    return value


def _struct_maker(nodes: list[Any], now: Any) -> Make:
    here = {} if now is None else {name: some[0] for name, some in fields_of([now]).items()}
    makers = {name: maker(some, here.get(name)) for name, some in fields_of(nodes).items()}
    nulls = {name for name, node in here.items() if node.nullable}
    message_class = nodes[0].message_class

    def make(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        for name in value.keys() - makers.keys():
            raise UnknownField(segments=(name,))
        given = {name: item for name, item in value.items() if item is not None or name in nulls}
        return message_class(**{name: makers[name](item) for name, item in given.items()})

    return make


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
MOST_ROWS, MOST_BYTES = 4096, 8 << 20
LATEST = 253402300799999  # milliseconds since 1970: the end of the year 9999
_FOLDER = re.compile(r"(.+)-(\d{1,9})")
_NAMES = {"topic": ("topic", "name"), "topic_id": ("topic_id",), "partition": ("partition_index", "index", "partition")}


class Place(NamedTuple):
    """The topic and partition of records, if known."""

    topic: str | None = None
    topic_id: bytes | None = None
    partition: int | None = None


UNKNOWN = Place()
NOBODY = "", bytes(16)  # placeholders for a name or an id that a version does not have


class RecordReader:
    """Reads the records of frames.

    Args:
        columns: the columns of the frames, as a `pyarrow.Schema`. `message` (with body=raw), `direction`, `api_key` and
            `api_version` are required; `path` determines the topic of a log.
        limit: the maximum decompressed size of the records of one batch, in bytes.

    Attributes:
        schema: the other columns of the frames, `record`, `_corrupt_record` and `_error`.

    Raises:
        BadOption: a column is missing.
    """

    def __init__(self, columns: Any, limit: int = LIMIT) -> None:
        for name, type_ in NEEDED.items():
            if name not in columns.names or columns.field(name).type != type_:
                hint = "read the frames with body=raw, and keep their columns"
                raise BadOption("columns", name, f"records need the column {name}, {type_}", hint)
        self.limit: int = limit
        self.apis: Apis = Apis(catalog_for())
        self.kept: list[Any] = [name for name in columns.names if name not in LEFT_OUT]
        more = [("record", RECORD), (CORRUPT, TYPES[CORRUPT]), (ERROR_NAME, TYPES[ERROR_NAME])]
        self.schema: Any = pa.schema([*(columns.field(name) for name in self.kept), *more])

    def read(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the records of frames as record batches; a frame without records gives no rows."""
        for batch in batches:
            found = FoundRecords(batch.select(self.kept), self.schema)
            for index in range(batch.num_rows):
                for _ in self._frame(batch, index, found):
                    if found.is_full:
                        yield found.batch()
            if found.frames:
                yield found.batch()

    def _frame(self, batch: Any, index: int, found: FoundRecords) -> Iterator[None]:
        """Read the records of one frame; yield periodically."""
        cells = {name: batch.column(name)[index].as_py() for name in (*NEEDED, *_MORE) if name in batch.schema.names}
        data, key, version = cells[MESSAGE], cells["api_key"], cells["api_version"]
        if data is None:
            if cells.get(ERROR_NAME) is not None:
                found.fail(index, cells.get(CORRUPT), cells[ERROR_NAME])
        elif key is None or version is None:
            if cells["direction"] is None:
                yield from self._set(index, place_of(cells.get("path")), data, False, found)
        else:
            yield from self._of_api(index, self.apis.get(key << 16 | version & 0xFFFF), cells, found)

    def _of_api(self, index: int, api: Api | None, cells: dict[str, Any], found: FoundRecords) -> Iterator[None]:
        asked, data = cells["direction"] == "request", cells[MESSAGE]
        codec = api.codec(asked) if api is not None else None
        if api is None or codec is None or not records_in(codec):
            return
        read = read_carefully(data, api, asked)
        if read.codec is None:
            found.fail(index, data, read.fault)
            return
        for place, some in sets_in(read.codec, read.message):
            yield from self._set(index, place, some, not asked, found)

    def _set(self, index: int, place: Place, data: bytes, may_be_cut: bool, found: FoundRecords) -> Iterator[None]:
        """Read the records of a set of batches; yield periodically.

        Brokers may truncate the last batch of a response, which is not a fault.
        """
        batches = parse_records(data, salvage=True)
        for batch in batches:
            if isinstance(batch, UndecodableRecords):
                found.fail(index, batch.data, fault_of(batch.error))
            else:
                yield from self._batch(index, place, batch, found)
            yield
        if batches.rest and not may_be_cut:
            found.fail(index, batches.rest, fault_of(batches.faults[0]))
            yield

    def _batch(self, index: int, place: Place, batch: RecordBatch, found: FoundRecords) -> Iterator[None]:
        fault = fault_of(batch.faults[0]) if batch.faults else None
        lost: bytes | None = batch.data  # once per batch, for any number of unreadable records
        for record in batch.records(salvage=True, limit=self.limit):
            if isinstance(record, Record):
                found.add(index, place, batch, record, fault)
            else:
                found.fail(index, lost, fault_of(record.error))
                lost = None
            yield


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

    def add(self, index: int, place: Place, batch: RecordBatch, record: Record, fault: Any) -> None:
        """Add a record; its value is valid even if its batch has a fault."""
        if fault is not None:
            self._faults[len(self.frames)] = fault
        time = record.timestamp * 1000 if 0 <= record.timestamp <= LATEST else None
        headers = [header._asdict() for header in record.headers]
        values = (record.offset, time, batch.timestamp_type, record.key, record.value, headers)
        kind = batch.is_transactional, batch.is_control, batch.compression, batch.magic
        producer = batch.producer_id, batch.producer_epoch, batch.sequence(record)
        self._put(index, (*place, *values, *producer, *kind), None)
        self._bytes += len(record.key or b"") + len(record.value or b"")

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
        none = (None,) * RECORD.num_fields
        columns = zip(*(none if values is None else values for values in self._values), strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, RECORD, strict=True)]
        missing = pa.array([values is None for values in self._values])
        records = pa.StructArray.from_arrays(arrays, fields=list(RECORD), mask=missing)
        kept = self._kept.take(pa.array(self.frames)).columns
        lost, errors = pa.array(self._lost, pa.binary()), error_column(len(self.frames), self._faults)
        batch = pa.RecordBatch.from_arrays([*kept, records, lost, errors], schema=self._schema)
        self.frames, self._values, self._lost, self._faults, self._bytes = [], [], [], {}, 0
        return batch


def records_in(codec: Codec) -> tuple[Step, ...]:
    """Return the paths of records fields in a message; an empty tuple if it has none."""
    return plan_of(codec, _is_records)


def _is_records(place: FieldPlace) -> bool | None:
    return isinstance(place.node, wire.Records) or None


def sets_in(codec: Codec, message: Any) -> Iterator[tuple[Place, bytes]]:
    """Yield all records fields of a message, with topic and partition."""
    for _, structs, records in found_in(records_in(codec), message):
        yield reduce(_within, structs[1:], UNKNOWN), records


def _within(place: Place, value: Any) -> Place:
    """Return a place updated from the fields of a struct."""
    names = value.__struct_fields__
    fields = {part: next((name for name in words if name in names), None) for part, words in _NAMES.items()}
    values = {part: getattr(value, name) for part, name in fields.items() if name is not None}
    return place._replace(**{part: None if one in NOBODY else one for part, one in values.items()})


def place_of(path: str | None) -> Place:
    """Return the partition of a log, from the name of its folder.

    >>> place_of("/data/orders-7/00000000000000000000.log")
    Place(topic='orders', topic_id=None, partition=7)
    """
    match = _FOLDER.fullmatch(PurePath(path).parent.name) if path else None
    return Place(match[1], None, int(match[2])) if match else UNKNOWN
