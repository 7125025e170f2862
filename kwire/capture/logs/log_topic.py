"""Identifies the internal topic to which a log belongs, and decodes its records."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple

from ...codecs.records import Record, RecordBatch
from ...errors import DecodeError, KwireError
from ...protocol.nested import (
    ControlRecord,
    CoordinatorRecord,
    FramedRecord,
    decode_control_record,
    decode_group_record,
    decode_metadata_frame,
    decode_remote_log_frame,
    decode_share_record,
    decode_transaction_record,
    encode_frame,
    encode_record,
)
from ...protocol.nested.topic_record_types import GROUPS, METADATA, REMOTE, SHARES, TRANSACTIONS
from ...runtime.lazy_patterns import lazy_pattern

ENOUGH = 50  # records of a batch that are examined
OF_A_QUORUM = range(2, 7)  # types of control records in a metadata log: leader change, snapshots, voters
# The folder of a partition, with the suffixes of Kafka's UnifiedLog: to be deleted, moved between directories, unknown.
_FOLDER = lazy_pattern(r"(__\w+)-\d+(\.[0-9a-f]+-(delete|future|stray))?")
_FRAMED: dict[str, Callable[[bytes], FramedRecord]] = {METADATA: decode_metadata_frame, REMOTE: decode_remote_log_frame}
_KEYED: dict[str, Callable[[bytes, bytes | None], CoordinatorRecord]] = {
    GROUPS: decode_group_record,
    TRANSACTIONS: decode_transaction_record,
    SHARES: decode_share_record,
}
INTERNAL = (*_KEYED, *_FRAMED)


class DecodedRecord(NamedTuple):
    """The decoded content of a record, or the reason why it could not be decoded; both None outside of internal
    topics.
    """

    message: ControlRecord | CoordinatorRecord | FramedRecord | None = None
    fault: DecodeError | None = None


def topic_of_folder(name: str) -> str | None:
    """Return the internal topic in the name of a folder; None if there is none.

    >>> topic_of_folder("__consumer_offsets-3"), topic_of_folder("orders-0")
    ('__consumer_offsets', None)
    """
    match = _FOLDER.fullmatch(name)
    return match[1] if match and match[1] in INTERNAL else None


class LogTopic:
    """The topic of a log, as far as it is identified.

    Args:
        name: the name of the topic, if known; records are decoded only for internal topics.

    Attributes:
        name: one of `INTERNAL`, or None.
        found: whether records identified it.
    """

    def __init__(self, name: str | None = None) -> None:
        self.name = name if name in INTERNAL else None
        self.found: bool = False
        self._settled = name is not None

    def learn(self, batch: RecordBatch) -> None:
        """Examine a batch if the topic is not yet identified."""
        if self._settled:
            return
        records = _read_some_records(batch)
        if batch.is_control:
            kinds = [_read_control_type(record) for record in records]
            if any(kind in OF_A_QUORUM for kind in kinds):
                self._settle(METADATA)
        elif records:
            fits = {name: _count_fitting(name, records) for name in INTERNAL}
            sure = [name for name, values in fits.items() if values]
            if len(sure) == 1:
                self._settle(sure[0])
            self._settled |= all(values is None for values in fits.values())

    def _settle(self, name: str) -> None:
        self.name = name
        self.found = True
        self._settled = True

    def read(self, batch: RecordBatch, record: Record) -> DecodedRecord:
        """Decode a record of this log."""
        try:
            if batch.is_control:
                return DecodedRecord(decode_control_record(record.key or b"", record.value))
            return DecodedRecord() if self.name is None else DecodedRecord(_decode_record(self.name, record))
        except DecodeError as error:
            return DecodedRecord(None, error.with_traceback(None))


def _decode_record(name: str, record: Record) -> CoordinatorRecord | FramedRecord | None:
    if name in _FRAMED:
        return None if record.value is None else _FRAMED[name](record.value)
    return None if record.key is None else _KEYED[name](record.key, record.value)


def _read_some_records(batch: RecordBatch) -> list[Record]:
    try:
        items = islice(batch.records(salvage=True), ENOUGH)
        return [item for item in items if isinstance(item, Record)]
    except KwireError:  # the library for its compression is not installed
        return []


def _read_control_type(record: Record) -> int:
    return int.from_bytes((record.key or b"")[2:4], "big")


def _count_fitting(name: str, records: list[Record]) -> int | None:
    """Count the values that decode completely as records of a topic; None if one record does not."""
    values = 0
    for record in records:
        try:
            if not _decodes_completely(name, record):
                return None
        except KwireError:
            return None
        values += record.value is not None
    return values


def _decodes_completely(name: str, record: Record) -> bool:
    read: Any = _decode_record(name, record)
    if read is None:
        return False
    if name in _FRAMED:
        return record.key is None and read.value.message is not None and encode_frame(read) == record.value
    if read.key.message is None or not _has_name(read.key.message):
        return False
    value = read.value
    return (value is None or value.message is not None) and encode_record(read) == (record.key, record.value)


def _has_name(key: Any) -> bool:
    """Whether the first field of a key, a group id or transactional id, is printable and not empty."""
    name = getattr(key, key.__struct_fields__[0])
    return isinstance(name, str) and bool(name) and name.isprintable()
