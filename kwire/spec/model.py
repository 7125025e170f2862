"""The classes of specs: MessageSpec, StructSpec and FieldSpec; version ranges (`0-8`, `4+`); defaults of fields."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from textwrap import fill
from typing import Any

from ..caches import lazy_pattern
from ..errors import excerpt
from ..names import attribute_for, camel_case
from ..values import kind_of
from .jsonc import Value

HIGHEST = 32767  # versions are int16
_RANGE = lazy_pattern(r"([0-9]{1,5})(?:(\+)|-([0-9]{1,5}))?")


@dataclass(frozen=True, slots=True)
class Versions:
    """Closed ranges of version numbers; `4+` ends at 32767.

    >>> 5 in Versions.parse("0-3,5+"), 4 in Versions.parse("0-3,5+")
    (True, False)
    """

    ranges: tuple[tuple[int, int], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Versions:
        """Parse `0-8`, `4+`, `3`, `none`, or several of these in ascending order, separated by commas.

        Several ranges are an extension of kwire.

        Adjacent ranges are joined. Raises ValueError with the problem.
        """
        if text.strip() == "none":
            return cls()
        ranges = tuple(_range(part.strip()) for part in text.split(","))
        if any(left[1] >= right[0] for left, right in pairwise(ranges)):
            raise ValueError(f"the ranges of {text!r} do not ascend")
        return cls(_merged(ranges))

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and any(low <= version <= high for low, high in self.ranges)

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __iter__(self) -> Iterator[int]:
        """Iterate over the single versions in ascending order."""
        for low, high in self.ranges:
            yield from range(low, high + 1)

    def __str__(self) -> str:
        return ",".join(_text(low, high) for low, high in self.ranges) or "none"

    @property
    def first(self) -> int:
        """The lowest version; raise ValueError if there is none."""
        if not self.ranges:
            raise ValueError("no versions")
        return self.ranges[0][0]

    @property
    def last(self) -> int:
        """The highest version; raise ValueError if there is none."""
        if not self.ranges:
            raise ValueError("no versions")
        return self.ranges[-1][1]

    @property
    def is_open(self) -> bool:
        """Whether the range has no end (`4+`)."""
        return bool(self.ranges) and self.last == HIGHEST

    def covers(self, other: Versions) -> bool:
        """Whether these ranges contain every version of `other`."""
        return all(any(low <= a and b <= high for low, high in self.ranges) for a, b in other.ranges)

    def meets(self, other: Versions) -> Versions:
        """Return the versions that are in both ranges."""
        both = (
            (max(low, a), min(high, b))
            for low, high in self.ranges
            for a, b in other.ranges
            if max(low, a) <= min(high, b)
        )
        return Versions(tuple(sorted(both)))

    def joins(self, other: Versions) -> Versions:
        """Return the versions that are in either range."""
        return Versions(_merged((*self.ranges, *other.ranges)))


def _range(text: str) -> tuple[int, int]:
    match = _RANGE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a version range")
    low = int(match[1])
    high = HIGHEST if match[2] else int(match[3] or low)
    if low > high or high > HIGHEST:
        raise ValueError(f"{text!r} is not a range of versions from 0 to {HIGHEST}")
    return low, high


def _merged(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Join adjacent and overlapping ranges."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            low, before = merged.pop()
            high = max(high, before)
        merged.append((low, high))
    return tuple(merged)


def _text(low: int, high: int) -> str:
    return f"{low}+" if high == HIGHEST else str(low) if low == high else f"{low}-{high}"


NONE = Versions()


@dataclass(frozen=True, slots=True, eq=False)
class FieldSpec:
    """One field of a struct.

    `type` is Kafka's type: `int32`, `[]string`, `MetadataResponseBroker`, `[]MetadataResponseBroker` and so on.
    `default` is a Python value; `...` means a new struct. `struct` is set for struct types and arrays of them. `owner`
    is the name of the struct that contains the field.
    """

    owner: str
    name: str
    type: str
    versions: Versions
    nullable_versions: Versions = NONE
    tagged_versions: Versions = NONE
    tag: int | None = None
    flexible_versions: Versions | None = None
    default: Any = None
    ignorable: bool = False
    map_key: bool = False
    zero_copy: bool = False
    entity_type: str = "unknown"
    about: str = ""
    struct: StructSpec | None = None

    @property
    def is_array(self) -> bool:
        """Whether the type starts with `[]`."""
        return self.type.startswith("[]")

    @property
    def element(self) -> str:
        """The type without `[]`."""
        return self.type.removeprefix("[]")

    @property
    def attribute(self) -> str:
        """The name in Python, such as `topic_id`."""
        return attribute_for(self.owner, self.name)

    @property
    def json_name(self) -> str:
        """The name in Kafka's JSON form, such as `topicId`."""
        return camel_case(self.name)


