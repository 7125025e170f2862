"""Control records: ends of transactions, leader changes, snapshot headers and footers."""

from __future__ import annotations

import msgspec

from ...codecs.wire import INT16, Reader
from ...runtime.former_dataclasses import was_dataclass
from .versioned_message import Embedded, body_of, read_embedded, read_newest, write_newest

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


@was_dataclass
class ControlRecord(msgspec.Struct, frozen=True):
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
