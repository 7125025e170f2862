"""A record batch: its header, its bytes, and an iterator over its records, which are read on request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, overload

from ...errors import DecodeError
from .. import native
from ..compression.compression_types import LIMIT, NAMES, inflate
from ..wire.java_integers import wrap_int32, wrap_int64
from .batch_header import BatchHeader
from .record import Record, UndecodableRecords
from .record_iterator import RecordIterator
from .record_layouts import BATCH

SNAPPY = NAMES.index("snappy")


class RecordBatch(BatchHeader, frozen=True, kw_only=True, gc=False):
    """The header of a batch, and its bytes.

    In magic 0 and 1 every message is a batch, and a compressed message contains other messages. Fields that these
    magics do not have are -1, Kafka's value for a missing number. The header of a compressed message has only its last
    offset: its `base_offset` and `record_count` are None, and must be determined from its records.

    Attributes:
        base_offset, last_offset: the offsets of the first and last record, including records that compaction has
            removed.
        length: the length field: the size of the batch without its first twelve bytes.
        crc: the checksum field; a wrong checksum is reported in `faults`.
        attributes: compression, timestamp type and so on as bits; see the properties.
        last_offset_delta, base_timestamp: the fields of magic 2; the latter may be the delete horizon.
        max_timestamp: the field of the header; for magic 1, the timestamp of the message.
        data: all bytes of the batch.
        position, index: the offset in the parsed bytes, and the number of preceding batches.
        faults: the faults of header and checksum that salvage tolerated.
    """

    def __repr__(self) -> str:
        """Return a one-line description."""
        base = "" if self.base_offset is None else f"{self.base_offset} to "
        where = f"magic {self.magic}, offset {base}{self.last_offset}"
        return f"<RecordBatch {where}, {self.compression}, {len(self.data)} bytes>"

    def sequence(self, record: Record) -> int:
        """Return the sequence number of a record of this batch; -1 if it has none."""
        if self.base_sequence < 0 or self.base_offset is None:
            return -1
        delta = record.offset - self.base_offset
        sequence = self.base_sequence + delta
        # Sequence numbers wrap to 0 after the highest; for a negative delta, the sum overflows as in Kafka.
        return wrap_int32(sequence - 2**31) if delta < 0 or sequence >= 2**31 else sequence

    def is_whole(self, *, salvage: bool = False, limit: int = LIMIT) -> bool:
        """Whether all records can be decoded and have consecutive offsets; faster than decoding them.

        Args:
            salvage: accept what Kafka tolerates too, as `tolerant_records` does.
            limit: the maximum decompressed size of the records, in bytes.

        Raises:
            DecodeError: a record cannot be read.
            MissingExtra: the compression needs a library that is not installed.
        """
        if native.ENGINE == "native" and self._is_whole_natively(limit):
            return True
        records = self.tolerant_records(limit=limit) if salvage else self.records(limit=limit)
        first = self.base_offset or 0
        return [wrap_int64(record.offset - first) for record in records] == list(range(self.record_count or 0))

    def _is_whole_natively(self, limit: int) -> bool:
        """Whether the native engine accepts the records; it leaves what is unusual to `records`, which explains it."""
        count = self.record_count or 0
        if self.magic != 2 or count <= 0:
            return False
        if not self.compression_id:
            return native.records_are_whole(self.data, BATCH.size, count)
        if self.compression is None:
            return False
        if self.compression_id == SNAPPY:  # a quarter of the time that the library takes for a small batch
            records = native.inflate_snappy(self.data, BATCH.size, limit)
            if records is not None:
                return native.records_are_whole(records, 0, count)
        try:
            inflated, tail = inflate(self.compression, self.data[BATCH.size :], limit=limit)
        except DecodeError:
            return False
        return not tail and native.records_are_whole(inflated, 0, count)

    def tolerant_records(self, *, limit: int = LIMIT) -> Iterator[Record]:
        """Decode the records as a broker does: what Kafka tolerates, such as a varint of more bytes than its value
        needs, is no error.

        Args:
            limit: the maximum decompressed size of the records, in bytes.

        Raises:
            DecodeError: Kafka could not read a record either.
            MissingExtra: the compression needs a library that is not installed.
        """
        for record in self.records(salvage=True, limit=limit):
            if isinstance(record, UndecodableRecords):
                raise record.error
            yield record

    @overload
    def records(
        self, *, salvage: Literal[False] = False, limit: int = LIMIT, views: bool = False
    ) -> RecordIterator[Record]: ...

    @overload
    def records(
        self, *, salvage: bool, limit: int = LIMIT, views: bool = False
    ) -> RecordIterator[Record | UndecodableRecords]: ...

    def records(
        self, *, salvage: bool = False, limit: int = LIMIT, views: bool = False
    ) -> RecordIterator[Record | UndecodableRecords]:
        """Decompress and decode the records.

        Args:
            salvage: yield undecodable records too, and collect what Kafka tolerates as faults.
            limit: the maximum decompressed size of the records, in bytes.
            views: give keys and values as memoryviews of the (decompressed) bytes, without copies. This is faster for
                values of more than about 2 kB, and keeps all bytes of the batch in memory while a view exists.

        Returns:
            An iterator over the records. In strict mode it raises a DecodeError at the first fault; with salvage it
            yields `UndecodableRecords`, continues after them, and collects faults in the list `faults`.

        Raises:
            MissingExtra: the compression needs a library that is not installed; raised in salvage too.
        """
        return RecordIterator(self, salvage, limit, views)
