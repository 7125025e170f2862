"""`Records`: the records of one batch, read as they are asked for.

Knows which magic is read where.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..errors import DecodeError
from .magic2 import read_batch
from .message_sets import read_message
from .walks import Walk

if TYPE_CHECKING:
    from .batches import RecordBatch

Item = TypeVar("Item", covariant=True)


class Records(Generic[Item]):
    """The records of a batch, once, in their order; made by `RecordBatch.records`.

    Attributes:
        faults: what was tolerated so far; grows with the iteration, and only in salvage.
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
