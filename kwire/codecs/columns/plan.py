"""Selects the columns of a message, and the levels of arrays that lead to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow as pa

from ... import wire
from ...errors import UnknownMessage
from ...spec import MessageSpec
from ..schema_tree import grow

TAGS = "unknown_tags"


Wanted = Mapping[str, Any] | None  # the selected fields of a struct, each with its own selection; None: all
_NUMBERS = {"b": pa.int8(), "h": pa.int16(), "i": pa.int32(), "q": pa.int64(), "H": pa.int32(), "I": pa.int64()}


_OTHERS = {
    wire.Boolean: pa.bool_(),
    wire.Bytes: pa.binary(),
    wire.Float64: pa.float64(),
    wire.Records: pa.binary(),
    wire.String: pa.string(),
    wire.Uuid: pa.binary(),
}


def scalar_type(node: Any) -> Any:
    """Return the type of a scalar node. Raises TypeError for an unknown class."""
    found = _NUMBERS.get(node.struct.format[-1:]) if type(node) is wire.Integer else _OTHERS.get(type(node))
    if found is None:
        raise TypeError(f"no Arrow type is known for {type(node).__name__}")
    return found


def arrow_type(nodes: Sequence[Any], wanted: Wanted = None) -> Any:
    """Return a type for the selected part of corresponding nodes of several versions."""
    inner, struct, is_array = wire.content_of(nodes[0])
    if struct is None:
        type_ = scalar_type(inner)
    else:
        type_ = pa.struct(list(field_types([wire.content_of(node).node for node in nodes], wanted).items()))
    return pa.list_(type_) if is_array else type_


def field_types(nodes: Sequence[wire.Struct], wanted: Wanted = None) -> dict[str, Any]:
    """Return the types of the selected fields of a struct by name."""
    return {
        name: arrow_type(there, None if wanted is None else wanted[name])
        for name, there in fields_of(nodes).items()
        if wanted is None or name in wanted
    }


def fields_of(nodes: Sequence[wire.Struct]) -> dict[str, list[Any]]:
    """Return the nodes of a struct's fields by name, in the order of the spec; `unknown_tags` are the last."""
    found: dict[str, list[Any]] = {name: [] for node in nodes[:1] for name in names_of(node)}
    for node in nodes:
        for field in node.all_fields:
            found[field.name].append(field.subcon)
        if node.tagged is not None:
            found[TAGS].append(wire.Bytes(nullable=True))
    return {name: there for name, there in found.items() if there}


def names_of(node: wire.Struct) -> tuple[str, ...]:
    """Return the names of a struct's fields at all versions, in the order of the spec; `unknown_tags` is the last."""
    names: tuple[str, ...] = node.message_class.__struct_fields__
    return names


def is_long(type_: Any) -> bool:
    """Whether values of a type have no maximum size."""
    return bool(pa.types.is_nested(type_) or pa.types.is_string(type_) or pa.types.is_binary(type_))


BODY = "body_index"


class Level(NamedTuple):
    """A level on the path: its field in the level above, and its nodes in the trees. They are structs, except that rows
    may be elements of any type."""

    name: str
    nodes: list[Any]

    @property
    def fields(self) -> dict[str, list[Any]]:
        """The nodes of its fields by name; elements that are not structs are a single field with the array's name."""
        if self.nodes and wire.content_of(self.nodes[0]).struct is None:
            return {self.name: self.nodes}
        return fields_of(self.nodes)


@dataclass(frozen=True)
class Choice:
    """A column: its name, the level and field that it comes from (level -1: the index of the body), its type, and the
    selected fields of it (`Wanted`)."""

    name: str
    level: int
    field: str
    type: Any
    wanted: Wanted = None

    @cached_property
    def is_dictionary(self) -> bool:
        """Whether it is dictionary-encoded."""
        return bool(pa.types.is_dictionary(self.type))

    @cached_property
    def plain_type(self) -> Any:
        """The type of the values."""
        return self.type.value_type if self.is_dictionary else self.type


