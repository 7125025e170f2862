"""A reader that knows where its bytes lie in a larger whole: in the input, or inflated out of some of it.

Knows paths and offsets; knows no batches.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from ..errors import DecodeError
from ..faults import Tolerated
from ..wire import Reader


class PlacedReader(Reader):
    """A reader whose errors have offsets in the input.

    Args:
        data: the bytes to read.
        base: where they begin in the input; of inflated bytes, where the compressed ones begin.
        path: what they are.
        start: where in `data` to begin.
        inflated: they are not in the input themselves; errors say the offset in them apart.
        salvage: note what Kafka tolerates in `faults` instead of raising it.
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
        self.base, self.inflated = base, inflated
        self.path.extend(path)

    def refuse_field(self, field: str, kind: type[DecodeError], offset: int, **facts: Any) -> NoReturn:
        """Raise an error about a field that was not read by a node."""
        self.path.append(field)
        self.refuse(kind, offset, **facts)

    def fault_field(self, field: str, kind: type[Tolerated], offset: int, **facts: Any) -> None:
        """Raise or note a fault of a field that was not read by a node."""
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
