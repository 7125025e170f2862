"""`Walk`: one batch being read. Makes its readers, inflates, and turns errors into values in salvage.

Knows where a batch's bytes lie; the two families of magics are read in `magic2` and `message_sets`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from ..errors import DecodeError
from ..faults import TooManyFaults, TrailingBytes, UnknownCompression
from ..wire.streams import MOST_FAULTS
from .compression import inflate
from .layouts import CHECKED_FROM
from .places import PlacedReader
from .values import Record, UndecodableRecords

if TYPE_CHECKING:
    from .batches import RecordBatch


class Walk:
    """A batch being read.

    Args:
        batch: its header and bytes.
        salvage: make a value of what cannot be read.
        limit: the most bytes that its records may take once inflated.
    """

    def __init__(self, batch: RecordBatch, *, salvage: bool, limit: int) -> None:
        self.batch, self.salvage, self.limit = batch, salvage, limit
        self.faults: list[DecodeError] = []
        self._failures = 0
        self.stand(batch.data, 0)
        self._path = ("batches", batch.index)

    def reader(self, start: int) -> PlacedReader:
        """Return a reader of the batch's own bytes that stands at `start`."""
        self.stand(self.batch.data, start)
        reader = PlacedReader(self.batch.data, self.batch.position, self._path, start=start, salvage=self.salvage)
        reader.faults = self.faults
        return reader

    def inflated(self, data: bytes, start: int) -> PlacedReader:
        """Inflate `data`, which begins at `start` in the batch, and return a reader of what comes out."""
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
        """Read the record from `start` to `stop`, and leave the reader behind it whatever happens."""
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
        """Note that what lies in `data` from `start` on was not given out yet, in case that reading ends here."""
        self._unread = data, start

    @property
    def unread(self) -> bytes:
        """What was not given out yet."""
        data, start = self._unread
        return data[start:]

    def failed(self, data: bytes, error: DecodeError) -> UndecodableRecords:
        """Return bytes and why they cannot be read, in salvage; else raise the reason."""
        if not self.salvage:
            raise error
        return UndecodableRecords(data, error.with_traceback(None))

    def refuse_codec(self) -> NoReturn:
        """Refuse a compression that nobody knows, keeping the bytes."""
        batch = self.batch
        error = UnknownCompression(
            offset=batch.position + CHECKED_FROM[batch.magic] + (batch.magic < 2),
            segments=(*self._path, "attributes"),
            found=(batch.compression_id, batch.magic),
        )
        error.rest, error.faults = self.unread, tuple(self.faults)
        raise error
