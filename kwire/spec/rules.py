"""What the keys of a spec must say together: Kafka's rules for fields, structs and messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..jsonc import Value
from ..versions import HIGHEST
from .defaults import NULLABLE
from .model import FieldSpec, MessageSpec

Members = dict[str, Value]
ENTITY_TYPES = {"transactionalId": "string", "producerId": "int64", "groupId": "string", "topicName": "string"}
HIGHEST_TAG = 2**31 - 2  # Kafka's writer cannot write tag 2147483647


def check_field(field: FieldSpec, place: Value, members: Members) -> None:
    """Check one field by itself. Raises SpecError."""
    for check in _FIELD_CHECKS:
        check(field, place, members)


def check_struct(owner: str, fields: Sequence[tuple[FieldSpec, Value]]) -> None:
    """Check the fields of a struct against each other: names are unique, tags are and leave no gap."""
    seen: dict[str, str] = {}
    for field, place in fields:
        for name in {field.attribute, field.json_name}:
            if name in seen or name == "unknown_tags":
                raise place.error(f"two fields of {owner} are called {name}", "rename one of them")
        seen.update({field.attribute: field.name, field.json_name: field.name})
    tagged = sorted((field.tag, place) for field, place in fields if field.tag is not None) if fields else []
    for expected, (tag, place) in enumerate(tagged):
        if tag != expected:
            what = "is given twice" if tag < expected else f"leaves a gap: {expected} is free"
            raise place.error(
                f"tag {tag} of {owner} {what}", f"use tag {len(tagged) - 1 if tag < expected else expected}"
            )


def check_message(spec: MessageSpec, place: Value, members: Members) -> None:
    """Check a message as a whole. Raises SpecError."""
    wire = spec.type in ("request", "response")
    if wire and spec.api_key is None:
        raise place.error(f"a {spec.type} needs an api key", 'write "apiKey": ...')
    if spec.type in ("header", "data") and spec.api_key is not None:
        raise members["apiKey"].error(f"a {spec.type} message has no api key", "drop apiKey")
    if spec.api_key is not None and not 0 <= spec.api_key <= HIGHEST:
        raise members["apiKey"].error(f"{spec.api_key} is not an api key", f"write a number from 0 to {HIGHEST}")
    if spec.listeners and spec.type != "request":
        raise members["listeners"].error("only requests have listeners", "drop listeners")
    for suffix in ("Request", "Response"):
        if spec.type == suffix.lower() and not spec.name.endswith(suffix):
            raise members["name"].error(f"the name of a {spec.type} ends in {suffix}", f"write {spec.name}{suffix}")


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


def _zero_copy(field: FieldSpec, place: Value, members: Members) -> None:
    if field.zero_copy and field.type != "bytes":
        raise members["zeroCopy"].error(f"{field.type} cannot be zeroCopy", "only bytes can")


def _entity(field: FieldSpec, place: Value, members: Members) -> None:
    need = ENTITY_TYPES.get(field.entity_type, field.element if field.entity_type == "unknown" else "int32")
    if field.element != need:
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
    _zero_copy,
    _entity,
    _tag,
    _tagged_versions,
)
