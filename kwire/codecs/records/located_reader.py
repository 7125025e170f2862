"""A reader whose errors have offsets in the whole input, also for decompressed bytes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from ...errors import DecodeError, Tolerated
from ..wire import Reader


class LocatedReader(Reader):
    """A reader whose errors have offsets relative to the input.

    Args:
        data: the bytes to read.
        base: their position in the input; for decompressed bytes, the position of the compressed bytes.
        path: the path of the value.
        start: the start position in `data`.
        inflated: whether the bytes were decompressed; errors then also have an offset in the decompressed bytes.
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
            error.offset = self.base
            error.inflated_offset = offset
        else:
            error.offset = self.base + offset
        return error
