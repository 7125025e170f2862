"""What a walk has collected of many bodies, one class a kind of column, and how it becomes Arrow arrays.

The lists are filled by generated source (`walk`); knows no bodies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from .. import wire
from .arrays import constant, fixed_at, lists_of, structs_of


class Lists:
    """All lists that a walk fills, so that a bad body can be taken out of them again."""

    def __init__(self) -> None:
        self._lists: list[list[Any]] = []
        self.when_cleared: list[Callable[[], None]] = []
        self._appenders: dict[int, Callable[[Any], None]] = {}

    def new(self) -> list[Any]:
        """Return a new list."""
        self._lists.append([])
        return self._lists[-1]

    def appender(self, items: list[Any]) -> Callable[[Any], None]:
        """Return what appends to one of them, always the same."""
        return self._appenders.setdefault(id(items), items.append)

    def marks(self) -> list[int]:
        """Return how long they are."""
        return list(map(len, self._lists))

    def items(self) -> int:
        """Return how much is in them."""
        return sum(map(len, self._lists))

    def undo(self, marks: list[int]) -> None:
        """Make them as long as they were."""
        for one, mark in zip(self._lists, marks, strict=True):
            del one[mark:]

    def clear(self) -> None:
        """Empty them."""
        for one in self._lists:
            one.clear()
        for forget in self.when_cleared:
            forget()


class Column(ABC):
    """What was collected of one node."""

    @abstractmethod
    def array(self, count: int) -> Any:
        """Return it as an Arrow array; of so many rows."""


class Pieces:
    """Bytes of one size, from each row."""

    def __init__(self, lists: Lists) -> None:
        self.items, self.size = lists.new(), 0

    def joined(self) -> bytes:
        """Return all together."""
        self.items[:] = [b"".join(self.items)]
        return bytes(self.items[0])


class Fixed(Column):
    """A value of a fixed size, at one offset of each piece."""

    def __init__(self, pieces: Pieces, offset: int, node: Any) -> None:
        self.pieces, self.offset, self.node = pieces, offset, node

    def array(self, count: int) -> Any:
        """Return them."""
        return fixed_at(self.node, self.pieces.joined(), count, self.offset, self.pieces.size)


class Texts(Column):
    """Strings, bytes or records: the bytes of each, or None. That strings are UTF-8 was checked."""

    def __init__(self, items: list[Any], type_: Any) -> None:
        self.items, self.type = items, type_

    def array(self, count: int) -> Any:
        """Return them."""
        return pa.array(self.items, pa.binary()).view(self.type)


class Numbers(Column):
    """Arrays of values of a fixed size: the bytes of each, or None."""

    def __init__(self, items: list[Any], node: wire.Array) -> None:
        self.items, self.element, self.nullable = items, node.element, node.nullable

    def lengths(self, count: int) -> Any:
        """Return the length of each array; of null, -1."""
        if self.nullable and None in self.items:
            sizes = (-self.element.least if item is None else len(item) for item in self.items)
            return np.fromiter(sizes, np.int64, count) // self.element.least
        return np.fromiter(map(len, self.items), np.int64, count) // self.element.least

    def values(self, total: int) -> Any:
        """Return the elements of all arrays."""
        joined = b"".join(filter(None, self.items) if self.nullable else self.items)
        return fixed_at(self.element, joined, total, 0, self.element.least)

    def array(self, count: int) -> Any:
        """Return them."""
        lengths = self.lengths(count)
        return lists_of(lengths, self.values(total(lengths)))


class Items(Column):
    """Arrays of other things: the length of each (-1: null), and a column of all elements."""

    def __init__(self, counts: list[int], elements: Column) -> None:
        self.counts, self.elements = counts, elements

    def lengths(self, count: int) -> Any:
        """Return the length of each array; of null, -1."""
        return np.array(self.counts, np.int64)

    def array(self, count: int) -> Any:
        """Return them."""
        lengths = self.lengths(count)
        return lists_of(lengths, self.elements.array(total(lengths)))


class Table(Column):
    """Structs: a column of each field that is wanted.

    Attributes:
        counter: a list that grows by one for each struct, if there is one yet.
    """

    def __init__(self) -> None:
        self.fields: dict[str, Column] = {}
        self.counter: list[Any] | None = None

    def column(self, name: str, count: int) -> Any:
        """Return one field of all structs."""
        return self.fields[name].array(count)

    def array(self, count: int) -> Any:
        """Return them."""
        return structs_of({name: self.column(name, count) for name in self.fields}, count)


class Sparse(Column):
    """What only some rows have: which they are, and a column of what they have. The others have the default."""

    def __init__(self, rows: list[int], there: Column, default: Any, type_: Any) -> None:
        self.rows, self.there, self.default, self.type = rows, there, default, type_

    def array(self, count: int) -> Any:
        """Return them, the default in its places."""
        if not self.rows:
            return constant(self.default, self.type, count)
        places = np.zeros(count, np.int64)
        places[self.rows] = np.arange(1, len(self.rows) + 1)
        both = pa.concat_arrays([constant(self.default, self.type, 1), self.there.array(len(self.rows))])
        return both.take(pa.array(places))


def total(lengths: Any) -> int:
    """Return how many elements arrays of these lengths have together."""
    return int(lengths[lengths > 0].sum())
