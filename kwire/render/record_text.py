"""Parts of log records and batches as text: times, keys, values, decoded content, the header of a batch."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from ..capture.logs.disk_entry import DiskEntry
from ..capture.logs.log_batch import LogBatch, LogBytes, LogRecord, Message
from ..codecs.records import RecordBatch
from ..codecs.records.crc32c import hex32
from ..codecs.wire import Struct, content_of
from ..protocol.nested import ControlRecord, CoordinatorRecord, FramedRecord
from ..protocol.nested.versioned_message import Embedded, embedded_codec
from ..values import kind
from .value_text import count_text, shorten, value_text

if TYPE_CHECKING:
    from ..serdes.schema_value import SchemaValue

MOST = 200  # characters of one value
_LAST_TIME = 253402300799999  # the year 9999
Entry = LogRecord | LogBytes | LogBatch | DiskEntry


def time_text(timestamp: int) -> str:
    """Format a record's time (UTC); `-` if there is none, the number if it is outside the range of the calendar.

    >>> time_text(1700000000123), time_text(-1), time_text(2**60)
    ('2023-11-14 22:13:20.123', '-', '1152921504606846976')
    """
    if timestamp == -1:
        return "-"
    if not 0 <= timestamp <= _LAST_TIME:
        return str(timestamp)
    seconds, milliseconds = divmod(timestamp, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}.{milliseconds:03}"


def bytes_text(value: bytes | None, width: int = 60) -> str:
    """Format a key or value: quoted text if it is printable, otherwise hex.

    >>> bytes_text(b"k1"), bytes_text(b'{"n":1}'), bytes_text(b"\\0\\1"), bytes_text(None)
    ('"k1"', '\\'{"n":1}\\'', '0001 (2 bytes)', 'null')
    """
    text = _text(value)
    if text is not None and '"' in text and not set(text) & set("'\\\n\r\t"):
        return shorten(f"'{text}'", width)
    return value_text(value if text is None else text, width=width)


def part_text(data: bytes | None, by_schema: SchemaValue | None, width: int = 60) -> str:
    """Format a key or value as its schema reads it; without a schema, or if it cannot be read, its bytes.

    >>> from kwire.serdes import SchemaValue
    >>> part_text(b"k1", None), part_text(b"..", SchemaValue("AVRO", 7, "shop.Order", '{"id":4711}'))
    ('"k1"', '{"id":4711}')
    """
    if by_schema is None or not by_schema.json:
        return bytes_text(data, width)
    return shorten(by_schema.json, width)


def schema_problems(entry: LogRecord) -> Iterator[str]:
    """Yield why key and value of a record do not decode by their schemas, as `value: shop.Order, schema 7: ...`."""
    for name, value in (("key", entry.key_by_schema), ("value", entry.value_by_schema)):
        if value is not None and value.error is not None:
            yield f"{name}: {value.problem}"


def _text(value: bytes | None) -> str | None:
    try:
        text = (value or b"").decode()
    except UnicodeDecodeError:
        return None
    return text if text and all(character.isprintable() or character in "\n\t\r" for character in text) else None


def message_text(message: Message) -> str:
    """Format the decoded content of a record: `OffsetCommit g t 0: offset=5 leader_epoch=0`."""
    if isinstance(message, ControlRecord):
        return f"{control_name(message)} {embedded_text(message.value)}".rstrip()
    if isinstance(message, FramedRecord):
        name = message.value.name or f"type {message.type}"
        return f"{name.removesuffix('Record')} {embedded_text(message.value)}".rstrip()
    name = (message.key.name or f"type {message.type}").removesuffix("Key")
    value = "deleted" if message.value is None else embedded_text(message.value)
    return f"{name} {_key_text(message.key)}: {value}"


def _key_text(key: Embedded) -> str:
    """Format the values in a key, without field names; text that is one word has no quotes."""
    codec = embedded_codec(key)
    if codec is None:
        return embedded_text(key)
    texts = []
    for field in codec.tree.all_fields:
        value = getattr(key.message, field.name)
        is_word = isinstance(value, str) and value and not set(value) & set("\"'\\: ") and value.isprintable()
        texts.append(value if is_word else _field_text(field.subcon, value))
    return " ".join(texts)


def control_name(message: ControlRecord) -> str:
    """Return Kafka's name of a control record, such as `COMMIT`."""
    return kind("ControlRecordType")(message.type).name or f"control record {message.type}"


def embedded_text(embedded: Embedded | None) -> str:
    """Return the non-empty fields of a message, or the bytes of an unknown message, as text."""
    codec = None if embedded is None else embedded_codec(embedded)
    if embedded is None:
        return ""
    if codec is None:
        version = "" if embedded.version is None else f"v{embedded.version} "
        return f"{version}{value_text(embedded.rest, width=MOST)}"
    return _fields_text(codec.tree, embedded.message)


