"""The values of kafka-python's messages: mutable, with uuids and sets of operations; and kwire's, which they become."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any
from uuid import UUID

import msgspec

# The structs whose number of operations (KIP-430) is a set in kafka-python, by one name.
WITH_OPERATIONS = {"MetadataResponse", "MetadataResponseTopic", "DescribeClusterResponse", "DescribedGroup"}
# A name that Kafka changed after kafka-python's copy of the specs.
RENAMED = {("TxnOffsetCommitRequest", "generation_id_or_member_epoch"): "generation_id"}
NO_OPERATIONS = -(2**31)


def python_name(name: str) -> str:
    """Return kafka-python's name for a field: each capital starts a word."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).removeprefix("_")


class Field:
    """A field of a struct, by kafka-python's name.

    Args:
        spec: kwire's spec of the field.
        fixed: defaults by name, where kafka-python has others than Kafka.
    """

    def __init__(self, spec: Any, fixed: Mapping[str, Any]) -> None:
        self.spec = spec
        self.is_operations = spec.owner in WITH_OPERATIONS and spec.name.endswith("AuthorizedOperations")
        name = "authorized_operations" if self.is_operations else python_name(spec.name)
        self.name: str = RENAMED.get((spec.owner, name), name)
        self.attribute: str = spec.attribute
        self.type_str: str = spec.element
        self.tag: int | None = spec.tag
        self.data_class: Any = None
        self.fixed = fixed

    @property
    def default(self) -> Any:
        """A new default value: lists are mutable."""
        if self.name in self.fixed:
            return self.fixed[self.name]
        if self.spec.is_array:
            return None if self.spec.default is None else []
        if self.data_class is not None:
            return None if self.spec.tag is not None or self.spec.default is None else self.data_class()
        read = self.reader
        return self.spec.default if read is None else read(self.spec.default, None)

    def is_in(self, version: int | None) -> bool:
        """Whether a version has the field."""
        return version is None or version in self.spec.versions

    def is_tagged(self, version: int | None) -> bool:
        """Whether it is a tagged field there."""
        return self.tag is not None and (version is None or version in self.spec.tagged_versions)

    @property
    def reader(self) -> Callable[[Any, int | None], Any] | None:
        """What makes kafka-python's value of kwire's, which may be null, in a version; None if they are equal."""
        read = self._element_reader
        if self.spec.is_array and read is None:
            return lambda items, version: items if items is None else list(items)
        if self.spec.is_array and read is not None:
            return lambda items, version: items if items is None else [read(item, version) for item in items]
        return read

    @property
    def _element_reader(self) -> Callable[[Any, int | None], Any] | None:
        if self.data_class is not None:
            make = self.data_class.from_kwire
            absent = None if self.tag is None or self.spec.is_array else self.data_class.kwire_class()
            return lambda value, version: None if value is None or value == absent else make(value, version)
        if self.type_str == "uuid":
            return lambda value, version: UUID(bytes=value) if value and any(value) else None
        if self.is_operations:
            return lambda value, version: (
                None if value == NO_OPERATIONS else {bit for bit in range(32) if value >> bit & 1}
            )
        return None

    def writer(self, version: int) -> Callable[[Any], Any] | None:
        """What makes kwire's value of kafka-python's in a version; None if they are equal."""
        write = self._element_writer(version)
        if not self.spec.is_array:
            return write
        if write is None:
            return lambda items: items if items is None else tuple(items)
        return lambda items: items if items is None else tuple([write(item) for item in items])

    def _element_writer(self, version: int) -> Callable[[Any], Any] | None:
        if self.data_class is not None:
            make = self.data_class.to_kwire
            return lambda value: value if value is None else make(value, version)
        if self.is_operations:
            return lambda value: (
                NO_OPERATIONS if value is None else sum(1 << bit for bit in value) - (31 in value) * 2**32
            )
        return WRITERS.get(self.type_str)


def _uuid_bytes(value: Any) -> bytes:
    if value is None:
        return bytes(16)
    return value.bytes if isinstance(value, UUID) else UUID(value).bytes


def _bytes(value: Any) -> bytes | None:
    if value is None or type(value) is bytes:
        return value
    return bytes(value if isinstance(value, bytearray | memoryview) else value.encode())


def _text(value: Any) -> str | None:
    return value if value is None or type(value) is str else str(value)  # its admin client gives ids as names


def _integer(value: Any) -> Any:
    return value if type(value) is int or not isinstance(value, int) else int(value)  # its enums are integers


WRITERS: dict[str, Callable[[Any], Any]] = {
    "uuid": _uuid_bytes,
    "bytes": _bytes,
    "records": _bytes,
    "string": _text,
} | dict.fromkeys(("int8", "int16", "uint16", "int32", "uint32", "int64"), _integer)


