"""Reads files to record batches; shared by `kwire.arrow` and Spark's data source.

The content of files never raises an error, except in the mode FAILFAST. Options or a user's schema select the columns,
the fields of `message` and the apis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from ..capture.compressed_files import unpack_input
from ..capture.dump import Dump
from ..capture.files import open_file
from ..capture.kafka.other_protocols import ZOOKEEPER
from ..capture.logs.log_batch import LogBytes
from ..capture.open_dump import open_dump
from ..capture.portions import read_portions
from ..capture.tcp.connection_share import ConnectionShare
from ..capture.znode_files import read_znode_text
from ..errors import DumpError, UnknownMessage, ZnodeError
from ..protocol.framing import BrokenDump, NotKafka
from ..protocol.headers import Api, Apis
from ..spec.catalog import Catalog, catalog_for
from ..zookeeper import znodes_in
from .frame_rows import PADDING, Fault, Pairing, Walker, fault_of
from .read_options_and_splits import (
    AUTO,
    FRAMES,
    HEX,
    JSON,
    LOG,
    NONE,
    PCAP,
    PERMISSIVE,
    RAW,
    STRUCT,
    BadOption,
    Options,
    Unit,
    divide,
    find_files,
)
from .row_schema_and_batches import (
    CORRUPT,
    ERROR_NAME,
    MESSAGE,
    METADATA,
    TYPES,
    Bodies,
    Both,
    Builder,
    Json,
    Projected,
    Raw,
    Structs,
)

PARTS = ("request", "response")
CORRUPT_HINT = "add it, or choose mode=DROPMALFORMED (leave such frames out) or mode=FAILFAST"
MOST_KEPT, MOST_BYTES = 64, 64 << 20  # maximum number of stored replays, and of their bytes
JSON_FILE = ".json"  # in the names of files that may contain znodes
KINDS = {PCAP: ("pcap",), HEX: ("hex text",), LOG: ("a log segment", "a snapshot")}  # prefixes of `Dump.kind`


def columns_for(options: Options, schema: Any = None) -> list[str]:
    """Return the names of the selected columns, in order."""
    corrupt = options.column_name_of_corrupt_record
    known = [corrupt if name == CORRUPT else name for name in TYPES if options.body != NONE or name != MESSAGE]
    if schema is not None:
        names = list(schema.names)
        if options.mode == PERMISSIVE and corrupt not in names:
            raise BadOption(
                "schema", None, f"in PERMISSIVE, the schema needs the column {corrupt} BINARY", CORRUPT_HINT
            )
    else:
        names = list(options.columns) or [name for name in known if name != METADATA]
        if options.metadata and METADATA not in names:
            names.append(METADATA)
        if options.mode == PERMISSIVE:
            names += [name for name in (corrupt, ERROR_NAME) if name not in names]
    for name in names:
        if name not in known or names.count(name) > 1:
            raise UnknownMessage("column", name, known)
        if schema is not None and name != MESSAGE:
            _check(name, TYPES[CORRUPT if name == corrupt else name], schema.field(name))
    return names


def _check(name: str, type_: Any, field: Any) -> None:
    if field.type != type_:
        raise BadOption("schema", None, f"the column {name} is {type_}, not {field.type}")


def chooser(options: Options, catalog: Catalog) -> Callable[[Api], None]:
    """Return the function that marks an api's frames as wanted."""
    wanted = set(_messages(options, catalog))

    def choose(api: Api) -> None:
        names = [codec.name if codec else None for codec in (api.request, api.response)]
        if api.message is not None and api.version is not None:
            names = [api.message, api.message]
        api.asks, api.answers = [not options.apis or name in wanted for name in names]
        if options.direction != "auto":
            api.asks, api.answers = (
                api.asks and options.direction == PARTS[0],
                api.answers and options.direction == PARTS[1],
            )

    return choose


def _messages(options: Options, catalog: Catalog) -> Iterator[str]:
    """Yield the names of the selected messages of apis."""
    for word in options.apis:
        names = catalog.named(word)
        is_api = len(names) > 1
        yield from (name for name in names if not is_api or options.direction in ("auto", catalog.spec(name).type))


def bodies_for(options: Options, catalog: Catalog, schema: Any = None) -> Bodies:
    """Return the builder of the column `message`."""
    field = None if schema is None else schema.field(MESSAGE)
    if options.body == STRUCT:
        return _structs(options, catalog, field)
    bodies: Bodies = Json() if options.body == JSON else Raw()
    if field is not None and field.type != bodies.type:
        hint = "body=struct is for structs, body=raw for binary, body=json for text"
        raise BadOption("body", options.body, f"message is {bodies.type} then, not {field.type}", hint)
    return bodies


