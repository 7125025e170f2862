"""Reads a log in portions: batches, their records, and bytes outside batches. Reading continues after damage.

Recognises logs by their first batches, and identifies the internal topic to which a log belongs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import msgspec

from ..caches import lazy_pattern
from ..errors import BadBatchLength, CutBatch, DecodeError, KwireError, Tolerated, UnknownMagic
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
from ..records import LIMIT, Record, RecordBatch, UndecodableRecords
from ..records.batch import read_whole
from ..records.record_layouts_and_checksums import (
    BATCH,
    CHECKED_FROM,
    COMPRESSION,
    LEAST_LENGTH,
    LOG_OVERHEAD,
    MESSAGE,
    UP_TO_MAGIC,
    crc32c,
    magic_at,
)
from ..sensitive_fields import Hidden

MOST_BATCH_BYTES = 100 * 1024 * 1024  # the largest batch; a broker accepts no larger request (socket.request.max.bytes)
NO, SHORT = -1, -2  # there is no batch; more bytes are needed to decide
_CODECS = {0: 4, 1: 4, 2: 5}
_NAMED_BITS = {0: 0x0F, 1: 0x0F, 2: 0x7F}
# The fields at the same position in every header: a non-negative offset, a length within the limit, a magic.
_HEADER = lazy_pattern(rb"(?=[\x00-\x7f].{7}[\x00-\x06].{7}[\x00-\x02])", re.DOTALL)
_NOT_ZERO = lazy_pattern(rb"[^\x00]")


def stop_of(data: bytes | bytearray, at: int) -> int:
    """Return the end of the batch whose header is at a position, by its length and magic; NO or SHORT without one."""
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
    """Return `stop_of`, but only for headers with fields that a correct writer could write."""
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
    """Return the next position, from `at` on, at which a header could start; None if there is none."""
    while True:
        found = _HEADER.search(data, at)
        if found is None:
            return None
        place = found.start()
        del found  # otherwise `feed` could not append bytes
        if any(data[place : place + LOG_OVERHEAD]):
            return place
        # After zeros, a header starts at the earliest where its length is the first nonzero field.
        at = max(place + 1, first_not_zero(data, place) - LOG_OVERHEAD + 1)


def first_not_zero(data: bytes | bytearray, at: int) -> int:
    """Return the position of the first nonzero byte from `at` on; the end of the data if there is none."""
    found = _NOT_ZERO.search(data, at)
    return len(data) if found is None else found.start()


def looks_like_log(head: bytes) -> bool:
    """Whether bytes are the start of a log: a complete batch with a correct checksum, or a partial header.

    Args:
        head: the first bytes of a file or stream, the more the better.

    A frame has its size where a log has the upper half of its first offset, so the two cannot be confused below offset
    2**34; above it, only the checksum of a complete batch counts.
    """
    is_no_frame = int.from_bytes(head[:4], "big") < LEAST
    stop = credible_stop(head, 0)
    if 0 <= stop <= len(head):
        return is_no_frame or is_sound(head, 0, stop)
    if not is_no_frame:
        return False
    return stop >= 0 or (stop == SHORT and len(head) >= LOG_OVERHEAD) or _begins_damaged(head)


def bytes_needed(head: bytes) -> int:
    """Return how many bytes `looks_like_log` needs, given the first bytes of an input; 0 if it cannot be a log."""
    if int.from_bytes(head[:4], "big") < LEAST:
        return BATCH.size  # impossible as a frame
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
        return True  # not known yet
    return value + 4 + max(0, _length(data, value)) == stop


def _are_credible(attributes: int, magic: int) -> bool:
    return not attributes & ~_NAMED_BITS[magic] and attributes & COMPRESSION < _CODECS[magic]


def _length(data: bytes | bytearray, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "big", signed=True)


ENOUGH = 50  # records of a batch that are examined
OF_A_QUORUM = range(2, 7)  # types of control records in a metadata log: leader change, snapshots, voters
_FOLDER = lazy_pattern(r"(__\w+)-\d+(\.[0-9a-f]+-(delete|future|stray))?")

_FRAMED: dict[str, Callable[[bytes], FramedRecord]] = {METADATA: decode_metadata_frame, REMOTE: decode_remote_log_frame}
_KEYED: dict[str, Callable[[bytes, bytes | None], CoordinatorRecord]] = {
    GROUPS: decode_group_record,
    TRANSACTIONS: decode_transaction_record,
    SHARES: decode_share_record,
}
INTERNAL = (*_KEYED, *_FRAMED)


class Meaning(NamedTuple):
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


class Topic:
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
    except KwireError:  # the library for its compression is not installed
        return []


def _control_type(record: Record) -> int:
    return int.from_bytes((record.key or b"")[2:4], "big")


def _fit(name: str, records: list[Record]) -> int | None:
    """Count the values that decode completely as records of a topic; None if one record does not."""
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
    """Whether the first field of a key, a group id or transactional id, is printable and not empty."""
    name = getattr(key, key.__struct_fields__[0])
    return isinstance(name, str) and bool(name) and name.isprintable()


SNAPSHOT_HEADER = b"\0\0\0\3"  # the key of the first record of a snapshot: version and type
Message = ControlRecord | CoordinatorRecord | FramedRecord


@dataclass(frozen=True, slots=True)
class LogBytes:
    """Bytes of a log that could not be read.

    Attributes:
        position: their offset in the log; for a compressed record, the offset of the compressed bytes.
        count: the number of bytes.
        data: the bytes, decompressed; empty for zeros; `Hidden` if they may be secret.
        error: the reason; None for zeros, which are preallocated space.
        batch: the batch that contains them; None outside of batches.
        file: the name of the log.
    """

    position: int
    count: int
    data: bytes | Hidden
    error: DecodeError | None
    batch: RecordBatch | None = None
    file: str = ""

    def joined(self, count: int) -> LogBytes:
        """Return these zeros joined with following zeros."""
        return replace(self, count=self.count + count)


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A record of a log.

    Attributes:
        record: offset, timestamp, and the bytes of key, value and headers.
        index: the number of preceding records in its batch.
        message: the decoded key and value, in control batches and in internal topics; otherwise None.
        fault: why they could not be decoded; `message` is then None.
        batch: the batch that contains it.
    """

    record: Record
    index: int
    message: Message | None
    fault: DecodeError | None
    batch: LogBatch


