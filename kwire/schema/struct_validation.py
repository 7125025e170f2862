"""Checks the structs of a spec together: flexible versions, number of fields, versions inside versions."""

from __future__ import annotations

from collections.abc import Mapping

from .json_with_comments import JsonValue
from .message_spec import FieldSpec, MessageSpec, StructSpec
from .version_ranges import Versions

FieldEntries = dict[str, list[JsonValue]]
MOST_FIELDS = 2000  # Kafka's largest message has 100


def check_tree(spec: MessageSpec, document: JsonValue, entries: FieldEntries, common: Mapping[str, StructSpec]) -> None:
    """Check the rules that depend on the position of structs in a message. Raises SpecError.

    Args:
        spec: the message.
        document: the JSON of the message.
        entries: the JSON of the fields of each struct.
        common: the common structs by name, including unused ones.
    """
    for field, entry in zip(spec.struct.fields, entries.get(spec.name, ()), strict=True):
        if field.map_key:
            problem = f"{field.name} is not a field of an array's struct, so it cannot be a map key"
            raise entry.error(problem, "drop mapKey")
    for struct in {**common, **{struct.name: struct for struct in spec.structs()}}.values():
        for field, entry in zip(struct.fields, entries.get(struct.name, ()), strict=True):
            _check_flexible(field, entry, spec.flexible_versions)
    size = _measure_structs(spec)[spec.struct.name]
    if size > MOST_FIELDS:
        problem = f"the message has {size} fields when all structs are written out"
        raise document.error(problem, f"at most {MOST_FIELDS} are read")
    known = {name: struct.versions.meets(spec.versions) for name, struct in common.items()}
    _check_inside(spec.struct, spec.versions, _measure_struct(spec), entries, known)


def _check_flexible(field: FieldSpec, entry: JsonValue, flexible: Versions) -> None:
    """Check that a field is flexible, and tagged, only where its message is flexible."""
    own = flexible if field.flexible_versions is None else field.flexible_versions
    bad = _first_outside(own, flexible)
    if bad is not None:
        problem = f"{field.name} is flexible at version {bad}, and its message is not"
        raise entry.error(problem, f'write "flexibleVersions": "{own.meets(flexible)}"')
    bad = _first_outside(field.tagged_versions, own)
    if bad is not None:
        problem = f"{field.name} is tagged at version {bad}, which is not flexible"
        raise entry.error(problem, f'write "taggedVersions": "{own}"')


def _measure_structs(spec: MessageSpec) -> dict[str, int]:
    """Return for each struct its number of fields, including the fields of its nested structs."""
    sizes: dict[str, int] = {}
    for struct in spec.structs():  # inner structs first
        sizes[struct.name] = sum(1 + (sizes[field.struct.name] if field.struct else 0) for field in struct.fields)
    return sizes


def _measure_struct(spec: MessageSpec) -> dict[str, Versions]:
    """Map each struct to the versions in which it takes at least one byte: those with a field or tagged fields."""
    sized: dict[str, Versions] = {}
    for struct in spec.structs():
        versions = spec.flexible_versions
        for field in struct.fields:
            versions_used = field.versions
            if field.struct is not None and not field.is_array:
                versions_used = versions_used.meets(sized[field.struct.name].joins(field.nullable_versions))
            versions = versions.joins(versions_used)
        sized[struct.name] = versions
    return sized


def _check_inside(
    struct: StructSpec,
    reached: Versions,
    sized: dict[str, Versions],
    entries: FieldEntries,
    common: dict[str, Versions],
) -> None:
    """Check a struct in the versions in which it is used; `common` has the versions of common structs."""
    for field, entry in zip(struct.fields, entries.get(struct.name, ()), strict=True):
        there = field.versions.meets(reached)
        if field.struct is None:
            continue
        if reached and not there and field.struct.name not in common:
            problem = f"{struct.name} is there in {reached}, its struct {field.struct.name} in {field.versions}"
            raise entry.error(problem, "widen versions, or drop the field")
        known = common.get(field.struct.name, there)
        if there and (not known or there.first < known.first):
            problem = f"{field.name} is there at version {there.first}, its struct at {known} of {reached}"
            raise entry.error(problem, f"widen the versions of {field.struct.name}")
        bad = _first_outside(there, sized[field.struct.name]) if field.is_array else None
        if bad is not None:
            problem = f"an element of {struct.name}.{field.name} takes no bytes at version {bad}"
            raise entry.error(problem, "give the struct a field")
        _check_inside(field.struct, there, sized, entries, common)


def _first_outside(versions: Versions, allowed: Versions) -> int | None:
    return None if allowed.covers(versions) else next(version for version in versions if version not in allowed)
