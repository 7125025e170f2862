"""An iterator over the records of a batch: the engine reads them, the general path what the engine refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec.structs import replace

from ...errors import DecodeError
from ..native import ENGINE
from .batch_walk import BatchWalk
from .legacy_message_sets import read_message
from .record import Record
from .record_reader import read_batch

if TYPE_CHECKING:
    from ..native import RecordCursor
    from ..native import RecordCursor as CursorAttributes
else:
    CursorAttributes = object
    if ENGINE == "native":
        from ..native import RecordCursor
    else:
        from .python_cursors import RecordCursor

Item = TypeVar("Item", covariant=True)


class GeneralPath(CursorAttributes):
    """What a cursor leaves to the layouts: it continues at the position of the cursor, and moves it."""

    __slots__ = ()

    @property
    def walk(self) -> BatchWalk:
        """The state of decompression and of faults."""
        if self._walk is None:
            self._walk = BatchWalk(self._batch, salvage=self._salvage, limit=self._limit)
        walk: BatchWalk = self._walk
        return walk

    @property
    def faults(self) -> list[DecodeError]:
        """The faults so far, with salvage only."""
        return self.walk.faults

    def _next_generally(self) -> Any:
        if self._items is None:
            self._items = self._read(self.walk)
        item = next(self._items)
        if self._views and type(item) is Record:
            return _as_views(item)
        return item

    def _read(self, walk: BatchWalk) -> Iterator[Any]:
        try:
            yield from (read_message if walk.batch.magic < 2 else read_batch)(walk, self)
        except DecodeError as error:
            self._close()
            yield walk.take_failure(walk.unread, error)
        self._close()


class RecordIterator(GeneralPath, RecordCursor, Generic[Item]):
    """An iterator over the records of a batch; created by `RecordBatch.records`.

    Attributes:
        faults: the faults so far, with salvage only.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[Item]: ...

        def __next__(self) -> Item: ...


def _as_views(record: Record) -> Record:
    """Return a record whose key and value are memoryviews."""
    key, value = (part if part is None else memoryview(part) for part in (record.key, record.value))
    return replace(record, key=key, value=value)