def _fields_text(struct: Struct, value: Any) -> str:
    tagged = struct.tagged.fields.values() if struct.tagged else ()
    pairs = [(field, getattr(value, field.name)) for field in struct.all_fields]
    shown = [
        f"{field.name}={_field_text(field.subcon, member)}"
        for field, member in pairs
        if member not in (None, "", b"", ())
        and field.name != "version"
        and not (field in tagged and member == field.default)
    ]
    return " ".join(shown)


def _field_text(node: Any, value: Any) -> str:
    inner, struct, is_array = content_of(node)
    if not is_array:
        return value_text(value, inner.type_name) if struct is None else f"{{{_fields_text(struct, value)}}}"
    if struct is not None and len(value) > 1:
        return f"[{count_text(len(value))}]"
    return "[" + ", ".join(_field_text(inner, item) for item in value) + "]"


def bytes_json(value: bytes | None) -> dict[str, Any] | None:
    """Return a key or value as JSON: `{"text": ...}` if it is printable UTF-8, otherwise `{"base64": ...}`."""
    if value is None:
        return None
    text = _text(value)
    return {"base64": base64.b64encode(value).decode()} if text is None else {"text": text}


def part_json(data: bytes | None, by_schema: SchemaValue | None) -> dict[str, Any] | None:
    """Return a key or value as JSON: `{"schema": ..., "payload": ...}`, or its bytes, and the error of one that is bad.

    >>> from kwire.serdes import SchemaValue
    >>> part_json(b"..", SchemaValue("AVRO", 7, "shop.Order", '{"id":4711}'))["schema"]
    {'type': 'AVRO', 'id': 7, 'name': 'shop.Order'}
    """
    if by_schema is None:
        return bytes_json(data)
    from ..serdes.schema_value import schema_json

    members: dict[str, Any] = {"schema": schema_json(by_schema)}
    if by_schema.json:
        members["payload"] = msgspec.Raw(by_schema.json.encode())
    else:
        members = {**(bytes_json(data) or {}), **members}
    if by_schema.error is not None:
        members["error"] = {"code": by_schema.error.code, "message": str(by_schema.error)}
    return members


def embedded_json(embedded: Embedded | None) -> dict[str, Any] | None:
    """Return a message as JSON: name, version and payload; an unknown message has its bytes in `base64`."""
    if embedded is None:
        return None
    codec = embedded_codec(embedded)
    members: dict[str, Any] = {"name": embedded.name, "version": embedded.version}
    if codec is not None:
        members["payload"] = codec.jsonable(embedded.message)
    if embedded.rest or codec is None:
        members["base64"] = base64.b64encode(embedded.rest).decode()
    return {name: value for name, value in members.items() if value is not None}


def parts_of(message: Message) -> tuple[Embedded | None, Embedded | None]:
    """Return the messages in key and value; None for one without a message."""
    if isinstance(message, FramedRecord):
        return None, message.value
    assert isinstance(message, ControlRecord | CoordinatorRecord)
    return message.key, message.value


def disk_fields(entry: DiskEntry) -> Iterator[tuple[str, str]]:
    """Yield the fields of an entry of a file on a broker's disk as text, with times in UTC."""
    for name, value in entry.fields.items():
        if name == "timestamp":
            yield name, time_text(value)
        elif name == "crc":
            yield name, hex32(value)
        else:
            yield name, value if isinstance(value, str) else msgspec.json.encode(value).decode()


def batch_text(batch: RecordBatch) -> str:
    """Describe a batch in one line: position, size, offsets, compression, producer, and the bits that are set."""
    first = batch.last_offset if batch.base_offset is None else batch.base_offset
    offsets = f"offset {first}" if first == batch.last_offset else f"offsets {first}-{batch.last_offset}"
    notes = [offsets if batch.base_offset is not None else f"up to {offsets}"]
    if batch.record_count is not None and batch.record_count != batch.last_offset - first + 1:
        notes.append(count_text(batch.record_count, "record"))
    notes.append(batch.compression or f"compression {batch.compression_id}")
    if batch.magic < 2:
        notes.append(f"magic {batch.magic}")
    bits = {"control": batch.is_control, "transactional": batch.is_transactional}
    notes += [word for word, is_set in bits.items() if is_set]
    return f"# batch at {batch.position}, {count_text(len(batch.data), 'byte')}: {', '.join([*notes, *_origin(batch)])}"


def _origin(batch: RecordBatch) -> Iterator[str]:
    """Yield the producer of a batch, and the origin of its timestamps."""
    if batch.producer_id != -1:
        sequence = "" if batch.base_sequence == -1 else f" sequence {batch.base_sequence}"
        yield (f"producer {batch.producer_id} epoch {batch.producer_epoch}{sequence}")
    if batch.timestamp_type == "LogAppendTime":
        yield ("LogAppendTime")
    if batch.delete_horizon is not None:
        yield (f"delete horizon {time_text(batch.delete_horizon)}")
    if batch.partition_leader_epoch != -1:
        yield (f"leader epoch {batch.partition_leader_epoch}")
