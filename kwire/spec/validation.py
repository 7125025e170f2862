"""Validates the keys of a spec against each other: Kafka's rules for fields, structs and messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..versions import HIGHEST, Versions
from .jsonc import Value
from .model import NULLABLE, FieldSpec, MessageSpec, StructSpec

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


def check_field(field: FieldSpec, place: Value, members: Members) -> None:
    """Check one field by itself. Raises SpecError."""
    for check in _FIELD_CHECKS:
        check(field, place, members)


def check_struct(owner: str, fields: Sequence[tuple[FieldSpec, Value]]) -> None:
    """Check the fields of a struct against each other: names are unique, tags are and leave no gap."""
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
        place: its place in the file.
        places: the places of the fields of each of its structs.
        common: its common structs by name, including unused ones.
    """
    for field, where in zip(spec.struct.fields, places.get(spec.name, ()), strict=True):
        if field.map_key:
            raise where.error(f"{field.name} is no field of an array's struct, and cannot be a map key", "drop mapKey")
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
    """Struct -> how many fields it has with those of its structs, and so on."""
    sizes: dict[str, int] = {}
    for struct in spec.structs():  # inner ones first
        sizes[struct.name] = sum(1 + (sizes[field.struct.name] if field.struct else 0) for field in struct.fields)
    return sizes


def _sized(spec: MessageSpec) -> dict[str, Versions]:
    """Struct -> the versions at which it takes a byte at least: those with a field, or with tagged fields."""
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
    """Check a struct at the versions at which it is reached; `common` has the versions of common structs."""
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
