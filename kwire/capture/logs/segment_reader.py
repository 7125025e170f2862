"""Extracts batches from the bytes of a log segment. Reading continues after damage, at the next valid batch.

Kafka reads batches by their lengths (FileRecords, FileLogInputStream.nextBatch), and truncates a segment at its first
invalid batch (LogSegment.recover); what it would drop is kept here, as `LogBytes` and later batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ...codecs.records import RecordBatch
from ...codecs.records.batch_parser import read_whole
from ...codecs.records.record_layouts import BATCH, LEAST_LENGTH, LOG_OVERHEAD, UP_TO_MAGIC, magic_at
from ...errors import BadBatchLength, CutBatch, DecodeError, Tolerated, UnknownMagic
from .batch_recognition import (
    MOST_BATCH_BYTES,
    NO,
    SHORT,
    find_batch_end,
    find_candidate,
    find_credible_end,
    find_nonzero,
    is_sound,
)
from .log_batch import LogBytes

PIECE = 1 << 20  # maximum size of one item of bytes outside batches
_MOST_ZEROS = 1 << 31  # no segment is larger
_MANY_ZEROS = 64  # this many zeros are not part of a batch
_PROOFS_PER_BYTE = 16  # bytes that the search for a batch may checksum, per byte of the log
SegmentItem = RecordBatch | LogBytes


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

    def feed(self, data: bytes) -> Iterator[SegmentItem]:
        """Append bytes; yield the items that they complete."""
        self._data += data
        self._proofs += _PROOFS_PER_BYTE * len(data)
        yield from self._read_items()

    def finish(self) -> Iterator[SegmentItem]:
        """End the input; yield the remaining items."""
        self._final = True
        yield from self._read_items()
        if self._zeros is not None:
            yield self._zeros

    def _read_items(self) -> Iterator[SegmentItem]:
        while self._data:
            before = len(self._data), self._why
            for cut in self._find_next() if self._why is not None else self._read_first():
                yield from self._join_zeros(cut)
            if (len(self._data), self._why) == before:
                return

    def _join_zeros(self, cut: SegmentItem) -> Iterator[SegmentItem]:
        """Join zeros that were found separately."""
        if isinstance(cut, LogBytes) and cut.error is None:
            self._zeros = cut if self._zeros is None else self._zeros.extend(cut.count)
            if self._zeros.count < _MOST_ZEROS:
                return
            cut = self._zeros
            self._zeros = None
        if self._zeros is not None:
            yield self._zeros
            self._zeros = None
        yield cut

    def _read_first(self) -> Iterator[SegmentItem]:
        """Yield the first batch of the buffer if it is complete."""
        data = self._data
        stop = find_batch_end(self._data, 0)
        if stop == NO:
            self._lose(self._describe_header())
        elif stop == SHORT or stop > len(data):
            if self._final:
                yield from self._take_tail(stop)
        elif (sound := is_sound(data, 0, stop)) or self._is_followed(stop):
            yield self._take_batch(stop, sound)
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
        follows = find_credible_end(self._data, stop)
        if follows == SHORT:
            return self._final
        rest = self._data[stop : stop + BATCH.size]
        return follows != NO or (not any(rest) and (self._final or len(rest) == BATCH.size))

    def _holds_a_batch(self, stop: int) -> bool:
        candidate = find_candidate(self._data, 1)
        while candidate is not None and candidate < stop:
            end = find_credible_end(self._data, candidate)
            if 0 <= end <= len(self._data) and self._proves(candidate, end):
                return True
            candidate = find_candidate(self._data, candidate + 1)
        return False

    def _take_batch(self, stop: int, sound: bool) -> RecordBatch:
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

    def _take_tail(self, stop: int) -> Iterator[SegmentItem]:
        """Yield an incomplete last batch, unless its length is damaged and other batches follow."""
        self._scan = 1
        if self._search() is not None:
            self._lose("it would end after the end of the log, and another batch begins before")
            return
        data = bytes(self._data)
        need = LOG_OVERHEAD if stop == SHORT else stop
        error = CutBatch(offset=self._passed, segments=("batches", self._index), need=need, have=len(data), raw=data)
        cut = LogBytes(self._passed, len(data), data, error if any(data) else None)
        self._drop(len(data))
        yield cut

    def _describe_header(self) -> str:
        """Return the problem of the first header."""
        length = int.from_bytes(self._data[8:12], "big", signed=True)
        if LEAST_LENGTH[0] <= length <= MOST_BATCH_BYTES:
            magic = magic_at(self._data)
            if magic not in LEAST_LENGTH:
                return UnknownMagic(found=magic).reason
            return BadBatchLength(found=length, need=LEAST_LENGTH[magic]).reason
        return f"length {length}; batches have {LEAST_LENGTH[0]} to {MOST_BATCH_BYTES} bytes"

    def _lose(self, why: str) -> None:
        self._why = why
        self._scan = 0

    def _find_next(self) -> Iterator[SegmentItem]:
        """Find the next valid batch, and yield the bytes before it."""
        start = self._search()
        if start is None and not self._final and self._scan < PIECE:
            return
        why = self._why or ""
        if start is not None:
            self._why = None
        yield from self._take_lost(self._scan if start is None else start, why)
        self._scan = 0

    def _search(self) -> int | None:
        """Return the start of the next valid batch from `_scan` on.

        If there is none so far, advance `_scan` and return None.
        """
        while (candidate := find_candidate(self._data, self._scan)) is not None:
            stop = find_credible_end(self._data, candidate)
            self._scan = candidate
            if stop == SHORT or stop > len(self._data):
                if not self._final:
                    return None
            elif stop != NO and self._proves(candidate, stop):
                return candidate
            self._scan = candidate + 1
        self._scan = len(self._data) if self._final else max(self._scan, len(self._data) - UP_TO_MAGIC + 1)
        return None

    def _proves(self, at: int, stop: int) -> bool:
        self._proofs -= stop - at
        return self._proofs >= 0 and is_sound(self._data, at, stop)

    def _take_lost(self, stop: int, why: str) -> Iterator[SegmentItem]:
        """Yield the bytes up to a position; leading and trailing zeros become separate items."""
        zeros = min(find_nonzero(self._data, 0), stop)
        if zeros >= LOG_OVERHEAD or zeros == stop > 0:
            yield self._take_bytes(zeros, "")
            stop -= zeros
            if len(self._data) >= UP_TO_MAGIC and find_batch_end(self._data, 0) == NO:
                why = self._describe_header()
        behind = stop - len(self._data[:stop].rstrip(b"\0"))
        if behind < _MANY_ZEROS:
            behind = 0
        if stop - behind:
            yield self._take_bytes(stop - behind, why)
        if behind:
            yield self._take_bytes(behind, "")

    def _take_bytes(self, count: int, why: str) -> LogBytes:
        """Remove bytes from the front of the buffer; zeros have no reason, and their data is not kept."""
        error = None
        data = b""
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
