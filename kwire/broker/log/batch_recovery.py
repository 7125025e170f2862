"""The recovery scan: which batches at the beginning of stored bytes are valid, and what is wrong with the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ...codecs.records import RecordBatch
from ...codecs.records.batch_parser import read_whole
from ...codecs.records.record_layouts import LEAST_LENGTH, LOG_OVERHEAD, UP_TO_MAGIC
from ...errors import DecodeError

CUT_SHORT = "cut short"
HIGHEST_OFFSET = 2**62  # so that adding a batch's last offset delta, and further batches, does not exceed 64 bits


class StoredBatch(NamedTuple):
    """A batch with its position in the store; for the first batch of a segment, `segment_start` is the base offset in
    the segment's file name."""

    batch: RecordBatch
    place: Any
    segment_start: int | None = None


class LogDamage(NamedTuple):
    """The reason why the bytes after the previous batches are invalid."""

    reason: str


class OldFormat(Exception):
    """Raised for a message of magic 0 or 1, which this broker never writes."""


def read_batches(read: Callable[[int], bytes], size: int) -> Iterator[RecordBatch | LogDamage]:
    """Read the batches of one segment.

    Args:
        read: returns the next bytes of the segment, fewer only at its end.
        size: the size of the segment in bytes.

    Yields:
        Complete batches of magic 2, and a final `LogDamage` if there are bytes after them.

    Raises:
        OldFormat: a message has an older format and a valid checksum.

    >>> from io import BytesIO
    >>> from kwire import Record, build_batch
    >>> data = build_batch([Record(0, value=b"a")])
    >>> [type(one).__name__ for one in read_batches(BytesIO(data + data[:-1]).read, 2 * len(data) - 1)]
    ['RecordBatch', 'LogDamage']
    """
    while size > 0:
        head = read(UP_TO_MAGIC)
        length = LOG_OVERHEAD + int.from_bytes(head[8:LOG_OVERHEAD], "big", signed=True)
        if len(head) < UP_TO_MAGIC or length > size:
            yield LogDamage(CUT_SHORT)
            return
        magic = head[16]
        if magic not in LEAST_LENGTH or length < LOG_OVERHEAD + LEAST_LENGTH[magic]:
            yield LogDamage("no record batch begins here")
            return
        try:
            batch = read_whole(head + read(length - UP_TO_MAGIC))
        except DecodeError:
            yield LogDamage("CRC")
            return
        if magic != 2:
            raise OldFormat
        yield batch
        size -= length


def valid_prefix(items: Iterable[StoredBatch | LogDamage], last_segment: int = 0) -> Iterator[StoredBatch | LogDamage]:
    """Yield the batches of a store up to the first invalid offset, and a final `LogDamage` if there are more.

    Offsets must increase. After a gap, as left by compaction, a batch is accepted only if the next batch is adjacent to
    it; otherwise its base offset may be damaged. The active segment has no gaps, so a last batch after a gap is not
    accepted.

    Args:
        items: the batches.
        last_segment: the first offset of the last segment, which may be empty.
    """
    end: int | None = None
    doubted: StoredBatch | None = None
    for item in items:
        if isinstance(item, LogDamage):
            yield _jump(doubted, end) if doubted else item
            return
        base, last = item.batch.base_offset or 0, item.batch.last_offset
        reached = doubted.batch.last_offset + 1 if doubted else end
        lowest = max(reached or 0, item.segment_start or 0)
        if not lowest <= base <= last <= HIGHEST_OFFSET:
            yield _jump(doubted, end) if doubted else LogDamage(f"offset {base} where {lowest} is expected")
            return
        if doubted:
            yield doubted
        due = reached if item.segment_start is None else item.segment_start
        end, doubted = reached, (item if due is not None and base != due else None)
        if doubted is None:
            yield item
            end = last + 1
    if doubted:
        yield doubted if doubted.batch.last_offset < last_segment else _jump(doubted, end)


def _jump(doubted: StoredBatch, end: int | None) -> LogDamage:
    due = end if doubted.segment_start is None else doubted.segment_start
    return LogDamage(f"offset {doubted.batch.base_offset} where {due} is expected")
