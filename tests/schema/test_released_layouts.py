"""Our specs are the released layouts: every field of every message at every version, against Kafka's jars.

Twice, and each time with other material: what the specs say against the facts, and what the grown trees do
against the schema as reflection read it off one release's jar.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kwire.codecs.schema_tree import grow_tree
from kwire.schema.catalog import catalog_for
from kwire.schema.data_files import SCHEMAS
from kwire.schema.field_names import snake_case
from kwire.schema.message_spec import FieldSpec, MessageSpec, StructSpec
from kwire.schema.spec_reader import read_spec
from tests.schema.layouts import Row, differences, raw_layout, tree_layout

ZEROES = {"bool": False, "string": "", "bytes": "", "uuid": "AAAAAAAAAAAAAAAAAAAAAA", "float64": 0.0}
STRUCT = "a struct of defaults"
LISTENERS = {"BROKER": "broker", "CONTROLLER": "controller", "ZK_BROKER": "zkBroker"}


# --- what the facts say ---------------------------------------------------------------------------------------


def within(version: int, ranges: str | None) -> bool:
    """Whether a version is in `0-8`, `4+`, `0,8+` or `none`, as the facts write ranges."""
    if ranges in (None, "none"):
        return False
    for low, plus, high in re.findall(r"(\d+)(?:(\+)|-(\d+))?", ranges or ""):
        if int(low) <= version and (plus or version <= int(high or low)):
            return True
    return False


def facts_message(facts: Row) -> Row:
    kept = {key: facts[key] for key in ("name", "type", "apiKey", "flexibleFrom")}
    span = facts["versions"]
    kept["versions"] = span.get("list") or list(range(span["min"], span["max"] + 1))
    # Listeners and an unstable version belong to an api; specs give them with its request.
    asked = facts if facts["type"] == "request" else {}
    kept["unstable"] = asked.get("latestVersionUnstable") or False
    kept["listeners"] = sorted(LISTENERS[listener] for listener in asked.get("listeners") or ())
    if kept["name"].startswith("ShareGroupPartitionMetadata"):
        kept["apiKey"] = 9  # Kafka 4.0 had no specs of type coordinator-key; the key's version was its record type
    return kept


def facts_rows(facts: Row, version: int) -> list[Row]:
    common = {struct["name"]: struct["fields"] for struct in facts.get("commonStructs", [])}
    flexible = facts["flexibleFrom"] is not None and version >= facts["flexibleFrom"]
    present = [field for field in facts["fields"] if within(version, field["versions"])]
    return in_wire_order(facts_row(field, version, flexible, common) for field in present)


def facts_row(field: Row, version: int, flexible: bool, common: dict[str, list[Row]]) -> Row:
    fields = field.get("fields") or common.get(field["type"].removeprefix("[]"))
    inner = [facts_row(f, version, flexible, common) for f in fields or () if within(version, f["versions"])]
    return {
        "name": field["name"],
        "snake": field["snake"],
        "type": field["type"],
        "nullable": within(version, field.get("nullableVersions")),
        "compact": flexible and within(version, field.get("flexibleVersions", "0+")),
        "tag": field["tag"] if within(version, field.get("taggedVersions")) else None,
        "default": field.get("default", facts_zero(field["type"], bool(fields))),
        # Absent where no release has the struct without the field, so that it cannot be tried: not ignorable then.
        "ignorable": field.get("ignorable", False),
        "map key": field.get("mapKey", False),
        "zero copy": field.get("zeroCopy", False),
        "fields": in_wire_order(inner) if fields else None,
    }


def facts_zero(type_name: str, is_struct: bool) -> Any:
    if type_name.startswith("[]"):
        return []
    return STRUCT if is_struct else ZEROES.get(type_name, 0)


def in_wire_order(rows: Iterable[Row]) -> list[Row]:
    """Untagged fields as they stand, then the tagged ones by tag."""
    rows = list(rows)
    tagged = [row for row in rows if row["tag"] is not None]
    return [row for row in rows if row["tag"] is None] + sorted(tagged, key=lambda row: row["tag"])


# --- what our specs say ---------------------------------------------------------------------------------------


def spec_message(spec: MessageSpec) -> Row:
    return {
        "name": spec.name,
        "type": spec.type,
        "apiKey": spec.api_key,
        "flexibleFrom": next((v for v in spec.versions if v in spec.flexible_versions), None),
        "versions": list(spec.versions),
        "unstable": spec.latest_version_unstable,
        "listeners": sorted(spec.listeners),
    }


def spec_rows(spec: MessageSpec, struct: StructSpec, version: int) -> list[Row]:
    return in_wire_order(spec_row(spec, f, version) for f in struct.fields if version in f.versions)


def spec_row(spec: MessageSpec, field: FieldSpec, version: int) -> Row:
    flexible = version in spec.flexible_versions
    return {
        "name": field.json_name,
        "snake": snake_case(field.name),
        "type": field.type,
        "nullable": version in field.nullable_versions,
        "compact": flexible and (field.flexible_versions is None or version in field.flexible_versions),
        "tag": field.tag if version in field.tagged_versions else None,
        "default": default_as_json(field),
        "ignorable": field.ignorable,
        "map key": field.map_key,
        "zero copy": field.zero_copy,
        "fields": spec_rows(spec, field.struct, version) if field.struct else None,
    }


def default_as_json(field: FieldSpec) -> Any:
    if field.default is ...:
        return STRUCT
    if isinstance(field.default, bytes):
        assert not any(field.default)
        return ZEROES[field.element]
    return list(field.default) if isinstance(field.default, tuple) else field.default


# --- the proof ------------------------------------------------------------------------------------------------


def against_facts(spec: MessageSpec, facts: Row) -> list[str]:
    """Compare a spec with the facts about its message, at every version."""
    found = differences(spec_message(spec), facts_message(facts), spec.name)
    for version in facts_message(facts)["versions"]:
        ours = spec_rows(spec, spec.struct, version)
        found += differences(ours, facts_rows(facts, version), f"{spec.name} v{version}")
    return found


@cache
def facts_of(shared: Path) -> dict[str, Row]:
    files = sorted((shared / "kafka/facts").glob("[A-Z]*.json"))
    return {path.stem: json.loads(path.read_text("utf-8")) for path in files}


def test_every_spec_agrees_with_the_facts(shared: Path) -> None:
    catalog, facts = catalog_for(), facts_of(shared)
    assert catalog.names() == sorted(facts)
    assert len(facts) == 294
    assert sum(len(facts_message(fact)["versions"]) for fact in facts.values()) == 897
    assert [line for name in facts for line in against_facts(catalog.spec(name), facts[name])] == []


def raw_layouts(shared: Path) -> list[Row]:
    lines = (shared / "kafka/facts/_layouts.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


# Schemas of releases before 4.3 do not mark a nullable struct, though their writers write its marker byte.
UNMARKED = ["ShareGroupHeartbeatResponse v0 of 4.0.2.fields[6].nullable: True is False in Kafka"]


def against_layout(spec: MessageSpec, line: Row) -> list[str]:
    """Compare a spec's tree at one version with the released schema."""
    tree = tree_layout(grow_tree(spec, line["version"]))
    return differences(tree, raw_layout(line["layout"]), f"{spec.name} v{line['version']} of {line['release']}")


