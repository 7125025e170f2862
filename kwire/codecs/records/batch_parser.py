"""`parse_records` splits bytes into batches of any magic, and verifies their checksums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, overload
from zlib import crc32

import msgspec

from ...errors import BadBatchLength, BadChecksum, BadLength, CutBatch, DecodeError, UnknownMagic
from .. import native
from ..wire import bytes_of
from ..wire.java_integers import wrap_int64
from .crc32c import crc32c, hex32
from .located_reader import LocatedReader
from .record import Record, RecordHeader, UndecodableRecords
from .record_batch import RecordBatch
from .record_iterator import Item, RecordIterator
from .record_layouts import BATCH, CHECKED_FROM, COMPRESSION, LEAST_LENGTH, LOG_OVERHEAD, MESSAGE, UP_TO_MAGIC, magic_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

if TYPE_CHECKING or native.ENGINE == "native":
    from ..native import BatchCursor
else:
    from .python_cursors import BatchCursor

LARGEST_BATCH = 2**31 - 1  # bytes of a batch


def read_header(data: bytes, position: int, index: int) -> RecordBatch:
    """Parse the header of a complete batch of magic 2; for the arguments see the attributes of `RecordBatch`."""
    base, length, epoch, magic, crc, attributes, last, base_time, max_time, *producer, count = BATCH.unpack_from(data)
    return RecordBatch(
        base_offset=base,
        last_offset=wrap_int64(base + last),
        length=length,
        magic=magic,
        crc=crc,
        attributes=attributes,
        partition_leader_epoch=epoch,
        last_offset_delta=last,
        base_timestamp=base_time,
        max_timestamp=max_time,
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=producer[2],
        record_count=count,
        data=data,
        position=position,
        index=index,
    )


def read_message_header(data: bytes, position: int, index: int) -> RecordBatch:
    """Parse the header of a complete message of magic 0 or 1; for the arguments see `RecordBatch`."""
    last, length, crc, magic, attributes = MESSAGE.unpack_from(data)
    single = not attributes & COMPRESSION
    return RecordBatch(
        base_offset=last if single else None,
        last_offset=last,
        length=length,
        magic=magic,
        crc=crc,
        attributes=attributes,
        max_timestamp=int.from_bytes(data[18:26], "big", signed=True) if magic else -1,
        record_count=1 if single else None,
        data=data,
        position=position,
        index=index,
    )


class Batches(BatchCursor, Generic[Item]):
    """An iterator over the batches in some bytes; created by `parse_records`.

    Attributes:
        rest: the bytes after the last complete batch; empty until the end is reached.
        faults: a `CutBatch` if `rest` is not empty. Faults of one batch are in that batch.
    """

    __slots__ = ()

    if TYPE_CHECKING:
        rest: bytes
        faults: list[DecodeError]

        def __iter__(self) -> Iterator[Item]: ...

        def __next__(self) -> Item: ...

    def _next_generally(self) -> Item:
        """Return the next batch, which the engine refuses; in strict mode raise its first fault."""
        start = self._at
        try:
            stop = self._stop(start)
            if stop is None:
                self._finish(start)
                raise StopIteration
            self._at = stop
            item: Any = self._batch(start, stop)
        except DecodeError as error:
            if not self._salvage:
                self._at = len(self._data)
                raise
            item = UndecodableRecords(self._data[start : self._at], error.with_traceback(None))
        self._index += 1
        batch: Item = item
        return batch

    def _stop(self, start: int) -> int | None:
        """Return the end of the batch that starts here; None if it is missing or incomplete."""
        left = len(self._data) - start
        if left < LOG_OVERHEAD:
            return None
        length = int.from_bytes(self._data[start + 8 : start + 12], "big", signed=True)
        size = LOG_OVERHEAD + length
        if length < LEAST_LENGTH[0]:
            self._at = len(self._data)
            self._refuse(start, "length", BadBatchLength, 8, found=length, need=LEAST_LENGTH[0])
        if left < UP_TO_MAGIC:
            return None
        magic = magic_at(self._data, start)
        if magic not in LEAST_LENGTH:
            self._at = start + size if size <= left else len(self._data)
            self._refuse(start, "magic", UnknownMagic, 16, found=magic)
        if size > LARGEST_BATCH:  # the sum overflows in Kafka
            self._at = len(self._data)
            self._refuse(start, "length", BadLength, 8, found=length, need=size, have=left)
        return start + size if size <= left else None

    def _finish(self, start: int) -> None:
        """Record an incomplete last batch; in strict mode raise an error, unless `may_be_cut` allows it."""
        if start == len(self._data):
            return
        self.rest = self._data[start:]
        self._at = len(self._data)
        need = LOG_OVERHEAD
        if len(self.rest) >= LOG_OVERHEAD:
            need += int.from_bytes(self.rest[8:LOG_OVERHEAD], "big", signed=True)
        reader = self._reader(self.rest, start, salvage=self._salvage or self._may_be_cut)
        reader.fault(CutBatch, 0, need=need, have=len(self.rest), raw=self.rest)
        self.faults += reader.faults

    def _batch(self, start: int, stop: int) -> RecordBatch:
        """Read the header of a batch, and check the checksum."""
        data = self._data[start:stop]
        if len(data) < LOG_OVERHEAD + LEAST_LENGTH[data[16]]:
            facts = {"found": len(data) - LOG_OVERHEAD, "need": LEAST_LENGTH[data[16]]}
            self._refuse(start, "length", BadBatchLength, 8, **facts)
        return read_whole(data, start, self._index, salvage=self._salvage, check_crc=self._check_crcs)

    def _reader(self, data: bytes, base: int, *, salvage: bool) -> LocatedReader:
        return LocatedReader(data, base, ("batches", self._index), salvage=salvage)

    def _refuse(self, start: int, field: str, kind: type[DecodeError], offset: int, **facts: Any) -> NoReturn:
        reader = self._reader(self._data[start : self._at], start, salvage=self._salvage)
        reader.refuse_field(field, kind, offset, **facts)


if native.ENGINE == "native":
    native.use_records(Record, RecordBatch, RecordHeader, Batches, RecordIterator)


def read_whole(
    data: bytes, position: int = 0, index: int = 0, *, salvage: bool = False, check_crc: bool = True
) -> RecordBatch:
    """Read the header of one complete batch, and verify its checksum.

    Args:
        data: the bytes of the batch, as many as its length field and its magic require.
        position, index: see `RecordBatch`.
        salvage: also return a batch with a wrong checksum, with the fault.
        check_crc: whether to verify the checksum.

    Raises:
        BadChecksum: the checksum is wrong, in strict mode; `partial` is the batch.
    """
    if native.ENGINE == "native":
        usual: RecordBatch | None = native.read_batch(data, position, index, check_crc)
        if usual is not None:
            return usual
    magic = data[16]
    batch = read_header(data, position, index) if magic == 2 else read_message_header(data, position, index)
    if not check_crc:
        return batch
    checked = data[CHECKED_FROM[magic] :]
    right = crc32c(checked) if magic == 2 else crc32(checked)
    if right == batch.crc:
        return batch
    reader = LocatedReader(data, position, ("batches", index), salvage=salvage)
    try:
        reader.fault_field("crc", BadChecksum, 17 if magic == 2 else 12, found=(hex32(batch.crc), hex32(right)))
    except DecodeError as error:
        error.partial = batch
        raise
    return msgspec.structs.replace(batch, faults=tuple(reader.faults))


@overload
def parse_records(
    data: Buffer, *, salvage: Literal[False] = False, may_be_cut: bool = False, check_crcs: bool = True
) -> Batches[RecordBatch]: ...


@overload
def parse_records(
    data: Buffer, *, salvage: bool, may_be_cut: bool = False, check_crcs: bool = True
) -> Batches[RecordBatch | UndecodableRecords]: ...


def parse_records(
    data: Buffer, *, salvage: bool = False, may_be_cut: bool = False, check_crcs: bool = True
) -> Batches[RecordBatch | UndecodableRecords]:
    """Read the record batches in some bytes: the `records` of Produce and Fetch, a log segment, a snapshot.

    Args:
        data: batches of magic 2, messages of magic 0 and 1, and any mix of them.
        salvage: yield undecodable records too, and collect what Kafka tolerates as faults.
        may_be_cut: accept a truncated last batch, as in Fetch responses, also in strict mode.
        check_crcs: whether to verify the checksums of the batches.

    Returns:
        An iterator over the batches; only their headers are parsed, and `RecordBatch.records` decodes the records. Its
        `rest` and `faults` describe a truncated last batch. In strict mode it raises a DecodeError at the first fault;
        in salvage mode it yields `UndecodableRecords` instead and continues after them if possible.

    >>> from kwire import Record, build_batch
    >>> data = build_batch([Record(7, 1700000000000, b"key", b"value")])
    >>> [(batch.last_offset, list(batch.records())) for batch in parse_records(data)]
    [(7, [Record(offset=7, timestamp=1700000000000, key=b'key', value=b'value', headers=(), attributes=0, \
create_timestamp=None)])]
    """
    return Batches(data if type(data) is bytes else bytes_of(data), salvage, may_be_cut, check_crcs)
