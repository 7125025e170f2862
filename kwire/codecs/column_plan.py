"""Selects the columns of a message, and builds them from decoded messages (the fallback of `column_reader`).

A plan has the levels of arrays above the columns; record batches repeat the values of outer levels.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from .. import wire
from ..errors import UnknownMessage
from ..spec import MessageSpec
from . import REFUSALS
from .schema_tree import grow

TAGS = "unknown_tags"


Wanted = Mapping[str, Any] | None  # the selected fields of a struct, each with its selection; None means all
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
    """Return the type of the selected part of corresponding nodes in several versions."""
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
    """Return the nodes of a struct's fields by name, in the order of the spec; `unknown_tags` is the last one."""
    found: dict[str, list[Any]] = {name: [] for node in nodes[:1] for name in names_of(node)}
    for node in nodes:
        for field in node.all_fields:
            found[field.name].append(field.subcon)
        if node.tagged is not None:
            found[TAGS].append(wire.Bytes(nullable=True))
    return {name: there for name, there in found.items() if there}


def names_of(node: wire.Struct) -> tuple[str, ...]:
    """Return the names of a struct's fields in all versions, in the order of the spec; `unknown_tags` is the last
    one.
    """
    names: tuple[str, ...] = node.message_class.__struct_fields__
    return names


def is_long(type_: Any) -> bool:
    """Whether values of a type have no maximum size."""
    return bool(pa.types.is_nested(type_) or pa.types.is_string(type_) or pa.types.is_binary(type_))


BODY = "body_index"


class Level(NamedTuple):
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
class Choice:
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


class Plan:
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
        self.levels: list[Level] = levels_at(trees, path)
        selected = self._selected(self._defaults() if columns is None else columns)
        self.choices: list[Choice] = [self._choice(name, deeper) for name, deeper in selected.items()]
        self.schema: Any = pa.schema([(choice.name, choice.type) for choice in self.choices])
        self.wanted: dict[str, Any] | None = self._wanted(selected)

    def available(self) -> Iterator[tuple[str, int, str]]:
        """Yield (name, level, field) for all possible columns, without the arrays and structs of the path."""
        for depth, level in enumerate(self.levels):
            last = depth == len(self.levels) - 1
            for field in level.fields:
                if last:
                    yield field, depth, field
                elif field != self.levels[depth + 1].name:
                    yield f"{level.name or 'message'}_{field}", depth, field

    def _defaults(self) -> list[str]:
        """Return the names of all columns except the arrays of enclosing levels."""
        rows = len(self.levels) - 1
        return [BODY] + [
            name
            for name, depth, field in self.available()
            if depth == rows or not wire.content_of(self.levels[depth].fields[field][0]).is_array
        ]

    def _selected(self, columns: Sequence[str]) -> dict[str, dict[str, Any] | None]:
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
    """Return the levels on the path to an array; raise UnknownMessage if no tree has it."""
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


class Column:
    """A column of the row level.

    Args:
        array: the collected values.
        choice: the name and type of the column.
    """

    def __init__(self, array: Any, choice: Choice) -> None:
        values = conform(array, choice.plain_type)
        self.array: Any = values.dictionary_encode() if choice.is_dictionary else values

    def rows(self, start: int, stop: int) -> Any:
        """Return the values of the rows from `start` to `stop`."""
        return self.array.slice(start, stop - start)

    def size(self, start: int, stop: int) -> int:
        """Return the size of the repeated values of these rows, in bytes."""
        return 0


class EnclosingColumn(Column):
    """A column of an enclosing level, with each value stored once.

    Args:
        array, choice: as for `Column`.
        ends: the cumulative number of rows after each value.
    """

    def __init__(self, array: Any, choice: Choice, ends: Sequence[int]) -> None:
        super().__init__(array, choice)
        self.ends = ends

    def rows(self, start: int, stop: int) -> Any:
        """Return the values repeated for the rows from `start` to `stop`."""
        return self.array.take(self.index(start, stop))

    def index(self, start: int, stop: int) -> Any:
        """Return the index of the value in each row."""
        first = bisect_right(self.ends, start)
        found: list[int] = []
        while len(found) < stop - start:
            found += [first] * (min(self.ends[first], stop) - max(self.ends[first - 1] if first else 0, start))
            first += 1
        return pa.array(found, pa.int64())

    def size(self, start: int, stop: int) -> int:
        """Return the size of the repeated values of these rows, in bytes."""
        return self._size_before(stop) - self._size_before(start) if is_long(self.array.type) else 0

    def _size_before(self, row: int) -> int:
        at = bisect_right(self.ends, row)
        if at == 0:
            return row * self._sizes[0] if row else 0
        inside = row - self.ends[at - 1]
        return self._sums[at - 1] + (inside * self._sizes[at] if inside else 0)

    @cached_property
    def _sizes(self) -> list[int]:
        return [self.array.slice(index, 1).nbytes for index in range(len(self.array))]

    @cached_property
    def _sums(self) -> list[int]:
        counts = [stop - start for start, stop in pairwise([0, *self.ends])]
        return list(accumulate(size * count for size, count in zip(self._sizes, counts, strict=True)))


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


