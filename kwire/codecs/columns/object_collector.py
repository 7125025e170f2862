"""Collects the rows of decoded messages: the fallback of `buffer_collector`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import pyarrow as pa

from .. import wire
from ..fast_path import REFUSALS
from .arrow_types import TAGS, fields_of
from .column import Column, EnclosingColumn
from .column_plan import ColumnPlan


class Collector(Protocol):
    """Collects the rows of bodies, from bytes (`column_reader.BufferCollector`) or from messages."""

    def add_bodies(self, bodies: list[bytes], numbers: list[int], start: int) -> int:
        """Append the rows of bodies, starting with the body at index `start`.

        Args:
            bodies: all bodies.
            numbers: the number of each body, for the column `body_index`.
            start: the index of the first body to add.

        Returns:
            The index of the first body that was not accepted and added no rows; or the number of bodies.
        """

    def add_message(self, message: Any, number: int) -> None:
        """Append the rows of a decoded message."""

    def take(self) -> tuple[int, list[Column]]:
        """Return and clear the collected rows: their number, and the columns of the plan."""


class ObjectCollector:
    """Collects the rows of many bodies of one message at one version.

    Args:
        schema: the construct tree.
        plan: the columns, of this version or of all.
        decode: decodes a body.
    """

    def __init__(self, schema: wire.Struct, plan: ColumnPlan, decode: Callable[[bytes], Any]) -> None:
        self._plan = plan
        self._decode = decode
        self._known = _known_fields(schema, plan)
        self._begin()

    def _begin(self) -> None:
        self._values: list[list[Any]] = [[] for _ in self._plan.choices]
        self._ends: list[list[int]] = [[] for _ in self._plan.levels]
        self.rows: int = 0

    def add_bodies(self, bodies: list[bytes], numbers: list[int], start: int) -> int:
        """Append the rows of bodies, see `Collector.add_bodies`."""
        for index in range(start, len(bodies)):
            try:
                message = self._decode(bodies[index])
            except REFUSALS:  # the reference path finds the reason
                return index
            self.add_message(message, numbers[index])
        return len(bodies)

    def add_message(self, message: Any, number: int) -> None:
        """Append the rows of a decoded message."""
        self._level(0, message)
        for choice, values in zip(self._plan.choices, self._values, strict=True):
            if choice.level < 0:
                values.append(number)

    def _level(self, depth: int, value: Any) -> None:
        """Append a row of a level, and all rows below it."""
        levels = self._plan.levels
        known = self._known[depth]
        for choice, values in zip(self._plan.choices, self._values, strict=True):
            if choice.level == depth and choice.field in known:
                cell = getattr(value, choice.field) if hasattr(value, "__struct_fields__") else value
                values.append(plain_value(cell, known[choice.field][0]))
        if depth == len(levels) - 1:
            self.rows += 1
        elif levels[depth + 1].name in self._known[depth]:
            below = getattr(value, levels[depth + 1].name)
            if isinstance(below, tuple):
                for item in below:
                    self._level(depth + 1, item)
            elif below is not None:
                self._level(depth + 1, below)
        self._ends[depth].append(self.rows)

    def take(self) -> tuple[int, list[Column]]:
        """Return and clear the collected rows: their number, and the columns of the plan."""
        columns: list[Column] = []
        for choice, values in zip(self._plan.choices, self._values, strict=True):
            level = max(choice.level, 0)
            ends = self._ends[level]
            array = pa.array(values if len(values) == len(ends) else [None] * len(ends), choice.plain_type)
            is_last = level == len(self._plan.levels) - 1
            columns.append(Column(array, choice) if is_last else EnclosingColumn(array, choice, ends))
        rows = self.rows
        self._begin()
        return rows, columns


def _known_fields(schema: wire.Struct, plan: ColumnPlan) -> list[dict[str, list[Any]]]:
    """Return the nodes of the fields that this version has, by level of the plan and by name."""
    known: list[dict[str, list[Any]]] = []
    nodes: list[Any] = [schema]
    for depth, level in enumerate(plan.levels):
        names = level._replace(nodes=nodes).fields if nodes else {}
        known.append(names)
        below = plan.levels[depth + 1].name if depth + 1 < len(plan.levels) else TAGS
        nodes = [wire.content_of(node).node for node in names.get(below, [])] if below != TAGS else []
    return known


def plain_value(value: Any, node: Any) -> Any:
    """Convert a value of a message for pyarrow, without the fields of structs that its version does not have."""
    if isinstance(value, tuple):
        element = wire.content_of(node).node
        return [plain_value(item, element) for item in value]
    struct = wire.content_of(node).struct if hasattr(value, "__struct_fields__") else None
    if struct is None:
        return value
    return {name: plain_value(getattr(value, name), nodes[0]) for name, nodes in fields_of([struct]).items()}
