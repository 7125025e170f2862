"""Reads Kafka's JSON message specs: an existing `MessageSpec` is always valid.

Keys are read one by one; `spec_validation` checks them against each other, by the rules of Kafka's generator
(`generator/` and `common/message/README.md` of Apache Kafka) and additional rules of kwire.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ..errors import SpecError, excerpt, suggestion
from ..runtime.lazy_patterns import lazy_pattern
from . import json_with_comments
from .field_defaults import RANGES, parse_default
from .json_with_comments import JsonValue
from .message_spec import FieldSpec, MessageSpec, StructSpec
from .spec_validation import ENTITY_TYPES, check_field, check_message, check_struct
from .struct_validation import FieldEntries, check_tree
from .version_ranges import NONE, Versions

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
    plain = json_with_comments.parse_plain(text, file)
    if plain is not None:
        reader = _SpecReader(plain, text, profile, release)
        with suppress(SpecError):
            spec = reader.message()
            if not reader.errors:
                return spec
    reader = _SpecReader(json_with_comments.parse(text, file), text, profile, release)
    try:
        spec = reader.message()
    except SpecError as error:
        reader.keep(error)
    if reader.errors:
        reader.errors[0].others = tuple(reader.errors[1:])
        raise reader.errors[0]
    return spec


class _SpecReader:
    """Reads one document. Errors are collected, so that all of them can be shown."""

    def __init__(self, document: JsonValue, text: str, profile: str, release: str) -> None:
        self.document = document
        self.text = text
        self.profile = profile
        self.release = release
        self.errors: list[SpecError] = []
        self.common: dict[str, JsonValue] = {}
        self.structs: dict[str, StructSpec] = {}
        self.entries: FieldEntries = {}
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
        name = _read_name(_need_member(members, "name", self.document), _STRUCT_NAME)
        type_name = _read_choice(_need_member(members, "type", self.document), MESSAGE_TYPES)
        valid = _read_versions(members, "validVersions", None, self.document)
        flexible = _read_versions(members, "flexibleVersions", None if valid else NONE, self.document)
        if flexible and not flexible.is_open:
            raise members["flexibleVersions"].error(f"{flexible} has an end", f'write "{flexible.first}+"')
        self.structs[name] = StructSpec(name, valid, ())
        self.read_common(members.get("commonStructs"))
        # Kafka 4 keeps the specs of removed messages as stubs without versions and fields.
        stub = not valid and "fields" not in members
        fields = () if stub else self.fields(_need_member(members, "fields", self.document), name)
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
            listeners=tuple(_read_choice(item, LISTENERS) for item in _read_items(members, "listeners")),
            latest_version_unstable=_read_flag(members, "latestVersionUnstable"),
            deprecated_versions=_read_versions(members, "deprecatedVersions", NONE, self.document),
            file=self.document.file,
            profile=self.profile,
            release=self.release,
            text=self.text,
        )
        check_message(spec, self.document, members)
        if not self.errors:
            check_tree(spec, self.document, self.entries, {name: self.structs[name] for name in self.common})
        return spec

    def read_common(self, given: JsonValue | None) -> None:
        for item in given.items() if given is not None else ():
            members = item.members(_STRUCT_KEYS)
            name = _read_name(_need_member(members, "name", item), _STRUCT_NAME)
            if name in self.common or name in self.structs:
                raise item.error(f"the struct {name} occurs twice", "rename one of them")
            self.common[name] = item

    def fields(self, given: JsonValue, owner: str) -> tuple[FieldSpec, ...]:
        fields = []
        self.entries[owner] = given.items()
        for item in given.items():
            with self.collecting():
                fields.append(self.field(item, owner))
        if len(fields) == len(given.items()):
            with self.collecting():
                check_struct(owner, list(zip(fields, given.items(), strict=True)))
        return tuple(fields)

    def field(self, item: JsonValue, owner: str) -> FieldSpec:
        members = item.members(_FIELD_KEYS)
        name = _read_name(_need_member(members, "name", item), _FIELD_NAME)
        type_name = _need_member(members, "type", item).text()
        tagged = _read_versions(members, "taggedVersions", NONE, item)
        versions = _read_versions(members, "versions", tagged or None, item)
        nullable = _read_versions(members, "nullableVersions", NONE, item)
        spec = FieldSpec(
            owner=owner,
            name=name,
            type=type_name,
            versions=versions,
            nullable_versions=nullable,
            tagged_versions=tagged,
            tag=members["tag"].integer() if "tag" in members else None,
            flexible_versions=_read_versions(members, "flexibleVersions", NONE, item)
            if "flexibleVersions" in members
            else None,
            struct=self.struct_of(members, versions),
            default=parse_default(type_name, members.get("default"), versions, nullable),
            ignorable=_read_flag(members, "ignorable"),
            map_key=_read_flag(members, "mapKey"),
            zero_copy=_read_flag(members, "zeroCopy"),
            entity_type=_read_choice(members["entityType"], ENTITY_TYPES) if "entityType" in members else "unknown",
            about=members["about"].text() if "about" in members else "",
        )
        check_field(spec, item, members)
        return spec

    def struct_of(self, members: dict[str, JsonValue], versions: Versions) -> StructSpec | None:
        """Return the struct that a field's type names: defined in the field, or a common struct."""
        type_name = members["type"]
        name = type_name.text().removeprefix("[]")
        if name in SCALARS:
            return None
        if not _STRUCT_NAME.fullmatch(name):
            hint = suggestion(name, SCALARS) or f"write a struct's name or one of {', '.join(SCALARS)}"
            raise type_name.error(f"there is no type {excerpt(type_name.text())}", hint)
        if "fields" not in members:
            return self.common_struct(name, type_name)
        if name in self.structs or name in self.common or name in self.growing:
            raise type_name.error(f"the struct {name} occurs twice", "rename it, or move it to commonStructs")
        if outer := next((outer for outer in self.growing if outer in self.common), None):
            raise type_name.error(
                f"the struct {name} is written inside the common struct {outer}", "move it to commonStructs"
            )
        return self.grow(name, versions, members["fields"])

    def common_struct(self, name: str, type_name: JsonValue) -> StructSpec:
        if name in self.growing:
            chain = " -> ".join([*self.growing[self.growing.index(name) :], name])
            raise type_name.error(f"the struct holds itself: {excerpt(chain)}", "a struct cannot be part of itself")
        if name not in self.common:
            hint = suggestion(name, self.common) or "give the field its fields, or write it in commonStructs"
            raise type_name.error(f"there is no struct {name}", hint)
        return self.structs[name] if name in self.structs else self.grow_common(name, self.common[name])

    def grow_common(self, name: str, item: JsonValue) -> StructSpec:
        self.structs[name] = StructSpec(name, NONE, ())  # so that its errors are reported once
        members = item.members(_STRUCT_KEYS)
        _read_versions(members, "deprecatedVersions", NONE, item)
        versions = _read_versions(members, "versions", None, item)
        if not versions:
            raise members["versions"].error(f"the struct {name} is there in no version", "drop the struct")
        return self.grow(name, versions, _need_member(members, "fields", item))

    def grow(self, name: str, versions: Versions, given: JsonValue) -> StructSpec:
        if len(self.growing) == DEEPEST:
            raise given.error(f"structs nested deeper than {DEEPEST} levels", "write them flatter")
        self.growing.append(name)
        try:
            self.structs[name] = StructSpec(name, versions, self.fields(given, name))
        finally:
            self.growing.pop()
        return self.structs[name]


