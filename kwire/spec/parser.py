"""Reads Kafka's JSON message specs and validates them: an existing `MessageSpec` is always valid.

Keys are read one by one, then checked against each other, by the rules of Kafka's generator (`generator/` and
`common/message/README.md` of Apache Kafka) and additional rules of kwire. Other packages handle bytes and Python
classes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ..caches import lazy_pattern
from ..errors import SpecError, excerpt, suggestion
from . import jsonc
from .jsonc import Value
from .model import HIGHEST, NONE, NULLABLE, RANGES, FieldSpec, MessageSpec, StructSpec, Versions, default_for

Members = dict[str, Value]
Places = dict[str, list[Value]]
MOST_FIELDS = 2000  # Kafka's largest message has 100
ENTITY_TYPES = {
    "unknown": "",
    "transactionalId": "string",
    "producerId": "int64",
    "groupId": "string",
    "topicName": "string",
    "brokerId": "int32",
}
_ZERO = Versions(((0, 0),))
HIGHEST_TAG = 2**31 - 2  # Kafka's writer cannot write tag 2147483647
_MESSAGE_KEYS = frozenset(
    "apiKey type listeners name validVersions deprecatedVersions flexibleVersions fields commonStructs"
    " latestVersionUnstable".split()
)
_STRUCT_KEYS = frozenset("name versions deprecatedVersions fields".split())
_FIELD_KEYS = frozenset(
    "name type versions nullableVersions taggedVersions tag flexibleVersions default ignorable mapKey"
    " zeroCopy entityType about fields".split()
)
MESSAGE_TYPES = ("request", "response", "header", "data", "metadata", "coordinator-key", "coordinator-value")
LISTENERS = ("zkBroker", "broker", "controller")
MOST_ERRORS = 30  # maximum errors per document
DEEPEST = 32  # maximum nesting of structs; Kafka's deepest message has six levels
SCALARS = (*RANGES, "bool", "float64", "string", "bytes", "records", "uuid")
_FIELD_NAME = lazy_pattern(r"[A-Za-z][A-Za-z0-9]{0,126}")
_STRUCT_NAME = lazy_pattern(r"[A-Z][A-Za-z0-9]{0,126}")


def check_field(field: FieldSpec, place: Value, members: Members) -> None:
    """Check a field without its context. Raises SpecError."""
    for check in _FIELD_CHECKS:
        check(field, place, members)


def check_struct(owner: str, fields: Sequence[tuple[FieldSpec, Value]]) -> None:
    """Check the fields of a struct against each other: names are unique, and tags are unique without gaps."""
    seen: set[str] = set()
    for field, place in fields:
        for name in (field.json_name, field.attribute):
            if name in seen or name == "unknown_tags":
                raise place.error(f"two fields of {owner} are called {name}", "rename one of them")
        seen |= {field.json_name, field.attribute}
    tagged = [(field.tag, place) for field, place in fields if field.tag is not None]
    used = {tag for tag, _ in tagged}
    free = next(tag for tag in range(len(used) + 1) if tag not in used)
    for expected, (tag, place) in enumerate(sorted(tagged, key=lambda item: item[0])):
        if tag != expected:
            what = "is given twice" if tag < expected else f"leaves a gap: {free} is free"
            raise place.error(f"tag {tag} of {owner} {what}", f"use tag {free}")


def check_message(spec: MessageSpec, place: Value, members: Members) -> None:
    """Check a message as a whole. Raises SpecError."""
    _check_api_key(spec, place, members)
    if spec.listeners and spec.type != "request":
        raise members["listeners"].error("only requests have listeners", "drop listeners")
    if spec.latest_version_unstable and spec.type != "request":
        raise members["latestVersionUnstable"].error("only requests have it", "drop latestVersionUnstable")
    if spec.versions.is_open:
        raise members["validVersions"].error(f"{spec.versions} has no end", "write the highest version too, as in 0-3")
    if spec.type.startswith("coordinator"):
        _check_coordinator(spec, place, members)
    for suffix in ("Request", "Response"):
        if spec.type == suffix.lower() and not spec.name.endswith(suffix):
            raise members["name"].error(f"the name of a {spec.type} ends in {suffix}", f"write {spec.name}{suffix}")


def _check_api_key(spec: MessageSpec, place: Value, members: Members) -> None:
    wire = spec.type in ("request", "response")
    if wire and spec.api_key is None:
        raise place.error(f"a {spec.type} needs an api key", 'write "apiKey": ...')
    if spec.type in ("header", "data") and spec.api_key is not None:
        raise members["apiKey"].error(f"a {spec.type} message has no api key", "drop apiKey")
    if spec.api_key is not None and not 0 <= spec.api_key <= HIGHEST:
        raise members["apiKey"].error(f"{spec.api_key} is not an api key", f"write a number from 0 to {HIGHEST}")


def _check_coordinator(spec: MessageSpec, place: Value, members: Members) -> None:
    """Check Kafka 4.1's rules for the keys and values of coordinator records."""
    if spec.api_key is None:
        raise place.error(f"a {spec.type} needs an api key, which is its record type", 'write "apiKey": ...')
    if spec.type == "coordinator-value":
        return
    if spec.versions and spec.versions != _ZERO:
        raise members["validVersions"].error(f"a {spec.type} has version 0 only, not {spec.versions}", 'write "0"')
    if spec.flexible_versions:
        raise members["flexibleVersions"].error(f"a {spec.type} cannot be flexible", 'write "none"')


