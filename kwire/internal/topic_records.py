"""Decodes and encodes records of Kafka's internal topics and control records; maps record types to messages.

`__consumer_offsets`, `__transaction_state` and `__share_group_state` have a type in the key and a version in the value.
The KRaft metadata log (`__cluster_metadata`) and `__remote_log_metadata` have type and version as varints. Each of them
decodes to an `Embedded`: a message that follows its version.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from ..codecs import Codec, codec_in
from ..errors import SpecError, UnknownVersion, WrongType
from ..spec.catalog import Catalog, catalog_for
from ..spec.model import Versions
from ..wire import INT16, UNSIGNED_VARINT, Reader


@dataclass(frozen=True, slots=True)
class Embedded:
    """A message that follows its version.

    Attributes:
        name: the name of the message; None for an unknown type.
        version: the version in the bytes; None if there is none.
        message: the decoded message; None if type or version is unknown.
        rest: the bytes after the message; all bytes if there is no message.
    """

    name: str | None
    version: int | None
    message: Any
    rest: bytes = b""


def codec_for(name: str, version: int) -> Codec:
    """Return the codec of a released message. Raises UnknownMessage, UnsupportedVersion."""
    return codec_in(catalog_for(), name, version)


def codec_of(embedded: Embedded) -> Codec | None:
    """Return the codec that decoded a message; None if there is no message."""
    if embedded.message is None or embedded.name is None or embedded.version is None:
        return None
    return codec_for(embedded.name, min(embedded.version, versions_of(embedded.name).last))


def versions_of(name: str) -> Versions:
    """Return the versions of a released message."""
    return catalog_for().spec(name).versions


def read_embedded(reader: Reader, name: str | None, version: int) -> Embedded:
    """Read a message that follows its version; keep the bytes of an unknown type or version.

    Raises DecodeError, also for bytes left over after a known message.
    """
    if name is None or version not in versions_of(name):
        return Embedded(name, version, None, reader.read())
    message = codec_for(name, version).read(reader)
    reader.finish()
    return Embedded(name, version, message)


def read_newest(data: bytes, name: str) -> Embedded:
    """Read an int16 version and the message.

    A version above the newest known one is read as the newest, and trailing bytes are kept. Kafka does the same: a
    newer version only adds fields at the end, which old readers skip.
    """
    reader = Reader(bytes(data))
    version = reader.child("version", INT16)
    if version < 0:
        found = (name, version, str(versions_of(name)))
        reader.refuse(UnknownVersion, 0, found=found, raw=reader.data[:2])
    message = codec_for(name, min(version, versions_of(name).last)).read(reader)
    return Embedded(name, version, message, reader.read())


def write_newest(embedded: Embedded) -> bytes:
    """Encode the result of `read_newest`. Raises EncodeError, UnsupportedVersion."""
    if embedded.name is None or embedded.version is None:
        return embedded.rest
    codec = codec_for(embedded.name, min(embedded.version, versions_of(embedded.name).last))
    return int16(embedded.version) + codec.encode(embedded.message) + embedded.rest


def body_of(embedded: Embedded) -> bytes:
    """Encode the result of `read_embedded`. Raises EncodeError, UnsupportedVersion."""
    if embedded.message is None or embedded.name is None or embedded.version is None:
        return embedded.rest
    return codec_for(embedded.name, embedded.version).encode(embedded.message) + embedded.rest


def int16(value: int) -> bytes:
    """Write two bytes. Raises EncodeError if the value does not fit."""
    written: bytes = INT16.build(value)
    return written


GROUPS, TRANSACTIONS, SHARES = "__consumer_offsets", "__transaction_state", "__share_group_state"
METADATA, REMOTE = "__cluster_metadata", "__remote_log_metadata"

# (kind of spec, prefix of the name) -> log; the first match applies
LOGS: dict[tuple[str, str], str] = {
    ("metadata", "RemoteLog"): REMOTE,
    ("metadata", "RemotePartition"): REMOTE,
    ("metadata", ""): METADATA,
    ("coordinator", "TransactionLog"): TRANSACTIONS,
    ("coordinator", "ShareSnapshot"): SHARES,
    ("coordinator", "ShareUpdate"): SHARES,
    ("coordinator", ""): GROUPS,
}
# message -> the message that now has its type
SUPERSEDED: dict[str, str] = {
    # The name of type 14 in Kafka 2.8, an early-access release; since 3.0, type 14 has another name and layout.
    "QuotaRecord": "ClientQuotaRecord",
}


class RecordType(NamedTuple):
    """The messages of a record. `key` is None in logs whose records have no key; `value` is None if no spec has it."""

    key: str | None = None
    value: str | None = None


@cache
def record_types(catalog: Catalog) -> dict[tuple[str, int], RecordType]:
    """Return the messages of each (log, type).

    Args:
        catalog: the specs.

    Raises:
        SpecError: two messages of a log have the same type, and `SUPERSEDED` does not select one.

    >>> from kwire.spec.catalog import catalog_for
    >>> record_types(catalog_for())["__share_group_state", 0]
    RecordType(key='ShareSnapshotKey', value='ShareSnapshotValue')
    """
    names: dict[tuple[str, int], dict[str, str]] = {}
    heads = catalog.heads()
    for name, (kind, number) in heads.items():
        if number is None or not kind.startswith(("metadata", "coordinator")) or SUPERSEDED.get(name) in heads:
            continue
        slot = "key" if kind == "coordinator-key" else "value"
        taken = names.setdefault((log_of(name, kind), number), {})
        if slot in taken:
            problem = f"{name} and {taken[slot]} are both type {number} of {log_of(name, kind)}"
            raise SpecError(problem, file=name, hint="give one of them another apiKey")
        taken[slot] = name
    return {place: RecordType(**taken) for place, taken in sorted(names.items())}


def log_of(name: str, kind: str) -> str:
    """Return the log to which a record's message belongs."""
    return next(log for (group, start), log in LOGS.items() if kind.startswith(group) and name.startswith(start))


