"""Functions that cut bytes into pieces: neighbours of a fixed size are one piece, and `p` moves where it is needed.

In generated source `b` is a body and `p` a position in it. Knows nodes of a fixed size; knows no others.
"""

from __future__ import annotations

from typing import Any

from .. import wire
from ..compiler.source import Function, Source
from .collected import Fixed, Lists, Pieces, Table


class Walk(Function):
    """A function that walks over bytes.

    Neighbours of a fixed size wait until something else comes: `ahead` bytes from `p` on are behind it already.
    """

    def __init__(self, source: Source, lists: Lists, name: str, table: Table, parameters: str = "b, p") -> None:
        super().__init__(source, name, parameters)
        self.lists, self.table, self.ahead = lists, table, 0
        self._pieces: Pieces | None = None
        self._first = self._last = 0
        self._booleans: list[str] = []

    def at(self, more: int = 0) -> str:
        """Return where the next byte is, or one `more` bytes on."""
        offset = self.ahead + more
        return f"p + {offset}" if offset else "p"

    def fixed(self, node: Any) -> Fixed:
        """Collect a value of a fixed size."""
        if self._pieces is None:
            self._pieces, self._first = Pieces(self.lists), self.ahead
        if isinstance(node, wire.Boolean):
            self._booleans.append(f"b[{self.at()}] > 1")
        column = Fixed(self._pieces, self.ahead - self._first, node)
        self.ahead += node.least
        self._last = self.ahead
        return column

    def append(self, items: list[Any], value: str, *, always: bool = True) -> str:
        """Return the call that appends to a list; `always`: once for each row of the table."""
        if always and self.table.counter is None:
            self.table.counter = items
        return f"{self.source.constant('A', self.lists.appender(items))}({value})"

    def row(self) -> str:
        """Return an expression of the row that is being read."""
        if self.table.counter is None:
            self.line(self.append(self.lists.new(), "None"))
        return f"len({self.source.constant('L', self.table.counter)}) - 1"

    def line(self, text: str) -> None:
        """Write a line, behind what waits."""
        self.settle()
        super().line(text)

    def settle(self) -> None:
        """Collect what waits."""
        pieces, self._pieces = self._pieces, None
        if pieces is not None:
            pieces.size = self._last - self._first
            ends = [f"p + {offset}" if offset else "p" for offset in (self._first, self._last)]
            super().line(self.append(pieces.items, f"b[{ends[0]}:{ends[1]}]"))
        if self._booleans:
            super().line(f"if {' or '.join(self._booleans)}: raise Refused")
            self._booleans.clear()

    def finish(self) -> None:
        """Settle, and move `p` to the next byte."""
        self.settle()
        if self.ahead:
            super().line(f"p += {self.ahead}")
            self.ahead = 0
