"""What the keys of a spec must say together."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.codecs.schema_tree import grow_tree
from kwire.errors import SpecError
from kwire.schema.spec_reader import read_spec
from kwire.schema.struct_validation import MOST_FIELDS
from tests.cases import case_by_case
from tests.messages.small_specs import document, field, spec_of, struct


def tagged(name: str = "X", tag: Any = 0, since: str = "2+", **keys: Any) -> dict[str, Any]:
    return field(name, tag=tag, taggedVersions=since, **keys)


def inner(*fields: dict[str, Any], versions: str = "0+", type: str = "In", **keys: Any) -> dict[str, Any]:
    return field("Outer", type, versions, fields=list(fields), **keys)


REQUEST: dict[str, Any] = {"type": "request", "name": "ThingRequest", "apiKey": 1}
WIDEN = 'write "taggedVersions": "2+"'
NO_BYTES = "an element of Thing.Outer takes no bytes at version"

# JSON path, text behind it, document
REFUSED = [
    # a field by itself
    (
        "$.fields[0].nullableVersions",
        "int32 cannot be null; drop nullableVersions",
        document(field(nullableVersions="0+")),
    ),
    (
        "$.fields[0].nullableVersions",
        "uuid cannot be null; drop nullableVersions",
        document(field(type="uuid", nullableVersions="1")),
    ),
    (
        "$.fields[0].fields",
        "int32 has no fields; drop fields, or name a struct as the type",
        document(field(fields=[])),
    ),
    (
        "$.fields[0].fields",
        "[]int32 has no fields; drop fields, or name a struct as the type",
        document(field(type="[]int32", fields=[])),
    ),
    (
        "$.fields[0].flexibleVersions",
        "int32 cannot differ from its message in flexibleVersions; only string and bytes can",
        document(field(flexibleVersions="none")),
    ),
    (
        "$.fields[0].flexibleVersions",
        "[]string cannot differ from its message in flexibleVersions; only string and bytes can",
        document(field(type="[]string", flexibleVersions="none")),
    ),
    (
        "$.fields[0].zeroCopy",
        "records cannot be zeroCopy; only bytes can",
        document(field(type="records", zeroCopy=True)),
    ),
    ("$.fields[0].entityType", "a topicName is not int32; its type is string", document(field(entityType="topicName"))),
    (
        "$.fields[0].entityType",
        "a brokerId is not int64; its type is int32",
        document(field(type="[]int64", entityType="brokerId")),
    ),
    (
        "$.fields[0].entityType",
        "a producerId is not int32; its type is int64",
        document(field(entityType="producerId")),
    ),
    (
        "$.fields[0].type",
        "there are no arrays of records; write an array of structs that hold records",
        document(field(type="[]records")),
    ),
    (
        "$.fields[0]",
        'X is flexible at version 1, and its message is not; write "flexibleVersions": "2+"',
        document(field(type="string", flexibleVersions="1+")),
    ),
    # tags
    (
        "$.fields[0].taggedVersions",
        "records cannot be tagged; drop taggedVersions",
        document(tagged(type="records")),
    ),
    (
        "$.fields[0]",
        'X is tagged at version 2, which is not flexible; write "taggedVersions": "3+"',
        document(tagged(type="string", flexibleVersions="3+")),
    ),
    (
        "$.commonStructs[0].fields[0]",
        f"X is tagged at version 1, which is not flexible; {WIDEN}",
        document(commonStructs=[struct("Unused", tagged(since="1+"))]),
    ),
    (
        "$.fields[0]",
        'taggedVersions without a tag; write "tag": 0, or drop taggedVersions',
        document(field(taggedVersions="2+")),
    ),
    ("$.fields[0]", 'a tag without taggedVersions; write "taggedVersions": "0+"', document(field(tag=0))),
    ("$.fields[0].tag", "-1 is not a tag; write a number from 0 to 2147483646", document(tagged(tag=-1))),
    (
        "$.fields[0].tag",
        "2147483647 is not a tag; write a number from 0 to 2147483646",
        document(tagged(tag="2147483647")),
    ),
    ("$.fields[0]", "a tagged field cannot be a map key; drop mapKey", document(tagged(mapKey=True))),
    ("$.fields[0].taggedVersions", '2-3 has an end; write "2+"', document(tagged(since="2-3"))),
    ("$.fields[0].taggedVersions", "2+ is not within versions 3+; widen versions", document(tagged(versions="3+"))),
    (
        "$.fields[0]",
        'some tagged versions are nullable and some are not; write "nullableVersions": "2+"',
        document(tagged(type="string", nullableVersions="3+")),
    ),
    ("$.fields[0]", f"X is tagged at version 1, which is not flexible; {WIDEN}", document(tagged(since="1+"))),
    (
        "$.fields[0].fields[0]",
        f"X is tagged at version 0, which is not flexible; {WIDEN}",
        document(inner(tagged(since="0+"))),
    ),
    # the fields of a struct
    ("$.fields[1]", "two fields of Thing are called x; rename one of them", document(field("x"), field("X"))),
    (
        "$.fields[1]",
        "two fields of Thing are called aB; rename one of them",
        document(field("AB"), field("aB")),
    ),
    (
        "$.fields[1]",
        "two fields of Thing are called foo_bar; rename one of them",
        document(field("FooBar"), field("FooBAr")),
    ),
    ("$.fields[0].fields[1]", "two fields of In are called x; rename one of them", document(inner(field(), field()))),
    ("$.fields[0]", "two fields of Thing are called unknown_tags; rename one of them", document(field("UnknownTags"))),
    ("$.fields[1]", "tag 0 of Thing is given twice; use tag 1", document(tagged("A"), tagged("B"))),
    ("$.fields[2]", "tag 1 of Thing is given twice; use tag 2", document(tagged("A", 1), tagged("B"), tagged("C", 1))),
    ("$.fields[1]", "tag 3 of Thing leaves a gap: 1 is free; use tag 1", document(tagged("A"), tagged("B", 3))),
    ("$.fields[0]", "tag 1 of Thing leaves a gap: 0 is free; use tag 0", document(tagged("A", 1))),
    # the message
    (
        "$.fields[0]",
        "X is not a field of an array's struct, so it cannot be a map key; drop mapKey",
        document(field(mapKey=True)),
    ),
    ("$.validVersions", "3+ has no end; write the highest version too, as in 0-3", document(valid="3+")),
    (
        "$.latestVersionUnstable",
        "only requests have it; drop latestVersionUnstable",
        document(type="response", name="ThingResponse", apiKey=1, latestVersionUnstable=True),
    ),
    *(
        ("$", f'a {name} needs an api key, which is its record type; write "apiKey": ...', document(type=name))
        for name in ("coordinator-key", "coordinator-value")
    ),
    (
        "$.validVersions",
        'a coordinator-key has version 0 only, not 0-1; write "0"',
        document(type="coordinator-key", apiKey=1, valid="0-1"),
    ),
    (
        "$.flexibleVersions",
        'a coordinator-key cannot be flexible; write "none"',
        document(type="coordinator-key", apiKey=1, valid="0", flexible="0+"),
    ),
    ("$", 'a request needs an api key; write "apiKey": ...', document(**REQUEST | {"apiKey": ...})),
    ("$", 'a response needs an api key; write "apiKey": ...', document(type="response", name="ThingResponse")),
    ("$.apiKey", "a data message has no api key; drop apiKey", document(apiKey=1)),
    ("$.apiKey", "a header message has no api key; drop apiKey", document(type="header", apiKey=1)),
    ("$.apiKey", "-1 is not an api key; write a number from 0 to 32767", document(**REQUEST | {"apiKey": -1})),
    ("$.apiKey", "32768 is not an api key; write a number from 0 to 32767", document(**REQUEST | {"apiKey": 32768})),
    ("$.listeners", "only requests have listeners; drop listeners", document(listeners=["broker"])),
    ("$.name", "the name of a request ends in Request; write ThingRequest", document(**REQUEST | {"name": "Thing"})),
    ("$.name", "the name of a response ends in Response; write ThingResponse", document(type="response", apiKey=1)),
    # structs in structs
    (
        "$.fields[0]",
        "Thing is there in 0-3, its struct In in none; widen versions, or drop the field",
        document(inner(field(), versions="none")),
    ),
    (
        "$.fields[0].fields[0]",
        "In is there in 0-1, its struct Deep in 2+; widen versions, or drop the field",
        document(inner(field("Y", "Deep", "2+", fields=[field()]), versions="0-1")),
    ),
    (
        "$.fields[0]",
        "X is there at version 0, its struct at 1-3 of 0-3; widen the versions of Both",
        document(field(type="Both"), commonStructs=[struct("Both", field(), versions="1+")]),
    ),
    (
        "$.fields[0]",
        "X is there at version 2, its struct at none of 2-3; widen the versions of Both",
        document(field(type="Both"), valid="2-3", commonStructs=[struct("Both", field(), versions="0-1")]),
    ),
    ("$.fields[0]", f"{NO_BYTES} 0; give the struct a field", document(inner(type="[]In"))),
    (
        "$.fields[0]",
        f"{NO_BYTES} 1; give the struct a field",
        document(inner(field(versions="2+"), versions="1+", type="[]In")),
    ),
    (
        "$.fields[0]",
        f"{NO_BYTES} 3; give the struct a field",
        document(inner(field(versions="0-2"), type="[]In"), flexible="none"),
    ),
    (
        "$.fields[0]",
        f"{NO_BYTES} 0; give the struct a field",
        document(inner(field("Y", "Deep", fields=[]), type="[]In")),
    ),
    (
        "$.fields[0]",
        f"{NO_BYTES} 0; give the struct a field",
        document(inner(field("Y", "Deep", nullableVersions="1+", fields=[]), type="[]In")),
    ),
]


@case_by_case("path,text,document", REFUSED)
def test_keys_that_do_not_fit_together_are_refused(path: str, text: str, document: str) -> None:
    with pytest.raises(SpecError) as caught:
        read_spec(document, "f.json")
    assert str(caught.value) == f"f.json:1: {path}: {text}"


def test_keys_that_fit_together_are_read() -> None:
    spec = spec_of(
        tagged("A", type="string", nullableVersions="2+", versions="1+"),
        tagged("B", 1, "3+", type="In", nullableVersions="3+", fields=[field("Y", "[]string", nullableVersions="1")]),
        field("C", "bytes", zeroCopy=True, flexibleVersions="none", nullableVersions="0+"),
        field(
            "D", "[]Of", "0-1", fields=[field("Y", "int32", entityType="brokerId", mapKey=True)], nullableVersions="0"
        ),
        field("E", "string", entityType="transactionalId"),
        field("GroupId", "string", entityType="groupId", flexibleVersions="3+"),
        field("F", "int64", entityType="producerId"),
        field("G", entityType="unknown"),
        field("H", "records", nullableVersions="1+"),
    )
    assert [(field.tag, str(field.tagged_versions)) for field in spec.struct.fields[:3]] == [
        (0, "2+"),
        (1, "3+"),
        (None, "none"),
    ]


@pytest.mark.parametrize("type_name", ["metadata", "coordinator-key", "coordinator-value"])
def test_records_have_a_number_of_their_own(type_name: str) -> None:
    for number in (0, 32767):
        assert spec_of(type=type_name, apiKey=number, valid="0", flexible="none").api_key == number
    assert spec_of(type="metadata").api_key is None
    assert spec_of(type="coordinator-key", apiKey=1, valid="none", flexible="none").api_key == 1  # a removed one


@pytest.mark.parametrize(
    "fields",
    [
        [inner(versions="2+", type="[]In")],  # flexible: the count of tagged fields is a byte
        [inner(field(versions="0-1"), type="[]In")],
        [inner(field(versions="0"), field("Y", "[]string", "1"), type="[]In")],
        [inner(field("Y", "Deep", nullableVersions="0+", fields=[]), type="[]In")],  # the marker is a byte
        [inner(inner(field(), type="[]Deep"), versions="1", type="In")],
        [inner(field("Y", "[]Deep", fields=[field("Z", versions="2-3")]), versions="2+")],
        [inner(type="In")],  # no array
    ],
)
def test_an_array_is_read_where_every_element_takes_a_byte(fields: list[dict[str, Any]]) -> None:
    assert len(list(spec_of(*fields, flexible="2+").structs())) >= 2


def test_a_tag_is_checked_also_in_an_unused_struct() -> None:
    with pytest.raises(SpecError, match="X is tagged at version 0, which is not flexible"):
        spec_of(inner(tagged(since="0+"), versions="2+"))


def test_a_message_may_have_fields_up_to_a_limit() -> None:
    structs = [struct("Ten", *(field(f"F{n}") for n in range(10)))]
    tens = [field(f"T{n}", "Ten") for n in range(MOST_FIELDS // 11)]
    rest = [field(f"R{n}") for n in range(MOST_FIELDS % 11)]
    assert len(spec_of(*tens, *rest, commonStructs=structs).struct.fields) == len(tens) + len(rest)
    with pytest.raises(SpecError) as caught:
        spec_of(*tens, *rest, field("OneMore"), commonStructs=structs)
    assert caught.value.problem == "the message has 2001 fields when all structs are written out"
    assert (caught.value.hint, caught.value.json_path) == ("at most 2000 are read", "$")


def test_a_request_may_have_listeners() -> None:
    assert spec_of(**REQUEST, listeners=["broker"]).listeners == ("broker",)


def test_a_message_of_no_versions_is_read() -> None:
    assert read_spec(document(valid="none", fields=..., flexible="none")).struct.fields == ()


def test_a_field_may_be_in_no_version() -> None:
    """As Kafka's generator has it; such a field is never on the wire, and may hold only its default."""
    never = [
        field("Number", "int64", "none", default="-1", ignorable=True),
        field("Text", "string", "none", nullableVersions="0+", default="null"),
        field("Common", "In", "none"),
    ]
    spec = spec_of(*never, field("Here", "int8"), commonStructs=[struct("In", field())])
    assert [str(found.versions) for found in spec.struct.fields] == ["none"] * 3 + ["0+"]
    message = grow_tree(spec, 1).parse(b"\x07")
    assert (message.number, message.text, message.common.x, message.here) == (-1, None, 0, 7)
    assert grow_tree(spec, 1).build(message) == b"\x07"