def test_every_tree_is_the_layout_of_the_released_schema(shared: Path) -> None:
    catalog, raw = catalog_for(), raw_layouts(shared)
    assert len({(line["message"], line["version"]) for line in raw}) == len(raw) == 897
    found = [line for raw_line in raw for line in against_layout(catalog.spec(raw_line["message"]), raw_line)]
    assert found == UNMARKED


def test_the_layouts_are_of_the_messages_and_versions_that_we_have(shared: Path) -> None:
    catalog = catalog_for()
    ours = {(name, version) for name in catalog.names() for version in catalog.spec(name).versions}
    assert {(line["message"], line["version"]) for line in raw_layouts(shared)} == ours
    assert Counter(catalog.spec(name).type for name, _ in ours) == {
        "request": 369,
        "response": 369,
        "header": 5,
        "data": 32,
        "metadata": 45,
        "coordinator-key": 42,
        "coordinator-value": 35,
    }


def test_attributes_are_the_names_of_kafkas_schemas_but_one() -> None:
    fields = [f for name in catalog_for().names() for s in catalog_for().spec(name).structs() for f in s.fields]
    others = {(f.owner, f.attribute) for f in fields if f.attribute != snake_case(f.name)}
    assert others == {("LeaderAndIsrPartitionState", "is_new_replica")}