class Container:
    """A mutable struct with kafka-python's names, for all versions. A class for each struct derives from it."""

    kwire_class: Any = None
    struct_fields: tuple[Field, ...] = ()
    _version: int | None = None

    def __init__(self, *values: Any, version: int | None = None, **named: Any) -> None:
        self._version = version
        if values:
            due = self.due(version)
            if len(values) > len(due):
                raise RuntimeError(f"{type(self).__name__} has {len(due)} fields, not {len(values)}")
            named.update({field.name: value for field, value in zip(due, values, strict=False)})
        state = self.__dict__
        for field in self.struct_fields:
            state[field.name] = named.pop(field.name) if field.name in named else field.default
        state["unknown_tags"] = {name: named.pop(name) for name in list(named) if name.startswith("_")} or None
        if named:
            raise ValueError(f"{type(self).__name__} has no fields {', '.join(named)}")

    @classmethod
    def present(cls, version: int | None) -> list[Field]:
        """Return the fields of a version."""
        return [field for field in cls.struct_fields if field.is_in(version)]

    @classmethod
    def due(cls, version: int | None) -> list[Field]:
        """Return the fields of a version that are not tagged: those of positional values."""
        return [field for field in cls.present(version) if not field.is_tagged(version)]

    @classmethod
    def from_kwire(cls, value: Any, version: int | None) -> Any:
        """Return the mutable struct of kwire's message or struct, in a version."""
        made = cls.__new__(cls)
        state = made.__dict__ = msgspec.structs.asdict(value)
        state["_version"] = version
        for name, attribute, read in cls.converted():
            field_value = state.pop(attribute)
            state[name] = field_value if read is None else read(field_value, version)
        return made

    @classmethod
    @cache
    def converted(cls) -> tuple[tuple[str, str, Callable[[Any, int | None], Any] | None], ...]:
        """The fields whose names or values differ from kwire's: both names, and what reads the value."""
        rows = [(field.name, field.attribute, field.reader) for field in cls.struct_fields]
        return tuple(row for row in rows if row[0] != row[1] or row[2] is not None)

    @classmethod
    @cache
    def written(cls, version: int) -> tuple[tuple[Field, Callable[[Any], Any] | None], ...]:
        """The fields of a version, those without tags first, and what writes their values."""
        ordered = sorted(cls.present(version), key=lambda field: field.is_tagged(version))
        return tuple((field, field.writer(version)) for field in ordered)

    @classmethod
    def to_kwire(cls, value: Any, version: int) -> Any:
        """Return kwire's struct of a struct, of a tuple of its values, or of the value of its only field."""
        due = cls.written(version)
        if isinstance(value, Container):
            state = value.__dict__
            values = [state[field.name] for field, _ in due]
        else:
            values = list(value) if isinstance(value, tuple | list) else [value]
        return cls.kwire_class(
            **{
                field.attribute: item if write is None else write(item)
                for (field, write), item in zip(due, values, strict=False)
                if item is not None or field.tag is None
            }
        )

    @property
    def version(self) -> int | None:
        """The version that the values are for."""
        return self._version

    def __eq__(self, other: object) -> bool:
        values = [getattr(self, field.name) for field in self.struct_fields]
        if isinstance(other, tuple):
            return values == list(other[: len(values)]) and other[len(values) :] in ((), ({},))
        return type(self) is type(other) and values == [getattr(other, field.name) for field in self.struct_fields]

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Any:
        return iter(self[:])

    def __getitem__(self, key: Any) -> Any:
        names = [field.name for field in self.due(self._version)][key]
        return getattr(self, names) if isinstance(names, str) else [getattr(self, name) for name in names]

    def __repr__(self) -> str:
        shown = [f"{field.name}={getattr(self, field.name)!r}" for field in self.present(self._version)]
        return f"{type(self).__name__}({', '.join(shown)})"

    def to_dict(self, meta: Any = False, json: bool = True) -> dict[str, Any]:
        """Return the values of the version as a dict, with values of JSON if `json`, and the version if `meta`."""
        about = {"_type": type(self).__name__, "_version": self._version} if meta else {}
        inner = meta if meta == "all" else False
        present = self.present(self._version)
        return about | {field.name: _plain(getattr(self, field.name), inner, json) for field in present}


def _plain(value: Any, meta: Any, json: bool) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict(meta=meta, json=json)
    if isinstance(value, list):
        return [_plain(item, meta, json) for item in value]
    if not json:
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode(errors="backslashreplace")
    if isinstance(value, set):
        return sorted(value)
    return str(value) if isinstance(value, UUID) else value


def add_fields(owner: Any, spec: Any, kwire_class: Any, fixed: Mapping[str, Any]) -> None:
    """Give a class the fields of a struct, and a class for each struct in them.

    Args:
        owner: a new class that derives from `Container`.
        spec: kwire's spec of the struct.
        kwire_class: kwire's class of the message, which has those of its structs.
        fixed: defaults by name, where kafka-python has others than Kafka.
    """
    owner.kwire_class = kwire_class if kwire_class.__name__ == spec.name else getattr(kwire_class, spec.name)
    owner.struct_fields = tuple(Field(field, fixed) for field in spec.fields)
    for field in owner.struct_fields:
        if field.spec.struct is not None:
            field.data_class = type(field.type_str, (Container,), {})
            add_fields(field.data_class, field.spec.struct, kwire_class, fixed)
            setattr(owner, field.type_str, field.data_class)