def check_tree(spec: MessageSpec, place: Value, places: Places, common: Mapping[str, StructSpec]) -> None:
    """Check the rules that depend on the position of structs in a message. Raises SpecError.

    Args:
        spec: the message.
        place: the position of the message in the file.
        places: the positions of the fields of each struct.
        common: the common structs by name, including unused ones.
    """
    for field, where in zip(spec.struct.fields, places.get(spec.name, ()), strict=True):
        if field.map_key:
            problem = f"{field.name} is not a field of an array's struct, so it cannot be a map key"
            raise where.error(problem, "drop mapKey")
    for struct in {**common, **{struct.name: struct for struct in spec.structs()}}.values():
        for field, where in zip(struct.fields, places.get(struct.name, ()), strict=True):
            _check_flexible(field, where, spec.flexible_versions)
    size = _sizes(spec)[spec.struct.name]
    if size > MOST_FIELDS:
        problem = f"the message has {size} fields when all structs are written out"
        raise place.error(problem, f"at most {MOST_FIELDS} are read")
    known = {name: struct.versions.meets(spec.versions) for name, struct in common.items()}
    _check_inside(spec.struct, spec.versions, _sized(spec), places, known)


def _check_flexible(field: FieldSpec, place: Value, flexible: Versions) -> None:
    """Check that a field is flexible, and tagged, only where its message is flexible."""
    own = flexible if field.flexible_versions is None else field.flexible_versions
    bad = _first_outside(own, flexible)
    if bad is not None:
        problem = f"{field.name} is flexible at version {bad}, and its message is not"
        raise place.error(problem, f'write "flexibleVersions": "{own.meets(flexible)}"')
    bad = _first_outside(field.tagged_versions, own)
    if bad is not None:
        problem = f"{field.name} is tagged at version {bad}, which is not flexible"
        raise place.error(problem, f'write "taggedVersions": "{own}"')


def _sizes(spec: MessageSpec) -> dict[str, int]:
    """Return for each struct its number of fields, including the fields of its nested structs."""
    sizes: dict[str, int] = {}
    for struct in spec.structs():  # inner structs first
        sizes[struct.name] = sum(1 + (sizes[field.struct.name] if field.struct else 0) for field in struct.fields)
    return sizes


def _sized(spec: MessageSpec) -> dict[str, Versions]:
    """Map each struct to the versions in which it takes at least one byte: those with a field or tagged fields."""
    sized: dict[str, Versions] = {}
    for struct in spec.structs():
        versions = spec.flexible_versions
        for field in struct.fields:
            there = field.versions
            if field.struct is not None and not field.is_array:
                there = there.meets(sized[field.struct.name].joins(field.nullable_versions))
            versions = versions.joins(there)
        sized[struct.name] = versions
    return sized


def _check_inside(
    struct: StructSpec, reached: Versions, sized: dict[str, Versions], places: Places, common: dict[str, Versions]
) -> None:
    """Check a struct in the versions in which it is used; `common` has the versions of common structs."""
    for field, place in zip(struct.fields, places.get(struct.name, ()), strict=True):
        there = field.versions.meets(reached)
        if field.struct is None:
            continue
        if reached and not there and field.struct.name not in common:
            problem = f"{struct.name} is there in {reached}, its struct {field.struct.name} in {field.versions}"
            raise place.error(problem, "widen versions, or drop the field")
        known = common.get(field.struct.name, there)
        if there and (not known or there.first < known.first):
            problem = f"{field.name} is there at version {there.first}, its struct at {known} of {reached}"
            raise place.error(problem, f"widen the versions of {field.struct.name}")
        bad = _first_outside(there, sized[field.struct.name]) if field.is_array else None
        if bad is not None:
            problem = f"an element of {struct.name}.{field.name} takes no bytes at version {bad}"
            raise place.error(problem, "give the struct a field")
        _check_inside(field.struct, there, sized, places, common)


