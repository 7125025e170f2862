"""What a log turns into: `LogBatch`, its `LogRecord`s, and `LogBytes` for what is in no batch. Values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..embedded import ControlRecord, CoordinatorRecord, FramedRecord
from ..errors import DecodeError
from ..records import LIMIT, Record, RecordBatch, UndecodableRecords
from ..secrets import Hidden

if TYPE_CHECKING:
    from .topics import Meaning

Message = ControlRecord | CoordinatorRecord | FramedRecord


@dataclass(frozen=True, slots=True)
class LogBytes:
    """Bytes of a log that could not be read.

    Attributes:
        position: where they lie in the log; of a record that was compressed, where the compressed bytes do.
        count: how many there are.
        data: the bytes, of a record that was compressed inflated; none for zeros; `Hidden` where they may be secret.
        error: why; None for zeros, which are space that was allocated ahead.
        batch: the batch they are in; None outside of batches.
        file: the name of the log.
    """

    position: int
    count: int
    data: bytes | Hidden
    error: DecodeError | None
    batch: RecordBatch | None = None
    file: str = ""

    def joined(self, count: int) -> LogBytes:
        """Return zeros, with more zeros behind them."""
        return replace(self, count=self.count + count)


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A record of a log.

    Attributes:
        record: offset, timestamp, key, value and headers as they are.
        index: how many records of its batch are in front of it.
        message: what key and value say, in control batches and in Kafka's own logs; else None.
        fault: why they could not be read so, where they should; then `message` is None.
        batch: the batch it is in.
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
        header: its header, with all its bytes (`data`), the place in the log (`position`) and number (`index`).
        topic: Kafka's own topic that the log is of; None for others, and as long as it is not known.
        file: the name of the log.
        faults: what was tolerated, of the header and, as they are read, of the records.
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
            limit: the most bytes that the records may take once decompressed.

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
