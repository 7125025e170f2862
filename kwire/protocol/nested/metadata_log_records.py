"""Records of KRaft's metadata log and of remote log metadata: frame version, type, version, message."""

from __future__ import annotations

from typing import Any

import msgspec

from ...codecs.wire import UNSIGNED_VARINT, Reader
from ...errors import WrongType
from ...runtime.former_dataclasses import was_dataclass
from ...schema.catalog import catalog_for
from .topic_record_types import METADATA, REMOTE, RecordType, log_of, record_types
from .versioned_message import Embedded, body_of, read_embedded

FRAME_VERSION = 1  # version 0 was used in 2.8; its records had other layouts


@was_dataclass
class FramedRecord(msgspec.Struct, frozen=True):
    """A record of a log without keys.

    `type` is the record's type; `value` has name, version and message. If the type, the version or the frame version is
    unknown, the bytes are in `value.rest`.
    """

    log: str
    type: int
    value: Embedded
    frame_version: int = FRAME_VERSION


def read_frame_head(reader: Reader) -> tuple[int, int, int]:
    """Read what precedes the message of a record: frame version, type and version. Raises DecodeError."""
    frame_version = reader.child("frame_version", UNSIGNED_VARINT)
    number = reader.child("type", UNSIGNED_VARINT)
    version = reader.child("version", UNSIGNED_VARINT)
    return frame_version, number, version


def decode_metadata_frame(data: bytes) -> FramedRecord:
    """Decode the value of a record of `__cluster_metadata`.

    Args:
        data: the record's value.

    Raises:
        DecodeError: the varints are truncated, or the bytes do not match them.

    >>> record = decode_metadata_frame(bytes.fromhex("01 09 00" + 16 * "ab" + "00"))
    >>> record.value.name, record.value.version, record.value.message.topic_id.hex()[:4]
    ('RemoveTopicRecord', 0, 'abab')
    """
    return _decode_framed(METADATA, data)


def decode_remote_log_frame(data: bytes) -> FramedRecord:
    """Decode the value of a record of `__remote_log_metadata`; for errors see `decode_metadata_frame`.

    >>> decode_remote_log_frame(bytes.fromhex("01 63 00 0102")).value
    Embedded(name=None, version=0, message=None, rest=b'\\x01\\x02')
    """
    return _decode_framed(REMOTE, data)


def framed_record(message: Any, version: int = 0) -> FramedRecord:
    """Create a record of the metadata log or of the remote log metadata topic from a message.

    Args:
        message: a message such as `kwire.messages.RemoveTopicRecord(...)`.
        version: the version of the message.

    Raises:
        EncodeError: the message is not a record of these logs.

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
    """Encode a record; a decoded record gives the same bytes. Raises EncodeError, UnsupportedVersion."""
    front = (record.frame_version, record.type, record.value.version)
    return b"".join(UNSIGNED_VARINT.build(number) for number in front) + body_of(record.value)


def _decode_framed(log: str, data: bytes) -> FramedRecord:
    reader = Reader(bytes(data))
    frame_version, number, version = read_frame_head(reader)
    names = record_types(catalog_for()).get((log, number), RecordType())
    name = names.value if frame_version == FRAME_VERSION else None
    return FramedRecord(log, number, read_embedded(reader, name, version), frame_version)