@dataclass(frozen=True, slots=True, eq=False)
class StructSpec:
    """A struct: the message itself, a struct defined in a field, or one of `commonStructs`."""

    name: str
    versions: Versions
    fields: tuple[FieldSpec, ...]


@dataclass(frozen=True, slots=True, eq=False)
class MessageSpec:
    """A message in all its versions.

    `type` is request, response, header, data, metadata, coordinator-key or coordinator-value; `api_key` is the api key
    or the record type, or None; `profile` is empty for released messages; `release` is the last release with this
    layout, if a later release has another layout in the same version; `text` is the JSON of the spec.
    """

    name: str
    type: str
    api_key: int | None
    versions: Versions
    flexible_versions: Versions
    struct: StructSpec
    listeners: tuple[str, ...] = ()
    latest_version_unstable: bool = False
    deprecated_versions: Versions = NONE
    file: str = ""
    profile: str = ""
    release: str = ""
    text: str = field(default="", repr=False)

    @property
    def origin(self) -> str:
        """`KIP-36` or `Kafka 3.6` for a layout that the newest release does not have; otherwise empty."""
        return self.profile or (f"Kafka {self.release}" if self.release else "")

    @property
    def api_name(self) -> str:
        """The name of the api: that of the request without `Request`, or of the response without `Response`.

        >>> MessageSpec("MetadataRequest", "request", 3, NONE, NONE, StructSpec("", NONE, ())).api_name
        'Metadata'
        """
        return self.name.removesuffix(self.type.capitalize()) if self.type in ("request", "response") else self.name

    def structs(self) -> Iterator[StructSpec]:
        """Iterate over all structs, each once, inner structs first; the struct of the message is last."""
        seen: dict[str, StructSpec] = {}
        _collect(self.struct, seen)
        yield from seen.values()


def _collect(struct: StructSpec, seen: dict[str, StructSpec]) -> None:
    for member in struct.fields:
        if member.struct is not None and member.struct.name not in seen:
            _collect(member.struct, seen)
    seen[struct.name] = struct


RANGES = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
_ZERO: dict[str, Any] = {
    **dict.fromkeys(RANGES, 0),
    "bool": False,
    "float64": 0.0,
    "string": "",
    "bytes": b"",
    "records": None,
    "uuid": bytes(16),
}
LONGEST_TEXT = 32767
_INTEGER = lazy_pattern(r"-?[0-9]{1,19}|0x[0-9A-Fa-f]{1,16}")
_FLOAT = lazy_pattern(r"-?(?:[0-9]{1,40}(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,3})?|Infinity)|NaN")
_UUID = lazy_pattern(r"[A-Za-z0-9_-]{22}(?:==)?")
NULLABLE = frozenset({"string", "bytes", "records"})


def default_for(type_name: str, given: Value | None, versions: Versions, nullable: Versions) -> Any:
    """Return the default as a Python value; `...` means a new struct.

    As in Kafka's generator, an unquoted null means that no default is given; "null" in quotes is null. Raises SpecError
    at the position of `given` if it does not match the type.
    """
    is_array = type_name.startswith("[]")
    zero = () if is_array else _ZERO.get(type_name, ...)
    if given is None or given.value in ("", None) or (type_name == "records" and given.value == "null"):
        return zero
    if given.value == "null" and (is_array or zero is ... or type_name in NULLABLE):
        return _null(given, versions, nullable)
    if is_array or zero is ... or type_name in ("bytes", "records"):
        raise given.error(f"a default of {type_name} can only be null or left out", 'write "null", or drop the default')
    return _SCALARS[type_name](given, type_name)


def _null(given: Value, versions: Versions, nullable: Versions) -> None:
    if not nullable.covers(versions):
        raise given.error(
            f"null cannot be the default: the field is there in {versions} and nullable in {nullable}",
            f'write "nullableVersions": "{versions}"',
        )