OFFSET_COMMIT = RecordType("OffsetCommitKey", "OffsetCommitValue")


@dataclass(frozen=True, slots=True)
class CoordinatorRecord:
    """A record of a coordinator's log: `type` is the type of the key; `value` is None for a tombstone."""

    log: str
    type: int
    key: Embedded
    value: Embedded | None


def decode_group_record(key: bytes, value: bytes | None, *, legacy_keys: bool = False) -> CoordinatorRecord:
    """Decode a record of `__consumer_offsets`.

    Args:
        key, value: the bytes of the record; None as value means a tombstone.
        legacy_keys: number key messages as Kafka up to 4.0 does: the version is the type.

    Returns:
        Key and value, each with its message; an unknown type or version keeps its bytes.

    Raises:
        DecodeError: the bytes do not match their type; offsets count from the start of key or value.

    >>> record = decode_group_record(bytes.fromhex("0002 000467726f75"), None)
    >>> record.key.name, record.key.version, record.key.message.group, record.value
    ('GroupMetadataKey', 0, 'grou', None)
    """
    return _decode(GROUPS, key, value, legacy_keys)


def decode_transaction_record(key: bytes, value: bytes | None) -> CoordinatorRecord:
    """Decode a record of `__transaction_state`; for arguments, result and errors see `decode_group_record`.

    >>> decode_transaction_record(bytes.fromhex("0000 000174"), None).key.message.transactional_id
    't'
    """
    return _decode(TRANSACTIONS, key, value, False)


def decode_share_record(key: bytes, value: bytes | None, *, legacy_keys: bool = False) -> CoordinatorRecord:
    """Decode a record of `__share_group_state`; for arguments, result and errors see `decode_group_record`.

    >>> decode_share_record(bytes.fromhex("0001 000167" + 16 * "00" + "00000003"), None).key.message.partition
    3
    """
    return _decode(SHARES, key, value, legacy_keys)


