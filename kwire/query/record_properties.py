"""Properties of records of a log, and of entries of the files beside its segments, that filters and --fields name.

Entries are read by their attributes: their classes are in `kwire.capture.logs`, on which this package does not depend.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePath
from typing import Any, NamedTuple

from ..codecs.message_codec import Codec
from ..protocol.nested import ControlRecord
from ..protocol.nested.versioned_message import Embedded, embedded_codec
from ..runtime.lazy_patterns import lazy_pattern
from ..values import kind
from .expression import Constant, ManyValues, Values
from .field_path import FieldPath, FieldSite, Steps

TYPES = ("record", "batch", "zeros", "undecodable", "diskEntry")
# The fields of the entries of files beside segments: `kwire.capture.logs.disk_entry`.
DISK_FIELDS = frozenset(
    "offset position timestamp version producer_id producer_epoch first_offset last_offset last_stable_offset crc "
    "producers epoch start_offset topic partition topic_id".split()
)
_FOLDER = lazy_pattern(r"(?P<topic>[A-Za-z0-9._-]+)-(?P<partition>\d+)", re.ASCII)


class RecordProperty(NamedTuple):
    """A property of a record; for the attributes see `Property`."""

    kind: str
    read: Callable[[Any], Iterable[Any]]
    about: str
    choices: tuple[str, ...] = ()


def type_of(entry: Any) -> str:
    """Return the type of an entry's JSON (`render.json_objects.record_json`)."""
    if hasattr(entry, "record"):
        return "record"
    if hasattr(entry, "kind"):
        return "diskEntry"
    if hasattr(entry, "error"):
        return "zeros" if entry.error is None else "undecodable"
    return "batch"


def _of_record(name: str) -> Callable[[Any], Iterable[Any]]:
    """Return a function that reads an attribute of a record; or the field of an entry beside the segments."""

    def read(entry: Any) -> Iterable[Any]:
        if hasattr(entry, "record"):
            return (getattr(entry.record, name),)
        return _disk_values(entry, name)

    return read


def _of_batch(name: str) -> Callable[[Any], Iterable[Any]]:
    """Return a function that reads an attribute of a batch; or the field of an entry beside the segments."""

    def read(entry: Any) -> Iterable[Any]:
        header = _batch_header(entry)
        if header is None:
            return _disk_values(entry, name)
        value = getattr(header, name)
        return () if value is None else (value,)

    return read


def _batch_header(entry: Any) -> Any:
    batch = entry if hasattr(entry, "entries") else getattr(entry, "batch", None)
    return getattr(batch, "header", batch)


def _disk_values(entry: Any, name: str) -> Iterable[Any]:
    fields: dict[str, Any] = getattr(entry, "fields", {})
    return (fields[name],) if name in fields else ()


def _text(name: str) -> Callable[[Any], Iterable[Any]]:
    """Return a function that reads a key or value: its JSON if its schema is known, else its text or bytes."""

    def read(entry: Any) -> Iterable[Any]:
        if not hasattr(entry, "record"):
            return ()
        by_schema = getattr(entry, f"{name}_by_schema")
        is_read = by_schema is not None and by_schema.json
        return (by_schema.json if is_read else text_or_bytes(getattr(entry.record, name)),)

    return read


def text_or_bytes(value: Any) -> Any:
    """Return bytes as text if they are UTF-8; other values unchanged.

    >>> text_or_bytes(b"k1"), text_or_bytes(bytes([255])), text_or_bytes(None)
    ('k1', b'\\xff', None)
    """
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def _read_headers(entry: Any) -> Iterable[Any]:
    for name, value in getattr(getattr(entry, "record", None), "headers", ()):
        content = text_or_bytes(value)
        yield name if content is None else f"{name}={content.hex() if isinstance(content, bytes) else content}"


def _read_time(entry: Any) -> Iterable[Any]:
    for timestamp in _of_record("timestamp")(entry):
        if isinstance(timestamp, int) and timestamp >= 0:
            yield timestamp / 1000


def _read_size(entry: Any) -> Iterable[Any]:
    if hasattr(entry, "record"):
        yield len(entry.record.key or b"") + len(entry.record.value or b"")
    elif hasattr(entry, "count"):
        yield entry.count


def _read_file(entry: Any) -> str:
    batch = entry if hasattr(entry, "file") else entry.batch
    return str(batch.file)


def _read_topic(entry: Any) -> Iterable[Any]:
    """Return the topic of an internal log, or that of the folder `TOPIC-PARTITION` (LogManager's names)."""
    named = list(_disk_values(entry, "topic"))
    if named:
        return named
    batch = getattr(entry, "batch", entry)
    if getattr(batch, "topic", None):
        return (batch.topic,)
    return _read_folder(entry, "topic")


def _read_partition(entry: Any) -> Iterable[Any]:
    named = list(_disk_values(entry, "partition"))
    return named or [int(text) for text in _read_folder(entry, "partition")]


def _read_folder(entry: Any, group: str) -> Iterable[str]:
    match = _FOLDER.fullmatch(PurePath(_read_file(entry)).parent.name)
    return () if match is None else (match[group],)


def _read_group(entry: Any) -> Iterable[Any]:
    for name in ("group", "group_id"):
        yield from _message_values(entry, FieldPath(name, ((name, None),)))


def _read_control(entry: Any) -> Iterable[Any]:
    message = getattr(entry, "message", None)
    return (kind("ControlRecordType")(message.type).name,) if isinstance(message, ControlRecord) else ()


def _read_record_type(entry: Any) -> Iterable[Any]:
    message = getattr(entry, "message", None)
    return () if message is None or isinstance(message, ControlRecord) else (message.type,)


