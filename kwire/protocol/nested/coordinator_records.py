"""Records of the coordinators: __consumer_offsets, __transaction_state, __share_group_state."""

from __future__ import annotations

from typing import Any

import msgspec

from ...codecs.wire import INT16, Reader
from ...errors import WrongType
from ...runtime.former_dataclasses import was_dataclass
from ...schema.catalog import catalog_for
from .topic_record_types import GROUPS, SHARES, TRANSACTIONS, RecordType, log_of, record_types
from .versioned_message import Embedded, body_of, get_int16, read_embedded, versions_of

OFFSET_COMMIT = RecordType("OffsetCommitKey", "OffsetCommitValue")


@was_dataclass
class CoordinatorRecord(msgspec.Struct, frozen=True):
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
    return _decode_record(GROUPS, key, value, legacy_keys)


def decode_transaction_record(key: bytes, value: bytes | None) -> CoordinatorRecord:
    """Decode a record of `__transaction_state`; for arguments, result and errors see `decode_group_record`.

    >>> decode_transaction_record(bytes.fromhex("0000 000174"), None).key.message.transactional_id
    't'
    """
    return _decode_record(TRANSACTIONS, key, value, False)


def decode_share_record(key: bytes, value: bytes | None, *, legacy_keys: bool = False) -> CoordinatorRecord:
    """Decode a record of `__share_group_state`; for arguments, result and errors see `decode_group_record`.

    >>> decode_share_record(bytes.fromhex("0001 000167" + 16 * "00" + "00000003"), None).key.message.partition
    3
    """
    return _decode_record(SHARES, key, value, legacy_keys)


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
    key = get_int16(record.type) + body_of(record.key)
    if record.value is None:
        return key, None
    front = b"" if record.value.version is None else get_int16(record.value.version)
    return key, front + body_of(record.value)


def _decode_record(log: str, key: bytes, value: bytes | None, legacy_keys: bool) -> CoordinatorRecord:
    reader = Reader(bytes(key))
    number = reader.child("type", INT16)
    names = record_types(catalog_for()).get((log, number), RecordType())
    if legacy_keys and log == GROUPS and number == 0:
        names = OFFSET_COMMIT
    version = number if names.key is None else key_version(names.key, number, legacy_keys)
    return CoordinatorRecord(log, number, read_embedded(reader, names.key, version), _decode_value(names.value, value))


def key_version(name: str, number: int, legacy: bool = False) -> int:
    """Return the version of a key message: 0, or its type if that is its only version or requested."""
    versions = versions_of(name)
    return number if number in versions and (legacy or 0 not in versions) else 0


def _decode_value(name: str | None, value: bytes | None) -> Embedded | None:
    if value is None:
        return None
    if name is None:
        return Embedded(None, None, None, bytes(value))
    reader = Reader(bytes(value))
    return read_embedded(reader, name, reader.child("version", INT16))
