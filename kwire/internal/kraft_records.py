"""Records of the KRaft metadata log and of remote log metadata (type and version as varints), and control records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import WrongType
from ..spec.catalog import catalog_for
from ..wire import INT16, UNSIGNED_VARINT, Reader
from .coordinator_records import METADATA, REMOTE, RecordType, log_of, record_types
from .versioned_body import Embedded, body_of, read_embedded, read_newest, write_newest

FRAME_VERSION = 1  # 0 was that of 2.8, whose records had other layouts


@dataclass(frozen=True, slots=True)
class FramedRecord:
    """A record of a log without keys.

    `type` is the record's type; `value` has name, version and message. Where type, version or the frame's own
    version is not known, the bytes are in `value.rest`.
    """

    log: str
    type: int
    value: Embedded
    frame_version: int = FRAME_VERSION


def decode_metadata_frame(data: bytes) -> FramedRecord:
    """Decode the value of a record of `__cluster_metadata`.

    Args:
        data: the record's value.

    Raises:
        DecodeError: the varints are cut short, or the bytes are not what they say.

    >>> record = decode_metadata_frame(bytes.fromhex("01 09 00" + 16 * "ab" + "00"))
    >>> record.value.name, record.value.version, record.value.message.topic_id.hex()[:4]
    ('RemoveTopicRecord', 0, 'abab')
    """
    return _decode(METADATA, data)


def decode_remote_log_frame(data: bytes) -> FramedRecord:
    """Decode the value of a record of `__remote_log_metadata`; errors as `decode_metadata_frame`.

    >>> decode_remote_log_frame(bytes.fromhex("01 63 00 0102")).value
    Embedded(name=None, version=0, message=None, rest=b'\\x01\\x02')
    """
    return _decode(REMOTE, data)


def framed_record(message: Any, version: int = 0) -> FramedRecord:
    """Make a record of a message of either log.

    Args:
        message: such as `kwire.messages.RemoveTopicRecord(...)`.
        version: of the message.

    Raises:
        EncodeError: it is no record of these logs.

    >>> from kwire import messages
    >>> encode_frame(framed_record(messages.NoOpRecord())).hex()
    '01140000'
    """
    name = type(message).__name__
    kind, number = catalog_for().heads().get(name, ("", None))
    if kind != "metadata" or number is None:
        raise WrongType(need="a record of the metadata log or of the remote log", found=name)
    return FramedRecord(log_of(name, kind), number, Embedded(name, version, message))


def encode_frame(record: FramedRecord) -> bytes:
    """Encode a record, to the bytes it was decoded from. Raises EncodeError, UnsupportedVersion."""
    front = (record.frame_version, record.type, record.value.version)
    return b"".join(UNSIGNED_VARINT.build(number) for number in front) + body_of(record.value)


def _decode(log: str, data: bytes) -> FramedRecord:
    reader = Reader(bytes(data))
    frame_version = reader.child("frame_version", UNSIGNED_VARINT)
    number = reader.child("type", UNSIGNED_VARINT)
    version = reader.child("version", UNSIGNED_VARINT)
    names = record_types(catalog_for()).get((log, number), RecordType())
    name = names.value if frame_version == FRAME_VERSION else None
    return FramedRecord(log, number, read_embedded(reader, name, version), frame_version)


KEY = "ControlRecordTypeSchema"
MARKER = "EndTxnMarker"
# type -> message of the value
VALUES: dict[int, str] = {
    0: MARKER,
    1: MARKER,
    2: "LeaderChangeMessage",
    3: "SnapshotHeaderRecord",
    4: "SnapshotFooterRecord",
    5: "KRaftVersionRecord",
    6: "VotersRecord",
}


@dataclass(frozen=True, slots=True)
class ControlRecord:
    """A control record: `type` is 0 for abort, 1 for commit and so on (`kwire.values.ControlRecordType`)."""

    type: int
    key: Embedded
    value: Embedded | None


def decode_control_record(key: bytes, value: bytes | None) -> ControlRecord:
    """Decode a record of a control batch.

    Args:
        key, value: of the record.

    Returns:
        Key and value; a type or version that is not known keeps its bytes. A key or an end of a transaction of
        a newer version is read as the newest known, and its tail kept, as with Kafka's own reader.

    Raises:
        DecodeError: the bytes are not what their type says.

    >>> record = decode_control_record(bytes.fromhex("00000001"), bytes.fromhex("0000 00000094"))
    >>> record.type, record.value.message
    (1, EndTxnMarker(coordinator_epoch=148, unknown_tags=None))
    """
    head = read_newest(key, KEY)
    number: int = head.message.type
    name = VALUES.get(number)
    if value is None:
        return ControlRecord(number, head, None)
    if name == MARKER:
        return ControlRecord(number, head, read_newest(value, name))
    if name is None:
        return ControlRecord(number, head, Embedded(None, None, None, bytes(value)))
    version = Reader(bytes(value)).child("version", INT16)
    return ControlRecord(number, head, read_embedded(Reader(bytes(value)), name, version))


def encode_control_record(record: ControlRecord) -> tuple[bytes, bytes | None]:
    """Encode key and value, to the bytes they were decoded from. Raises EncodeError, UnsupportedVersion."""
    key = write_newest(record.key)
    if record.value is None:
        return key, None
    return key, write_newest(record.value) if record.value.name == MARKER else body_of(record.value)