def _first_outside(versions: Versions, allowed: Versions) -> int | None:
    return None if allowed.covers(versions) else next(version for version in versions if version not in allowed)


def _nullable(field: FieldSpec, place: Value, members: Members) -> None:
    if field.nullable_versions and not (field.is_array or field.type in NULLABLE or field.struct):
        raise members["nullableVersions"].error(f"{field.type} cannot be null", "drop nullableVersions")


def _has_fields(field: FieldSpec, place: Value, members: Members) -> None:
    if "fields" in members and field.struct is None:
        raise members["fields"].error(f"{field.type} has no fields", "drop fields, or name a struct as the type")


def _flexible(field: FieldSpec, place: Value, members: Members) -> None:
    if field.flexible_versions is not None and field.type not in ("string", "bytes"):
        raise members["flexibleVersions"].error(
            f"{field.type} cannot differ from its message in flexibleVersions", "only string and bytes can"
        )


def _records(field: FieldSpec, place: Value, members: Members) -> None:
    if field.type == "[]records":
        raise members["type"].error("there are no arrays of records", "write an array of structs that hold records")
    if field.type == "records" and field.tagged_versions:
        raise members["taggedVersions"].error("records cannot be tagged", "drop taggedVersions")


def _zero_copy(field: FieldSpec, place: Value, members: Members) -> None:
    if field.zero_copy and field.type != "bytes":
        raise members["zeroCopy"].error(f"{field.type} cannot be zeroCopy", "only bytes can")


def _entity(field: FieldSpec, place: Value, members: Members) -> None:
    need = ENTITY_TYPES[field.entity_type]
    if need and field.element != need:
        raise members["entityType"].error(f"a {field.entity_type} is not {field.element}", f"its type is {need}")


def _tag(field: FieldSpec, place: Value, members: Members) -> None:
    if field.tag is None:
        if field.tagged_versions:
            raise place.error("taggedVersions without a tag", 'write "tag": 0, or drop taggedVersions')
        return
    if not 0 <= field.tag <= HIGHEST_TAG:
        raise members["tag"].error(f"{field.tag} is not a tag", f"write a number from 0 to {HIGHEST_TAG}")
    if not field.tagged_versions:
        raise place.error("a tag without taggedVersions", f'write "taggedVersions": "{field.versions}"')
    if field.map_key:
        raise place.error("a tagged field cannot be a map key", "drop mapKey")


def _tagged_versions(field: FieldSpec, place: Value, members: Members) -> None:
    tagged = field.tagged_versions
    if not tagged:
        return
    if not tagged.is_open:
        raise members["taggedVersions"].error(f"{tagged} has an end", f'write "{tagged.first}+"')
    if not field.versions.covers(tagged):
        raise members["taggedVersions"].error(f"{tagged} is not within versions {field.versions}", "widen versions")
    nullable = field.nullable_versions.meets(tagged)
    if nullable and nullable != tagged:
        raise place.error("some tagged versions are nullable and some are not", f'write "nullableVersions": "{tagged}"')


_FIELD_CHECKS: tuple[Callable[[FieldSpec, Value, Members], None], ...] = (
    _nullable,
    _has_fields,
    _flexible,
    _records,
    _zero_copy,
    _entity,
    _tag,
    _tagged_versions,
)


