"""Bounds what reading a value of Avro can cost, before a library reads it.

A few bytes can ask for any amount of work: a record that holds itself nests as deep as the value is long (libraries
then end the process with a full stack), arrays of nulls claim any count without a byte for each, and decimals of many
digits take time that grows with their square. Schemas that allow none of it are read at once; values of others are
walked first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .schema_error import BAD_SCHEMA, BAD_VALUE, SchemaError

MOST_DEPTH = 64  # values in each other, and schemas in each other
FREE_VALUES, VALUES_PER_BYTE = 1000, 8  # how many parts a walked value may have, so that its bytes bound its time
MOST_DECIMAL = 1024  # bytes of a decimal

Named = Mapping[str, Any]  # full name -> parsed type
_FIXED_SIZES = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_VARINTS = {"int", "long"}
_SIZED = {"bytes", "string"}
_CONTAINERS = {"array": "items", "map": "values"}


def needs_walk(schema: Any, named: Named) -> bool:
    """Return whether values of a parsed schema must be walked before they are read.

    Raises:
        SchemaError: the schema is nested too deeply.
    """
    return _SchemaWalk(named).is_costly(schema, 0)


class _SchemaWalk:
    """Searches a schema for types whose values can cost more than their bytes; visits each named type once."""

    def __init__(self, named: Named) -> None:
        self._named = named
        self._known: dict[str, bool] = {}
        self._open: set[str] = set()

    def is_costly(self, schema: Any, depth: int) -> bool:
        if depth > MOST_DEPTH:
            raise SchemaError(BAD_SCHEMA, f"more than {MOST_DEPTH} types in each other")
        if isinstance(schema, list):  # the index of a branch takes a byte, so that null may be one
            return any(self.is_costly(branch, depth + 1) for branch in schema if not _is_null(branch))
        name, kind = _name_of(schema, self._named), _kind_of(schema, self._named)
        if name is None:
            return self._is_costly_type(schema, kind, depth)
        if name in self._open:
            return True  # it holds itself
        if name not in self._known:
            self._open.add(name)
            self._known[name] = self._is_costly_type(self._named[name], kind, depth)
            self._open.discard(name)
        return self._known[name]

    def _is_costly_type(self, schema: Any, kind: str, depth: int) -> bool:
        if kind == "null":
            return True
        if isinstance(schema, str):
            return False
        if kind == "record":
            fields = [self.is_costly(field["type"], depth + 1) for field in schema["fields"]]
            return any(fields) or not fields
        if kind in _CONTAINERS:
            return self.is_costly(schema[_CONTAINERS[kind]], depth + 1)
        return schema.get("logicalType") == "decimal" or (kind == "fixed" and schema["size"] == 0)


def _is_null(schema: Any) -> bool:
    return schema == "null" or (isinstance(schema, dict) and schema.get("type") == "null")


def _name_of(schema: Any, named: Named) -> str | None:
    """Return the full name of a named type, of its definition or of a reference to it."""
    name = schema if isinstance(schema, str) else schema.get("name")
    return name if name in named else None


def _kind_of(schema: Any, named: Named) -> str:
    name = _name_of(schema, named)
    if name is not None:
        schema = named[name]
    kind = schema if isinstance(schema, str) else schema["type"]
    return "record" if kind == "error" else str(kind)


def walk_value(schema: Any, named: Named, data: bytes) -> None:
    """Walk the bytes of a value without building it.

    Raises:
        SchemaError: the value is nested too deeply, has too many parts or too large a decimal, or is cut short.
    """
    _ValueWalk(named, data).skip(schema, 0, 0)


class _ValueWalk:
    def __init__(self, named: Named, data: bytes) -> None:
        self._named, self._data = named, data
        self._most = self._left = FREE_VALUES + VALUES_PER_BYTE * len(data)

    def skip(self, schema: Any, at: int, depth: int) -> int:
        """Return the position after a value."""
        self._left -= 1
        if self._left < 0:
            raise SchemaError(BAD_VALUE, f"more than {self._most:,} values in {len(self._data):,} bytes")
        if depth > MOST_DEPTH:
            raise SchemaError(BAD_VALUE, f"more than {MOST_DEPTH} values in each other")
        if isinstance(schema, list):
            branch, at = self._varint(at)
            if not 0 <= branch < len(schema):
                raise SchemaError(BAD_VALUE, f"branch {branch} of a union of {len(schema)}")
            return self.skip(schema[branch], at, depth + 1)
        kind = _kind_of(schema, self._named)
        name = _name_of(schema, self._named)
        definition = schema if name is None else self._named[name]
        if kind == "record":
            for field in definition["fields"]:
                at = self.skip(field["type"], at, depth + 1)
            return at
        if kind in _CONTAINERS:
            return self._blocks(definition[_CONTAINERS[kind]], at, depth, has_keys=kind == "map")
        return self._skip_scalar(definition, kind, at)

    def _skip_scalar(self, definition: Any, kind: str, at: int) -> int:
        if kind in _VARINTS or kind == "enum":
            return self._varint(at)[1]
        size = _FIXED_SIZES.get(kind)
        if kind in _SIZED:
            size, at = self._varint(at)
        elif kind == "fixed":
            size = definition["size"]
        if size is None:
            raise SchemaError(BAD_SCHEMA, f"{kind!r} is no type of Avro"[:200])
        is_decimal = isinstance(definition, dict) and definition.get("logicalType") == "decimal"
        if is_decimal and size > MOST_DECIMAL:
            raise SchemaError(BAD_VALUE, f"a decimal of {size:,} bytes")
        return self._past(at, size)

    def _blocks(self, items: Any, at: int, depth: int, *, has_keys: bool) -> int:
        while True:
            count, at = self._varint(at)
            if count == 0:
                return at
            if count < 0:  # the size of the block in bytes follows
                count, (_, at) = -count, self._varint(at)
            for _ in range(count):
                if has_keys:
                    size, at = self._varint(at)
                    at = self._past(at, size)
                at = self.skip(items, at, depth + 1)

    def _past(self, at: int, size: int) -> int:
        if not 0 <= size <= len(self._data) - at:
            raise SchemaError(BAD_VALUE, "it is cut short" if size >= 0 else f"a size of {size} bytes")
        return at + size

    def _varint(self, at: int) -> tuple[int, int]:
        """Read a zigzag varint of at most 64 bits."""
        value = 0
        for length, byte in enumerate(self._data[at : at + 10]):
            value |= (byte & 0x7F) << (7 * length)
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1), at + length + 1
        raise SchemaError(BAD_VALUE, "it is cut short")