def put(**members: Any) -> Callable[[Row], None]:
    """Return an edit that changes members of a field, or takes them away where the value is None."""

    def edit(field: Row) -> None:
        field.update(members)
        for name in [name for name, value in members.items() if value is None]:
            del field[name]

    return edit


# One thing wrong in FetchRequest: the field, what is done to it, and where it must show: in the spec, in the trees.
BREAKS: dict[str, tuple[str, Callable[[Row], None], str, str]] = {
    "name": ("MinBytes", put(name="MinByte"), ".name", ".snake"),
    "spelling": ("MaxBytes", put(name="maxbytes"), ".name", ".snake"),
    "type": ("MinBytes", put(type="uint32"), ".type", ".type"),
    "width": ("SessionId", put(type="int64"), ".type", ".type"),
    "struct": ("Topics", put(type="[]FetchedTopic"), ".type", ""),
    "array": ("Partitions", put(type="FetchPartition"), ".type", ".type"),
    "versions": ("IsolationLevel", put(versions="5+"), "v4: ", "v4 "),
    "nullable": ("RackId", put(nullableVersions="11+"), ".nullable", ".nullable"),
    "compact": ("RackId", put(flexibleVersions="none"), ".compact", ".compact"),
    "tag": ("ReplicaEpoch", put(taggedVersions="15+", tag=0), ".tag", ".tag"),
    "tagged": ("ReplicaState", put(taggedVersions="16+"), "v15[0]", "v15 "),
    "default": ("MaxBytes", put(default="2147483646"), ".default", ""),
    "null": ("ClusterId", put(default=None), ".default", ""),
    "ignorable": ("MaxBytes", put(ignorable=False), ".ignorable", ""),
    "map key": ("Partition", put(mapKey=True), ".map key", ""),
    "key": ("", put(apiKey=2), ".apiKey", ""),
    "kind": ("", put(type="data", apiKey=None, listeners=None), ".type", ""),
    "listeners": ("", put(listeners=["broker"]), ".listeners", ""),
    "unstable": ("", put(latestVersionUnstable=True), ".unstable", ""),
    "flexible": ("", put(flexibleVersions="11+"), ".flexibleFrom", ".flexible"),
    "newest": ("", put(validVersions="0-17"), ".versions", ""),
}


def broken_spec(field: str, edit: Callable[[Row], None]) -> MessageSpec:
    """Return the spec of FetchRequest with one thing changed."""
    text = (SCHEMAS / "kafka/FetchRequest.json").read_text("utf-8")
    document = json.loads(re.sub(r"^//.*$", "", text, flags=re.MULTILINE))
    edit(next(item for item in objects(document) if item["name"] == field) if field else document)
    return read_spec(json.dumps(document))


def objects(value: Row) -> Iterable[Row]:
    for field in value.get("fields", []):
        yield field
        yield from objects(field)


@pytest.mark.parametrize("broken", BREAKS)
def test_one_thing_wrong_in_a_spec_is_seen(broken: str, shared: Path) -> None:
    field, edit, in_spec, in_trees = BREAKS[broken]
    spec = broken_spec(field, edit)
    facts = facts_of(shared)["FetchRequest"]
    seen = against_facts(spec, facts)
    assert any(in_spec in line for line in seen), seen
    lines = [line for line in raw_layouts(shared) if line["message"] == "FetchRequest"]
    seen = [line for raw in lines if raw["version"] in spec.versions for line in against_layout(spec, raw)]
    assert any(in_trees in line for line in seen) if in_trees else seen == [], seen


def test_two_fields_in_the_wrong_order_are_seen(shared: Path) -> None:
    def swap(document: Row) -> None:
        fields = document["fields"]
        fields[3], fields[4] = fields[4], fields[3]

    spec = broken_spec("", swap)
    assert any(".name" in line for line in against_facts(spec, facts_of(shared)["FetchRequest"]))
    layout = next(line for line in raw_layouts(shared) if line["message"] == "FetchRequest")
    assert any(".snake" in line for line in against_layout(spec, layout))
