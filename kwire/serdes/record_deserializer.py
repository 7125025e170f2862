"""Decodes keys and values of records by schema: the one place that knows which schema a key or value has."""

from __future__ import annotations

from collections import Counter
from typing import Any, Protocol

from ..protocol.nested.topic_record_types import GROUPS, METADATA, REMOTE, SHARES, TRANSACTIONS
from .avro_values import AvroReader
from .json_values import JsonReader
from .protobuf_values import ProtobufReader
from .schema_document import AVRO, JSON, PROTOBUF, Part, SchemaDocument, SchemaSource
from .schema_error import BAD_VALUE, NO_SCHEMA, SchemaError
from .schema_value import SchemaValue
from .wire_format import FramedValue, split_frame

KAFKAS_OWN = {GROUPS, TRANSACTIONS, SHARES, METADATA, REMOTE}  # topics whose records have Kafka's schemas
MOST_SCHEMAS = 1000  # for which a source is asked
MOST_VALUE = 1 << 20  # bytes of a key or value


class ValueReader(Protocol):
    """Reads values of one schema."""

    def read(self, payload: bytes, *, framed: bool) -> tuple[str, str, int]:
        """Return the name of the schema, the value as JSON on one line, and the number of its unread bytes.

        Raises:
            SchemaError: the value cannot be read.
        """


_READERS: dict[str, Any] = {AVRO: AvroReader, JSON: JsonReader, PROTOBUF: ProtobufReader}
_Known = tuple[str, ValueReader] | SchemaError  # the kind of a schema and its reader, or why there is none
_Key = int | tuple[str, Part]


class RecordDeserializer:
    """Decodes keys and values by the schemas of a source.

    A key or value with a frame (a zero byte and an id) is decoded by the schema of the id. Others are decoded by the
    schema of their topic, if the source has one. A source is asked for each schema once, and failures are remembered.

    Args:
        source: where schemas come from: a `SchemaFolder`, or a registry opened by
            `kwire.client.registry.schema_registry.open_schemas`.

    Attributes:
        counts: how many keys and values were decoded (`decoded`), and how many not, by the code of the error.
        first_problems: the first problem of each code.

    >>> from pathlib import Path; from tempfile import mkdtemp
    >>> folder = Path(mkdtemp())
    >>> _ = (folder / "7.json").write_text('{"title": "Order"}')
    >>> from kwire.serdes import SchemaFolder
    >>> values = RecordDeserializer(SchemaFolder(folder))
    >>> order = values.read("orders", "value", bytes.fromhex("00 00000007") + b'{"apples": 3}')
    >>> order.title, order.json, values.read("orders", "key", b"eve")
    ('Order, schema 7', '{"apples":3}', None)
    """

    def __init__(self, source: SchemaSource) -> None:
        self.source: SchemaSource = source
        self.counts: Counter[str] = Counter()
        self.first_problems: dict[str, str] = {}
        self._known: dict[_Key, _Known] = {}

    def read(self, topic: str | None, part: Part, data: bytes | None) -> SchemaValue | None:
        """Return what a key or value says; None if it has no schema, is null, or of an internal topic.

        Args:
            topic: the topic of the record; None if it is unknown.
            part: `key` or `value`.
            data: its bytes.
        """
        if data is None or topic in KAFKAS_OWN:
            return None
        framed = split_frame(data)
        value = None
        if framed is not None:
            value = self._by_id(framed)
        if (value is None or _has_no_schema(value)) and topic is not None:
            value = self._by_topic(topic, part, data, framed) or value
        if value is not None and value.error is not None:
            self.first_problems.setdefault(value.error.code, value.problem)
        if value is not None:
            self.counts["decoded" if value.error is None else value.error.code] += 1
        return value

    def _by_id(self, framed: FramedValue) -> SchemaValue:
        return self._value(framed.schema_id, framed.schema_id, framed.payload, framed=True)

    def _by_topic(self, topic: str, part: Part, data: bytes, framed: FramedValue | None) -> SchemaValue | None:
        """Decode by the schema of a topic; a value that may have a frame is read with it, or else without."""
        known = self._find((topic, part))
        if known is None:
            return None
        if framed is not None:
            value = self._value((topic, part), framed.schema_id, framed.payload, framed=True)
            if value.error is None:
                return value
        return self._value((topic, part), None, data, framed=False)

    def _value(self, key: _Key, schema_id: int | None, payload: bytes, *, framed: bool) -> SchemaValue:
        known = self._find(key)
        assert known is not None
        if isinstance(known, SchemaError):
            return SchemaValue(None, schema_id, error=known)
        kind, reader = known
        try:
            if len(payload) > MOST_VALUE:
                raise SchemaError(BAD_VALUE, f"{len(payload):,} bytes: values of up to {MOST_VALUE:,} are decoded")
            name, text, unread = reader.read(payload, framed=framed)
        except SchemaError as error:
            return SchemaValue(
                kind, schema_id, getattr(reader, "name", ""), error.json, error=error.with_traceback(None)
            )
        return SchemaValue(kind, schema_id, name, text, unread)

    def _find(self, key: _Key) -> _Known | None:
        """Return the reader of a schema, or why there is none; None if a topic has no schema."""
        if key in self._known:
            return self._known[key]
        is_full = len(self._known) >= MOST_SCHEMAS
        try:
            if is_full and isinstance(key, int):
                raise SchemaError(NO_SCHEMA, f"it is not one of the first {MOST_SCHEMAS:,} schemas asked for")
            document = self.source.find_by_id(key) if isinstance(key, int) else self.source.find_by_topic(*key)
            if document is None:
                return None  # not remembered: a source knows at once which topics have schemas
            known: _Known = (document.kind, _reader_of(document))
        except SchemaError as error:
            known = error.with_traceback(None)
        if not is_full:
            self._known[key] = known
        return known


def _reader_of(document: SchemaDocument) -> ValueReader:
    reader: ValueReader = _READERS[document.kind](document)
    return reader


def _has_no_schema(value: SchemaValue) -> bool:
    return value.error is not None and value.error.code == NO_SCHEMA
