"""Expressions of display filters: typed tests joined by and, or, not; compiled once for each kind of item.

The reader of a kind of item says where the values of a path come from: `Constant` values are compared while the
expression is compiled, so that a test of the api takes no time for each frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from .field_path import FieldPath

MOST_REMEMBERED = 1 << 14  # values whose test is remembered
Matcher = Callable[[Any], Any]  # item -> whether it matches


class Constant(NamedTuple):
    """The values of a path are the same for all items."""

    values: tuple[Any, ...]


class OneValue(NamedTuple):
    """A path has one value in an item; None means that the item does not have it.

    Attributes:
        read: returns the value.
        is_repeated: many items have the same value, so that tests of it are remembered.
    """

    read: Callable[[Any], Any]
    is_repeated: bool = False


class ManyValues(NamedTuple):
    """A path has any number of values in an item.

    Attributes:
        read: returns the values.
        is_repeated: the values are texts, and many items have the same ones, so that tests of them are remembered.
    """

    read: Callable[[Any], Iterable[Any]]
    is_repeated: bool = False


Values = Constant | OneValue | ManyValues
ReaderOf = Callable[[FieldPath], Values]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Holds if `holds` is true for any value of a path.

    Attributes:
        path: the path.
        holds: tests one value.
        find_messages: returns the names of the messages that can have such a value; None if any frame can.
    """

    path: FieldPath
    holds: Callable[[Any], Any] = field(repr=False)
    find_messages: Callable[[], frozenset[str] | None] = field(default=lambda: None, repr=False)

    def compile(self, reader_of: ReaderOf) -> bool | Matcher:
        """Return a function of items, or the result if it is the same for all items."""
        holds, values = self.holds, reader_of(self.path)
        if isinstance(values, Constant):
            return any(map(holds, values.values))
        read = values.read
        if values.is_repeated:
            remembered: Callable[[Any], Any] = lru_cache(MOST_REMEMBERED)(holds)
            holds = remembered
        if isinstance(values, ManyValues):
            return lambda item: any(map(holds, read(item)))

        def compare(item: Any) -> Any:
            value = read(item)
            return value is not None and holds(value)

        return compare

    @property
    def messages(self) -> frozenset[str] | None:
        """The names of the messages that can match; None if any frame can."""
        return self.find_messages()

    @property
    def paths(self) -> tuple[FieldPath, ...]:
        """The paths that the expression names."""
        return (self.path,)


@dataclass(frozen=True, slots=True)
class Every:
    """Holds if all parts hold."""

    parts: tuple[Expression, ...]

    def compile(self, reader_of: ReaderOf) -> bool | Matcher:
        """Return a function of items, or the result if it is the same for all items."""
        tests = []
        for part in self.parts:
            test = part.compile(reader_of)
            if test is False:
                return False
            if test is not True:
                tests.append(test)
        return _join(tests, _both) if tests else True

    @property
    def messages(self) -> frozenset[str] | None:
        """The names of the messages that can match; None if any frame can."""
        limits = [part.messages for part in self.parts if part.messages is not None]
        return frozenset.intersection(*limits) if limits else None

    @property
    def paths(self) -> tuple[FieldPath, ...]:
        """The paths that the expression names."""
        return tuple(path for part in self.parts for path in part.paths)


@dataclass(frozen=True, slots=True)
class Some:
    """Holds if at least one part holds."""

    parts: tuple[Expression, ...]

    def compile(self, reader_of: ReaderOf) -> bool | Matcher:
        """Return a function of items, or the result if it is the same for all items."""
        tests = []
        for part in self.parts:
            test = part.compile(reader_of)
            if test is True:
                return True
            if test is not False:
                tests.append(test)
        return _join(tests, _either) if tests else False

    @property
    def messages(self) -> frozenset[str] | None:
        """The names of the messages that can match; None if any frame can."""
        union: frozenset[str] = frozenset()
        for part in self.parts:
            if part.messages is None:
                return None
            union |= part.messages
        return union

    @property
    def paths(self) -> tuple[FieldPath, ...]:
        """The paths that the expression names."""
        return tuple(path for part in self.parts for path in part.paths)


@dataclass(frozen=True, slots=True)
class Negation:
    """Holds if its part does not hold."""

    part: Expression
    messages: None = None

    def compile(self, reader_of: ReaderOf) -> bool | Matcher:
        """Return a function of items, or the result if it is the same for all items."""
        test = self.part.compile(reader_of)
        return not test if isinstance(test, bool) else lambda item: not test(item)

    @property
    def paths(self) -> tuple[FieldPath, ...]:
        """The paths that the expression names."""
        return self.part.paths


Expression = Comparison | Every | Some | Negation


def _both(first: Matcher, second: Matcher) -> Matcher:
    return lambda item: first(item) and second(item)


def _either(first: Matcher, second: Matcher) -> Matcher:
    return lambda item: first(item) or second(item)


def _join(tests: list[Matcher], pair: Callable[[Matcher, Matcher], Matcher]) -> Matcher:
    """Join tests in pairs, in their order: a generator takes three times as long, and a chain would be too deep."""
    if len(tests) == 1:
        return tests[0]
    middle = len(tests) // 2
    return pair(_join(tests[:middle], pair), _join(tests[middle:], pair))
