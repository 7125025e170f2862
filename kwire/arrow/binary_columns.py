"""Decodes binary columns to structs of bodies or headers, and encodes structs to bodies: `from_kwire` and `to_kwire`.

A prefix of each cell contains the version, or a column does. Structs have the fields of all versions, as from
`kwire.columns`; null in them means null if the version allows it, else the default. Does not depend on Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .. import wire
from ..codecs import Codec, codec_in
from ..codecs.column_plan import fields_of, trees_of
from ..errors import BadFrame, DecodeError, KwireError, Truncated, UnknownField, UnknownVersion
from ..internal.topic_records import FRAME_VERSION, OFFSET_COMMIT, RecordType, key_version, log_of, record_types
from ..protocol import LEAST, Connection
from ..protocol.headers import Api, Apis
from ..spec import MessageSpec
from ..spec.catalog import Catalog, catalog_for
from ..wire import INT16, UNSIGNED_VARINT, Reader
from .batch_builder import CORRUPT, ERROR_NAME, TYPES, Json, Structs, corrupt_column, error_column
from .frame_rows import Fault, MalformedFrame, Row, fault_of
from .read_options import FAILFAST, BadOption

Found = tuple[Api, bytes]  # type of a cell, and its bytes from the body on
PROTOCOL = "ConsumerProtocol"  # a newer version than ours is decoded as ours
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
        """Return the content of a cell; None if it is another message, which logs may contain.

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
    """Raise if the size field does not match the length of the data."""
    size = int.from_bytes(data[:4], "big", signed=True)
    if len(data) < LEAST + 4 or LEAST <= size > len(data) - 4:
        raise Truncated(offset=0, need=max(size, LEAST) + 4, have=len(data))
    if size != len(data) - 4:
        raise BadFrame(offset=0, found=size, need=LEAST, have=len(data) - 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """The content of a binary column, and how to decode it.

    Attributes:
        name: a message: `MetadataResponse`, `OffsetCommitValue`; or an api, with a `direction`.
        direction: `request` or `response`, if `name` is an api.
        framed: whether cells include size and header.
        fields: the fields to decode, with dots for fields of structs; None: all.
        mode: `PERMISSIVE`, where an invalid cell is null, or `FAILFAST`, where it raises.
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
        cells: their description.

    Attributes:
        type: the Arrow type of the result.
        tells: whether the cells contain their version.

    Raises:
        UnknownMessage, BadOption: there is no such message or field.
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
            MalformedFrame: in the mode FAILFAST, for an invalid cell.
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
        version: of the message; None if the cell contains it.

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
        UnknownMessage, BadOption: there is no such message.
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
            EncodeError, UnsupportedVersion: in the mode FAILFAST, for a value that cannot be encoded.
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
    """Return the function that converts a plain value to a value of a message.

    Args:
        nodes: the corresponding nodes in the trees of all versions.
        now: the node in the tree of the version to encode; None if this version has no such node.
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
