"""Codecs: one message at one version, with `decode`, `encode`, `trace`, `to_json`, `from_json`.

The fast path, native or generated, is tried first. The reference path decodes and explains the bytes that the fast path
refuses, and collects `Span`s, which map bytes to fields. They cover a message without gaps or overlaps. Headers and
frames are in `kwire.protocol`. The generator is imported only where generated source runs: importing it takes a third
of the start-up of a command.

`columns` reads arrays of a message as Arrow columns, without a Python object per value; pyarrow and numpy (the extra
`arrow`) are imported on first use.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, SupportsIndex, cast, overload

from .. import native
from ..caches import once, once_attribute
from ..errors import BadTag, DecodeError, KwireError, MissingExtra, Tolerated, path_text
from ..messages.classes import find_spec
from ..native import ENGINE, Refused
from ..native.table import NoTable, node_table
from ..spec import MessageSpec
from ..spec.catalog import Catalog
from ..wire import Array, Reader, Struct, Writer, bytes_of
from ..wire.primitives import Construct, Elements
from .schema_tree import Interest as Interest
from .schema_tree import Place as Place
from .schema_tree import Step as Step
from .schema_tree import found_in as found_in
from .schema_tree import grow
from .schema_tree import leaves as leaves
from .schema_tree import places_in as places_in
from .schema_tree import plan_of as plan_of

if TYPE_CHECKING:
    from .column_reader import Columns

_start = attrgetter("start")


class Span(NamedTuple):
    """A range of bytes and the field that it encodes.

    `start` and `stop` are offsets in bytes; `path` is as in errors (`topics[0].partitions[2].isr_nodes[1]`); `type` is
    the wire type; `value` is the decoded value, or the count of an array; `faults` are the faults found in these bytes.

    >>> import kwire
    >>> kwire.codec("HeartbeatResponse", 0).trace(bytes.fromhex("001b"))[0]
    Span(start=0, stop=2, path='error_code', type='int16', value=27, faults=())
    """

    start: int
    stop: int
    path: str
    type: str
    value: Any
    faults: tuple[DecodeError, ...] = ()


class TracingReader(Reader):
    """A reader that records a span for every scalar, count, marker and tag."""

    __slots__ = ("pending", "spans", "start")

    def __init__(self, data: bytes, start: int = 0, *, salvage: bool = False) -> None:
        super().__init__(data, start, salvage=salvage)
        self.start: int = start
        self.spans: list[Span] = []
        self.pending: list[DecodeError] = []

    def child(self, segment: str | int, node: Construct) -> Any:
        """Read a part; if it recorded no span, it is a scalar and gets one."""
        start, before = self.pos, len(self.spans)
        self.path.append(segment)
        value = node._parse(self, None, "")
        if len(self.spans) == before:
            self.mark(start, _type_name(node), value)
        self.path.pop()
        return value

    def elements(self, array: Construct, count: int) -> None:
        """Leave all elements to the reference path, which records their spans."""

    def prefix(self, node: Construct) -> Any:
        """Read the prefix of a value; the prefix gets a separate span."""
        start = self.pos
        value = node._parse(self, None, "")
        self.mark(start, _type_name(node), value)
        return value

    def mark(self, start: int, type_name: str, value: Any) -> None:
        """Record the bytes from `start` to the current position as a span, if there are any."""
        if self.pos > start:
            self.spans.append(Span(start, self.pos, path_text(self.path), type_name, value, tuple(self.pending)))
            self.pending.clear()

    def checkpoint(self) -> tuple[int, ...]:
        """Return the current state for `rewind`, spans included."""
        return *super().checkpoint(), len(self.spans)

    def rewind(self, state: tuple[int, ...]) -> None:
        """Return to an earlier state, and forget spans since then, too."""
        super().rewind(state)
        del self.spans[state[3] :], self.pending[:]

    def note(self, kind: type[Tolerated], offset: int, **facts: Any) -> None:
        """Record a fault, which is added to its span."""
        before = len(self.faults)
        super().note(kind, offset, **facts)
        for fault in self.faults[before:]:
            at = bisect_right(self.spans, offset, key=_start) - 1
            if at >= 0 and offset < self.spans[at].stop:
                self.spans[at] = self.spans[at]._replace(faults=(*self.spans[at].faults, fault))
            else:  # its bytes are being read
                self.pending.append(fault)

    def leave_rest(self, type_name: str, error: DecodeError) -> None:
        """Record one span for all bytes that have no span yet."""
        start = self.spans[-1].stop if self.spans else self.start
        if start < self.end:
            rest = self.data[start : self.end]
            self.spans.append(Span(start, self.end, error.path, type_name, rest, (*self.pending, error)))


def _type_name(node: Construct) -> str:
    return str(getattr(node, "type_name", type(node).__name__))


if ENGINE == "python":  # now rather than on first use, which is under a lock
    from . import generated_python  # noqa: F401


# With these exceptions a fast path leaves bytes or a value to the reference path. Any other, such as MemoryError, is a
# failure that the caller must see. Generated source checks little itself: its slices and structs raise for bad input.
REFUSALS_OF: dict[str, tuple[type[Exception], ...]] = {
    "native": (Refused, UnicodeError),
    "python": (Refused, KwireError, struct.error, IndexError, ValueError, TypeError, AttributeError, OverflowError),
    "reference": (Refused,),
}
REFUSALS = REFUSALS_OF[ENGINE]


def refuse(*_: Any) -> Any:
    """Raise `Refused`."""
    raise Refused


class FastPath(Protocol):
    """Decodes and encodes one message at one version.

    If it does not accept its input, it raises one of `REFUSALS`, without details.
    """

    def decode(self, data: bytes) -> Any:
        """Decode a body that ends with the bytes."""

    def decode_from(self, data: bytes, start: int) -> tuple[Any, int]:
        """Decode a body at a position; return the message and the position after it."""

    def encode(self, message: Any) -> bytes:
        """Encode a message."""

    def json(self, data: bytes, start: int = 0) -> bytes:
        """Return the JSON text of a body that starts at a position and ends with the bytes."""


class NoFastPath:
    """A fast path that refuses all input."""

    decode = decode_from = encode = json = staticmethod(refuse)


def fast_path(schema: Struct, title: str, engine: str = ENGINE) -> FastPath:
    """Return the fast path of a schema tree.

    Args:
        schema: the tree.
        title: the name of generated source in tracebacks.
        engine: one of `ENGINES`.
    """
    if engine == "native":
        try:
            return native.NodeTable(*node_table(schema))
        except NoTable:  # a node class from outside kwire: only the reference path supports it
            pass
    if engine == "python":
        from .generated_python import Generated

        return Generated(schema, title)
    return NoFastPath()


def read_elements(
    array: Array, title: str, engine: str = ENGINE
) -> Callable[[bytes, int, int], tuple[Sequence[Any], int]]:
    """Return a function that decodes a number of an array's elements at a position."""
    try:
        if engine == "native":
            return native.NodeTable(*node_table(array.element)).decode_many
        if engine == "python":
            from .generated_python import elements_of

            return elements_of(array, title) or refuse
    except NoTable:  # a node class from outside kwire
        pass
    return refuse


