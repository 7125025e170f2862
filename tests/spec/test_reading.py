"""Reading a spec: what its keys mean one by one, and hostile ones."""

from __future__ import annotations

import pytest

from kwire.errors import SpecError
from kwire.spec import read_spec
from kwire.spec.reading import DEEPEST, MOST_ERRORS
from kwire.versions import Versions
from tests.small_specs import document, field, spec_of, struct

FETCH = """\
// what a reader wants
{
  "apiKey": 1, "type": "request", "listeners": ["zkBroker", "broker", "controller"],
  "name": "FetchRequest", "validVersions": "4-18", "deprecatedVersions": "4-5",
  "flexibleVersions": "12+", "latestVersionUnstable": true,
  "fields": [
    { "name": "ClusterId", "type": "string", "versions": "12+", "nullableVersions": "12+", "default": "null",
      "taggedVersions": "12+", "tag": "0", "ignorable": true, "about": "Which cluster." },
    { "name": "MinBytes", "type": "int32", "versions": "0+", /* as it was */ },
    { "name": "Topics", "type": "[]FetchTopic", "versions": "0+", "fields": [
      { "name": "Topic", "type": "string", "versions": "0-12", "mapKey": true, "entityType": "topicName" },
      { "name": "Names", "type": "[]string", "versions": "0+", "entityType": "topicName" },
      { "name": "Raw", "type": "bytes", "versions": "0+", "zeroCopy": true, "flexibleVersions": "none" },
    ]},
  ],
}
"""


def test_a_spec_gives_its_message() -> None:
    spec = read_spec(FETCH, "FetchRequest.json", "mine")
    assert (spec.name, spec.type, spec.api_key, spec.file, spec.profile) == (
        "FetchRequest",
        "request",
        1,
        "FetchRequest.json",
        "mine",
    )
    assert (str(spec.versions), str(spec.flexible_versions), str(spec.deprecated_versions)) == ("4-18", "12+", "4-5")
    assert spec.listeners == ("zkBroker", "broker", "controller")
    assert spec.latest_version_unstable
    assert [field.name for field in spec.struct.fields] == ["ClusterId", "MinBytes", "Topics"]


def test_a_spec_gives_its_fields_with_all_that_is_said_of_them() -> None:
    cluster, least, topics = read_spec(FETCH).struct.fields
    assert (cluster.owner, cluster.type, cluster.tag, cluster.default) == ("FetchRequest", "string", 0, None)
    assert {str(cluster.versions), str(cluster.nullable_versions), str(cluster.tagged_versions)} == {"12+"}
    assert (cluster.ignorable, cluster.about) == (True, "Which cluster.")
    assert (least.default, least.ignorable, least.map_key, least.zero_copy, least.tag) == (0, False, False, False, None)
    assert (least.about, least.entity_type, least.struct, least.flexible_versions) == ("", "unknown", None, None)
    assert topics.struct is not None
    topic, names, raw = topics.struct.fields
    assert (topic.owner, topic.map_key, topic.entity_type, names.entity_type) == (
        "FetchTopic",
        True,
        "topicName",
        "topicName",
    )
    assert (raw.zero_copy, raw.flexible_versions) == (True, Versions())


def test_what_is_left_out_has_the_meaning_kafka_gives_it() -> None:
    spec = spec_of({"name": "X", "type": "int32", "taggedVersions": "2+", "tag": 0})
    assert (spec.api_key, spec.listeners, spec.latest_version_unstable, spec.deprecated_versions) == (
        None,
        (),
        False,
        Versions(),
    )
    assert (spec.profile, spec.file) == ("", "spec")
    assert str(spec.struct.fields[0].versions) == "2+"


def test_a_message_without_versions_may_have_no_fields() -> None:
    stub = '{"apiKey": 4, "type": "request", "name": "LeaderAndIsrRequest", "validVersions": "none"}'
    spec = read_spec(stub)
    assert (spec.versions, spec.struct.fields, spec.flexible_versions) == (Versions(), (), Versions())


