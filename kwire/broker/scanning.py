"""Which batches of a log can be believed after a crash: whole ones, with the right checksum, whose offsets go on.

Sans-IO. A base offset is not covered by the checksum (KIP-98), so it is compared with what came before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ..errors import DecodeError
from ..records import RecordBatch
from ..records.layouts import LEAST_LENGTH, LOG_OVERHEAD, UP_TO_MAGIC
from ..records.parsing import read_whole

CUT_SHORT = "cut short"
HIGHEST_OFFSET = 2**62  # leaves the sum with a batch's last offset delta, and many batches behind it, in 64 bits


class Found(NamedTuple):
    """A batch with its place in the store; `segment_start` is the first offset that its segment's name promises,
    where it is the first batch of that segment."""

    batch: RecordBatch
    place: Any
    segment_start: int | None = None


class Damage(NamedTuple):
    """Why nothing behind the batches before can be believed."""

    reason: str


class OldFormat(Exception):
    """A message of magic 0 or 1, which no broker of this kind has written."""


def read_batches(read: Callable[[int], bytes], size: int) -> Iterator[RecordBatch | Damage]:
    """Read the batches of one segment.

    Args:
        read: gives the next bytes of the segment, fewer only at its end.
        size: how many bytes it has.

    Yields:
        Whole batches of magic 2, and last of all a `Damage` if there are bytes behind them.

    Raises:
        OldFormat: there is a message of an older format, with the right checksum.

    >>> from io import BytesIO
    >>> from kwire import Record, build_batch
    >>> data = build_batch([Record(0, value=b"a")])
    >>> [type(one).__name__ for one in read_batches(BytesIO(data + data[:-1]).read, 2 * len(data) - 1)]
    ['RecordBatch', 'Damage']
    """
    while size > 0:
        head = read(UP_TO_MAGIC)
        length = LOG_OVERHEAD + int.from_bytes(head[8:LOG_OVERHEAD], "big", signed=True)
        if len(head) < UP_TO_MAGIC or length > size:
            yield Damage(CUT_SHORT)
            return
        magic = head[16]
        if magic not in LEAST_LENGTH or length < LOG_OVERHEAD + LEAST_LENGTH[magic]:
            yield Damage("no record batch begins there")
            return
        try:
            batch = read_whole(head + read(length - UP_TO_MAGIC))
        except DecodeError:
            yield Damage("CRC")
            return
        if magic != 2:
            raise OldFormat
        yield batch
        size -= length


def believed(found: Iterable[Found | Damage]) -> Iterator[Found | Damage]:
    """Give the batches of a store whose offsets go on, and a `Damage` if that is not all.

    Offsets ascend. A batch behind a gap, as compaction leaves them, is believed only when the next one goes on behind
    it: else the gap is a damaged base offset. The segment that is written to has no gaps, so nor has its last batch.
    """
    end: int | None = None
    doubted: Found | None = None
    for one in found:
        if isinstance(one, Damage):
            yield _jump(doubted, end) if doubted else one
            return
        base, last = one.batch.base_offset or 0, one.batch.last_offset
        reached = doubted.batch.last_offset + 1 if doubted else end
        least = max(reached or 0, one.segment_start or 0)
        if not least <= base <= last <= HIGHEST_OFFSET:
            yield _jump(doubted, end) if doubted else Damage(f"offset {base} where {least} is due")
            return
        if doubted:
            yield doubted
        due = reached if one.segment_start is None else one.segment_start
        end, doubted = reached, (one if due is not None and base != due else None)
        if doubted is None:
            yield one
            end = last + 1
    if doubted:
        yield _jump(doubted, end)


def _jump(doubted: Found, end: int | None) -> Damage:
    due = end if doubted.segment_start is None else doubted.segment_start
    return Damage(f"offset {doubted.batch.base_offset} where {due} is due")
