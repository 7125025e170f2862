"""Reading a spec: what its keys mean one by one, and hostile ones."""

from __future__ import annotations

import pytest

from kwire.errors import SpecError
from kwire.schema.spec_reader import DEEPEST, MOST_ERRORS, read_spec
from kwire.schema.version_ranges import Versions
from tests.cases import case_by_case
from tests.messages.small_specs import document as doc
from tests.messages.small_specs import field, spec_of, struct

FETCH = """\
// what a reader wants
{
  "apiKey": 1, "type": "request", "listeners": ["zkBroker", "broker", "controller"],
  "name": "FetchRequest", "validVersions": "4-18", "deprecatedVersions": "4-5",
  "flexibleVersions": "12+", "latestVersionUnstable": true,
  "fields": [
    { "name": "ClusterId", "type": "string", "versions": "12+", "nullableVersions": "12+", "default": "null",
      "taggedVersions": "12+", "tag": "0", "ignorable": true, "about": "Which cluster." },
    { "name": "MinBytes", "type": "int32", "versions": "0+", /* as it was */ "ignorable": false },
    { "name": "Topics", "type": "[]FetchTopic", "versions": "0+", "fields": [
      { "name": "Topic", "type": "string", "versions": "0-12", "mapKey": true, "entityType": "topicName" },
      { "name": "Names", "type": "[]string", "versions": "0+", "entityType": "topicName" },
      { "name": "Raw", "type": "bytes", "versions": "0+", "zeroCopy": true, "flexibleVersions": "12+" }
    ]}
  ]
}
"""


def test_a_spec_gives_its_message() -> None:
    spec = read_spec(FETCH, "f.json", "mine", "3.6")
    assert (spec.name, spec.type, spec.api_key) == ("FetchRequest", "request", 1)
    assert (spec.file, spec.profile, spec.release) == ("f.json", "mine", "3.6")
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
    assert (raw.zero_copy, str(raw.flexible_versions)) == (True, "12+")


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
    assert len(spec_of(field(), valid="none").struct.fields) == 1


@pytest.mark.parametrize("scalar", ["bool", "float64", "string", "bytes", "uuid", "int64", "uint32"])
def test_a_scalar_needs_no_struct(scalar: str) -> None:
    one, many = spec_of(field("One", scalar), field("Many", f"[]{scalar}")).struct.fields
    assert (one.type, one.struct, many.type, many.struct) == (scalar, None, f"[]{scalar}", None)