def coordinator_record(key: Any, value: Any = None, version: int = 0) -> CoordinatorRecord:
    """Create a record from messages.

    Args:
        key: a message such as `kwire.messages.GroupMetadataKey(...)`.
        value: its value; None for a tombstone.
        version: the version of the value.

    Raises:
        EncodeError: the message is not a key of a coordinator's log.

    >>> from kwire import messages
    >>> record = coordinator_record(messages.GroupMetadataKey(group="g"))
    >>> encode_record(record)
    (b'\\x00\\x02\\x00\\x01g', None)
    """
    name = type(key).__name__
    kind, number = catalog_for().heads().get(name, ("", None))
    if kind != "coordinator-key" or number is None:
        raise WrongType(need="a key of a coordinator's log", found=name)
    embedded = None if value is None else Embedded(type(value).__name__, version, value)
    return CoordinatorRecord(log_of(name, kind), number, Embedded(name, key_version(name, number), key), embedded)


def encode_record(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    """Encode key and value; a decoded record gives the same bytes. Raises EncodeError, UnsupportedVersion."""
    key = int16(record.type) + body_of(record.key)
    if record.value is None:
        return key, None
    front = b"" if record.value.version is None else int16(record.value.version)
    return key, front + body_of(record.value)


def _decode(log: str, key: bytes, value: bytes | None, legacy_keys: bool) -> CoordinatorRecord:
    reader = Reader(bytes(key))
    number = reader.child("type", INT16)
    names = record_types(catalog_for()).get((log, number), RecordType())
    if legacy_keys and log == GROUPS and number == 0:
        names = OFFSET_COMMIT
    version = number if names.key is None else key_version(names.key, number, legacy_keys)
    return CoordinatorRecord(log, number, read_embedded(reader, names.key, version), _value(names.value, value))


def key_version(name: str, number: int, legacy: bool = False) -> int:
    """Return the version of a key message: 0, or its type if that is its only version or requested."""
    versions = versions_of(name)
    return number if number in versions and (legacy or 0 not in versions) else 0


def _value(name: str | None, value: bytes | None) -> Embedded | None:
    if value is None:
        return None
    if name is None:
        return Embedded(None, None, None, bytes(value))
    reader = Reader(bytes(value))
    return read_embedded(reader, name, reader.child("version", INT16))


FRAME_VERSION = 1  # version 0 was used in 2.8; its records had other layouts


@dataclass(frozen=True, slots=True)
class FramedRecord:
    """A record of a log without keys.

    `type` is the record's type; `value` has name, version and message. If the type, the version or the frame version is
    unknown, the bytes are in `value.rest`.
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
    frame_version = reader.child("frame_version", UNSIGNED_VARINT)
    number = reader.child("type", UNSIGNED_VARINT)
    version = reader.child("version", UNSIGNED_VARINT)
    names = record_types(catalog_for()).get((log, number), RecordType())
    name = names.value if frame_version == FRAME_VERSION else None
    return FramedRecord(log, number, read_embedded(reader, name, version), frame_version)


KEY = "ControlRecordTypeSchema"
MARKER = "EndTxnMarker"
# type -> message in the value
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
        key, value: the bytes of the record.

    Returns:
        Key and value; an unknown type or version keeps its bytes. A key or EndTxnMarker of a newer version is read as
        the newest known one, and the trailing bytes are kept, as in Kafka's reader.

    Raises:
        DecodeError: the bytes do not match their type.

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
    """Encode key and value; a decoded record gives the same bytes. Raises EncodeError, UnsupportedVersion."""
    key = write_newest(record.key)
    if record.value is None:
        return key, None
    return key, write_newest(record.value) if record.value.name == MARKER else body_of(record.value)
