"""What a log contains: batches, their records, and bytes that could not be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import msgspec

from ...codecs.records import LIMIT, Record, RecordBatch, UndecodableRecords
from ...errors import DecodeError
from ...protocol.nested import ControlRecord, CoordinatorRecord, FramedRecord
from ...runtime.former_dataclasses import was_dataclass
from ...schema.sensitive_fields import Hidden
from .log_topic import DecodedRecord

if TYPE_CHECKING:
    from ...serdes.schema_value import SchemaValue

Message = ControlRecord | CoordinatorRecord | FramedRecord


@was_dataclass
class LogBytes(msgspec.Struct, frozen=True):
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

    def extend(self, count: int) -> LogBytes:
        """Return these zeros joined with following zeros."""
        return msgspec.structs.replace(self, count=self.count + count)


@was_dataclass
class LogRecord(msgspec.Struct, frozen=True):
    """A record of a log.

    Attributes:
        record: offset, timestamp, and the bytes of key, value and headers.
        index: the number of preceding records in its batch.
        message: the decoded key and value, in control batches and in internal topics; otherwise None.
        fault: why they could not be decoded; `message` is then None.
        batch: the batch that contains it.
        key_by_schema, value_by_schema: what key and value say by their schema, as `kwire.serdes` reads them; None if
            no schemas were given, or none is theirs.
    """

    record: Record
    index: int
    message: Message | None
    fault: DecodeError | None
    batch: LogBatch
    key_by_schema: SchemaValue | None = None
    value_by_schema: SchemaValue | None = None


@was_dataclass
class LogBatch(msgspec.Struct, frozen=True):
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
    read: Callable[[RecordBatch, Record], DecodedRecord]
    faults: list[DecodeError] = msgspec.field(default_factory=list)

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
            fresh = records.faults[noted:]
            noted = len(records.faults)
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