class Plan:
    """The selected columns.

    Args:
        trees: of the message, at one or several versions.
        path: the array whose elements are rows.
        columns, dictionary: as for `kwire.columns`.

    Attributes:
        levels: from the message to the rows.
        choices: the columns.
        schema: their Arrow schema.
        wanted: the selection as `Wanted`, starting at the message.
    """

    def __init__(
        self, trees: Sequence[wire.Struct], path: str, columns: Sequence[str] | None, *, dictionary: bool = False
    ) -> None:
        self.dictionary = dictionary
        self.levels: list[Level] = levels_at(trees, path)
        selected = self._selected(self._defaults() if columns is None else columns)
        self.choices: list[Choice] = [self._choice(name, deeper) for name, deeper in selected.items()]
        self.schema: Any = pa.schema([(choice.name, choice.type) for choice in self.choices])
        self.wanted: dict[str, Any] | None = self._wanted(selected)

    def available(self) -> Iterator[tuple[str, int, str]]:
        """Yield (name, level, field) of all possible columns, without the arrays and structs of the path."""
        for depth, level in enumerate(self.levels):
            last = depth == len(self.levels) - 1
            for field in level.fields:
                if last:
                    yield field, depth, field
                elif field != self.levels[depth + 1].name:
                    yield f"{level.name or 'message'}_{field}", depth, field

    def _defaults(self) -> list[str]:
        """Return the names of all columns but the arrays of enclosing levels."""
        rows = len(self.levels) - 1
        return [BODY] + [
            name
            for name, depth, field in self.available()
            if depth == rows or not wire.content_of(self.levels[depth].fields[field][0]).is_array
        ]

    def _selected(self, columns: Sequence[str]) -> dict[str, dict[str, Any] | None]:
        """Return the columns by name, each with its selected fields; None: all."""
        selected: dict[str, Any] = {}
        for column in columns:
            inside = selected
            *outer, last = column.split(".")
            for name in outer:
                inside = inside.setdefault(name, {})
                if inside is None:  # the whole column is selected already
                    break
            else:
                inside[last] = None
        return selected

    def _choice(self, name: str, deeper: dict[str, Any] | None) -> Choice:
        if name == BODY and deeper is None:
            return Choice(BODY, -1, "", pa.int64())
        known = {known: (level, field) for known, level, field in self.available()}
        if name not in known:
            raise UnknownMessage("column", name, [BODY, *known])
        level, field = known[name]
        nodes = self.levels[level].fields[field]
        check(nodes, deeper, name)
        type_ = arrow_type(nodes, deeper)
        if self.dictionary and level < len(self.levels) - 1 and isinstance(nodes[0], wire.String | wire.Uuid):
            type_ = pa.dictionary(pa.int32(), type_)
        return Choice(name, level, field, type_, deeper)

    def _wanted(self, selected: dict[str, dict[str, Any] | None]) -> dict[str, Any] | None:
        wanted: list[Any] = [{} for _ in self.levels]
        for choice in self.choices:
            if choice.level >= 0:
                wanted[choice.level][choice.field] = selected[choice.name]
        if self.levels[-1].nodes and wire.content_of(self.levels[-1].nodes[0]).struct is None:
            wanted[-1] = None
        for depth in range(len(self.levels) - 1, 0, -1):
            wanted[depth - 1][self.levels[depth].name] = wanted[depth]
        return wanted[0]  # type: ignore[no-any-return]


def check(nodes: Sequence[Any], wanted: dict[str, Any] | None, name: str) -> None:
    """Raise UnknownMessage if a selected field does not exist."""
    if wanted is None:
        return
    fields = fields_of([struct for node in nodes if (struct := wire.content_of(node).struct) is not None])
    for field, deeper in wanted.items():
        if field not in fields:
            raise UnknownMessage("column", f"{name}.{field}", [f"{name}.{known}" for known in fields])
        check(fields[field], deeper, f"{name}.{field}")


def trees_of(spec: MessageSpec) -> list[wire.Struct]:
    """Build the trees of a message at all versions."""
    return [grow(spec, version) for version in spec.versions]


def levels_at(trees: Sequence[wire.Struct], path: str) -> list[Level]:
    """Return the levels on the path to an array; UnknownMessage if no tree has it."""
    levels = [Level("", list(trees))]
    for segment in path.split(".") if path else ():
        name = segment.removesuffix("[]")
        there = levels[-1].fields.get(name, []) if name != TAGS else []
        if not there or not _leads_on(there[0]) or wire.content_of(there[0]).is_array != segment.endswith("[]"):
            raise UnknownMessage("array", path, paths_in(trees))
        levels.append(Level(name, [wire.content_of(node).node for node in there]))
    return levels


def _leads_on(node: Any) -> bool:
    _, struct, is_array = wire.content_of(node)
    return is_array or struct is not None


def paths_in(trees: Sequence[wire.Struct]) -> list[str]:
    """Return the paths of all arrays and structs in these trees."""
    paths: list[str] = []
    for name, nodes in fields_of(trees).items():
        if _leads_on(nodes[0]):
            contents = [wire.content_of(node) for node in nodes]
            path = f"{name}[]" if contents[0].is_array else name
            inner = paths_in([content.struct for content in contents if content.struct is not None])
            paths += [path, *(f"{path}.{deeper}" for deeper in inner)]
    return paths
