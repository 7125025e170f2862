"""A query on captured frames: compiled once for each kind of frame, so that most frames are decided without objects.

The engine calls the test of a kind with an item, a tuple of what a frame has from its header, its connection and the
capture, in the order below (`frame_selection.pxi`). What is the same for all frames of a kind, such as the api, is
decided while the test is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any

import msgspec

from ..codecs.fast_path import table_of
from ..codecs.message_codec import Codec
from ..codecs.native import ENGINE, Selection
from ..codecs.wire import content_of
from ..protocol.frame_kinds import FrameKind, decode_clean
from ..protocol.headers.api_versions_downgrade import API_VERSIONS
from ..protocol.message_summary import carries_metadata_log, has_errors, has_topics, make_body_facts, names_topic_ids
from ..redact.metadata_log_secrets import METADATA_LOG
from ..redact.secret_messages import may_carry
from ..values import kind
from .expression import Constant, ManyValues, OneValue, Values
from .field_path import FieldPath, FieldSite
from .frame_context import message_groups, names_groups
from .plain_values import Plain, plain_property, plain_writer
from .query import Query

if ENGINE == "native":
    from ..codecs.native import BodyFacts

NUMBER, TIME, SIZE, LATENCY, REQUEST_FRAME, ENDS, CONNECTION, CORRELATION_ID, BODY = range(9)
MOST_MARKS = 200  # the engine notes a field in a byte (FIRST_VALUE in body_facts.pxi)
Item = tuple[Any, ...]
Row = Callable[[Any], str | None]
_SLOTS = {
    "frame": NUMBER,
    "time": TIME,
    "size": SIZE,
    "latency": LATENCY,
    "request_frame": REQUEST_FRAME,
    "correlation_id": CORRELATION_ID,
}
_OF_ENDS = frozenset(("client", "broker"))
_OF_BODY = frozenset(("topic", "group", "error"))
_OF_WHOLE_BODY = frozenset(("type", "faults", "undecodable"))  # depend on whether a body can be decoded


class NeedsDecoding(Exception):
    """A frame that must be decoded before it can be tested."""


class CapturedQuery(Selection):
    """The query of one capture.

    Args:
        query: the query.
        file: the name of the capture.
        sealed: tests must not see secrets.
        paths: fields of each selected frame to be written; empty if whole frames are.
        row: makes the text of their values.
        is_plain: `row` takes values as --fields writes them.
    """

    def __init__(
        self,
        query: Query,
        file: str,
        *,
        sealed: bool = True,
        paths: Iterable[FieldPath] = (),
        row: Callable[[list[Any]], str | None] | None = None,
        is_plain: bool = True,
    ) -> None:
        self.query: Query = query
        self.file: str = file
        self.sealed: bool = sealed
        self.paths: tuple[FieldPath, ...] = tuple(paths)
        self._write = row
        self._is_plain = is_plain
        self.summary: Any = query.context.summary
        self.has_rows: bool = row is not None
        self.shows_topics: bool = False  # the output names topics, so their names are learned from all frames
        self.noted: int = 0  # shown frames that a command has counted

    def prepare(self, kind: FrameKind) -> None:
        """Compile the test and the row of a kind of frame."""
        expression = self.query.expression
        wanted = (*(() if expression is None else expression.paths), *self.paths)
        body = BodyReader(kind.codec, self._paths_in(kind, wanted), sealed=self.sealed)
        topics = _TopicReader(kind.codec, self)
        values = KindValues(kind, self, body, topics)
        compiled: Any = True if expression is None else expression.compile(values)
        test = compiled
        row = None if self._write is None else self._make_row(kind, self._write, topics)
        if kind.call.api.key == API_VERSIONS and kind.is_request and any(path.name == "software" for path in wanted):
            test = _leave  # the request itself names the software
        elif test is not False:
            test = self._check_body(test, body, is_needed=not _OF_WHOLE_BODY.isdisjoint(path.name for path in wanted))
        elif not _OF_WHOLE_BODY.isdisjoint(path.name for path in wanted):
            test = self._check_body(lambda item: False, body, is_needed=True)
        test = self._in_span(test)
        kind.test = self._noting_groups(kind, test, wanted)
        if kind.test is compiled and values.read <= _OF_ENDS:
            kind.answers = {}
        if self.shows_topics or any(path.name == "topic" for path in wanted):
            self._learn_topics(kind)
        kind.row = row
        kind.reads_body = kind.reads_body or body.is_used

    def _paths_in(self, kind: FrameKind, wanted: Iterable[FieldPath]) -> list[FieldPath]:
        return [path for path in wanted if path.property is None and path.sites(kind.codec)]

    def _make_row(self, kind: FrameKind, write: Callable[[list[Any]], str | None], topics: _TopicReader) -> Row:
        """Return the function that writes the fields of a frame; None for a frame that must be decoded."""
        body = BodyReader(kind.codec, self._paths_in(kind, self.paths), sealed=self.sealed, is_plain=self._is_plain)
        reader_of = KindValues(kind, self, body, topics)
        readers = [_reader(path, reader_of(path), self._is_plain) for path in self.paths]
        kind.reads_body = body.is_used

        def row(item: Item) -> str | None:
            try:
                return write([read(item) for read in readers])
            except NeedsDecoding:
                return None

        return row

    def _check_body(self, test: Any, body: BodyReader, *, is_needed: bool) -> Any:
        """Return a test that leaves frames to the decoder whose bodies cannot be read here."""
        if is_needed:
            body.is_used = True
        if not body.is_used or (test is True and not is_needed):
            return test

        def checked(item: Item) -> Any:
            try:
                if is_needed:
                    body.read(item)
                return test is True or test(item)
            except NeedsDecoding:
                return None

        return checked

    def _in_span(self, test: Any) -> Any:
        moments = self.query.moments
        if moments is None or test is False:
            return test
        return lambda item: moments.covers(item[TIME], item[NUMBER]) and (test is True or test(item))

    def _noting_groups(self, kind: FrameKind, test: Any, wanted: Iterable[FieldPath]) -> Any:
        """Return a test that remembers the groups of requests for their responses."""
        if not (kind.is_request and names_groups(kind.codec) and any(path.name == "group" for path in wanted)):
            return test
        groups = self.query.context.groups
        kind.reads_body = True

        def noting(item: Item) -> Any:
            message = decode_clean(kind.codec, item[BODY])
            if message is None:
                return None
            groups.note((self.file, item[NUMBER]), message_groups(kind.codec, message))
            return test is True or (test is not False and test(item))

        return noting

    def _learn_topics(self, kind: FrameKind) -> None:
        """Let the engine learn the names of topic ids, from frames that are not selected, too."""
        if names_topic_ids(kind.codec) or carries_metadata_log(kind.codec):
            kind.learns = make_body_facts(kind.codec, METADATA_LOG)  # what carries the metadata log is decoded
            if kind.learns is None:
                kind.test = _leave


def _leave(item: Item) -> None:
    return None


def _read_client(item: Item) -> str | None:
    client: str | None = item[ENDS].client
    return client


def _read_broker(item: Item) -> str | None:
    broker: str | None = item[ENDS].broker
    return broker


def _raw_json(text: bytes | None) -> msgspec.Raw | None:
    return None if text is None else msgspec.Raw(text)


def _reader(path: FieldPath, values: Values, is_plain: bool) -> Callable[[Item], Any]:
    """Return a function that reads the values of a path as a list."""
    if isinstance(values, ManyValues):
        return values.read
    if isinstance(values, Constant):
        constants = plain_property(path, values.values) if is_plain else values.values
        return lambda item: constants
    read = values.read
    if not is_plain or (path.property is not None and path.property.kind != "time"):
        return lambda item: () if (value := read(item)) is None else (value,)
    return lambda item: plain_property(path, (read(item),))


class KindValues:
    """Says where the values of paths are read from, for one kind of frame."""

    def __init__(self, kind: FrameKind, captured: CapturedQuery, body: BodyReader, topics: _TopicReader) -> None:
        self.kind: FrameKind = kind
        self.captured: CapturedQuery = captured
        self.body: BodyReader = body
        self.topics: _TopicReader = topics
        self.read: set[str] = set()  # the names of the paths whose values differ from frame to frame
        call, codec = kind.call, kind.codec
        client_id = call.client_id if call.client else ""
        self._constants: dict[str, Any] = {
            "api": codec.spec.api_name,
            "api_key": codec.spec.api_key,
            "version": call.api.version,
            "type": codec.spec.type,
            "client_id": client_id,
            "faults": 0,
            "undecodable": None,
            "response_frame": None,
            "file": captured.file,
            "(call)": (codec.name, frozenset((codec.version, call.api.version))),
        }

    def __call__(self, path: FieldPath) -> Values:
        """Return how the values of a path are read."""
        name = path.name
        if name in self._constants:
            value = self._constants[name]
            return Constant(() if value is None else (value,))
        self.read.add(name)
        if name in _SLOTS:
            return OneValue(itemgetter(_SLOTS[name]))
        if name == "connection":
            return OneValue(lambda item: item[ENDS].connection)
        if name == "software":
            return OneValue(lambda item: item[CONNECTION].client.software, is_repeated=True)
        if name in ("client", "broker"):
            return OneValue(_read_client if name == "client" else _read_broker, is_repeated=True)
        if name in _OF_BODY or name == "(errors)":
            return self._read_facts(name)
        return self._read_field(path) if path.property is None else Constant(())

    def _read_facts(self, name: str) -> Values:
        codec = self.kind.codec
        if (name == "topic" and not has_topics(codec)) or (name not in ("topic", "group") and not has_errors(codec)):
            return Constant(())
        self.body.is_used = True
        topics = self.topics
        if name == "topic":
            return ManyValues(lambda item: topics.names(item[BODY]), is_repeated=True)
        if name == "group":
            return self._read_groups(codec)
        return ManyValues(lambda item: list(topics.errors(item[BODY])), is_repeated=True)

    def _read_groups(self, codec: Codec) -> Values:
        self.body.is_used = self.body.is_used or names_groups(codec)
        context, file = self.captured.query.context, self.captured.file
        has_own = names_groups(codec)

        def read(item: Item) -> Iterable[str]:
            of_request = item[NUMBER] if self.kind.is_request else item[REQUEST_FRAME]
            groups = context.groups.of_request((file, of_request))
            if self.kind.is_request or not has_own:
                return groups
            message = decode_clean(codec, item[BODY])
            if message is None:
                raise NeedsDecoding
            return list(dict.fromkeys((*groups, *message_groups(codec, message))))

        return ManyValues(read, is_repeated=True)

    def _read_field(self, path: FieldPath) -> Values:
        if not path.sites(self.kind.codec):
            return Constant(())
        self.body.is_used = True
        index, body = self.body.index(path), self.body
        return ManyValues(lambda item: body.read(item)[index])


class BodyReader:
    """Reads the fields of a query from bodies, all at once; checks bodies as the decoder does.

    Args:
        codec: the codec of the bodies.
        paths: the fields.
        sealed: leave bodies that may have secrets to the decoder.
        is_plain: return plain values, for --fields.
    """

    def __init__(self, codec: Codec, paths: list[FieldPath], *, sealed: bool, is_plain: bool = False) -> None:
        self.codec: Codec = codec
        self.paths: list[FieldPath] = list(dict.fromkeys(paths))
        self.is_used: bool = False
        self._is_secret = sealed and may_carry(codec)
        self._guard = make_body_facts(codec, METADATA_LOG) if sealed and carries_metadata_log(codec) else None
        self._item: Item | None = None
        self._values: list[Any] = []
        self._columns: list[list[tuple[int, bool, Plain | None]]] = []  # per path: index, whether it is spread, writer
        self._count = 0  # of the fields that the engine reads
        self._texts = 0  # the index from which on the engine writes structs as JSON
        self._is_plain = is_plain
        self._facts: BodyFacts | None = None
        self._is_prepared = False  # the facts are made with the first body: most kinds of frames need none

    def index(self, path: FieldPath) -> int:
        """Return the index of a path in what `read` returns."""
        return self.paths.index(path)

    def _prepare(self) -> BodyFacts | None:
        """Return the native reader of the fields, and note how its values are joined.

        Return None if bodies must be decoded.
        """
        table = table_of(self.codec)
        sites = [site for path in self.paths for site in path.sites(self.codec)]
        if table is None or any(site.has_index for site in sites):
            return None
        structs = dict.fromkeys(
            site.field for site in sites if self._is_plain and content_of(site.field.subcon).struct is not None
        )
        fields = dict.fromkeys(site.field for site in sites if site.field not in structs)
        self._texts = len(fields)
        fields |= structs
        marks: dict[Any, str | int] = {field: index for index, field in enumerate(fields)}
        if len(marks) > MOST_MARKS:
            return None
        self._columns = [
            [
                (int(marks[site.field]), False, _raw_json)
                if site.field in structs
                else (int(marks[site.field]), self._is_spread(path, site), self._plain(site))
                for site in path.sites(self.codec)
            ]
            for path in self.paths
        ]
        self._count = len(marks)
        try:
            return BodyFacts(table, marks)
        except ValueError:  # a field has a type that the engine does not read
            return None

    def _is_spread(self, path: FieldPath, site: FieldSite) -> bool:
        """Return whether the elements of an array are values."""
        return content_of(site.field.subcon).is_array and not path.is_whole

    def _plain(self, site: FieldSite) -> Plain | None:
        return plain_writer(self.codec, site) if self._is_plain else None

    def read(self, item: Item) -> list[Any]:
        """Return the values on the wire of each path. Raises NeedsDecoding."""
        if item is not self._item:
            self._values, self._item = self._read(item[BODY]), item
        return self._values

    def _read(self, body: bytes) -> list[Any]:
        if self._is_secret or (self._guard is not None and self._guard.of(body) is None):
            raise NeedsDecoding
        if not self._is_prepared:
            self._facts, self._is_prepared = self._prepare(), True
        if self._facts is None:
            message = decode_clean(self.codec, body)
            if message is None:
                raise NeedsDecoding
            return [self._read_message(path, message) for path in self.paths]
        lists = self._facts.values_of(body, self._count, self._texts)
        if lists is None:
            raise NeedsDecoding
        return [self._join(columns, lists) for columns in self._columns]

    def _read_message(self, path: FieldPath, message: Any) -> list[Any]:
        values = path.sited_values(self.codec, message)
        if self._is_plain:
            return [plain_writer(self.codec, site)(value) for site, value in values]
        return [value for _, value in values]

    def _join(self, columns: list[tuple[int, bool, Plain | None]], lists: list[list[Any]]) -> list[Any]:
        """Return the values of the fields that one path matches."""
        joined: list[Any] = []
        for index, is_array, write in columns:
            values = lists[index]
            if is_array:
                values = [element for array in values for element in ((None,) if array is None else array)]
            joined += values if write is None else map(write, values)
        return joined


class _TopicReader:
    """Reads topics and error codes of bodies without decoding most of them."""

    def __init__(self, codec: Codec, captured: CapturedQuery) -> None:
        guarded = METADATA_LOG if captured.sealed and carries_metadata_log(codec) else frozenset()
        self.codec: Codec = codec
        self._is_secret = captured.sealed and may_carry(codec)
        self._facts = make_body_facts(codec, guarded)
        self._summary = captured.query.context.summary

    def names(self, body: bytes) -> tuple[str, ...]:
        """Return the distinct names of the topics of a body, as `MessageSummary.names` does."""
        names = None if self._facts is None or self._is_secret else self._facts.names(body, self._summary)
        if names is None:
            raise NeedsDecoding
        return names

    def errors(self, body: bytes) -> Iterable[str]:
        """Return the names of the error codes of a body, without NONE."""
        facts = None if self._facts is None or self._is_secret else self._facts.of(body)
        if facts is None:
            raise NeedsDecoding
        return dict.fromkeys(str(kind("ErrorCode")(code)) for code in facts[0])