def test_every_type_of_message_is_read() -> None:
    for type_name in ("header", "data", "metadata"):
        assert spec_of(type=type_name).type == type_name
    for type_name in ("coordinator-key", "coordinator-value"):
        assert spec_of(type=type_name, apiKey=1, valid="0", flexible="none").type == type_name
    assert spec_of(type="response", name="ThingResponse", apiKey=1).type == "response"


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
    ("$", "the key 'name' is missing; write \"name\": ...", doc(name=...)),
    ("$", "the key 'type' is missing; write \"type\": ...", doc(type=...)),
    ("$", "the key 'fields' is missing; write \"fields\": ...", doc(fields=...)),
    ("$", "the key 'validVersions' is missing; write \"validVersions\": ...", doc(validVersions=...)),
    ("$", "the key 'flexibleVersions' is missing; write \"flexibleVersions\": ...", doc(flexibleVersions=...)),
    ("$.flexibleVersions", '1-2 has an end; write "1+"', doc(flexible="1-2")),
    ("$.validVersions", f"'1..2' {RANGE}", doc(valid="1..2")),
    ("$.validVersions", "'0,2' is not one range of versions; " + RANGE.split("; ")[1], doc(valid="0,2")),
    ("$.versions", "unknown key 'versions'; did you mean validVersions?", doc(versions="0")),
    ("$.type", "'requset' is not known here; did you mean request?", doc(type="requset")),
    ("$.name", f"'thing' is not a name; write a capital letter, {LETTERS}", doc(name="thing")),
    ("$.listeners[0]", "'brokers' is not known here; did you mean broker?", doc(listeners=["brokers"])),
    ("$.fields", "an array is needed, not an object; write [ ... ]", doc(fields={})),
    ("$.fields[0]", "an object is needed, not a number; write { ... }", doc(fields=[7])),
    ("$.fields[0]", "the key 'type' is missing; write \"type\": ...", doc({"name": "Y", "versions": "0+"})),
    ("$.fields[1]", "the key 'versions' is missing; write \"versions\": ...", doc(INT, {"name": "Y", "type": "bool"})),
    ("$.fields[0].name", f"'a_b' is not a name; write a letter, {LETTERS}", doc(field("a_b"))),
    ("$.fields[0].name", f"'{'x' * 76}... is not a name; write a letter, {LETTERS}", doc(field("x" * 128))),
    ("$.fields[0].type", "there is no type 'int23'; did you mean int32?", doc(field(type="int23"))),
    ("$.fields[0].type", "there is no type '[][]int32'; did you mean int32?", doc(field(type="[][]int32"))),
    ("$.fields[0].entityType", "'group' is not known here; did you mean groupId?", doc(field(entityType="group"))),
    ("$.fields[0].about", 'a string is needed, not a number; write "..."', doc(field(about=1))),
    ("$.fields[0].mapkey", "unknown key 'mapkey'; did you mean mapKey?", doc(field(mapkey=True))),
    ("$.fields[0].versions", f"'x' {RANGE}", doc(field(versions="x"))),
    ("$.fields[0].nullableVersions", f"'x' {RANGE}", doc(field(nullableVersions="x"))),
    ("$.fields[0].flexibleVersions", f"'x' {RANGE}", doc(field(flexibleVersions="x"))),
    ("$.fields[0].tag", "an integer is needed, not a string; write a number, without quotes", doc(field(tag="one"))),
    (
        "$.fields[0].ignorable",
        "true or false is needed, not a number; write true or false, without quotes",
        doc(field(ignorable=1)),
    ),
    ("$.fields[0].default", '\'x\' is not an integer; write it as "-1", -1 or "0x7f"', doc(field(default="x"))),
    ("$.fields[0].type", f"there is no struct Nobody; {GIVE}", doc(field(type="Nobody"))),
    ("$.fields[0].type", f"there is no struct Thing; {GIVE}", doc(field(type="Thing"))),
    (
        "$.fields[0].type",
        "there is no struct Bothe; did you mean Both?",
        doc(field(type="Bothe"), commonStructs=[struct("Both", INT)]),
    ),
    (
        "$.fields[1].type",
        f"the struct In occurs twice; {MOVE}",
        doc(field("A", "In", fields=[INT]), field("B", "In", fields=[INT])),
    ),
    (
        "$.fields[0].fields[0].type",
        f"the struct In occurs twice; {MOVE}",
        doc(field("A", "In", fields=[field("B", "[]In", fields=[INT])])),
    ),
    ("$.fields[1].type", f"there is no struct In; {GIVE}", doc(field("A", "In", fields=[INT]), field("B", "In"))),
    ("$.fields[0].type", f"the struct Thing occurs twice; {MOVE}", doc(field("A", "Thing", fields=[INT]))),
    (
        "$.fields[0].type",
        f"the struct In occurs twice; {MOVE}",
        doc(field("A", "In", fields=[INT]), commonStructs=[struct("In", INT)]),
    ),
    (
        "$.commonStructs[1]",
        "the struct In occurs twice; rename one of them",
        doc(commonStructs=[struct("In"), struct("In")]),
    ),
    ("$.commonStructs[0]", "the struct Thing occurs twice; rename one of them", doc(commonStructs=[struct("Thing")])),
    (
        "$.commonStructs[0]",
        "the key 'versions' is missing; write \"versions\": ...",
        doc(commonStructs=[{"name": "In", "fields": []}]),
    ),
    (
        "$.commonStructs[0]",
        "the key 'fields' is missing; write \"fields\": ...",
        doc(field(type="In"), commonStructs=[{"name": "In", "versions": "0"}]),
    ),
    (
        "$.commonStructs[0].fields[0].type",
        "there is no type 'int'; did you mean int8?",
        doc(commonStructs=[struct("In", field(type="int"))]),
    ),
    (
        "$.commonStructs[0].deprecatedVersions",
        f"'x' {RANGE}",
        doc(commonStructs=[struct("In") | {"deprecatedVersions": "x"}]),
    ),
    (
        "$.commonStructs[0].fields[0].type",
        "the struct In is written inside the common struct Both; move it to commonStructs",
        doc(field(type="Both"), commonStructs=[struct("Both", field(type="[]In", fields=[INT]))]),
    ),
    (
        "$.commonStructs[0].versions",
        "the struct In is there in no version; drop the struct",
        doc(commonStructs=[struct("In", INT, versions="none")]),
    ),
    (
        "$.commonStructs[0].fields[0].type",
        "the struct holds itself: 'Self -> Self'; a struct cannot be part of itself",
        doc(field(type="Self"), commonStructs=[SELF]),
    ),
    (
        "$.commonStructs[1].fields[0].type",
        "the struct holds itself: 'Ping -> Pong -> Ping'; a struct cannot be part of itself",
        doc(field(type="Ping"), commonStructs=[PING, PONG]),
    ),
]


@case_by_case("path,text,document", REFUSED)
def test_what_is_no_spec_is_refused_with_its_place(path: str, text: str, document: str) -> None:
    with pytest.raises(SpecError) as caught:
        read_spec(document, "f.json")
    assert str(caught.value) == f"f.json:1: {path}: {text}"
    assert caught.value.others == ()


def test_all_errors_of_a_document_are_told_each_once() -> None:
    bad, twice = struct("Bad", field("B", "int")), struct("Twice", field("C"), field("C"))
    uses = [field("B", "Bad"), field("C", "[]Bad"), field("D", "Twice"), field("E", zeroCopy=True)]
    text = doc(field("A", "int"), *uses, commonStructs=[bad, twice], apiKey=1)
    with pytest.raises(SpecError) as caught:
        read_spec(text)
    assert [error.json_path for error in (caught.value, *caught.value.others)] == [
        "$.fields[0].type",
        "$.commonStructs[0].fields[0].type",
        "$.commonStructs[1].fields[1]",
        "$.fields[4].zeroCopy",
        "$.apiKey",
    ]


def test_errors_are_told_up_to_a_limit() -> None:
    with pytest.raises(SpecError) as caught:
        read_spec(doc(field("Outer", "In", fields=[field(type="int")] * 100)))
    errors = [caught.value, *caught.value.others]
    assert [error.json_path for error in errors] == [f"$.fields[0].fields[{n}].type" for n in range(MOST_ERRORS)]


def chain(length: int) -> str:
    structs = [struct(f"S{n}", field("Y", f"S{n + 1}")) for n in range(1, length)]
    return doc(field(type="S1"), commonStructs=[*structs, struct(f"S{length}", INT)])


def test_structs_may_be_nested_up_to_a_limit() -> None:
    assert len(list(read_spec(chain(DEEPEST)).structs())) == DEEPEST + 1
    with pytest.raises(SpecError) as caught:
        read_spec(chain(DEEPEST + 1))
    assert caught.value.problem == "structs nested deeper than 32 levels"
    assert caught.value.json_path == "$.commonStructs[32].fields"