def _read_undecodable(entry: Any) -> Iterable[Any]:
    fault = getattr(entry, "error", None) or getattr(entry, "fault", None)
    return _schema_codes(entry) if fault is None else (fault.code,)


def _schema_codes(entry: Any) -> list[str]:
    """Return the codes of why key and value do not decode by their schemas."""
    values = (getattr(entry, "key_by_schema", None), getattr(entry, "value_by_schema", None))
    return [value.error.code for value in values if value is not None and value.error is not None]


def _read_faults(entry: Any) -> Iterable[Any]:
    """Return True for what could not be read, and for records and batches in which a fault was tolerated."""
    if hasattr(entry, "error"):
        return (True,) if entry.error is not None else ()
    if hasattr(entry, "record"):
        return (True,) if entry.fault is not None or entry.batch.faults or _schema_codes(entry) else ()
    return (True,) if entry.faults else ()


RECORD_PROPERTIES: dict[str, RecordProperty] = {
    "type": RecordProperty("text", lambda entry: (type_of(entry),), ", ".join(TYPES), TYPES),
    "offset": RecordProperty("number", _of_record("offset"), "offset of the record"),
    "timestamp": RecordProperty("milliseconds", _of_record("timestamp"), "milliseconds since 1970, or a time"),
    "time": RecordProperty("time", _read_time, "the timestamp as a time"),
    "key": RecordProperty("text", _text("key"), "key, as text if it is UTF-8; with --registry, as JSON: key.id"),
    "value": RecordProperty("text", _text("value"), "value, likewise: value.id"),
    "header": RecordProperty("text", _read_headers, "headers, as name=value"),
    "topic": RecordProperty("text", _read_topic, "topic of the log"),
    "group": RecordProperty("text", _read_group, "group of a record of __consumer_offsets"),
    "partition": RecordProperty("number", _read_partition, "partition of the log"),
    "size": RecordProperty("number", _read_size, "bytes of key and value"),
    "producer": RecordProperty("number", _of_batch("producer_id"), "the same as producer_id"),
    "producer_id": RecordProperty("number", _of_batch("producer_id"), "producer of the batch, or -1"),
    "producer_epoch": RecordProperty("number", _of_batch("producer_epoch"), "epoch of the producer"),
    "base_sequence": RecordProperty("number", _of_batch("base_sequence"), "sequence number of the batch"),
    "base_offset": RecordProperty("number", _of_batch("base_offset"), "first offset of the batch"),
    "partition_leader_epoch": RecordProperty("number", _of_batch("partition_leader_epoch"), "epoch of the leader"),
    "compression": RecordProperty("text", _of_batch("compression"), "compression of the batch"),
    "magic": RecordProperty("number", _of_batch("magic"), "magic byte of the batch"),
    "is_transactional": RecordProperty("boolean", _of_batch("is_transactional"), "whether in a transaction"),
    "is_control": RecordProperty("boolean", _of_batch("is_control"), "whether a control record"),
    "control": RecordProperty("text", _read_control, "kind of a control record: COMMIT, ABORT, ..."),
    "record_type": RecordProperty("number", _read_record_type, "type of a record of an internal topic"),
    "undecodable": RecordProperty("text", _read_undecodable, "error code of what does not decode"),
    "(errors)": RecordProperty("boolean", _read_faults, "--errors: what could not be read, or only with faults"),
    "file": RecordProperty("text", lambda entry: (_read_file(entry),), "name of the file"),
}


def read_records(path: FieldPath) -> Values:
    """Return how the values of a path are read from records and entries."""
    known = RECORD_PROPERTIES.get(path.name)
    if known is not None:
        return ManyValues(known.read)
    if path.property is not None:
        return Constant(())
    if path.part:
        return ManyValues(lambda entry: _values_by_schema(entry, path))
    name = ".".join(name for name, _ in path.steps)
    if name in DISK_FIELDS:
        return ManyValues(lambda entry: _disk_values(entry, name) or _message_values(entry, path))
    return ManyValues(lambda entry: _message_values(entry, path))


def _values_by_schema(entry: Any, path: FieldPath) -> Iterator[Any]:
    """Yield the values at a path in a key or value, if its schema decodes it."""
    by_schema = getattr(entry, f"{path.part}_by_schema", None)
    if by_schema is not None and by_schema.json:
        yield from _json_elements(by_schema.value, path.steps[0][1], path.steps[1:], path.is_whole)


def _json_values(value: Any, steps: Steps, is_whole: bool) -> Iterator[Any]:
    """Yield the values that are these steps away from a value of JSON."""
    if not steps:
        yield value
        return
    name, index = steps[0]
    if isinstance(value, dict) and name in value:
        yield from _json_elements(value[name], index, steps[1:], is_whole)


def _json_elements(member: Any, index: int | None, rest: Steps, is_whole: bool) -> Iterator[Any]:
    if not isinstance(member, list) or (is_whole and not rest and index is None):
        yield from _json_values(member, rest, is_whole)
        return
    for element in member if index is None else member[index : index + 1]:
        yield from _json_values(element, rest, is_whole)


def _message_values(entry: Any, path: FieldPath) -> Iterable[Any]:
    return [value for _, _, value in sited_record_values(entry, path)]


def sited_record_values(entry: Any, path: FieldPath) -> Iterator[tuple[Codec, FieldSite, Any]]:
    """Yield the values of fields in the decoded key and value of a record, each with its codec and field."""
    message = getattr(entry, "message", None)
    for part in (getattr(message, "key", None), getattr(message, "value", None)):
        codec = embedded_codec(part) if isinstance(part, Embedded) else None
        if codec is not None and isinstance(part, Embedded):
            for site, value in path.sited_values(codec, part.message):
                yield codec, site, value
