"""Checks the fields, tags and version ranges of specs by the rules of Kafka's generator."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .field_defaults import NULLABLE
from .json_with_comments import JsonValue
from .message_spec import FieldSpec, MessageSpec
from .version_ranges import HIGHEST_VERSION, Versions

Members = dict[str, JsonValue]
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


def check_field(field: FieldSpec, entry: JsonValue, members: Members) -> None:
    """Check a field without its context. Raises SpecError."""
    for check in _FIELD_CHECKS:
        check(field, entry, members)


def check_struct(owner: str, fields: Sequence[tuple[FieldSpec, JsonValue]]) -> None:
    """Check the fields of a struct against each other: names are unique, and tags are unique without gaps."""
    seen: set[str] = set()
    for field, entry in fields:
        for name in (field.json_name, field.attribute):
            if name in seen or name == "unknown_tags":
                raise entry.error(f"two fields of {owner} are called {name}", "rename one of them")
        seen |= {field.json_name, field.attribute}
    tagged = [(field.tag, entry) for field, entry in fields if field.tag is not None]
    used = {tag for tag, _ in tagged}
    free = next(tag for tag in range(len(used) + 1) if tag not in used)
    for expected, (tag, entry) in enumerate(sorted(tagged, key=lambda item: item[0])):
        if tag != expected:
            what = "is given twice" if tag < expected else f"leaves a gap: {free} is free"
            raise entry.error(f"tag {tag} of {owner} {what}", f"use tag {free}")


def check_message(spec: MessageSpec, entry: JsonValue, members: Members) -> None:
    """Check a message as a whole. Raises SpecError."""
    _check_api_key(spec, entry, members)
    if spec.listeners and spec.type != "request":
        raise members["listeners"].error("only requests have listeners", "drop listeners")
    if spec.latest_version_unstable and spec.type != "request":
        raise members["latestVersionUnstable"].error("only requests have it", "drop latestVersionUnstable")
    if spec.versions.is_open:
        raise members["validVersions"].error(f"{spec.versions} has no end", "write the highest version too, as in 0-3")
    if spec.type.startswith("coordinator"):
        _check_coordinator(spec, entry, members)
    for suffix in ("Request", "Response"):
        if spec.type == suffix.lower() and not spec.name.endswith(suffix):
            raise members["name"].error(f"the name of a {spec.type} ends in {suffix}", f"write {spec.name}{suffix}")


def _check_api_key(spec: MessageSpec, entry: JsonValue, members: Members) -> None:
    wire = spec.type in ("request", "response")
    if wire and spec.api_key is None:
        raise entry.error(f"a {spec.type} needs an api key", 'write "apiKey": ...')
    if spec.type in ("header", "data") and spec.api_key is not None:
        raise members["apiKey"].error(f"a {spec.type} message has no api key", "drop apiKey")
    if spec.api_key is not None and not 0 <= spec.api_key <= HIGHEST_VERSION:
        raise members["apiKey"].error(
            f"{spec.api_key} is not an api key", f"write a number from 0 to {HIGHEST_VERSION}"
        )


def _check_coordinator(spec: MessageSpec, entry: JsonValue, members: Members) -> None:
    """Check Kafka 4.1's rules for the keys and values of coordinator records."""
    if spec.api_key is None:
        raise entry.error(f"a {spec.type} needs an api key, which is its record type", 'write "apiKey": ...')
    if spec.type == "coordinator-value":
        return
    if spec.versions and spec.versions != _ZERO:
        raise members["validVersions"].error(f"a {spec.type} has version 0 only, not {spec.versions}", 'write "0"')
    if spec.flexible_versions:
        raise members["flexibleVersions"].error(f"a {spec.type} cannot be flexible", 'write "none"')


def _check_nullable(field: FieldSpec, entry: JsonValue, members: Members) -> None:
    if field.nullable_versions and not (field.is_array or field.type in NULLABLE or field.struct):
        raise members["nullableVersions"].error(f"{field.type} cannot be null", "drop nullableVersions")


def _check_has_fields(field: FieldSpec, entry: JsonValue, members: Members) -> None:
    if "fields" in members and field.struct is None:
        raise members["fields"].error(f"{field.type} has no fields", "drop fields, or name a struct as the type")


def _check_flexible_field(field: FieldSpec, entry: JsonValue, members: Members) -> None:
    if field.flexible_versions is not None and field.type not in ("string", "bytes"):
        raise members["flexibleVersions"].error(
            f"{field.type} cannot differ from its message in flexibleVersions", "only string and bytes can"
        )


def _check_records(field: FieldSpec, entry: JsonValue, members: Members) -> None:
    if field.type == "[]records":
        raise members["type"].error("there are no arrays of records", "write an array of structs that hold records")
    if field.type == "records" and field.tagged_versions:
        raise members["taggedVersions"].error("records cannot be tagged", "drop taggedVersions")


def _check_zero_copy(field: FieldSpec, entry: JsonValue, members: Members) -> None:
    if field.zero_copy and field.type != "bytes":
        raise members["zeroCopy"].error(f"{field.type} cannot be zeroCopy", "only bytes can")


def _check_entity(field: FieldSpec, entry: JsonValue, members: Members) -> None:
    need = ENTITY_TYPES[field.entity_type]
    if need and field.element != need:
        raise members["entityType"].error(f"a {field.entity_type} is not {field.element}", f"its type is {need}")


def _check_tag(field: FieldSpec, entry: JsonValue, members: Members) -> None:
    if field.tag is None:
        if field.tagged_versions:
            raise entry.error("taggedVersions without a tag", 'write "tag": 0, or drop taggedVersions')
        return
    if not 0 <= field.tag <= HIGHEST_TAG:
        raise members["tag"].error(f"{field.tag} is not a tag", f"write a number from 0 to {HIGHEST_TAG}")
    if not field.tagged_versions:
        raise entry.error("a tag without taggedVersions", f'write "taggedVersions": "{field.versions}"')
    if field.map_key:
        raise entry.error("a tagged field cannot be a map key", "drop mapKey")


def _check_tagged_versions(field: FieldSpec, entry: JsonValue, members: Members) -> None:
    tagged = field.tagged_versions
    if not tagged:
        return
    if not tagged.is_open:
        raise members["taggedVersions"].error(f"{tagged} has an end", f'write "{tagged.first}+"')
    if not field.versions.covers(tagged):
        raise members["taggedVersions"].error(f"{tagged} is not within versions {field.versions}", "widen versions")
    nullable = field.nullable_versions.meets(tagged)
    if nullable and nullable != tagged:
        raise entry.error("some tagged versions are nullable and some are not", f'write "nullableVersions": "{tagged}"')


_FIELD_CHECKS: tuple[Callable[[FieldSpec, JsonValue, Members], None], ...] = (
    _check_nullable,
    _check_has_fields,
    _check_flexible_field,
    _check_records,
    _check_zero_copy,
    _check_entity,
    _check_tag,
    _check_tagged_versions,
)
