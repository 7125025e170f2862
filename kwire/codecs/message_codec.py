"""Codecs: one message at one version, with `decode`, `encode`, `trace`, `to_json`, `from_json`.

The fast path, native or generated, is tried first. The reference path (`kwire.codecs.wire`) decodes and explains the
bytes that the fast path declines. Headers and frames are in `kwire.protocol`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, SupportsIndex, cast, overload

from ..errors import BadTag, DecodeError
from ..runtime.caches import once, once_attribute
from ..schema.catalog import Catalog
from ..schema.message_classes import find_spec
from ..schema.message_spec import MessageSpec
from . import native
from .fast_path import REFUSALS, ElementReaders, FastPath, choose_fast_path
from .native import ENGINE, Declined
from .schema_tree import grow_tree
from .tracing import Span, TracingReader
from .wire import Reader, Struct, Writer, bytes_of
from .wire.construct_classes import use_construct

if TYPE_CHECKING:
    from typing_extensions import Buffer, TypeVar

    from .json_writer import JsonWriter

    M = TypeVar("M", default=Any)
else:
    from typing import TypeVar

    M = TypeVar("M")


RecordsAs = Literal["bytes", "view"]


def wants_views(records: str) -> bool:
    """Return whether records are to be views; raise ValueError for another word than `bytes` and `view`."""
    if records not in ("bytes", "view"):
        raise ValueError(f"records is bytes or view, not {records!r}")
    return records == "view"


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
            vars(self)["tree"] = schema

    @once_attribute
    def tree(self) -> Struct:
        """The tree that describes the layout. kwire's own code reads this, which imports no construct."""
        return grow_tree(self.spec, self.version)

    @property
    def schema(self) -> Struct:
        """The construct tree: `schema.parse(data)` returns a message, `schema.build(message)` returns bytes."""
        use_construct()
        return self.tree

    @once_attribute
    def message_class(self) -> type[M]:
        """The class of decoded messages."""
        message_class: type[M] = self.tree.message_class
        return message_class

    def __repr__(self) -> str:
        return f"<kwire codec {self.name} v{self.version}{f' of {self.spec.origin}' if self.spec.origin else ''}>"

    def __reduce__(self) -> tuple[Any, ...]:
        made = codec_of(self.spec, self.version)
        if self.tree is not made.tree:
            raise TypeError(f"{self!r} has a tree of its own, and cannot be pickled")
        return codec_of, (self.spec, self.version)

    @overload
    def decode(self, data: Buffer, *, salvage: Literal[False] = False, records: RecordsAs = "bytes") -> M: ...
    @overload
    def decode(self, data: Buffer, *, salvage: Literal[True], records: RecordsAs = "bytes") -> Salvaged[M]: ...
    @overload
    def decode(self, data: Buffer, *, salvage: bool, records: RecordsAs = "bytes") -> M | Salvaged[M]: ...
    def decode(self, data: Any, *, salvage: bool = False, records: RecordsAs = "bytes") -> Any:
        """Decode a body.

        Args:
            data: the bytes of the body, without size and header.
            salvage: also decode what Kafka tolerates, and report it as faults.
            records: `view` makes the records of Produce, Fetch and their like memoryviews of `data` (if this is
                `bytes`) instead of copies. They compare like bytes, can be parsed and encoded, but not pickled, and
                keep all of `data` in memory.

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
            message = self._decode_with_views(data) if wants_views(records) else self._fast.decode(data)
            return Salvaged(message, (), b"") if salvage else message
        except REFUSALS:
            pass  # so that an error that is raised has no context
        return self._decode_refused(data, salvage=salvage, records=records)

    def _decode_refused(self, data: bytes, *, salvage: bool = False, records: RecordsAs = "bytes") -> Any:
        """Decode a body that the fast path has refused: because bytes follow it, or for what the reference explains."""
        reader = Reader(data, salvage=salvage)
        reader.views = wants_views(records)
        message = self.read(reader)
        rest = reader.finish()
        return Salvaged(message, tuple(reader.faults), rest) if salvage else message

    def _decode_with_views(self, data: bytes) -> M:
        if type(self._fast) is not native.NodeTable:
            raise Declined
        message: M = self._fast.decode_with_views(data)
        return message

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
        self.tree._build(message, writer, None, "")
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
        from . import json_writer  # noqa: F401 (not where it is needed, under a lock)

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
        from .json_reader import JsonPosition, from_json

        message: M = from_json(self.tree, obj, JsonPosition(self.name, self.version, defaults=defaults))
        return message

    def read(self, reader: Reader) -> M:
        """Decode one body at the reader's position, and advance the reader."""
        message: M
        is_plain = type(reader) is Reader and type(reader.data) is bytes and not reader.views
        if is_plain and reader.end == len(reader.data):
            try:
                message, stop = self._fast.decode_from(reader.data, reader.pos)
                reader.pos = stop
                reader.message = self.name
                reader.version = self.version
                return message
            except REFUSALS:  # the reference path raises the detailed error
                pass
        return self.explain(reader)

    def is_valid(self, data: bytes, start: int) -> bool:
        """Whether `decode` accepts the bytes from an offset to the end."""
        try:
            stop: int = self._fast.decode_from(data, start)[1]
        except REFUSALS:
            return False
        return stop == len(data)

    def explain(self, reader: Reader) -> M:
        """Decode one body on the reference path, which raises detailed errors."""
        reader.message = self.name
        reader.version = self.version
        reader.ahead = self._ahead.__getitem__
        message: M
        begin = reader.checkpoint()
        try:
            message = self.tree._parse(reader, None, "")
            return message
        except BadTag:
            if not (reader.salvage and reader.tagged and self._is_discarded(reader, begin[0])):
                raise
        reader.rewind(begin)
        reader.unwritable = set()
        message = self.tree._parse(reader, None, "")
        reader.unwritable = None
        return message

    def _is_discarded(self, reader: Reader, start: int) -> bool:
        """Whether all tags that Kafka cannot write are in values that the same tag replaces later.

        Kafka reads any unknown tag, and first refuses a message with such tags when it writes it.
        """
        trial = Reader(reader.data, start, salvage=True)
        trial.end = reader.end
        trial.ahead = reader.ahead
        trial.unwritable = set()
        try:
            self.tree._parse(trial, None, "")
        except DecodeError:
            return False
        return not trial.unwritable

    @once_attribute
    def _fast(self) -> FastPath:
        return choose_fast_path(self.tree, repr(self)[1:-1])

    @once_attribute
    def _jsonable(self) -> JsonWriter:
        from .json_writer import json_writer

        return cast("JsonWriter", json_writer(self.tree))  # None for scalars


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
    is_released = profile is None and release is None and catalog is None
    if is_released and type(version) is int:  # True and 1.0 equal 1, and are refused
        try:
            return _released_codecs[name, version]
        except (KeyError, TypeError):  # the first time; or a name that cannot be hashed, which is refused
            pass
    spec = find_spec(name, version, profile=profile, release=release, catalog=catalog)
    made = codec_of(spec, int(version))
    if is_released and isinstance(name, str | type):  # not an api key, which equals floats
        _released_codecs[name, made.version] = made
    return made


_released_codecs: dict[tuple[Any, int], Codec[Any]] = {}  # the results of `codec`, by name or class


@once
def codec_in(catalog: Catalog, name: str, version: int) -> Codec:
    """Return the codec of a message in a catalog; errors are those of `codec`."""
    return codec_of(catalog.spec(name, version), version)


@once
def codec_of(spec: MessageSpec, version: int) -> Codec:
    """Return the codec of a message spec at one of its versions."""
    return _CODEC(spec, version)