def batches(plan: Plan, rows: int, columns: Sequence[Column], most: int) -> Iterator[Any]:
    """Build record batches from columns.

    Args:
        plan: the plan with the schema of the batches.
        rows: the number of rows.
        columns: the columns of the plan.
        most: the maximum size of repeated values in a batch, in bytes; a single row may be larger.

    Yields:
        `pyarrow.RecordBatch`es.
    """
    start = 0
    while start < rows:
        stop = _stop(columns, start, rows, most)
        arrays = [column.rows(start, stop) for column in columns]
        yield pa.RecordBatch.from_arrays(arrays, schema=plan.schema)
        start = stop


def _stop(columns: Sequence[Column], start: int, rows: int, most: int) -> int:
    """Return the end of a batch that starts at a given row."""
    if sum(column.size(start, rows) for column in columns) <= most:
        return rows
    low, high = start + 1, rows
    while low < high:
        middle = (low + high + 1) // 2
        if sum(column.size(start, middle) for column in columns) <= most:
            low = middle
        else:
            high = middle - 1
    return low


def conform(array: Any, type_: Any) -> Any:
    """Return an array converted to a type with more fields, which are null."""
    if array.type.equals(type_):
        return array
    validity = array.buffers()[0]
    if pa.types.is_list(type_):
        values = conform(array.values, type_.value_type)
        return pa.Array.from_buffers(type_, len(array), array.buffers()[:2], children=[values])
    children = [
        conform(array.field(field.name), field.type)
        if array.type.get_field_index(field.name) >= 0
        else pa.nulls(len(array), field.type)
        for field in type_
    ]
    return pa.Array.from_buffers(type_, len(array), [validity], children=children)


def halves(batch: Any, most: int) -> Iterator[Any]:
    """Divide a batch in halves until each part has at most `most` bytes, or one row."""
    if batch.num_rows <= 1 or batch.get_total_buffer_size() <= most or batch.nbytes <= most:
        yield batch
        return
    half = batch.num_rows // 2
    yield from halves(batch.slice(0, half), most)
    yield from halves(batch.slice(half), most)


class ObjectCollector:
    """Collects the rows of many bodies of one message at one version.

    Args:
        schema: the construct tree.
        plan: the columns, of this version or of all.
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
        levels, known = self._plan.levels, self._known[depth]
        for choice, values in zip(self._plan.choices, self._values, strict=True):
            if choice.level == depth and choice.field in known:
                found = getattr(value, choice.field) if hasattr(value, "__struct_fields__") else value
                values.append(plain(found, known[choice.field][0]))
        if depth == len(levels) - 1:
            self.rows += 1
        elif levels[depth + 1].name in self._known[depth]:
            below = getattr(value, levels[depth + 1].name)
            for item in below if isinstance(below, tuple) else () if below is None else (below,):
                self._level(depth + 1, item)
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


def _known_fields(schema: wire.Struct, plan: Plan) -> list[dict[str, list[Any]]]:
    """Return the nodes of the fields that this version has, by level of the plan and by name."""
    known: list[dict[str, list[Any]]] = []
    nodes: list[Any] = [schema]
    for depth, level in enumerate(plan.levels):
        names = level._replace(nodes=nodes).fields if nodes else {}
        known.append(names)
        below = plan.levels[depth + 1].name if depth + 1 < len(plan.levels) else TAGS
        nodes = [wire.content_of(node).node for node in names.get(below, [])] if below != TAGS else []
    return known


def plain(value: Any, node: Any) -> Any:
    """Convert a value of a message for pyarrow, without the fields of structs that its version does not have."""
    if isinstance(value, tuple):
        element = wire.content_of(node).node
        return [plain(item, element) for item in value]
    struct = wire.content_of(node).struct if hasattr(value, "__struct_fields__") else None
    if struct is None:
        return value
    return {name: plain(getattr(value, name), nodes[0]) for name, nodes in fields_of([struct]).items()}
