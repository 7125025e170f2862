"""Arrays: a count (int32, or compact), followed by the elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import DecodeError
from .fixed_size import Integer
from .lengths import COMPACT_LENGTH, INT32_LENGTH, read_length, write_length
from .node import Node
from .reader import Reader
from .writer import Writer

# After the fast path has refused bytes, it reads the elements in blocks of this many. A block that it refuses is
# divided by `PARTS`, down to the invalid element, which the reference path reads.
BLOCK = 64
PARTS = 8
FEW = 4  # elements that the reference path reads sooner than the fast path is prepared for them


class Array(Node):
    """A count (int32, or compact), followed by the elements. Decodes to a tuple; encodes any sequence."""

    def __init__(self, element: Node, length: Node = INT32_LENGTH, *, nullable: bool = False) -> None:
        super().__init__()
        self.element: Node = element
        self.length: Node = length
        self.nullable: bool = nullable
        self.least: int = length.least
        compact = "compact " if length is COMPACT_LENGTH else ""
        self.type_name = f"{compact}{'nullable ' if nullable else ''}array"
        self.count: _Count = _Count(self)

    def _parse(self, stream: Reader, context: Any, path: str) -> tuple[Any, ...] | None:
        count = stream.prefix(self.count)
        if count is None:
            return None
        if isinstance(self.element, Integer) and count >= BLOCK:
            numbers = stream.elements(self, count)
            if numbers is not None:
                return tuple(numbers)
        items: list[Any] = []
        try:
            if count >= FEW and stream.skips_valid:
                self._read_blocks(stream, items, count)
            for index in range(len(items), count):
                items.append(stream.child(index, self.element))
        except DecodeError as error:
            error.partial = items if error.partial is None else [*items, error.partial]
            raise
        return tuple(items)

    def _read_blocks(self, stream: Reader, items: list[Any], count: int) -> None:
        """Read elements on the fast path, and each one that it refuses on the reference path."""
        size = BLOCK
        while len(items) < count:
            size = min(size, count - len(items))
            block = stream.elements(self, size)
            if block is not None:
                items += block
            elif size > 1:
                size = max(1, size // PARTS)
            else:
                items.append(stream.child(len(items), self.element))
                size = BLOCK

    def _build(self, obj: Any, stream: Writer, context: Any, path: str) -> None:
        if obj is None:
            write_length(stream, self.length, None, nullable=self.nullable)
            return
        if isinstance(obj, str | bytes | bytearray) or not isinstance(obj, Sequence):
            self.wrong_type(stream, obj)
        write_length(stream, self.length, len(obj), nullable=self.nullable)
        for index, item in enumerate(obj):
            stream.child(index, self.element, item)


class _Count(Node):
    """The count that precedes an array's elements."""

    def __init__(self, array: Array) -> None:
        super().__init__()
        self.array = array
        self.type_name: str = array.type_name

    def _parse(self, stream: Reader, context: Any, path: str) -> int | None:
        array = self.array
        return read_length(stream, array.length, nullable=array.nullable, element_size=array.element.least)