@lru_cache(maxsize=1024)
def table_of(codec: Any) -> native.NodeTable | None:
    """Return the native engine's table for a codec's bodies; None if another engine reads them."""
    if ENGINE != "native":
        return None
    if type(codec._fast) is native.NodeTable:
        return codec._fast
    try:
        return native.NodeTable(*node_table(codec.schema))
    except NoTable:
        return None


class ElementReaders(dict[Array, Elements]):
    """Functions that decode elements of arrays, by array; they return None for bytes that they refuse.

    They are created when the body of a large array has been refused (`Reader.ahead`).
    """

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = title

    def __missing__(self, array: Array) -> Elements:
        """Create the function for an array."""
        read = read_elements(array, self.title)

        def read_accepted(data: bytes, start: int, count: int) -> tuple[Sequence[Any], int] | None:
            try:
                return read(data, start, count)
            except REFUSALS:
                return None

        self[array] = read_accepted
        return read_accepted


if TYPE_CHECKING:
    from typing_extensions import Buffer, TypeVar

    from .json import JsonWriter

    M = TypeVar("M", default=Any)
else:
    from typing import TypeVar

    M = TypeVar("M")


class Salvaged(NamedTuple, Generic[M]):
    """The result of decoding with salvage: the message, the faults, and the bytes after the body.

    Each of `faults` is a `DecodeError` with `offset`, `path` and the bytes in `raw`. Without faults, or with
    `DefaultTag`s only, strict decoding accepts the same bytes.

    >>> import kwire
    >>> found = kwire.codec("HeartbeatResponse", 0).decode(bytes.fromhex("001b ff"), salvage=True)
    >>> found.message.error_code, len(found.faults), found.rest
    (27, 1, b'\\xff')
    """

    message: M
    faults: tuple[DecodeError, ...]
    rest: bytes