@dataclass(frozen=True, slots=True)
class LogBatch:
    """A batch of a log.

    Attributes:
        header: the header, with all bytes of the batch (`data`), its offset in the log in bytes (`position`) and its
            number (`index`).
        topic: the internal topic of the log; None for other topics, and until it is identified.
        file: the name of the log.
        faults: the tolerated faults in the header and in the records read so far.
    """

    header: RecordBatch
    topic: str | None
    file: str
    read: Callable[[RecordBatch, Record], Meaning]
    faults: list[DecodeError] = field(default_factory=list)

    def entries(self, *, salvage: bool = True, limit: int = LIMIT) -> Iterator[LogRecord | LogBytes]:
        """Yield the records, one by one.

        Args:
            salvage: decode encodings that Kafka tolerates; otherwise yield them as `LogBytes` with the error.
            limit: the maximum decompressed size of the records, in bytes.

        Raises:
            MissingExtra: the compression needs a library that is not installed.
        """
        records = self.header.records(salvage=True, limit=limit)
        noted = len(records.faults)
        for index, item in enumerate(records):
            fresh, noted = records.faults[noted:], len(records.faults)
            self.faults.extend(fresh)
            if isinstance(item, UndecodableRecords):
                yield self._bytes(item.data, item.error)
            elif fresh and not salvage:
                yield self._bytes(item.value or b"", fresh[0])
            else:
                message, fault = self.read(self.header, item)
                yield LogRecord(item, index, message, fault, self)
        self.faults.extend(records.faults[noted:])

    def _bytes(self, data: bytes, error: DecodeError) -> LogBytes:
        return LogBytes(error.offset, len(data), data, error, self.header, self.file)