def _structs(options: Options, catalog: Catalog, field: Any) -> Bodies:
    messages = list(dict.fromkeys(_messages(options, catalog)))
    apis = {catalog.spec(name).api_key for name in messages}
    if len(apis) != 1:
        hint = "apis=MetadataResponse, or apis=Metadata for its requests and responses in one struct"
        raise BadOption("body", STRUCT, "a struct is of one api: name it in the option apis", hint)
    if len(messages) == 1:
        return _projected(Structs(messages[0], _dotted(field and field.type), catalog), field)
    parts = {catalog.spec(name).type: name for name in messages}
    inner = {part: None if field is None else _inner(field.type, part) for part in parts}
    both = Both(
        {
            part: Structs(name, _dotted(inner[part]), catalog)
            for part, name in parts.items()
            if field is None or inner[part] is not None
        }
    )
    return _projected(both, field)


def _projected(bodies: Bodies, field: Any) -> Bodies:
    if field is None:
        return bodies
    if not are_equal_types(bodies.type, field.type):
        raise BadOption("schema", None, f"message is {bodies.type}, not {field.type}")
    return Projected(bodies, field.type)


def _inner(type_: Any, name: str) -> Any:
    """Return the type of a field of a struct; None if it does not exist."""
    place = type_.get_field_index(name) if pa.types.is_struct(type_) else -1
    return None if place < 0 else type_.field(place).type


def _dotted(type_: Any) -> list[str] | None:
    """Return the fields of a struct type in the notation of `kwire.columns`; None, meaning all, without a type."""
    if type_ is None:
        return None
    if not pa.types.is_struct(type_):
        raise BadOption("schema", None, f"message is a struct, not {type_}")
    return list(_names(type_, ""))


def _names(type_: Any, before: str) -> Iterator[str]:
    for field in type_:
        inner = field.type
        while pa.types.is_list(inner):
            inner = inner.value_type
        if pa.types.is_struct(inner) and inner.num_fields:
            yield from _names(inner, f"{before}{field.name}.")
        else:
            yield before + field.name


def are_equal_types(one: Any, other: Any) -> bool:
    """Whether two types differ only in the order of fields in structs.

    >>> one, other = ([("a", pa.int8()), ("b", pa.string())], [("b", pa.string()), ("a", pa.int8())])
    >>> are_equal_types(pa.list_(pa.struct(one)), pa.list_(pa.struct(other))), are_equal_types(pa.int8(), pa.int16())
    (True, False)
    """
    if pa.types.is_list(one) and pa.types.is_list(other):
        return are_equal_types(one.value_type, other.value_type)
    if not (pa.types.is_struct(one) and pa.types.is_struct(other)):
        return bool(one == other)
    inner = {field.name: field.type for field in one}
    same = sorted(inner) == sorted(field.name for field in other)
    return same and all(are_equal_types(inner[field.name], field.type) for field in other)