class Codec(Generic[M]):
    """Encodes and decodes the body of one message at one version; created by `kwire.codec`.

    Attributes:
        name, version, spec: the message, and the spec of all its versions.
        schema: the construct tree that describes the layout.
        message_class: the class of decoded messages.
    """

    def __init__(self, spec: MessageSpec, version: int, schema: Struct | None = None) -> None:
        self.name: str = spec.name
        self.version: int = version
        self.spec: MessageSpec = spec
        self._ahead = ElementReaders(repr(self)[1:-1])
        if schema is not None:
            vars(self)["schema"] = schema

    @once_attribute
    def schema(self) -> Struct:
        """The construct tree."""
        return grow(self.spec, self.version)

    @once_attribute
    def message_class(self) -> type[M]:
        """The class of decoded messages."""
        message_class: type[M] = self.schema.message_class
        return message_class

    def __repr__(self) -> str:
        return f"<kwire codec {self.name} v{self.version}{f' of {self.spec.origin}' if self.spec.origin else ''}>"

    def __reduce__(self) -> tuple[Any, ...]:
        made = codec_of(self.spec, self.version)
        if self.schema is not made.schema:
            raise TypeError(f"{self!r} has a tree of its own, and cannot be pickled")
        return codec_of, (self.spec, self.version)

    @overload
    def decode(self, data: Buffer, *, salvage: Literal[False] = False) -> M: ...
    @overload
    def decode(self, data: Buffer, *, salvage: Literal[True]) -> Salvaged[M]: ...
    @overload
    def decode(self, data: Buffer, *, salvage: bool) -> M | Salvaged[M]: ...
    def decode(self, data: Any, *, salvage: bool = False) -> Any:
        """Decode a body.

        Args:
            data: the bytes of the body, without size and header.
            salvage: also decode what Kafka tolerates, and report it as faults.

        Returns:
            The message; with `salvage` a `Salvaged`.

        Raises:
            DecodeError: with offset, path, the part decoded so far and the bytes from there on; with `salvage`, only
                for input that Kafka itself refuses.

        >>> import kwire
        >>> kwire.codec("ControlledShutdownRequest", 1).decode(bytes.fromhex("00000003"))
        ControlledShutdownRequest(broker_id=3, broker_epoch=-1, unknown_tags=None)
        """
        if type(data) is not bytes:  # saves a call
            data = bytes_of(data)
        try:
            message = self._fast.decode(data)
            return Salvaged(message, (), b"") if salvage else message
        except REFUSALS:  # the reference path raises the detailed error
            pass
        reader = Reader(data, salvage=salvage)
        message = self.explain(reader)
        rest = reader.finish()
        return Salvaged(message, tuple(reader.faults), rest) if salvage else message

    def encode(self, message: M) -> bytes:
        """Encode a message to a body.

        Raises:
            EncodeError: a value does not fit, or this version cannot represent it; the error has the path.

        >>> import kwire
        >>> codec = kwire.codec("ControlledShutdownRequest", 1)
        >>> codec.encode(kwire.messages.ControlledShutdownRequest(broker_id=3)).hex()
        '00000003'
        """
        try:
            return self._fast.encode(message)
        except REFUSALS:  # the reference path raises the detailed error
            writer = Writer(self.name, self.version)
        self.schema._build(message, writer, None, "")
        return bytes(writer.out)

    def trace(self, data: Buffer, *, salvage: bool = False) -> list[Span]:
        """Decode a body and return its spans, which map bytes to fields.

        Returns:
            Spans that cover the bytes without gaps or overlaps. With `salvage`, bytes that cannot be decoded are a last
            span of type `not understood` or `left over`, and no error is raised; otherwise errors are as for `decode`.
        """
        reader = TracingReader(bytes_of(data), salvage=salvage)
        try:
            self.explain(reader)
            if reader.finish():
                reader.leave_rest("left over", reader.pending.pop())
        except DecodeError as error:
            if not salvage:
                raise
            reader.leave_rest("not understood", error)
        return reader.spans

    def to_json(self, message: M) -> dict[str, Any]:
        """Convert a message to Kafka's JSON form, as plain values.

        Raises:
            EncodeError: this version cannot represent a value.

        >>> import kwire
        >>> codec = kwire.codec("ControlledShutdownRequest", 1)
        >>> codec.to_json(kwire.messages.ControlledShutdownRequest(broker_id=3))
        {'brokerId': 3}
        """
        self.encode(message)
        return self.jsonable(message)

    def jsonable(self, message: M) -> dict[str, Any]:
        """Return `to_json` without validation: for messages that are known to be valid, such as decoded ones."""
        from . import json  # noqa: F401 (not where it is needed, under a lock)

        members: dict[str, Any] = self._jsonable(message)
        return members

    def json_text(self, data: bytes, start: int = 0) -> str | None:
        """Convert a body to the text of its JSON form, without creating a message.

        Args:
            data, start: bytes up to the end of the body, and the offset where it starts.

        Returns:
            The text without spaces; None if the body has faults and must be decoded first.

        >>> import kwire
        >>> kwire.codec("ControlledShutdownRequest", 1).json_text(bytes.fromhex("00000003"))
        '{"brokerId":3}'
        """
        try:
            return self._fast.json(data, start).decode()
        except REFUSALS:  # the reference path finds the reason
            return None

    def from_json(self, obj: Any, *, defaults: bool = False) -> M:
        """Convert Kafka's JSON form (plain values) to a message.

        Former names of fields are accepted; unknown fields and fields of other versions are errors.

        Args:
            obj: the JSON form.
            defaults: whether missing fields have their defaults; otherwise they are errors, as in Kafka.

        Raises:
            EncodeError: the value is invalid; the path has JSON names.

        >>> import kwire
        >>> kwire.codec("ControlledShutdownRequest", 1).from_json({"brokerId": 3}).broker_id
        3
        """
        from .json import Place, from_json

        message: M = from_json(self.schema, obj, Place(self.name, self.version, defaults=defaults))
        return message

    def read(self, reader: Reader) -> M:
        """Decode one body at the reader's position, and advance the reader."""
        message: M
        if type(reader) is Reader and type(reader.data) is bytes and reader.end == len(reader.data):
            try:
                message, stop = self._fast.decode_from(reader.data, reader.pos)
                reader.pos, reader.message, reader.version = stop, self.name, self.version
                return message
            except REFUSALS:  # the reference path raises the detailed error
                pass
        return self.explain(reader)

    def explain(self, reader: Reader) -> M:
        """Decode one body on the reference path, which raises detailed errors."""
        reader.message, reader.version, reader.ahead = self.name, self.version, self._ahead.__getitem__
        message: M
        begin = reader.checkpoint()
        try:
            message = self.schema._parse(reader, None, "")
            return message
        except BadTag:
            if not (reader.salvage and reader.tagged and self._is_discarded(reader, begin[0])):
                raise
        reader.rewind(begin)
        reader.unwritable = set()
        message = self.schema._parse(reader, None, "")
        reader.unwritable = None
        return message

    def _is_discarded(self, reader: Reader, start: int) -> bool:
        """Whether all tags that Kafka cannot write are in values that the same tag replaces later.

        Kafka reads any unknown tag, and first refuses a message with such tags when it writes it.
        """
        trial = Reader(reader.data, start, salvage=True)
        trial.end, trial.ahead, trial.unwritable = reader.end, reader.ahead, set()
        try:
            self.schema._parse(trial, None, "")
        except DecodeError:
            return False
        return not trial.unwritable

    @once_attribute
    def _fast(self) -> FastPath:
        return fast_path(self.schema, repr(self)[1:-1])

    @once_attribute
    def _jsonable(self) -> JsonWriter:
        from .json import json_writer

        return cast("JsonWriter", json_writer(self.schema))  # None for scalars


