"""The state of reading the records of a batch: decompression, faults, and the bytes that are unread."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from ...errors import DecodeError, TooManyFaults, TrailingBytes, UnknownCompression
from ..compression.compression_types import inflate
from ..wire.reader import MOST_FAULTS
from .batch_header import BatchHeader
from .located_reader import LocatedReader
from .record import Record, UndecodableRecords
from .record_layouts import CHECKED_FROM


class BatchWalk:
    """The state of reading a batch.

    Args:
        batch: the header and bytes of the batch.
        salvage: return undecodable records as values.
        limit: the maximum decompressed size of its records, in bytes.
    """

    def __init__(self, batch: BatchHeader, *, salvage: bool, limit: int) -> None:
        self.batch: BatchHeader = batch
        self.salvage: bool = salvage
        self.limit: int = limit
        self.faults: list[DecodeError] = []
        self._failures = 0
        self.stand(batch.data, 0)
        self._path = ("batches", batch.index)

    def reader(self, start: int) -> LocatedReader:
        """Return a reader of the batch's bytes, positioned at `start`."""
        self.stand(self.batch.data, start)
        reader = LocatedReader(self.batch.data, self.batch.position, self._path, start=start, salvage=self.salvage)
        reader.faults = self.faults
        return reader

    def open_inflated(self, data: bytes, start: int) -> LocatedReader:
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
            error.rest = self.unread
            error.faults = tuple(self.faults)
            error.__context__ = None  # its frames reference the decompressed bytes
            raise error.with_traceback(None) from None
        if tail:
            offset = start + len(data) - len(tail)
            self.reader(offset).fault_field("records", TrailingBytes, offset, have=len(tail), raw=tail)
        self.stand(inflated, 0)
        reader = LocatedReader(inflated, batch.position + start, self._path, inflated=True, salvage=self.salvage)
        reader.faults = self.faults
        return reader

    def one(
        self, reader: LocatedReader, start: int, stop: int, index: int, read: Callable[[LocatedReader], Record]
    ) -> Record | UndecodableRecords:
        """Read the record from `start` to `stop`; afterwards, the reader is always at `stop`."""
        end = reader.end
        depth = len(reader.path)
        reader.end = stop
        reader.path += ("records", index)
        try:
            return read(reader)
        except DecodeError as error:
            failed = self.take_failure(reader.data[start:stop], error)
        finally:
            reader.pos = stop
            reader.end = end
            del reader.path[depth:]
        self._failures += 1
        if self._failures > MOST_FAULTS or isinstance(failed.error, TooManyFaults):
            self.stand(reader.data, start)
            reader.refuse_field("records", TooManyFaults, start, need=MOST_FAULTS)
        return failed

    def stand(self, data: bytes, start: int) -> None:
        """Record that the bytes of `data` from `start` on are unread, in case reading stops here."""
        self._unread = data, start

    @property
    def unread(self) -> bytes:
        """The unread bytes."""
        data, start = self._unread
        return data[start:]

    def take_failure(self, data: bytes, error: DecodeError) -> UndecodableRecords:
        """With salvage, return undecodable bytes as a value; otherwise raise the error."""
        if not self.salvage:
            raise error
        return UndecodableRecords(data, error.with_traceback(None))

    def refuse_codec(self) -> NoReturn:
        """Raise the error for an unknown compression, with the bytes."""
        batch = self.batch
        error = UnknownCompression(
            offset=batch.position + CHECKED_FROM[batch.magic] + (batch.magic < 2),
            segments=(*self._path, "attributes"),
            found=(batch.compression_id, batch.magic),
        )
        error.rest = self.unread
        error.faults = tuple(self.faults)
        raise error
