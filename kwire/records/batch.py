"""`RecordBatch`: the header of one batch of magic 2, or of one message of magic 0 or 1; records are read on request.

Knows the header's fields and bits; records are read by `batch_reader`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, Literal, TypeVar, overload

import msgspec

from ..errors import DecodeError
from ..wire.primitives import int32
from . import layouts
from .batch_reader import Walk
from .compression import name_of
from .compression.buffers import LIMIT
from .layouts import Record, UndecodableRecords
from .legacy_message_sets import read_message
from .magic2_records import are_whole, read_batch

Item = TypeVar("Item", covariant=True)


class Records(Generic[Item]):
    """An iterator over the records of a batch; created by `RecordBatch.records`.

    Attributes:
        faults: the faults so far, with salvage only.
    """

    def __init__(self, batch: RecordBatch, *, salvage: bool, limit: int) -> None:
        walk = Walk(batch, salvage=salvage, limit=limit)
        self.faults: list[DecodeError] = walk.faults
        self._items = self._read(walk)

    def __iter__(self) -> Iterator[Item]:
        return self

    def __next__(self) -> Item:
        item: Item = next(self._items)
        return item

    def _read(self, walk: Walk) -> Iterator[Any]:
        try:
            yield from (read_message if walk.batch.magic < 2 else read_batch)(walk)
        except DecodeError as error:
            yield walk.failed(walk.unread, error)


class RecordBatch(msgspec.Struct, frozen=True, kw_only=True):
    """The header of a batch, and its bytes.

    In magic 0 and 1 every message is a batch, and a compressed message contains others. Fields that these magics do not
    have are Kafka's value for none (-1). A compressed message's header has only its last offset: its `base_offset` and
    `record_count` are None, and must be taken from its records.

    Attributes:
        base_offset, last_offset: of the first and last record, including records that compaction has removed.
        length: the length field: the size of the batch without its first twelve bytes.
        crc: the checksum field; a wrong one is in `faults`.
        attributes: compression, timestamp type and so on as bits; see the properties.
        last_offset_delta, base_timestamp: the fields of magic 2; the latter may be the delete horizon.
        max_timestamp: as in the header; for magic 1 the message's timestamp.
        data: all bytes of the batch.
        position, index: the offset in the parsed bytes, and the number of batches before it.
        faults: faults of the header and checksum that salvage tolerated.
    """

    base_offset: int | None
    last_offset: int
    length: int
    magic: int
    crc: int
    attributes: int
    partition_leader_epoch: int = -1
    last_offset_delta: int = 0
    base_timestamp: int = -1
    max_timestamp: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    record_count: int | None = 1
    data: bytes
    position: int = 0
    index: int = 0
    faults: tuple[DecodeError, ...] = ()

    def __repr__(self) -> str:
        """Return a one-line description."""
        base = "" if self.base_offset is None else f"{self.base_offset} to "
        where = f"magic {self.magic}, offset {base}{self.last_offset}"
        return f"<RecordBatch {where}, {self.compression}, {len(self.data)} bytes>"

    @property
    def compression(self) -> str | None:
        """`none`, `gzip`, `snappy`, `lz4` or `zstd`; None for an unknown number."""
        return name_of(self.compression_id, self.magic)

    @property
    def compression_id(self) -> int:
        """The compression's number."""
        return self.attributes & layouts.COMPRESSION

    @property
    def timestamp_type(self) -> str:
        """`CreateTime`, `LogAppendTime`, or in magic 0 `NoTimestampType`."""
        if self.magic == 0:
            return "NoTimestampType"
        return "LogAppendTime" if self.attributes & layouts.LOG_APPEND_TIME else "CreateTime"

    @property
    def is_transactional(self) -> bool:
        """Whether the batch is part of a transaction."""
        return self.magic >= 2 and bool(self.attributes & layouts.TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """Whether its records are control records; `kwire.internal.decode_control_record` decodes them."""
        return self.magic >= 2 and bool(self.attributes & layouts.CONTROL)

    @property
    def delete_horizon(self) -> int | None:
        """When the log cleaner may remove its tombstones, in milliseconds since 1970; None if it is not set."""
        return self.base_timestamp if self.magic >= 2 and self.attributes & layouts.DELETE_HORIZON else None

    def sequence(self, record: Record) -> int:
        """Return the sequence number of a record of this batch; -1 if it has none."""
        if self.base_sequence < 0 or self.base_offset is None:
            return -1
        delta = record.offset - self.base_offset
        sequence = self.base_sequence + delta
        # Sequence numbers wrap to 0 after the highest; for a negative delta, the sum overflows as in Kafka.
        return int32(sequence - 2**31) if delta < 0 or sequence >= 2**31 else sequence

    def is_whole(self, *, limit: int = LIMIT) -> bool:
        """Whether all records can be decoded and have consecutive offsets; faster than decoding them.

        Args:
            limit: the largest decompressed size of the records, in bytes.

        Raises:
            DecodeError: one of them cannot be read.
            MissingExtra: the compression needs a library that is not installed.
        """
        return are_whole(self, limit)

    @overload
    def records(self, *, salvage: Literal[False] = False, limit: int = LIMIT) -> Records[Record]: ...

    @overload
    def records(self, *, salvage: bool, limit: int = LIMIT) -> Records[Record | UndecodableRecords]: ...

    def records(self, *, salvage: bool = False, limit: int = LIMIT) -> Records[Record | UndecodableRecords]:
        """Decompress and decode the records.

        Args:
            salvage: yield undecodable records too, and collect what Kafka tolerates as faults.
            limit: the largest decompressed size of the records, in bytes.

        Returns:
            An iterator over the records. In strict mode it raises a DecodeError at the first fault; with salvage it
            yields `UndecodableRecords`, continues after them, and collects faults in the list `faults`.

        Raises:
            MissingExtra: the compression needs a library that is not installed; raised in salvage too.
        """
        return Records(self, salvage=salvage, limit=limit)


def read_header(data: bytes, position: int, index: int) -> RecordBatch:
    """Parse the header of a complete batch of magic 2; arguments as the attributes of `RecordBatch`."""
    base, length, epoch, magic, crc, attributes, last, base_time, max_time, *producer, count = (
        layouts.BATCH.unpack_from(data)
    )
    return RecordBatch(
        base_offset=base,
        last_offset=layouts.int64(base + last),
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
    """Parse the header of a complete message of magic 0 or 1; arguments as the attributes of `RecordBatch`."""
    last, length, crc, magic, attributes = layouts.MESSAGE.unpack_from(data)
    single = not attributes & layouts.COMPRESSION
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