_CODEC: type[Codec[Any]] = Codec
if ENGINE == "native":

    class NativeCodec(native.NativeMethods, Codec[Any]):
        """A codec whose methods `decode`, `encode` and `json_text` are those of the native engine."""

    _CODEC = NativeCodec


def codec(
    name: str | int | type[Any],
    version: SupportsIndex,
    *,
    profile: str | None = None,
    release: str | None = None,
    catalog: Catalog | None = None,
) -> Codec[Any]:
    """Return the codec of a message at a version.

    Args:
        name: the message, as in Kafka's specs: `MetadataResponse`, `RequestHeader`; or its class, such as
            `kwire.messages.MetadataResponse`; or an api key, which means the request.
        version: 0 or higher.
        profile: `KIP-36`, `KIP-112` or `KIP-879` for the layouts that these KIPs proposed; messages that a profile does
            not change are the released ones.
        release: a Kafka release such as `3.6`: only its versions are available, with its layouts of early-access
            versions that changed later.
        catalog: the user's specs, from `Catalog.from_directory`; instead of profile and release. Not needed with a
            class.

    Raises:
        UnknownMessage: a message, profile or release with this name does not exist.
        UnsupportedVersion: the message does not have this version.
        TypeError: an argument has a wrong type, or a catalog is combined with a profile or release.

    >>> import kwire
    >>> kwire.codec("UpdateMetadataRequest", 8), kwire.codec(kwire.messages.MetadataRequest, 4), kwire.codec(3, 4)
    (<kwire codec UpdateMetadataRequest v8>, <kwire codec MetadataRequest v4>, <kwire codec MetadataRequest v4>)
    """
    return codec_of(find_spec(name, version, profile=profile, release=release, catalog=catalog), int(version))


