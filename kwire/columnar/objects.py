"""Columns filled from decoded messages: the fallback, where the native engine was not built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from .. import wire
from .collected import Column, EnclosingColumn
from .plan import Plan
from .types import TAGS


class ObjectCollector:
    """Collects the rows of many bodies of one message at one version.

    Args:
        schema: the construct tree.
        plan: what is wanted, of this version or of all.
        decode: decodes a body.
    """

    def __init__(self, schema: wire.Struct, plan: Plan, decode: Callable[[bytes], Any]) -> None:
        self._plan, self._decode = plan, decode
        self._known = _known_fields(schema, plan)
        self._begin()

    def _begin(self) -> None:
        self._values: list[list[Any]] = [[] for _ in self._plan.choices]
        self._ends: list[list[int]] = [[] for _ in self._plan.levels]
        self.rows: int = 0

    def add_bodies(self, bodies: list[bytes], numbers: list[int], start: int) -> int:
        """Append the rows of bodies, as `Collector.add_bodies`."""
        for index in range(start, len(bodies)):
            try:
                message = self._decode(bodies[index])
            except Exception:  # of any kind: the reference path says what it is
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
        for choice, values in zip(self._plan.choices, self._values, strict=True):
            if choice.level == depth and choice.field in self._known[depth]:
                values.append(plain(getattr(value, choice.field) if hasattr(value, "__struct_fields__") else value))
        if depth == len(levels) - 1:
            self.rows += 1
        elif levels[depth + 1].name in self._known[depth]:
            below = getattr(value, levels[depth + 1].name)
            for item in below if isinstance(below, tuple) else () if below is None else (below,):
                self._level(depth + 1, item)
        self._ends[depth].append(self.rows)

    def take(self) -> tuple[int, list[Column]]:
        """Take what was collected: the number of rows, and the columns of the plan."""
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


def _known_fields(schema: wire.Struct, plan: Plan) -> list[set[str]]:
    """Return which fields the levels of a plan have at this version."""
    known: list[set[str]] = []
    nodes: list[Any] = [schema]
    for depth, level in enumerate(plan.levels):
        names = level._replace(nodes=nodes).fields if nodes else {}
        known.append(set(names))
        below = plan.levels[depth + 1].name if depth + 1 < len(plan.levels) else TAGS
        nodes = [wire.content_of(node).node for node in names.get(below, [])] if below != TAGS else []
    return known


def plain(value: Any) -> Any:
    """Return a value of a message as pyarrow takes it."""
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    names: tuple[str, ...] = getattr(value, "__struct_fields__", ())
    return {name: plain(getattr(value, name)) for name in names} if names else value
