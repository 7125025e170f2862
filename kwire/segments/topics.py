"""Which of Kafka's own topics a log is of, and what its records say then.

Told by the caller, or else by the records: by control records that only the metadata log has, or by keys and values
that decode to their last byte as one topic's and no other's. What does not is left as bytes. Knows no files.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple

from ..embedded import (
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
from ..embedded.logs import GROUPS, METADATA, REMOTE, SHARES, TRANSACTIONS
from ..errors import DecodeError, KwireError
from ..records import Record, RecordBatch

ENOUGH = 50  # records of a batch that are looked at
OF_A_QUORUM = range(2, 7)  # types of control records: leader change, snapshots, the voters
_FOLDER = re.compile(r"(__\w+)-\d+(\.[0-9a-f]+-(delete|future|stray))?")

_FRAMED: dict[str, Callable[[bytes], FramedRecord]] = {METADATA: decode_metadata_frame, REMOTE: decode_remote_log_frame}
_KEYED: dict[str, Callable[[bytes, bytes | None], CoordinatorRecord]] = {
    GROUPS: decode_group_record,
    TRANSACTIONS: decode_transaction_record,
    SHARES: decode_share_record,
}
INTERNAL = (*_KEYED, *_FRAMED)


class Meaning(NamedTuple):
    """What a record says, or why it could not be read; neither for bytes that are not Kafka's own."""

    message: ControlRecord | CoordinatorRecord | FramedRecord | None = None
    fault: DecodeError | None = None


def topic_of_folder(name: str) -> str | None:
    """Return which of Kafka's own topics a folder is named after.

    >>> topic_of_folder("__consumer_offsets-3"), topic_of_folder("orders-0")
    ('__consumer_offsets', None)
    """
    match = _FOLDER.fullmatch(name)
    return match[1] if match and match[1] in INTERNAL else None


class Topic:
    """What is known of the topic of a log.

    Args:
        name: of the topic, where it is known; any other than Kafka's own leaves the records as they are.

    Attributes:
        name: one of `INTERNAL`, or None.
        found: whether the records told it.
    """

    def __init__(self, name: str | None = None) -> None:
        self.name = name if name in INTERNAL else None
        self.found: bool = False
        self._settled = name is not None

    def learn(self, batch: RecordBatch) -> None:
        """Look at a batch, as long as it is not known whose log this is."""
        if self._settled:
            return
        records = _some_records(batch)
        if batch.is_control:
            kinds = [_control_type(record) for record in records]
            if any(kind in OF_A_QUORUM for kind in kinds):
                self._settle(METADATA)
        elif records:
            fits = {name: _fit(name, records) for name in INTERNAL}
            sure = [name for name, values in fits.items() if values]
            if len(sure) == 1:
                self._settle(sure[0])
            self._settled |= all(values is None for values in fits.values())

    def _settle(self, name: str) -> None:
        self.name, self.found, self._settled = name, True, True

    def read(self, batch: RecordBatch, record: Record) -> Meaning:
        """Say what a record of this log says."""
        try:
            if batch.is_control:
                return Meaning(decode_control_record(record.key or b"", record.value))
            return Meaning() if self.name is None else Meaning(_read(self.name, record))
        except DecodeError as error:
            return Meaning(None, error.with_traceback(None))


def _read(name: str, record: Record) -> CoordinatorRecord | FramedRecord | None:
    if name in _FRAMED:
        return None if record.value is None else _FRAMED[name](record.value)
    return None if record.key is None else _KEYED[name](record.key, record.value)


def _some_records(batch: RecordBatch) -> list[Record]:
    try:
        items = islice(batch.records(salvage=True), ENOUGH)
        return [item for item in items if isinstance(item, Record)]
    except KwireError:  # the library for its compression is not there
        return []


def _control_type(record: Record) -> int:
    return int.from_bytes((record.key or b"")[2:4], "big")


def _fit(name: str, records: list[Record]) -> int | None:
    """Count the values among records that are a topic's to the last byte; None if one of the records is not."""
    values = 0
    for record in records:
        try:
            if not _is_of(name, record):
                return None
        except KwireError:
            return None
        values += record.value is not None
    return values


def _is_of(name: str, record: Record) -> bool:
    read: Any = _read(name, record)
    if read is None:
        return False
    if name in _FRAMED:
        return record.key is None and read.value.message is not None and encode_frame(read) == record.value
    if read.key.message is None or not _is_named(read.key.message):
        return False
    value = read.value
    return (value is None or value.message is not None) and encode_record(read) == (record.key, record.value)


def _is_named(key: Any) -> bool:
    """Whether the first field of a key, a group or transactional id, is there and printable."""
    name = getattr(key, key.__struct_fields__[0])
    return isinstance(name, str) and bool(name) and name.isprintable()