def _integer(given: Value, type_name: str) -> int:
    low, high = RANGES[type_name]
    number = given.value
    if not isinstance(number, int):
        text = given.text()
        if not _INTEGER.fullmatch(text):
            raise given.error(f"{excerpt(text)} is not an integer", 'write it as "-1", -1 or "0x7f"')
        number = int(text, 16 if text.startswith("0x") else 10)
    if isinstance(number, bool) or not low <= number <= high:
        raise given.error(f"{excerpt(given.value)} is not an {type_name}", f"write a number from {low} to {high}")
    return number


def _boolean(given: Value, type_name: str) -> bool:
    return given.boolean()


def _float(given: Value, type_name: str) -> float:
    number = given.value
    if isinstance(number, bool) or not isinstance(number, int | float):
        number = given.text()
        if not _FLOAT.fullmatch(number):
            raise given.error(f"{excerpt(number)} is not a number", 'write it as "0.5" or 0.5')
    try:
        return float(number)
    except OverflowError:
        raise given.error(f"{excerpt(number)} is not a float64", 'write it as "0.5" or 0.5') from None


def _string(given: Value, type_name: str) -> str:
    text = given.text()
    size = len(text.encode(errors="replace"))
    if size > LONGEST_TEXT or any("\ud800" <= character <= "\udfff" for character in text):
        raise given.error(f"a text of {size} bytes that cannot be written", "write at most 32767 bytes of UTF-8")
    return text


def _uuid(given: Value, type_name: str) -> bytes:
    text = given.text()
    if not _UUID.fullmatch(text):
        raise given.error(f"{excerpt(text)} is not a uuid", "write 22 characters of base64url")
    return base64.urlsafe_b64decode(text[:22] + "==")


_SCALARS: dict[str, Any] = {
    **dict.fromkeys(RANGES, _integer),
    "bool": _boolean,
    "float64": _float,
    "string": _string,
    "uuid": _uuid,
}


_COMMENT = lazy_pattern(r"((?:^[ \t]*//.*\n)+)[ \t]*\{", re.MULTILINE)  # the lines above a document
_WIDTH = 100
_KINDS = {
    "request": "Request of api key {key}",
    "response": "Response of api key {key}",
    "metadata": "Metadata record of type {key}",
    "coordinator-key": "Key of a coordinator's record of type {key}",
    "coordinator-value": "Value of a coordinator's record of type {key}",
    "header": "Header",
    "data": "Data",
}


def class_doc(spec: MessageSpec, struct: StructSpec) -> str:
    """Return the docstring for the class of a message or struct, with one paragraph per field."""
    names = [f"    {field.attribute}: {field_doc(spec, field)}" for field in struct.fields]
    fields = [fill(name, _WIDTH, subsequent_indent=" " * 8, break_long_words=False) for name in names]
    head = struct_doc(spec, struct)
    return "\n".join([head, "", "Attributes:", *fields]) if fields else head


def struct_doc(spec: MessageSpec, struct: StructSpec) -> str:
    """Return the description of a message or the position of a struct, without its fields."""
    paragraphs = _message(spec) if struct is spec.struct else _uses(spec, struct)
    return "\n\n".join(fill(paragraph, _WIDTH, break_long_words=False) for paragraph in paragraphs)


def field_doc(spec: MessageSpec, field: FieldSpec) -> str:
    """Return the meaning of a field, its versions, and the enum of its values."""
    facts = [f"Versions {field.versions}"]
    if field.nullable_versions:
        facts.append(f"None in {field.nullable_versions}")
    if field.tagged_versions:
        facts.append(f"tag {field.tag} in {field.tagged_versions}")
    if field.struct is None and (kind := kind_of(spec.name, field.owner, field.json_name)) is not None:
        facts.append(f"see `kwire.values.{kind.__name__}`")
    return f"{field.about} {', '.join(facts)}.".strip()


def _message(spec: MessageSpec) -> list[str]:
    """Return the comment above the spec, unless it is a licence, and the type of the message."""
    comment = _COMMENT.search(spec.text)
    about = " ".join(line.strip().removeprefix("//").strip() for line in comment[1].splitlines()) if comment else ""
    kind = _KINDS[spec.type].format(key=spec.api_key)
    facts = f"{kind}, versions {spec.versions}{f' of {spec.origin}' if spec.origin else ''}."
    return [facts] if not about or "License" in about else [about, facts]


def _uses(spec: MessageSpec, struct: StructSpec) -> list[str]:
    """Return the descriptions of the fields that contain a struct."""
    fields = [field for owner in spec.structs() for field in owner.fields if field.struct is struct]
    return [f"In `{field.attribute}`: {field.about}".strip() for field in fields] or [f"A struct of {spec.name}."]