class NoBatch(DecodeError):
    """Bytes between the last valid batch and the next one; `found` is the reason."""

    problem = "{count} bytes are in no batch: {found}"
    quotes = False
    hint = (
        "they were damaged, or written by another program; reading continued at the next batch with a correct checksum"
    )

    def __init__(self, count: int = 0, **facts: Any) -> None:
        super().__init__(count=count, **facts)


class OffsetOrder(Tolerated):
    """A batch whose offsets are not above those of earlier batches. Offsets are not covered by a checksum."""

    problem = "offset {found} comes after offset {need}"
    hint = "the base offset was damaged, or segments were put together in the wrong order"


PIECE = 1 << 20  # maximum size of one item of bytes outside batches
_MOST_ZEROS = 1 << 31  # no segment is larger
_MANY_ZEROS = 64  # this many zeros are not part of a batch
_PROOFS_PER_BYTE = 16  # bytes that the search for a batch may checksum, per byte of the log

Cut = RecordBatch | LogBytes


class SegmentReader:
    """Extracts batches from bytes that arrive in portions of any size.

    >>> from kwire import Record, build_batch
    >>> reader = SegmentReader()
    >>> batch = build_batch([Record(7, key=b"k")])
    >>> [*reader.feed(batch[:50])], [*reader.feed(batch[50:] + b"rest")], [cut.count for cut in reader.finish()]
    ([], [<RecordBatch magic 2, offset 7 to 7, none, 69 bytes>], [4])
    """

    def __init__(self) -> None:
        self._data = bytearray()
        self._passed = 0  # bytes before data[0]
        self._index = 0
        self._last: int | None = None  # the last offset so far
        self._proofs = MOST_BATCH_BYTES
        self._final = False
        self._why: str | None = None  # why batches are lost at this position
        self._scan = 0
        self._zeros: LogBytes | None = None  # not yielded yet, because more may follow

    def feed(self, data: bytes) -> Iterator[Cut]:
        """Append bytes; yield the items that they complete."""
        self._data += data
        self._proofs += _PROOFS_PER_BYTE * len(data)
        yield from self._cuts()

    def finish(self) -> Iterator[Cut]:
        """End the input; yield the remaining items."""
        self._final = True
        yield from self._cuts()
        if self._zeros is not None:
            yield self._zeros

    def _cuts(self) -> Iterator[Cut]:
        while self._data:
            before = len(self._data), self._why
            for cut in self._find() if self._why is not None else self._next():
                yield from self._in_order(cut)
            if (len(self._data), self._why) == before:
                return

    def _in_order(self, cut: Cut) -> Iterator[Cut]:
        """Join zeros that were found separately."""
        if isinstance(cut, LogBytes) and cut.error is None:
            self._zeros = cut if self._zeros is None else self._zeros.joined(cut.count)
            if self._zeros.count < _MOST_ZEROS:
                return
            cut, self._zeros = self._zeros, None
        if self._zeros is not None:
            yield self._zeros
            self._zeros = None
        yield cut

    def _next(self) -> Iterator[Cut]:
        """Yield the first batch of the buffer if it is complete."""
        data, stop = self._data, stop_of(self._data, 0)
        if stop == NO:
            self._lose(self._reason())
        elif stop == SHORT or stop > len(data):
            if self._final:
                yield from self._tail(stop)
        elif (sound := is_sound(data, 0, stop)) or self._is_followed(stop):
            yield self._batch(stop, sound)
        elif self._final or len(data) >= stop + BATCH.size:
            self._lose("its checksum is wrong, and no batch follows where it should end")

    def _is_followed(self, stop: int) -> bool:
        """Whether a length can be correct although the checksum is wrong.

        No valid batch may start before its end, and a batch, zeros or the end of the log must follow.
        """
        if self._holds_a_batch(stop):
            return False
        if stop == len(self._data):
            return self._final
        follows = credible_stop(self._data, stop)
        if follows == SHORT:
            return self._final
        rest = self._data[stop : stop + BATCH.size]
        return follows != NO or (not any(rest) and (self._final or len(rest) == BATCH.size))

    def _holds_a_batch(self, stop: int) -> bool:
        place = next_candidate(self._data, 1)
        while place is not None and place < stop:
            end = credible_stop(self._data, place)
            if 0 <= end <= len(self._data) and self._proves(place, end):
                return True
            place = next_candidate(self._data, place + 1)
        return False

    def _batch(self, stop: int, sound: bool) -> RecordBatch:
        data = bytes(memoryview(self._data)[:stop])
        batch = read_whole(data, self._passed, self._index, salvage=True, check_crc=not sound)
        first = batch.last_offset if batch.base_offset is None else batch.base_offset
        if self._last is not None and first <= self._last:
            fault = OffsetOrder(
                offset=self._passed, segments=("batches", self._index, "base_offset"), found=first, need=self._last
            )
            batch = msgspec.structs.replace(batch, faults=(*batch.faults, fault))
        self._last = batch.last_offset
        self._index += 1
        self._drop(stop)
        return batch

    def _tail(self, stop: int) -> Iterator[Cut]:
        """Yield an incomplete last batch, unless its length is damaged and other batches follow."""
        self._scan = 1
        if self._look() is not None:
            self._lose("it would end after the end of the log, and another batch begins before")
            return
        data, need = bytes(self._data), LOG_OVERHEAD if stop == SHORT else stop
        error = CutBatch(offset=self._passed, segments=("batches", self._index), need=need, have=len(data), raw=data)
        cut = LogBytes(self._passed, len(data), data, error if any(data) else None)
        self._drop(len(data))
        yield cut

    def _reason(self) -> str:
        """Return the problem of the first header."""
        length = int.from_bytes(self._data[8:12], "big", signed=True)
        if LEAST_LENGTH[0] <= length <= MOST_BATCH_BYTES:
            magic = magic_at(self._data)
            if magic not in LEAST_LENGTH:
                return UnknownMagic(found=magic).reason
            return BadBatchLength(found=length, need=LEAST_LENGTH[magic]).reason
        return f"length {length}; batches have {LEAST_LENGTH[0]} to {MOST_BATCH_BYTES} bytes"

    def _lose(self, why: str) -> None:
        self._why, self._scan = why, 0

    def _find(self) -> Iterator[Cut]:
        """Find the next valid batch, and yield the bytes before it."""
        place = self._look()
        if place is None and not self._final and self._scan < PIECE:
            return
        why = self._why or ""
        if place is not None:
            self._why = None
        yield from self._lost(self._scan if place is None else place, why)
        self._scan = 0

    def _look(self) -> int | None:
        """Return the start of the next valid batch from `_scan` on.

        If there is none so far, advance `_scan` and return None.
        """
        while (place := next_candidate(self._data, self._scan)) is not None:
            stop = credible_stop(self._data, place)
            self._scan = place
            if stop == SHORT or stop > len(self._data):
                if not self._final:
                    return None
            elif stop != NO and self._proves(place, stop):
                return place
            self._scan = place + 1
        self._scan = len(self._data) if self._final else max(self._scan, len(self._data) - UP_TO_MAGIC + 1)
        return None

    def _proves(self, at: int, stop: int) -> bool:
        self._proofs -= stop - at
        return self._proofs >= 0 and is_sound(self._data, at, stop)

    def _lost(self, stop: int, why: str) -> Iterator[Cut]:
        """Yield the bytes up to a position; leading and trailing zeros become separate items."""
        zeros = min(first_not_zero(self._data, 0), stop)
        if zeros >= LOG_OVERHEAD or zeros == stop > 0:
            yield self._piece(zeros, "")
            stop -= zeros
            if len(self._data) >= UP_TO_MAGIC and stop_of(self._data, 0) == NO:
                why = self._reason()
        behind = stop - len(self._data[:stop].rstrip(b"\0"))
        if behind < _MANY_ZEROS:
            behind = 0
        if stop - behind:
            yield self._piece(stop - behind, why)
        if behind:
            yield self._piece(behind, "")

    def _piece(self, count: int, why: str) -> LogBytes:
        """Remove bytes from the front of the buffer; zeros have no reason, and their data is not kept."""
        error, data = None, b""
        if why:
            data = bytes(self._data[:count])
            segments = ("batches", self._index)
            error = NoBatch(count, offset=self._passed, segments=segments, found=why, raw=data)
        cut = LogBytes(self._passed, count, data, error)
        self._drop(count)
        return cut

    def _drop(self, count: int) -> None:
        del self._data[:count]
        self._passed += count


