"""Reads one batch: decompresses it, and converts errors to values with salvage.

Knows the positions of bytes; the formats are parsed in `magic2_records` and `legacy_message_sets`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import DecodeError
from ..errors.decode import Tolerated, TooManyFaults, TrailingBytes, UnknownCompression
from ..wire import Reader
from ..wire.streams import MOST_FAULTS
from .compression import inflate
from .layouts import CHECKED_FROM, Record, UndecodableRecords

if TYPE_CHECKING:
    from .batch import RecordBatch


class PlacedReader(Reader):
    """A reader whose errors have offsets relative to the input.

    Args:
        data: the bytes to read.
        base: their position in the input; for decompressed bytes, that of the compressed ones.
        path: the path of the value.
        start: where to start in `data`.
        inflated: whether they were decompressed; errors then have a separate offset in them.
        salvage: collect what Kafka tolerates in `faults` instead of raising it.
    """

    __slots__ = ("base", "inflated")

    def __init__(
        self,
        data: bytes,
        base: int,
        path: Iterable[str | int],
        *,
        start: int = 0,
        inflated: bool = False,
        salvage: bool = False,
    ) -> None:
        super().__init__(data, start, salvage=salvage)
        self.base: int = base
        self.inflated: bool = inflated
        self.path.extend(path)

    def refuse_field(self, field: str, kind: type[DecodeError], offset: int, **facts: Any) -> NoReturn:
        """Raise an error about a field that was not read by a node."""
        self.path.append(field)
        self.refuse(kind, offset, **facts)

    def fault_field(self, field: str, kind: type[Tolerated], offset: int, **facts: Any) -> None:
        """Raise or record a fault of a field that was not read by a node."""
        self.path.append(field)
        self.fault(kind, offset, **facts)
        self.path.pop()

    def _error(self, kind: type[DecodeError], offset: int, facts: dict[str, Any]) -> DecodeError:
        error = super()._error(kind, offset, facts)
        if self.inflated:
            error.offset, error.inflated_offset = self.base, offset
        else:
            error.offset = self.base + offset
        return error


class Walk:
    """The state of reading a batch.

    Args:
        batch: its header and bytes.
        salvage: return undecodable records as values.
        limit: the largest decompressed size of its records, in bytes.
    """

    def __init__(self, batch: RecordBatch, *, salvage: bool, limit: int) -> None:
        self.batch: RecordBatch = batch
        self.salvage: bool = salvage
        self.limit: int = limit
        self.faults: list[DecodeError] = []
        self._failures = 0
        self.stand(batch.data, 0)
        self._path = ("batches", batch.index)

    def reader(self, start: int) -> PlacedReader:
        """Return a reader of the batch's own bytes, positioned at `start`."""
        self.stand(self.batch.data, start)
        reader = PlacedReader(self.batch.data, self.batch.position, self._path, start=start, salvage=self.salvage)
        reader.faults = self.faults
        return reader

    def inflated(self, data: bytes, start: int) -> PlacedReader:
        """Decompress `data`, which starts at `start` in the batch, and return a reader of the result."""
        batch = self.batch
        self.stand(data, 0)
        if batch.compression is None:
            self.refuse_codec()
        try:
            inflated, tail = inflate(batch.compression, data, magic=batch.magic, limit=self.limit)
        except DecodeError as error:
            error.segments = (*self._path, "records")
            error.offset += batch.position + start
            error.rest, error.faults = self.unread, tuple(self.faults)
            error.__context__ = None  # its frames hold the inflated bytes
            raise error.with_traceback(None) from None
        if tail:
            offset = start + len(data) - len(tail)
            self.reader(offset).fault_field("records", TrailingBytes, offset, have=len(tail), raw=tail)
        self.stand(inflated, 0)
        reader = PlacedReader(inflated, batch.position + start, self._path, inflated=True, salvage=self.salvage)
        reader.faults = self.faults
        return reader

    def one(
        self, reader: PlacedReader, start: int, stop: int, index: int, read: Callable[[PlacedReader], Record]
    ) -> Record | UndecodableRecords:
        """Read the record from `start` to `stop`; the reader is at `stop` afterwards in any case."""
        end, depth = reader.end, len(reader.path)
        reader.end = stop
        reader.path += ("records", index)
        try:
            return read(reader)
        except DecodeError as error:
            failed = self.failed(reader.data[start:stop], error)
        finally:
            reader.pos, reader.end = stop, end
            del reader.path[depth:]
        self._failures += 1
        if self._failures > MOST_FAULTS or isinstance(failed.error, TooManyFaults):
            self.stand(reader.data, start)
            reader.refuse_field("records", TooManyFaults, start, need=MOST_FAULTS)
        return failed

    def stand(self, data: bytes, start: int) -> None:
        """Record that the bytes in `data` from `start` on are unread, in case reading ends here."""
        self._unread = data, start

    @property
    def unread(self) -> bytes:
        """The unread bytes."""
        data, start = self._unread
        return data[start:]

    def failed(self, data: bytes, error: DecodeError) -> UndecodableRecords:
        """With salvage, return undecodable bytes as a value; otherwise raise the error."""
        if not self.salvage:
            raise error
        return UndecodableRecords(data, error.with_traceback(None))

    def refuse_codec(self) -> NoReturn:
        """Raise the error of an unknown compression, with the bytes."""
        batch = self.batch
        error = UnknownCompression(
            offset=batch.position + CHECKED_FROM[batch.magic] + (batch.magic < 2),
            segments=(*self._path, "attributes"),
            found=(batch.compression_id, batch.magic),
        )
        error.rest, error.faults = self.unread, tuple(self.faults)
        raise error
