"""Layouts that changed without a new version: what was in early access is read by naming the release.

`data/drifted_layouts.jsonl.gz` has every layout of every (message, version) that had more than one, with the first
and last release that had it, by reflection from the jars of all releases from 2.4 to 4.4 (nullable is what the
writers can write as null); a line's first patch release has the layouts of its last. `fixtures/early-access.jsonl.gz`
has bytes and JSON that those jars wrote.
"""

from __future__ import annotations

import gzip
import json
import pickle
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwire
from kwire.codecs.schema_tree import grow_tree
from kwire.errors import UnknownMessage
from kwire.schema.catalog import Catalog, catalog_for
from kwire.schema.data_files import SCHEMAS
from kwire.schema.message_spec import FieldSpec, MessageSpec
from kwire.schema.releases import releases
from kwire.schema.spec_reader import read_spec
from kwire.testing.strategies.tree_values import values
from tests.conftest import ROOT
from tests.golden.test_golden import cases, without_ours
from tests.schema.layouts import Row, differences, tree_layout

FOLDER = SCHEMAS / "releases"
OVERLAYS = sorted(FOLDER.glob("*/*.json"))
BYTES = ROOT / "fixtures" / "early-access.jsonl.gz"
# `_drift.json` calls them "tagged fields only": Kafka 2.8 wrote them without the section for tagged fields.
NOT_FLEXIBLE_ONCE = {"FenceBrokerRecord", "RemoveTopicRecord", "UnfenceBrokerRecord", "UnregisterBrokerRecord"}
# Of these the names have changed as well; they are read, but not written.
OTHER_NAMES = {("FetchResponse", "2.7.2"), ("FetchResponse", "2.8.2")}