class Log:
    """An iterator over the batches of a log.

    Args:
        portions: the bytes of the log, in portions of any size.
        file: the name of the log.
        topic: the topic of the log, if known; otherwise it is identified from the records.

    Attributes:
        topic: the topic that was identified so far.

    >>> from kwire import Record, build_batch
    >>> data = build_batch([Record(7, key=b"k", value=b"v")])
    >>> [entry.record.value for batch in Log([data]) for entry in batch.entries()]
    [b'v']
    """

    def __init__(self, portions: Iterable[bytes], file: str = "", topic: str | None = None) -> None:
        self.file = file
        self.topic: Topic = Topic(topic)
        self._items = self._read(portions)

    def __iter__(self) -> Iterator[LogBatch | LogBytes]:
        return self._items

    def _read(self, portions: Iterable[bytes]) -> Iterator[LogBatch | LogBytes]:
        reader = SegmentReader()
        for portion in portions:
            yield from map(self._item, reader.feed(portion))
        yield from map(self._item, reader.finish())

    def _item(self, cut: Cut) -> LogBatch | LogBytes:
        if not isinstance(cut, RecordBatch):
            return replace(cut, file=self.file)
        self.topic.learn(cut)
        return LogBatch(cut, self.topic.name, self.file, self.topic.read, list(cut.faults))