@once
def codec_in(catalog: Catalog, name: str, version: int) -> Codec:
    """Return the codec of a message in a catalog; errors are those of `codec`."""
    return codec_of(catalog.spec(name, version), version)


@once
def codec_of(spec: MessageSpec, version: int) -> Codec:
    """Return the codec of a message spec at one of its versions."""
    return _CODEC(spec, version)


def columns(
    name: str | int | type[Any],
    version: int,
    path: str = "",
    *,
    columns: Sequence[str] | None = None,
    union: bool = False,
    dictionary: bool = False,
    max_rows: int = 4096,
    max_bytes: int = 8 << 20,
    profile: str | None = None,
    release: str | None = None,
    catalog: Catalog | None = None,
) -> Columns:
    """Return a reader of many bodies of a message into Arrow record batches; `Columns` describes the columns.

    Args:
        name, version, profile, release, catalog: the message, as for `kwire.codec`.
        path: an array of the message such as `topics[].partitions[]`, or a struct in one; empty for the message itself.
        columns: the columns to read, in this order; fields of structs by dots (`topics.name`). None: see `Columns`.
        union: include the columns of all versions; null if this version does not have them.
        dictionary: encode strings and uuids of enclosing levels as dictionaries, which Spark does not accept.
        max_rows, max_bytes: limits of a record batch; a single row may be larger.

    Raises:
        MissingExtra: pyarrow or numpy is not installed.
        UnknownMessage, UnsupportedVersion: the message, array, column or version does not exist.

    >>> import kwire
    >>> states = kwire.columns("StopReplicaRequest", 0, columns=["controller_id", "body_index"])
    >>> batch, errors = next(states.read([bytes.fromhex("00000007 00000001 00 00000000"), b"cut"]))
    >>> batch.to_pylist(), errors[0].body_index
    ([{'controller_id': 7, 'body_index': 0}], 1)
    """
    need_libraries()
    from .column_reader import Columns

    spec = find_spec(name, version, profile=profile, release=release, catalog=catalog)
    limits = {"max_rows": max_rows, "max_bytes": max_bytes}
    return Columns(spec, version, path, columns, union=union, dictionary=dictionary, **limits)


def arrow_schema(
    name: str | int | type[Any],
    version: int | None = None,
    path: str = "",
    *,
    columns: Sequence[str] | None = None,
    profile: str | None = None,
    release: str | None = None,
    catalog: Catalog | None = None,
) -> Any:
    """Return the Arrow schema of the columns of a message, as `columns` returns them.

    Args:
        name, path, columns, profile, release, catalog: as for `columns`.
        version: the version of the message; None for the columns of all versions.

    Returns:
        A `pyarrow.Schema`. Every field is nullable; unsigned integers are widened to types that Spark supports.

    Raises:
        See `columns`.

    >>> import kwire
    >>> print(kwire.arrow_schema("StopReplicaRequest", 4, "topic_states[].partition_states[]",
    ...     columns=["body_index", "topic_states_topic_name", "partition_index"]))
    body_index: int64
    topic_states_topic_name: string
    partition_index: int32
    """
    need_libraries()
    from .column_plan import Plan, trees_of

    spec = find_spec(name, version, profile=profile, release=release, catalog=catalog)
    trees = trees_of(spec) if version is None else [grow(spec, version)]
    return Plan(trees, path, columns).schema


def need_libraries() -> None:
    """Raise MissingExtra if pyarrow or numpy cannot be imported."""
    for library in ("numpy", "pyarrow"):
        try:
            import_module(library)
        except ImportError:
            raise MissingExtra("columns", library, "arrow") from None