def test_a_common_struct_is_one_struct_wherever_it_is_used() -> None:
    spec = spec_of(
        field("One", "Both"),
        field("Many", "[]Both", "1+"),
        commonStructs=[struct("Both", field("Inner", "[]Inner")), struct("Inner", field("Y"))],
    )
    one, many = spec.struct.fields
    assert one.struct is many.struct
    assert [struct.name for struct in spec.structs()] == ["Inner", "Both", "Thing"]


INT = field()
SELF = struct("Self", field("Again", "[]Self"))
PING, PONG = struct("Ping", field("Y", "Pong")), struct("Pong", field("Y", "Ping"))
GIVE = "give the field its fields, or write it in commonStructs"
MOVE = "rename it, or move it to commonStructs"
RANGE = 'is not a version range; write "0-8", "4+", "3" or "none"'
LETTERS = "then letters and digits"

# JSON path, text behind it, document
REFUSED = [
    ("$", "the key 'name' is missing; write \"name\": ...", document(name=...)),
    ("$", "the key 'type' is missing; write \"type\": ...", document(type=...)),
    ("$", "the key 'fields' is missing; write \"fields\": ...", document(fields=...)),
    ("$", "the key 'validVersions' is missing; write \"validVersions\": ...", document(validVersions=...)),
    ("$", "the key 'flexibleVersions' is missing; write \"flexibleVersions\": ...", document(flexibleVersions=...)),
    ("$.flexibleVersions", '1-2 has an end; write "1+"', document(flexible="1-2")),
    ("$.validVersions", f"'1..2' {RANGE}", document(valid="1..2")),
    ("$.versions", "unknown key 'versions'; did you mean validVersions?", document(versions="0")),
    ("$.type", "'requset' is not known here; did you mean request?", document(type="requset")),
    ("$.name", f"'thing' is not a name; write a capital letter, {LETTERS}", document(name="thing")),
    ("$.listeners[0]", "'brokers' is not known here; did you mean broker?", document(listeners=["brokers"])),
    ("$.fields", "an array is needed, not an object; write [ ... ]", document(fields={})),
    ("$.fields[0]", "an object is needed, not a number; write { ... }", document(fields=[7])),
    ("$.fields[0]", "the key 'type' is missing; write \"type\": ...", document({"name": "Y", "versions": "0+"})),
    (
        "$.fields[1]",
        "the key 'versions' is missing; write \"versions\": ...",
        document(INT, {"name": "Y", "type": "bool"}),
    ),
    ("$.fields[0].name", f"'a_b' is not a name; write a letter, {LETTERS}", document(field("a_b"))),
    ("$.fields[0].name", f"'{'x' * 76}... is not a name; write a letter, {LETTERS}", document(field("x" * 128))),
    ("$.fields[0].type", "there is no type 'int23'; did you mean int32?", document(field(type="int23"))),
    ("$.fields[0].type", "there is no type '[][]int32'; did you mean int32?", document(field(type="[][]int32"))),
    ("$.fields[0].entityType", "'group' is not known here; did you mean groupId?", document(field(entityType="group"))),
    ("$.fields[0].about", 'a string is needed, not a number; write "..."', document(field(about=1))),
    ("$.fields[0].mapkey", "unknown key 'mapkey'; did you mean mapKey?", document(field(mapkey=True))),
    ("$.fields[0].versions", f"'x' {RANGE}", document(field(versions="x"))),
    ("$.fields[0].nullableVersions", f"'x' {RANGE}", document(field(nullableVersions="x"))),
    ("$.fields[0].flexibleVersions", f"'x' {RANGE}", document(field(flexibleVersions="x"))),
    (
        "$.fields[0].tag",
        "an integer is needed, not a string; write a number, without quotes",
        document(field(tag="one")),
    ),
    (
        "$.fields[0].ignorable",
        "true or false is needed, not a number; write true or false, without quotes",
        document(field(ignorable=1)),
    ),
    (
        "$.fields[0].default",
        '\'x\' is not an integer; write it as "-1", -1 or "0x7f"',
        document(field(default="x")),
    ),
    ("$.fields[0].type", f"there is no struct Nobody; {GIVE}", document(field(type="Nobody"))),
    ("$.fields[0].type", f"there is no struct Thing; {GIVE}", document(field(type="Thing"))),
    (
        "$.fields[0].type",
        "there is no struct Bothe; did you mean Both?",
        document(field(type="Bothe"), commonStructs=[struct("Both", INT)]),
    ),
    (
        "$.fields[1].type",
        f"the struct In is there twice; {MOVE}",
        document(field("A", "In", fields=[INT]), field("B", "In", fields=[INT])),
    ),
    ("$.fields[1].type", f"there is no struct In; {GIVE}", document(field("A", "In", fields=[INT]), field("B", "In"))),
    ("$.fields[0].type", f"the struct Thing is there twice; {MOVE}", document(field("A", "Thing", fields=[INT]))),
    (
        "$.fields[0].type",
        f"the struct In is there twice; {MOVE}",
        document(field("A", "In", fields=[INT]), commonStructs=[struct("In", INT)]),
    ),
    (
        "$.commonStructs[1]",
        "the struct In is there twice; rename one of them",
        document(commonStructs=[struct("In"), struct("In")]),
    ),
    (
        "$.commonStructs[0]",
        "the struct Thing is there twice; rename one of them",
        document(commonStructs=[struct("Thing")]),
    ),
    (
        "$.commonStructs[0]",
        "the key 'versions' is missing; write \"versions\": ...",
        document(commonStructs=[{"name": "In", "fields": []}]),
    ),
    (
        "$.commonStructs[0]",
        "the key 'fields' is missing; write \"fields\": ...",
        document(field(type="In"), commonStructs=[{"name": "In", "versions": "0"}]),
    ),
    (
        "$.commonStructs[0].fields[0].type",
        "there is no type 'int'; did you mean int8?",
        document(commonStructs=[struct("In", field(type="int"))]),
    ),
    (
        "$.commonStructs[0].deprecatedVersions",
        f"'x' {RANGE}",
        document(commonStructs=[struct("In") | {"deprecatedVersions": "x"}]),
    ),
    (
        "$.commonStructs[0].fields[0].type",
        "the struct holds itself: 'Self -> Self'; a struct cannot be part of itself",
        document(field(type="Self"), commonStructs=[SELF]),
    ),
    (
        "$.commonStructs[1].fields[0].type",
        "the struct holds itself: 'Ping -> Pong -> Ping'; a struct cannot be part of itself",
        document(field(type="Ping"), commonStructs=[PING, PONG]),
    ),
]