def _need_member(members: dict[str, JsonValue], key: str, owner: JsonValue) -> JsonValue:
    if key not in members:
        raise owner.error(f"the key {key!r} is missing", f'write "{key}": ...')
    return members[key]


def _read_name(given: JsonValue, pattern: re.Pattern[str]) -> str:
    name = given.text()
    if not pattern.fullmatch(name):
        begin = "a capital letter" if pattern is _STRUCT_NAME else "a letter"
        raise given.error(f"{excerpt(name)} is not a name", f"write {begin}, then letters and digits")
    return name


def _read_choice(given: JsonValue, known: Any) -> str:
    word = given.text()
    if word not in known:
        raise given.error(
            f"{excerpt(word)} is not known here", suggestion(word, known) or f"write one of {', '.join(known)}"
        )
    return word


def _read_versions(members: dict[str, JsonValue], key: str, default: Versions | None, owner: JsonValue) -> Versions:
    if key not in members and default is not None:
        return default
    given = _need_member(members, key, owner)
    try:
        if "," in given.text():
            raise ValueError(f"{excerpt(given.text())} is not one range of versions")
        return Versions.parse(given.text())
    except ValueError as error:
        raise given.error(str(error)[:120], 'write "0-8", "4+", "3" or "none"') from None


def _read_flag(members: dict[str, JsonValue], key: str) -> bool:
    return key in members and members[key].boolean()


def _read_items(members: dict[str, JsonValue], key: str) -> list[JsonValue]:
    return members[key].items() if key in members else []
