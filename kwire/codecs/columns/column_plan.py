"""Selects the columns of a message: the array whose elements are rows, and the levels above it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow as pa

from ...errors import UnknownMessage
from ...schema.message_spec import MessageSpec
from .. import wire
from ..schema_tree import grow_tree
from .arrow_types import TAGS, Wanted, arrow_type, fields_of

BODY = "body_index"


class PathLevel(NamedTuple):
    """A level on the path: its field in the level above, and its nodes in the trees.

    The nodes are structs; only rows may be elements of any type.
    """

    name: str
    nodes: list[Any]

    @property
    def fields(self) -> dict[str, list[Any]]:
        """The nodes of its fields by name; elements that are not structs are a single field with the name of the
        array.
        """
        if self.nodes and wire.content_of(self.nodes[0]).struct is None:
            return {self.name: self.nodes}
        return fields_of(self.nodes)


@dataclass(frozen=True)
class ChosenColumn:
    """A column: its name, the level and field of its values, its type, and the selected fields of it (`Wanted`).

    Level -1 is the index of the body.
    """

    name: str
    level: int
    field: str
    type: Any
    wanted: Wanted = None

    @cached_property
    def is_dictionary(self) -> bool:
        """Whether the column is dictionary-encoded."""
        return bool(pa.types.is_dictionary(self.type))

    @cached_property
    def plain_type(self) -> Any:
        """The type of the values."""
        return self.type.value_type if self.is_dictionary else self.type


class ColumnPlan:
    """The selected columns.

    Args:
        trees: the trees of the message, at one or several versions.
        path: the array whose elements are rows.
        columns, dictionary: as for `kwire.columns`.

    Attributes:
        levels: the levels from the message to the rows.
        choices: the columns.
        schema: the Arrow schema of the columns.
        wanted: the selection as `Wanted`, starting at the message.
    """

    def __init__(
        self, trees: Sequence[wire.Struct], path: str, columns: Sequence[str] | None, *, dictionary: bool = False
    ) -> None:
        self.dictionary = dictionary
        self.levels: list[PathLevel] = levels_at(trees, path)
        selected = self._select_fields(self._default_columns() if columns is None else columns)
        self.choices: list[ChosenColumn] = [self._choose_column(name, deeper) for name, deeper in selected.items()]
        self.schema: Any = pa.schema([(choice.name, choice.type) for choice in self.choices])
        self.wanted: dict[str, Any] | None = self._nest_by_level(selected)

    def available(self) -> Iterator[tuple[str, int, str]]:
        """Yield (name, level, field) for all possible columns, without the arrays and structs of the path."""
        for depth, level in enumerate(self.levels):
            last = depth == len(self.levels) - 1
            for field in level.fields:
                if last:
                    yield field, depth, field
                elif field != self.levels[depth + 1].name:
                    yield f"{level.name or 'message'}_{field}", depth, field

    def _default_columns(self) -> list[str]:
        """Return the names of all columns except the arrays of enclosing levels."""
        rows = len(self.levels) - 1
        return [BODY] + [
            name
            for name, depth, field in self.available()
            if depth == rows or not wire.content_of(self.levels[depth].fields[field][0]).is_array
        ]

    def _select_fields(self, columns: Sequence[str]) -> dict[str, dict[str, Any] | None]:
        """Return the columns by name, each with its selected fields; None means all."""
        selected: dict[str, Any] = {}
        for column in columns:
            inside = selected
            *outer, last = column.split(".")
            for name in outer:
                inside = inside.setdefault(name, {})
                if inside is None:  # the whole column is already selected
                    break
            else:
                inside[last] = None
        return selected

    def _choose_column(self, name: str, deeper: dict[str, Any] | None) -> ChosenColumn:
        if name == BODY and deeper is None:
            return ChosenColumn(BODY, -1, "", pa.int64())
        known = {known: (level, field) for known, level, field in self.available()}
        if name not in known:
            raise UnknownMessage("column", name, [BODY, *known])
        level, field = known[name]
        nodes = self.levels[level].fields[field]
        check_fields(nodes, deeper, name)
        type_ = arrow_type(nodes, deeper)
        if self.dictionary and level < len(self.levels) - 1 and isinstance(nodes[0], wire.String | wire.Uuid):
            type_ = pa.dictionary(pa.int32(), type_)
        return ChosenColumn(name, level, field, type_, deeper)

    def _nest_by_level(self, selected: dict[str, dict[str, Any] | None]) -> dict[str, Any] | None:
        """Return the selected fields of the message, with those of each level inside the level above it."""
        wanted: list[Any] = [{} for _ in self.levels]
        for choice in self.choices:
            if choice.level >= 0:
                wanted[choice.level][choice.field] = selected[choice.name]
        if self.levels[-1].nodes and wire.content_of(self.levels[-1].nodes[0]).struct is None:
            wanted[-1] = None
        for depth in range(len(self.levels) - 1, 0, -1):
            wanted[depth - 1][self.levels[depth].name] = wanted[depth]
        return wanted[0]  # type: ignore[no-any-return]


def check_fields(nodes: Sequence[Any], wanted: dict[str, Any] | None, name: str) -> None:
    """Raise UnknownMessage if a selected field does not exist."""
    if wanted is None:
        return
    fields = fields_of([struct for node in nodes if (struct := wire.content_of(node).struct) is not None])
    for field, deeper in wanted.items():
        if field not in fields:
            raise UnknownMessage("column", f"{name}.{field}", [f"{name}.{known}" for known in fields])
        check_fields(fields[field], deeper, f"{name}.{field}")


def trees_of(spec: MessageSpec) -> list[wire.Struct]:
    """Build the trees of a message at all versions."""
    return [grow_tree(spec, version) for version in spec.versions]


def levels_at(trees: Sequence[wire.Struct], path: str) -> list[PathLevel]:
    """Return the levels on the path to an array; raise UnknownMessage if no tree has it."""
    levels = [PathLevel("", list(trees))]
    for segment in path.split(".") if path else ():
        name = segment.removesuffix("[]")
        there = levels[-1].fields.get(name, []) if name != TAGS else []
        if not there or not is_container(there[0]) or wire.content_of(there[0]).is_array != segment.endswith("[]"):
            raise UnknownMessage("array", path, paths_in(trees))
        levels.append(PathLevel(name, [wire.content_of(node).node for node in there]))
    return levels


def is_container(node: Any) -> bool:
    """Whether a node is an array or a struct."""
    _, struct, is_array = wire.content_of(node)
    return is_array or struct is not None


def paths_in(trees: Sequence[wire.Struct]) -> list[str]:
    """Return the paths of all arrays and structs in these trees."""
    paths: list[str] = []
    for name, nodes in fields_of(trees).items():
        if is_container(nodes[0]):
            contents = [wire.content_of(node) for node in nodes]
            path = f"{name}[]" if contents[0].is_array else name
            inner = paths_in([content.struct for content in contents if content.struct is not None])
            paths += [path, *(f"{path}.{deeper}" for deeper in inner)]
    return paths
