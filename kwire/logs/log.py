"""Reads a log portion by portion: batches, their records, and bytes outside of batches. Damage does not end it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from ..errors import BadBatchLength, CutBatch, DecodeError, Tolerated, UnknownMagic
from ..internal import ControlRecord, CoordinatorRecord, FramedRecord
from ..internal.topic_records import METADATA
from ..records import LIMIT, Record, RecordBatch, UndecodableRecords
from ..records.batch import read_whole
from ..records.layouts import BATCH, LEAST_LENGTH, LOG_OVERHEAD, UP_TO_MAGIC, magic_at
from ..sensitive_fields import Hidden
from .recognition import (
    MOST_BATCH_BYTES,
    NO,
    SHORT,
    Meaning,
    Topic,
    credible_stop,
    first_not_zero,
    is_sound,
    next_candidate,
    stop_of,
    topic_of_folder,
)

SNAPSHOT_HEADER = b"\0\0\0\3"  # the key of the first record: version and type
Message = ControlRecord | CoordinatorRecord | FramedRecord


@dataclass(frozen=True, slots=True)
class LogBytes:
    """Bytes of a log that could not be read.

    Attributes:
        position: their offset in the log; for a compressed record, that of the compressed bytes.
        count: their number.
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
        """Return these zeros joined with the following zeros."""
        return replace(self, count=self.count + count)


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A record of a log.

    Attributes:
        record: offset, timestamp, and the bytes of key, value and headers.
        index: the number of records of its batch before it.
        message: the decoded key and value, in control batches and in Kafka's internal topics; otherwise None.
        fault: why they could not be decoded; then `message` is None.
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
        header: its header, with all its bytes (`data`), the offset in the log in bytes (`position`) and its number
            (`index`).
        topic: the internal topic of the log; None for other topics, and until it is identified.
        file: the name of the log.
        faults: the tolerated faults of the header and of the records read so far.
    """

    header: RecordBatch
    topic: str | None
    file: str
    read: Callable[[RecordBatch, Record], Meaning]
    faults: list[DecodeError] = field(default_factory=list)

    def entries(self, *, salvage: bool = True, limit: int = LIMIT) -> Iterator[LogRecord | LogBytes]:
        """Read the records, one by one.

        Args:
            salvage: read what Kafka tolerates; else it is given as `LogBytes` with the error.
            limit: the largest decompressed size of the records, in bytes.

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
    hint = "they were damaged, or written by something else; reading went on at the next batch with a right checksum"

    def __init__(self, count: int = 0, **facts: Any) -> None:
        super().__init__(count=count, **facts)


class OffsetOrder(Tolerated):
    """A batch whose offsets are not above those before it. No checksum covers offsets."""

    problem = "offset {found} comes after offset {need}"
    hint = "the base offset was damaged, or segments were put together in the wrong order"


PIECE = 1 << 20  # of bytes in no batch
_MOST_ZEROS = 1 << 31  # no segment is larger
_MANY_ZEROS = 64  # so many are no part of anything
_PROOFS_PER_BYTE = 16  # bytes whose checksum is taken while looking for a batch, for each byte of the log

Cut = RecordBatch | LogBytes


class SegmentReader:
    """Cuts batches out of bytes that come in any portions.

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
        self._why: str | None = None  # the batches are lost, for this reason
        self._scan = 0
        self._zeros: LogBytes | None = None  # not yielded yet, because more may follow

    def feed(self, data: bytes) -> Iterator[Cut]:
        """Add bytes; yields the entries that are complete."""
        self._data += data
        self._proofs += _PROOFS_PER_BYTE * len(data)
        yield from self._cuts()

    def finish(self) -> Iterator[Cut]:
        """End the input; yields the remaining entries."""
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
        """Join zeros that were found in pieces."""
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
        """Return the first batch of the buffer, if it is complete."""
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
        """Whether a length can be right although the checksum is wrong: no valid batch begins before its end, and a
        batch, zeros or the end of the log follows.
        """
        if self._holds_a_batch(stop):
            return False
        if stop == len(self._data):
            return self._final
        follows = credible_stop(self._data, stop)
        if follows == SHORT:
            return self._final
        return follows != NO or not any(self._data[stop : stop + BATCH.size])

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
        """Return an incomplete last batch; unless its length is damaged, and others follow."""
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
        """Return what is wrong with the first header."""
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
        """Find the next valid batch, and return the bytes before it."""
        place = self._look()
        if place is None and not self._final and self._scan < PIECE:
            return
        why = self._why or ""
        if place is not None:
            self._why = None
        yield from self._lost(self._scan if place is None else place, why)
        self._scan = 0

    def _look(self) -> int | None:
        """Return the start of the next valid batch from `_scan` on; None if none was found up to the new value of
        `_scan`.
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
        """Return the bytes up to a position, with leading and trailing zeros as separate entries."""
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
        """Take bytes from the front; no reason for zeros, which are not kept."""
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
        portions: its bytes, in any portions.
        file: its name.
        topic: the topic of the log, if known; otherwise it is identified by its records.

    Attributes:
        topic: the topic as identified so far.

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
    """Return the kind and topic of a log: as given, else by its folder, else by its first records."""
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
    """Yield the items of a log, and remark on a topic that its records revealed late."""
    log = Log(portions, file, topic)
    yield from log
    if log.topic.found:
        remarks.append(f"from some record on, its records are those of {log.topic.name}: --log-of reads all of them so")


def _is_snapshot(batch: RecordBatch) -> bool:
    first = next(batch.records(salvage=True), None) if batch.is_control else None
    return isinstance(first, Record) and first.key == SNAPSHOT_HEADER