def read_spec(text: str, file: str = "spec", profile: str = "", release: str = "") -> MessageSpec:
    """Read one message spec.

    Args:
        text: the JSON, which may contain comments.
        file: the name of the file, for errors.
        profile: the name of the set of drafts to which the spec belongs; empty for Kafka's releases.
        release: the last release with this layout; empty if no later release changed it.

    Raises:
        SpecError: the spec is invalid. The error has file, line, JSON path and a hint; `others` has further errors in
            the file.

    >>> read_spec('{"type": "data", "name": "Point", "validVersions": "0", "flexibleVersions": "none",'
    ...           ' "fields": [{"name": "X", "type": "int32", "versions": "0+"}]}').struct.fields[0].attribute
    'x'
    """
    plain = jsonc.parse_plain(text, file)
    if plain is not None:
        reader = _Reader(plain, text, profile, release)
        with suppress(SpecError):
            spec = reader.message()
            if not reader.errors:
                return spec
    reader = _Reader(jsonc.parse(text, file), text, profile, release)
    try:
        spec = reader.message()
    except SpecError as error:
        reader.keep(error)
    if reader.errors:
        reader.errors[0].others = tuple(reader.errors[1:])
        raise reader.errors[0]
    return spec


class _Reader:
    """Reads one document. Errors are collected, so that all of them can be shown."""

    def __init__(self, document: Value, text: str, profile: str, release: str) -> None:
        self.document, self.text, self.profile, self.release = document, text, profile, release
        self.errors: list[SpecError] = []
        self.common: dict[str, Value] = {}
        self.structs: dict[str, StructSpec] = {}
        self.places: Places = {}
        self.growing: list[str] = []

    def keep(self, error: SpecError) -> None:
        if error not in self.errors:
            self.errors.append(error)

    @contextmanager
    def collecting(self) -> Iterator[None]:
        try:
            yield
        except SpecError as error:
            self.keep(error)
            if len(self.errors) >= MOST_ERRORS:
                raise

    def message(self) -> MessageSpec:
        members = self.document.members(_MESSAGE_KEYS)
        name = _name(_need(members, "name", self.document), _STRUCT_NAME)
        type_name = _choice(_need(members, "type", self.document), MESSAGE_TYPES)
        valid = _versions(members, "validVersions", None, self.document)
        flexible = _versions(members, "flexibleVersions", None if valid else NONE, self.document)
        if flexible and not flexible.is_open:
            raise members["flexibleVersions"].error(f"{flexible} has an end", f'write "{flexible.first}+"')
        self.structs[name] = StructSpec(name, valid, ())
        self.read_common(members.get("commonStructs"))
        # Kafka 4 keeps the specs of removed messages as stubs without versions and fields.
        stub = not valid and "fields" not in members
        fields = () if stub else self.fields(_need(members, "fields", self.document), name)
        for common, item in self.common.items():
            if common not in self.structs:  # no field uses it
                self.grow_common(common, item)
        spec = MessageSpec(
            name=name,
            type=type_name,
            api_key=members["apiKey"].integer() if "apiKey" in members else None,
            versions=valid,
            flexible_versions=flexible,
            struct=StructSpec(name, valid, fields),
            listeners=tuple(_choice(item, LISTENERS) for item in _items(members, "listeners")),
            latest_version_unstable=_flag(members, "latestVersionUnstable"),
            deprecated_versions=_versions(members, "deprecatedVersions", NONE, self.document),
            file=self.document.file,
            profile=self.profile,
            release=self.release,
            text=self.text,
        )
        check_message(spec, self.document, members)
        if not self.errors:
            check_tree(spec, self.document, self.places, {name: self.structs[name] for name in self.common})
        return spec

    def read_common(self, given: Value | None) -> None:
        for item in given.items() if given is not None else ():
            members = item.members(_STRUCT_KEYS)
            name = _name(_need(members, "name", item), _STRUCT_NAME)
            if name in self.common or name in self.structs:
                raise item.error(f"the struct {name} occurs twice", "rename one of them")
            self.common[name] = item

    def fields(self, given: Value, owner: str) -> tuple[FieldSpec, ...]:
        fields = []
        self.places[owner] = given.items()
        for item in given.items():
            with self.collecting():
                fields.append(self.field(item, owner))
        if len(fields) == len(given.items()):
            with self.collecting():
                check_struct(owner, list(zip(fields, given.items(), strict=True)))
        return tuple(fields)

    def field(self, item: Value, owner: str) -> FieldSpec:
        members = item.members(_FIELD_KEYS)
        name = _name(_need(members, "name", item), _FIELD_NAME)
        type_name = _need(members, "type", item).text()
        tagged = _versions(members, "taggedVersions", NONE, item)
        versions = _versions(members, "versions", tagged or None, item)
        nullable = _versions(members, "nullableVersions", NONE, item)
        spec = FieldSpec(
            owner=owner,
            name=name,
            type=type_name,
            versions=versions,
            nullable_versions=nullable,
            tagged_versions=tagged,
            tag=members["tag"].integer() if "tag" in members else None,
            flexible_versions=_versions(members, "flexibleVersions", NONE, item)
            if "flexibleVersions" in members
            else None,
            struct=self.struct_of(members, versions),
            default=default_for(type_name, members.get("default"), versions, nullable),
            ignorable=_flag(members, "ignorable"),
            map_key=_flag(members, "mapKey"),
            zero_copy=_flag(members, "zeroCopy"),
            entity_type=_choice(members["entityType"], ENTITY_TYPES) if "entityType" in members else "unknown",
            about=members["about"].text() if "about" in members else "",
        )
        check_field(spec, item, members)
        return spec

    def struct_of(self, members: dict[str, Value], versions: Versions) -> StructSpec | None:
        """Return the struct that a field's type names: defined in the field, or a common struct."""
        place = members["type"]
        name = place.text().removeprefix("[]")
        if name in SCALARS:
            return None
        if not _STRUCT_NAME.fullmatch(name):
            hint = suggestion(name, SCALARS) or f"write a struct's name or one of {', '.join(SCALARS)}"
            raise place.error(f"there is no type {excerpt(place.text())}", hint)
        if "fields" not in members:
            return self.common_struct(name, place)
        if name in self.structs or name in self.common or name in self.growing:
            raise place.error(f"the struct {name} occurs twice", "rename it, or move it to commonStructs")
        if outer := next((outer for outer in self.growing if outer in self.common), None):
            raise place.error(
                f"the struct {name} is written inside the common struct {outer}", "move it to commonStructs"
            )
        return self.grow(name, versions, members["fields"])

    def common_struct(self, name: str, place: Value) -> StructSpec:
        if name in self.growing:
            chain = " -> ".join([*self.growing[self.growing.index(name) :], name])
            raise place.error(f"the struct holds itself: {excerpt(chain)}", "a struct cannot be part of itself")
        if name not in self.common:
            hint = suggestion(name, self.common) or "give the field its fields, or write it in commonStructs"
            raise place.error(f"there is no struct {name}", hint)
        return self.structs[name] if name in self.structs else self.grow_common(name, self.common[name])

    def grow_common(self, name: str, item: Value) -> StructSpec:
        self.structs[name] = StructSpec(name, NONE, ())  # so that its errors are reported once
        members = item.members(_STRUCT_KEYS)
        _versions(members, "deprecatedVersions", NONE, item)
        versions = _versions(members, "versions", None, item)
        if not versions:
            raise members["versions"].error(f"the struct {name} is there in no version", "drop the struct")
        return self.grow(name, versions, _need(members, "fields", item))

    def grow(self, name: str, versions: Versions, given: Value) -> StructSpec:
        if len(self.growing) == DEEPEST:
            raise given.error(f"structs nested deeper than {DEEPEST} levels", "write them flatter")
        self.growing.append(name)
        try:
            self.structs[name] = StructSpec(name, versions, self.fields(given, name))
        finally:
            self.growing.pop()
        return self.structs[name]