def log_kind(head: bytes, file: str, topic: str | None) -> tuple[str, str | None]:
    """Return the kind and topic of a log.

    The topic is the given one, or else from the name of the folder, or else identified from the first records.
    """
    if topic is not None:
        return f"a log segment of {topic}", topic
    named = topic_of_folder(Path(file).absolute().parent.name)
    learnt = Topic()
    for cut in SegmentReader().feed(head):
        if isinstance(cut, RecordBatch):
            if cut.index == 0 and _is_snapshot(cut):
                return "a snapshot of the metadata log", METADATA
            learnt.learn(cut)
        if learnt.name is not None:
            return f"a log segment of {learnt.name}, as its records show", learnt.name
    if named is not None:
        return f"a log segment of {named}, by its folder's name (--log-of overrides it)", named
    return "a log segment", None


def logged(
    portions: Iterator[bytes], file: str, topic: str | None, remarks: list[str]
) -> Iterator[LogBatch | LogBytes]:
    """Yield the items of a log, and add a remark if later records identified its topic."""
    log = Log(portions, file, topic)
    yield from log
    if log.topic.found:
        remarks.append(f"from some record on, its records are those of {log.topic.name}: --log-of reads all of them so")


def _is_snapshot(batch: RecordBatch) -> bool:
    first = next(batch.records(salvage=True), None) if batch.is_control else None
    return isinstance(first, Record) and first.key == SNAPSHOT_HEADER
