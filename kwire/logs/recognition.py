"""Recognises logs by their first batches, and which of Kafka's internal topics a log belongs to."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple
from zlib import crc32

from ..caches import lazy_pattern
from ..errors import DecodeError, KwireError
from ..internal import (
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
from ..internal.topic_records import GROUPS, METADATA, REMOTE, SHARES, TRANSACTIONS
from ..protocol import LEAST
from ..records import Record, RecordBatch
from ..records.checksums import crc32c
from ..records.layouts import BATCH, CHECKED_FROM, COMPRESSION, LEAST_LENGTH, LOG_OVERHEAD, MESSAGE, UP_TO_MAGIC

MOST_BATCH_BYTES = 100 * 1024 * 1024  # bytes of a batch; a broker takes no request above it (socket.request.max.bytes)
NO, SHORT = -1, -2  # not so; not to be known before more bytes are there
_CODECS = {0: 4, 1: 4, 2: 5}
_NAMED_BITS = {0: 0x0F, 1: 0x0F, 2: 0x7F}
# What every header has at the same places: an offset that is not negative, a length in the limit, a magic.
_HEADER = lazy_pattern(rb"(?=[\x00-\x7f].{7}[\x00-\x06].{7}[\x00-\x02])", re.DOTALL)
_NOT_ZERO = lazy_pattern(rb"[^\x00]")


def stop_of(data: bytes | bytearray, at: int) -> int:
    """Return where the batch ends whose header begins at a place, going by length and magic; or NO, or SHORT."""
    left = len(data) - at
    if left < LOG_OVERHEAD:
        return SHORT
    length = int.from_bytes(data[at + 8 : at + 12], "big", signed=True)
    if not LEAST_LENGTH[0] <= length <= MOST_BATCH_BYTES:
        return NO
    if left < UP_TO_MAGIC:
        return SHORT
    least = LEAST_LENGTH.get(data[at + 16])
    return NO if least is None or length < least else at + LOG_OVERHEAD + length


def credible_stop(data: bytes | bytearray, at: int) -> int:
    """As `stop_of`, of headers all of whose fields are what a right writer writes."""
    stop = stop_of(data, at)
    if stop < 0:
        return stop
    magic = data[at + 16]
    if len(data) - at < LOG_OVERHEAD + LEAST_LENGTH[magic]:
        return SHORT
    credible = _credible_batch if magic == 2 else _credible_message
    return stop if credible(data, at, stop) else NO


def is_sound(data: bytes | bytearray, at: int, stop: int) -> bool:
    """Whether the checksum of a complete batch is correct."""
    magic = data[at + 16]
    checked = bytes(memoryview(data)[at + CHECKED_FROM[magic] : stop])
    place = at + (17 if magic == 2 else 12)
    return int.from_bytes(data[place : place + 4], "big") == (crc32c if magic == 2 else crc32)(checked)


def next_candidate(data: bytearray, at: int) -> int | None:
    """Return the next position from `at` on at which a header could begin; None if there is none in these bytes."""
    while True:
        found = _HEADER.search(data, at)
        if found is None:
            return None
        place = found.start()
        del found  # or the bytes could not be fed on
        if any(data[place : place + LOG_OVERHEAD]):
            return place
        # Among zeros, a header begins so early at most that its length is the first thing in it.
        at = max(place + 1, first_not_zero(data, place) - LOG_OVERHEAD + 1)


def first_not_zero(data: bytes | bytearray, at: int) -> int:
    """Return the position of the first nonzero byte from `at` on; the end if there is none."""
    found = _NOT_ZERO.search(data, at)
    return len(data) if found is None else found.start()


def looks_like_log(head: bytes) -> bool:
    """Whether bytes are the beginning of a log: by a complete batch and its checksum, or by a partial header.

    Args:
        head: the first bytes of a file or stream, the more the better.

    A frame has its size where a log has the upper half of its first offset, so that the two cannot be confused below
    offset 2**34; above it, only the checksum of a complete batch counts.
    """
    is_no_frame = int.from_bytes(head[:4], "big") < LEAST
    stop = credible_stop(head, 0)
    if 0 <= stop <= len(head):
        return is_no_frame or is_sound(head, 0, stop)
    if not is_no_frame:
        return False
    return stop >= 0 or (stop == SHORT and len(head) >= LOG_OVERHEAD) or _begins_damaged(head)


def bytes_needed(head: bytes) -> int:
    """Return how many bytes of an input `looks_like_log` needs, given its first ones; 0 if it cannot be a log."""
    if int.from_bytes(head[:4], "big") < LEAST:
        return BATCH.size  # as a frame it would be impossible
    return max(0, credible_stop(head, 0))


def _begins_damaged(head: bytes) -> bool:
    """Whether a valid batch follows damaged bytes."""
    data, at = bytearray(head), 0
    for _ in range(100):
        place = next_candidate(data, at)
        if place is None:
            return False
        stop = credible_stop(data, place)
        if 0 <= stop <= len(data) and is_sound(data, place, stop):
            return True
        at = place + 1
    return False


def _credible_batch(data: bytes | bytearray, at: int, stop: int) -> bool:
    base, _, epoch, _, _, attributes, last, _, _, producer, producer_epoch, sequence, count = BATCH.unpack_from(
        data, at
    )
    if base < 0 or not _are_credible(attributes, 2) or not 0 <= count <= last + 1:
        return False
    numbers: list[int] = [epoch, producer, producer_epoch, sequence]
    return min(numbers) >= -1


def _credible_message(data: bytes | bytearray, at: int, stop: int) -> bool:
    offset, _, _, magic, attributes = MESSAGE.unpack_from(data, at)
    key: int = at + MESSAGE.size + 8 * magic
    value = key + 4 + max(0, _length(data, key))
    if offset < 0 or not _are_credible(attributes, magic) or _length(data, key) < -1 or value + 4 > stop:
        return False
    if value + 4 > len(data):
        return True  # not to be known yet
    return value + 4 + max(0, _length(data, value)) == stop


def _are_credible(attributes: int, magic: int) -> bool:
    return not attributes & ~_NAMED_BITS[magic] and attributes & COMPRESSION < _CODECS[magic]


def _length(data: bytes | bytearray, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "big", signed=True)


ENOUGH = 50  # records of a batch that are examined
OF_A_QUORUM = range(2, 7)  # types of control records: leader change, snapshots, the voters
_FOLDER = lazy_pattern(r"(__\w+)-\d+(\.[0-9a-f]+-(delete|future|stray))?")

_FRAMED: dict[str, Callable[[bytes], FramedRecord]] = {METADATA: decode_metadata_frame, REMOTE: decode_remote_log_frame}
_KEYED: dict[str, Callable[[bytes, bytes | None], CoordinatorRecord]] = {
    GROUPS: decode_group_record,
    TRANSACTIONS: decode_transaction_record,
    SHARES: decode_share_record,
}
INTERNAL = (*_KEYED, *_FRAMED)


class Meaning(NamedTuple):
    """The decoded content of a record, or why it could not be decoded; neither outside of internal topics."""

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
    """The topic of a log, as far as it has been identified.

    Args:
        name: of the topic, if known; records are decoded only for internal topics.

    Attributes:
        name: one of `INTERNAL`, or None.
        found: whether the records revealed it.
    """

    def __init__(self, name: str | None = None) -> None:
        self.name = name if name in INTERNAL else None
        self.found: bool = False
        self._settled = name is not None

    def learn(self, batch: RecordBatch) -> None:
        """Examine a batch, unless the topic has been identified."""
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
        """Decode a record of this log."""
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
