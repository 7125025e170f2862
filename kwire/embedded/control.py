"""Control records: what a log says of itself between the records of applications.

A key is an int16 version and the type. The value of a transaction's end has its version in front; those of
the quorum's records have it as their first field. Source: KIP-98, KIP-595, KIP-630, KIP-853.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..wire import INT16, Reader
from .bodies import Embedded, body_of, read_embedded, read_newest, write_newest

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