@pytest.mark.parametrize(("path", "text", "document"), REFUSED)
def test_what_is_no_spec_is_refused_with_its_place(path: str, text: str, document: str) -> None:
    with pytest.raises(SpecError) as caught:
        read_spec(document, "f.json")
    assert str(caught.value) == f"f.json:1: {path}: {text}"
    assert caught.value.others == ()


def test_all_errors_of_a_document_are_told_each_once() -> None:
    bad = struct("Bad", field("B", "int"), field("C"), field("C"))
    text = document(field("A", "int"), field("B", "Bad"), field("C", "[]Bad"), commonStructs=[bad], apiKey=1)
    with pytest.raises(SpecError) as caught:
        read_spec(text)
    assert [error.json_path for error in (caught.value, *caught.value.others)] == [
        "$.fields[0].type",
        "$.commonStructs[0].fields[0].type",
        "$.apiKey",
    ]


def test_errors_are_told_up_to_a_limit() -> None:
    with pytest.raises(SpecError) as caught:
        read_spec(document(field("Outer", "In", fields=[field(type="int")] * 100)))
    errors = [caught.value, *caught.value.others]
    assert [error.json_path for error in errors] == [f"$.fields[0].fields[{n}].type" for n in range(MOST_ERRORS)]


def chain(length: int) -> str:
    structs = [struct(f"S{n}", field("Y", f"S{n + 1}")) for n in range(1, length)]
    return document(field(type="S1"), commonStructs=[*structs, struct(f"S{length}", INT)])


def test_structs_may_be_nested_up_to_a_limit() -> None:
    assert len(list(read_spec(chain(DEEPEST)).structs())) == DEEPEST + 1
    with pytest.raises(SpecError) as caught:
        read_spec(chain(DEEPEST + 1))
    assert caught.value.problem == "structs nested deeper than 32 levels"
    assert caught.value.json_path == "$.commonStructs[32].fields"