class Reading:
    """A read with fixed options.

    Args:
        options: the options of the read.
        schema: the selected columns as a `pyarrow.Schema`, where `message` may have only some fields; None for the
            columns from the options.

    Attributes:
        schema: the schema of the batches.
        apis: the known apis.
        builder: builds batches of rows.

    Raises:
        BadOption: options contradict each other, or the schema has unknown columns.
        UnknownMessage: an api, profile or release does not exist.
    """

    def __init__(self, options: Options, schema: Any = None) -> None:
        self.options = options
        self.catalog = catalog_for(options.profile or None, options.release or None)
        self.columns: list[str] = columns_for(options, schema)
        bodies = bodies_for(options, self.catalog, schema) if MESSAGE in self.columns else None
        self.apis: Apis = Apis(self.catalog, chooser(options, self.catalog))
        self.builder: Builder = Builder(self.columns, bodies, options)
        self.schema: Any = self.builder.schema

    def divide(self, paths: Sequence[str]) -> list[list[Unit]]:
        """Find files and divide them into input splits; see `find_files` and `divide`."""
        return divide(find_files(paths, self.options), self.options)

    def read(self, units: Iterable[Unit]) -> Iterator[Any]:
        """Read input splits. Only one read may run at a time.

        Yields:
            `pyarrow.RecordBatch`es.

        Raises:
            MalformedFrame: a frame is malformed, in the mode FAILFAST.
            OSError: a file cannot be read.
        """
        builder, options = self.builder, self.options
        builder.clear()
        for unit in units:
            builder.begin(unit.path)
            try:
                for _ in self.rows_of(unit):
                    yield from builder.ready()
            except FileNotFoundError:
                if not options.ignore_missing_files:
                    raise
            except OSError:
                if not options.ignore_corrupt_files:
                    raise
            yield from builder.ready()
        yield from builder.rest()

    def rows_of(self, unit: Unit) -> Iterator[None]:
        """Pass the rows of an input split to the builder; yield periodically."""
        pairing = Pairing(self.apis, self.builder.rows)
        if self.options.dump_format == FRAMES:
            yield from self._unpacked(unit, pairing)
        else:
            yield from self._whole(unit, pairing)

    def _raw(self, portions: Iterator[bytes], pairing: Pairing) -> Iterator[None]:
        options = self.options
        for cuts in Walker(portions, 0, options.max_frame_bytes, options.max_corrupt_bytes).cuts():
            pairing.raw(cuts)
            yield

    def _unpacked(self, unit: Unit, pairing: Pairing) -> Iterator[None]:
        """Read raw frames, compressed or not."""
        with open_file(unit.path) as stream:
            try:
                opened = unpack_input(read_portions(stream), unit.path)
            except DumpError as error:
                yield from self._refused(unit, error)
                return
            yield from self._raw(opened.portions(), pairing)

    def _whole(self, unit: Unit, pairing: Pairing) -> Iterator[None]:
        """Read a file of any format; an unknown format becomes fragments."""
        count = len(self.builder.rows)
        begun = False
        try:
            text = read_znode_text(unit.path) if JSON_FILE in unit.path and self.options.dump_format == AUTO else None
            if text is not None:
                yield from self._znodes(text, unit)
                return
            share, zookeeper = ConnectionShare(unit.part, unit.parts), self.options.zookeeper
            with open_dump(unit.path, catalog=self.catalog, share=share, zookeeper=zookeeper) as dump:
                self._check(dump, unit.path)
                if dump.kind == RAW or dump.kind.endswith(f" around {RAW}"):
                    yield from self._unpacked(unit, pairing)
                    return
                for _ in self._dumped(dump, pairing):
                    begun = begun or len(self.builder.rows) > count
                    yield
        except DumpError as error:
            if unit.part == 0:
                yield from self._broken(error) if begun else self._refused(unit, error)

    def _znodes(self, text: str, unit: Unit) -> Iterator[None]:
        """Pass znodes in JSON to the builder as one malformed row, whose text is kept with the option `zookeeper`."""
        try:
            znodes_in(text)
        except ZnodeError as error:
            raise DumpError(str(error), file=unit.path) from None
        if unit.part == 0:
            data = text.encode()
            fault = fault_of(NotKafka(len(data), found=f"{ZOOKEEPER}'s znodes"))
            data = data if self.options.zookeeper else b""
            self.builder.rows.append((0, data, None, None, None, None, None, None, fault))
            yield

    def _check(self, dump: Dump, path: str) -> None:
        wanted = self.options.dump_format
        if wanted != AUTO and not dump.kind.rpartition(" around ")[2].startswith(KINDS[wanted]):
            raise DumpError(f"this is {dump.kind}, not {wanted}", file=path, hint="dumpFormat=auto reads each as it is")

    def _dumped(self, dump: Dump, pairing: Pairing) -> Iterator[None]:
        if dump.batches is not None:
            for item in dump.batches:
                self._log_item(item)
                yield
        elif dump.captured is not None:
            for batch in dump.captured:
                pairing.add_batch(batch)
                yield
        else:
            for frame in dump.frames:
                pairing.frame(frame)
                yield

    def _log_item(self, item: Any) -> None:
        """Pass a batch of a log, or bytes outside batches, to the builder."""
        fault: Fault | None
        if isinstance(item, LogBytes):
            data = item.data if isinstance(item.data, bytes) else b""
            padding = Fault(PADDING, f"{item.count} bytes of zeros", None, None)
            fault = (fault_of(item.error) if item.error is not None else None) or padding
            place, fault = item.position, fault._replace(bytes=item.count)
        else:
            data, place = bytes(item.header.data), item.header.position
            fault = fault_of(item.faults[0]) if item.faults else None
        self.builder.rows.append((place, data, None, None, None, None, None, None, fault))

    def _broken(self, error: DumpError) -> Iterator[None]:
        """Pass the fault of a capture that cannot be read further to the builder."""
        fault = fault_of(BrokenDump(found=str(error), offset=error.offset or 0))
        self.builder.rows.append((error.offset or 0, b"", None, None, None, None, None, None, fault))
        yield

    def _refused(self, unit: Unit, error: DumpError) -> Iterator[None]:
        """Pass an unreadable file to the builder as fragments."""
        if self.options.ignore_corrupt_files:
            return
        fault = fault_of(BrokenDump(found=str(error), offset=error.offset or 0))
        offset = 0
        with open_file(unit.path) as stream:
            while piece := stream.read(self.options.max_corrupt_bytes):
                self.builder.rows.append((offset, piece, None, None, None, None, None, None, fault))
                offset += len(piece)
                yield