def layouts() -> list[Row]:
    with gzip.open(ROOT / "tests/data/drifted_layouts.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def between(first: str, last: str) -> tuple[str, ...]:
    names = releases().names
    return names[names.index(first) : names.index(last) + 1]


def tree_of(spec: MessageSpec, version: int) -> Row:
    return tree_layout(grow_tree(spec, version))


def unreadable(old: Row, new: Row, path: str = "") -> list[str]:
    """Say why bytes of one layout would not decode with another: it may have more tags, and null in more places."""
    found = differences(new["flexible"], old["flexible"], f"{path}.flexible")
    fields = [[field for field in layout["fields"] if "tag" not in field] for layout in (old, new)]
    tags = [{field["tag"]: field for field in layout["fields"] if "tag" in field} for layout in (old, new)]
    found += differences(len(fields[1]), len(fields[0]), path) + [f"{path}.{t}" for t in tags[0] if t not in tags[1]]
    pairs = [*zip(*fields, strict=False), *((field, tags[1][tag]) for tag, field in tags[0].items() if tag in tags[1])]
    return found + [line for one, other in pairs for line in unreadable_type(one, other, f"{path}.{one['snake']}")]


def unreadable_type(old: Row, new: Row, path: str) -> list[str]:
    if "struct" in old and "struct" in new:  # its marker byte is there or not
        return differences(new["nullable"], old["nullable"], path) + unreadable(old["struct"], new["struct"], path)
    if "element" in old and "element" in new:
        found = unreadable_type(old["element"], new["element"], f"{path}[]")
    else:
        found = differences(as_bytes(new["type"]), as_bytes(old["type"]), path)
    wider = new["nullable"] or not old["nullable"]
    return found + differences(new.get("compact"), old.get("compact"), path) + ([] if wider else [f"{path}: null"])


def as_bytes(type_name: str) -> str:
    return "bytes" if type_name == "records" else type_name


def needed() -> set[tuple[str, int, str]]:
    """Return (message, version, last release of the layout) where the layout of the newest release does not do."""
    found = set()
    for row in layouts():
        base = tree_of(catalog_for().spec(row["message"]), row["version"])
        if unreadable(row["layout"], base):
            found.add((row["message"], row["version"], row["last"].rpartition(".")[0]))
    return found


def test_the_material_is_whole() -> None:
    rows = layouts()
    assert (len(rows), len({(row["message"], row["version"]) for row in rows})) == (104, 43)
    assert (len(OVERLAYS), len({path.stem for path in OVERLAYS})) == (36, 29)


def test_every_release_is_read_in_its_own_layout() -> None:
    tried: Counter[bool] = Counter()
    for row in layouts():
        for release in between(row["first"], row["last"]):
            spec = catalog_for(release=release).spec(row["message"], row["version"])
            found = unreadable(row["layout"], tree_of(spec, row["version"]))
            assert found == [], (row["message"], release)
            tried[bool(spec.release)] += 1
    assert tried == {True: 70, False: 406}


def test_a_layout_that_the_newest_one_reads_has_no_overlay_and_every_other_has_one() -> None:
    held = {(path.stem, version, path.parent.name) for path in OVERLAYS for version in spec_of(path).versions}
    assert held == needed()


def spec_of(path: Path) -> MessageSpec:
    return catalog_for(release=path.parent.name).spec(path.stem)


@pytest.mark.parametrize("path", OVERLAYS, ids=lambda path: f"{path.stem}-{path.parent.name}")
def test_an_overlay_is_the_layout_of_the_release_that_names_it_and_not_of_the_next(path: Path) -> None:
    release = releases().find(path.parent.name)
    spec = spec_of(path)
    assert (spec.name, spec.release, spec.file) == (path.stem, path.parent.name, str(path))
    for version in spec.versions:
        rows = [row for row in layouts() if (row["message"], row["version"]) == (spec.name, version)]
        here = next(row for row in rows if row["last"] == release)
        assert differences(tree_of(spec, version), here["layout"]) == []
        after = rows[rows.index(here) + 1]
        assert unreadable(after["layout"], tree_of(spec, version))


def test_pairs_of_the_facts_have_the_fields_they_had(shared: Path) -> None:
    """Walk the facts' steps back from the newest layout, and compare at every release they name."""
    drifts = [d for d in json.loads((shared / "kafka/facts/_drift.json").read_bytes()) if d["kind"] != "names only"]
    assert Counter(drift["kind"] for drift in drifts) == {
        "INCOMPATIBLE": 25,
        "tagged fields only": 16,
        "nullability only": 2,
    }
    assert {(d["message"], d["version"]) for d in drifts} == {(row["message"], row["version"]) for row in layouts()}
    changed = {d["message"] for d in drifts if d["kind"] == "INCOMPATIBLE"}
    assert {path.stem for path in OVERLAYS} == changed | NOT_FLEXIBLE_ONCE
    for drift in drifts:
        expected = flat(catalog_for().spec(drift["message"]), drift["version"])
        for step in reversed(drift["steps"]):
            expected = {**{name: text for name, text in expected.items() if name not in step["added"]}}
            expected |= step["removed"] | {name: before for name, (before, _) in step["changed"].items()}
            for release in between(*step["from"]):
                check_fields(drift, release, expected)


def check_fields(drift: Row, release: str, expected: dict[str, str]) -> None:
    spec = catalog_for(release=release).spec(drift["message"], drift["version"])
    ours = flat(spec, drift["version"])
    if spec.release:
        assert set(ours.items()) == set(expected.items()), (drift["message"], release)
        return
    if drift["message"] == "FetchResponse":  # its fields have other names now
        expected = {now_named(name): text for name, text in expected.items()}
    assert expected.keys() <= ours.keys()
    extra = ours.keys() - expected.keys()
    assert all(" tag " in ours[name] for name in extra if name.rpartition(".")[0] not in extra), (release, extra)
    loose = [{name: STRUCT.sub("", text).replace("?", "") for name, text in t.items()} for t in (ours, expected)]
    assert loose[0].items() >= loose[1].items(), (drift["message"], release)


def now_named(path: str) -> str:
    names = {"partitionResponses": "partitions", "partition": "partitionIndex", "recordSet": "records"}
    return ".".join(names.get(name, name) for name in path.split("."))


STRUCT = re.compile(r"[A-Z]\w+")  # structs have other names in some releases


def flat(spec: MessageSpec, version: int) -> dict[str, str]:
    """Return path -> type, as `_drift.json` writes them."""
    return dict(flat_fields([f for f in spec.struct.fields if version in f.versions], version, ""))


def flat_fields(fields: list[FieldSpec], version: int, path: str) -> Iterator[tuple[str, str]]:
    for field in fields:
        null = "?" if version in field.nullable_versions else ""
        tag = f" tag {field.tag}" if version in field.tagged_versions else ""
        yield path + field.json_name, f"{field.type}{null}{tag}"
        if field.struct:
            inner = [f for f in field.struct.fields if version in f.versions]
            yield from flat_fields(inner, version, f"{path}{field.json_name}.")


def test_the_newest_of_the_layouts_is_that_of_the_facts(shared: Path) -> None:
    lines = map(json.loads, (shared / "kafka/facts/_layouts.jsonl").read_text("utf-8").splitlines())
    newest = {(line["message"], line["version"]): line["release"] for line in lines}
    last = {(row["message"], row["version"]): row["last"] for row in layouts()}
    assert all(newest[pair] == release for pair, release in last.items())


def test_bytes_of_kafkas_own_classes_are_read_and_written() -> None:
    seen: Counter[tuple[str, int, str]] = Counter()
    for case in cases(BYTES):
        check_case(case)
        seen[case["message"], case["version"], case["release"]] += 1
    assert (seen.total(), len(given_up())) == (521, 61)
    for row in given_up():
        assert min(seen[row["message"], row["version"], release] for release in (row["first"], row["last"])) >= 2, row


def given_up() -> list[Row]:
    """Return the layouts that made place for another."""
    newest = {(row["message"], row["version"]): row["last"] for row in layouts()}
    return [row for row in layouts() if row["last"] != newest[row["message"], row["version"]]]


def check_case(case: dict[str, Any]) -> None:
    where = f"{case['message']} v{case['version']} of {case['release']} {case['case']}"
    codec = kwire.codec(case["message"], case["version"], release=case["release"])
    data = bytes.fromhex(case["hex"])
    message = codec.decode(data)
    assert codec.encode(message) == data, where
    members = json.loads(json.dumps(codec.to_json(message)))
    assert codec.from_json(members) == message, where
    if case["json"] is None:  # Kafka had no JSON form of it yet
        assert between(case["release"], "3.7.2")
        return
    if (case["message"], case["release"]) not in OTHER_NAMES:
        assert without_ours(members) == case["json"], where
    again = codec.from_json(case["json"])
    assert without_ours(codec.to_json(again)) == without_ours(members), where


@given(st.sampled_from(OVERLAYS), st.data())
def test_a_message_of_an_overlay_comes_back(path: Path, data: st.DataObject) -> None:
    codec = kwire.codec(path.stem, spec_of(path).versions.first, release=path.parent.name)
    message = data.draw(values(codec.schema))
    assert codec.decode(codec.encode(message)) == message
    assert codec.from_json(json.loads(json.dumps(codec.to_json(message)))) == message


def test_the_newest_layout_does_not_read_the_bytes_of_an_overlay() -> None:
    """Else there would be no need for it. The four are messages with nothing in the arrays that changed inside."""
    wrong: Counter[bool] = Counter()
    for case in cases(BYTES):
        if not kwire.codec(case["message"], case["version"], release=case["release"]).spec.release:
            continue
        codec = kwire.codec(case["message"], case["version"])
        try:
            same = codec.to_json(codec.decode(bytes.fromhex(case["hex"]))) == case["json"]
        except kwire.DecodeError:
            same = False
        wrong[not same] += 1
    assert wrong == {True: 329, False: 4}


@pytest.mark.parametrize(
    ("message", "release", "origin"),
    [
        ("ConsumerGroupHeartbeatRequest", "3.5", "Kafka 3.6"),
        ("ConsumerGroupHeartbeatRequest", "3.6.2", "Kafka 3.6"),
        ("ConsumerGroupHeartbeatRequest", "3.7", ""),
        ("DelegationTokenRecord", "2.8", "Kafka 2.8"),
        ("DelegationTokenRecord", "3.0", "Kafka 3.5"),
        ("DelegationTokenRecord", "3.6", ""),
        ("FeatureLevelRecord", "3.2", "Kafka 3.2"),
        ("FeatureLevelRecord", "3.3", ""),
        ("ConsumerGroupMemberMetadataValue", "3.5", "Kafka 3.5"),
        ("ConsumerGroupMemberMetadataValue", "3.6", "Kafka 3.7"),
        ("ConsumerGroupCurrentMemberAssignmentValue", "4.2", ""),
        ("ShareUpdateValue", "4.0", "Kafka 4.0"),
        ("ShareUpdateValue", "4.1", ""),
        ("ShareUpdateValue", None, ""),
        ("FenceBrokerRecord", "2.8", "Kafka 2.8"),
        ("MetadataRequest", "2.8", ""),
    ],
)
def test_the_nearest_overlay_from_the_release_on_is_taken(message: str, release: str | None, origin: str) -> None:
    codec = kwire.codec(message, 0, release=release)
    assert codec.spec.origin == origin
    assert repr(codec) == f"<kwire codec {message} v0{f' of {origin}' if origin else ''}>"


def test_an_overlay_hides_its_version_only_and_only_where_it_is_named() -> None:
    catalog = catalog_for(release="3.6")
    found = catalog.find(68, "request", 0)
    assert found is not None
    assert found.release == "3.6"
    assert catalog.find(68, "request", 1) is None  # which this release does not have
    assert catalog_for(release="4.0").find(68, "request", 1) is catalog_for().spec("ConsumerGroupHeartbeatRequest")
    assert kwire.codec("EndQuorumEpochRequest", 0, release="2.7").spec.release == "2.7"
    assert catalog_for(release="2.7").spec("MetadataRequest") is catalog_for().spec("MetadataRequest")
    assert catalog_for(release="2.7").names() == catalog_for().names()
    assert not any(layer.release for layer in Catalog.from_directory(FOLDER / "3.6").layers)
    with pytest.raises(kwire.UnsupportedVersion, match=r"no version 7; versions: 0-1$"):
        kwire.codec("ConsumerGroupHeartbeatRequest", 7, release="3.6")


def test_a_profile_precedes_a_release() -> None:
    assert kwire.codec("LeaderAndIsrRequest", 1, profile="KIP-112", release="2.8").spec.origin == "KIP-112"
    assert kwire.codec("TopicRecord", 0, profile="KIP-112", release="2.8").spec.origin == "Kafka 2.8"


def test_an_overlay_has_a_class_of_its_own_one_for_all_releases() -> None:
    codec = kwire.codec("DelegationTokenRecord", 0, release="3.3")
    assert codec.message_class is kwire.codec("DelegationTokenRecord", 0, release="3.5").message_class
    assert codec.message_class is kwire.messages.kafka_3_5.DelegationTokenRecord
    assert codec.message_class is not kwire.messages.DelegationTokenRecord
    assert kwire.messages.kafka_3_5.MetadataRequest is kwire.messages.MetadataRequest
    message = codec.message_class(owner="User:alice")
    assert pickle.loads(pickle.dumps(message)) == message
    assert "requester" not in type(message).__struct_fields__
    with pytest.raises(AttributeError, match=r"there is no release '9\.9'"):
        getattr(kwire.messages, "kafka_9_9")  # noqa: B009
    with pytest.raises(AttributeError, match="there is no message 'DelegationToken'"):
        kwire.messages.kafka_3_5.DelegationToken  # noqa: B018


def test_inner_classes_of_overlays_are_pickled_too() -> None:
    outer = kwire.messages.kafka_3_6.ConsumerGroupHeartbeatRequest
    message = outer(client_assignors=(outer.Assignor(name="mine"),))
    assert pickle.loads(pickle.dumps(message)) == message


def test_requests_of_a_release_are_decoded_with_its_catalog() -> None:
    then = catalog_for(release="3.6")
    message = kwire.codec("ConsumerGroupHeartbeatRequest", 0, catalog=then).message_class(group_id="g")
    frame = kwire.Frame(kwire.encode_request(message, 0, catalog=then), kwire.Source())
    (decoded,) = kwire.decode_frames([frame], then, salvage=False)
    assert isinstance(decoded, kwire.Request)
    assert decoded.message == message
    (decoded,) = kwire.decode_frames([frame], catalog_for(), salvage=False)
    assert isinstance(decoded, kwire.Undecodable)


def test_an_unknown_release_is_an_error() -> None:
    with pytest.raises(UnknownMessage, match="there is no release"):
        catalog_for(release="5.0")


def test_unchanged_fields_keep_their_descriptions() -> None:
    same = 0
    for path in OVERLAYS:
        now = sentences(catalog_for().spec(path.stem))
        for field, sentence in sentences(read_spec(path.read_text("utf-8"))).items():
            assert now.get(field, sentence) == sentence, (path, field)
            same += field in now
    assert same > 150


def sentences(spec: MessageSpec) -> dict[tuple[str, str, str, bool], str]:
    return {
        (struct.name, field.name, field.type, bool(field.nullable_versions)): field.about
        for struct in spec.structs()
        for field in struct.fields
    }