def _need(members: dict[str, Value], key: str, owner: Value) -> Value:
    if key not in members:
        raise owner.error(f"the key {key!r} is missing", f'write "{key}": ...')
    return members[key]


def _name(given: Value, pattern: re.Pattern[str]) -> str:
    name = given.text()
    if not pattern.fullmatch(name):
        begin = "a capital letter" if pattern is _STRUCT_NAME else "a letter"
        raise given.error(f"{excerpt(name)} is not a name", f"write {begin}, then letters and digits")
    return name


def _choice(given: Value, known: Any) -> str:
    word = given.text()
    if word not in known:
        raise given.error(
            f"{excerpt(word)} is not known here", suggestion(word, known) or f"write one of {', '.join(known)}"
        )
    return word


def _versions(members: dict[str, Value], key: str, default: Versions | None, owner: Value) -> Versions:
    if key not in members and default is not None:
        return default
    given = _need(members, key, owner)
    try:
        if "," in given.text():
            raise ValueError(f"{excerpt(given.text())} is not one range of versions")
        return Versions.parse(given.text())
    except ValueError as error:
        raise given.error(str(error)[:120], 'write "0-8", "4+", "3" or "none"') from None


def _flag(members: dict[str, Value], key: str) -> bool:
    return key in members and members[key].boolean()


def _items(members: dict[str, Value], key: str) -> list[Value]:
    return members[key].items() if key in members else []
