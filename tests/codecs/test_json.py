"""Kafka's JSON form of every node, both ways, and what is no such form."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from kwire.codecs import wire
from kwire.codecs.json_reader import JsonPosition, from_json, read_unknown_tags
from kwire.codecs.json_writer import to_json, write_unknown_tags
from kwire.codecs.schema_tree import grow_tree
from kwire.errors import EncodeError, MissingField, NullNotWritable, UnknownField, WrongType
from tests.messages.small_specs import field, spec_of

INT8, NAME, NAME_NULL = wire.INT8, wire.String(), wire.String(nullable=True)
BYTES_NULL, RECORDS = wire.Bytes(nullable=True), wire.Records()
THING = spec_of(
    field("TopicId", "uuid"),
    field("Names", "[]string", nullableVersions="0+"),
    field(
        "In", "In", "0-2", nullableVersions="0+", default="null", fields=[field("Id", "int16", "1+", ignorable=True)]
    ),
    field("Epoch", "int32", "2+", tag=0, taggedVersions="2+", default="-1"),
    field("Ids", "[]int32", "2+", tag=1, taggedVersions="2+"),
)
MESSAGE: Any = grow_tree(THING, 0).message_class
ZERO = "AAAAAAAAAAAAAAAAAAAAAA"


def read(node: wire.Node, value: Any) -> Any:
    return from_json(node, value, JsonPosition())


def refused(node: wire.Node, value: Any, kind: type[EncodeError]) -> str:
    """Read JSON that is refused; path and reason of the error."""
    with pytest.raises(kind) as caught:
        from_json(node, value, JsonPosition("Thing", 3))
    assert type(caught.value) is kind
    assert (caught.value.message, caught.value.version) == ("Thing", 3)
    return f"{caught.value.path}: {caught.value.reason}" + (f"; {caught.value.hint}" if caught.value.hint else "")


@pytest.mark.parametrize(
    ("node", "value", "form"),
    [
        (INT8, -128, -128),
        (wire.INT64, 9223372036854775807, 9223372036854775807),
        (wire.UINT32, 4294967295, 4294967295),
        (wire.BOOLEAN, True, True),
        (wire.FLOAT64, 0.5, 0.5),
        (wire.FLOAT64, math.inf, "Infinity"),
        (wire.FLOAT64, -math.inf, "-Infinity"),
        (wire.UUID, bytes(16), ZERO),
        (wire.UUID, bytes(range(16)), "AAECAwQFBgcICQoLDA0ODw"),
        (wire.UUID, b"\xff\xef" * 8, "_-__7__v_-__7__v_-__7w"),
        (NAME, "é\0😀", "é\0😀"),
        (NAME_NULL, None, None),
        (BYTES_NULL, b"", ""),
        (BYTES_NULL, b"\xff\xef\xfe", "/+/+"),
        (BYTES_NULL, b"\x01", "AQ=="),
        (BYTES_NULL, b"\x01\x02", "AQI="),
        (BYTES_NULL, None, None),
        (RECORDS, b"\x00\x01\x02", "AAEC"),
        (wire.Array(INT8), (1, 2), [1, 2]),
        (wire.Array(INT8), (), []),
        (wire.Array(INT8, nullable=True), None, None),
        (wire.Array(wire.Array(NAME)), (("a",), ()), [["a"], []]),
    ],
)
def test_a_value_has_a_form_that_gives_it_back(node: wire.Node, value: Any, form: Any) -> None:
    assert to_json(node, value) == form
    assert json.loads(json.dumps(to_json(node, value), allow_nan=False)) == form
    assert read(node, form) == value
    assert type(read(node, form)) is type(value)


def test_what_is_not_a_number_has_a_name() -> None:
    assert to_json(wire.FLOAT64, math.nan) == "NaN"
    assert math.isnan(read(wire.FLOAT64, "NaN"))


def test_a_float_may_be_written_as_an_integer_and_a_list_as_a_tuple() -> None:
    assert (read(wire.FLOAT64, 3), type(read(wire.FLOAT64, 3))) == (3.0, float)
    assert read(wire.Array(INT8), (1, 2)) == (1, 2)


def test_padding_of_base64_may_be_left_out_or_there() -> None:
    assert [read(BYTES_NULL, text) for text in ("AQ", "AQI", "AQID")] == [b"\1", b"\1\2", b"\1\2\3"]
    assert read(wire.UUID, ZERO + "==") == bytes(16)


@pytest.mark.parametrize(
    ("version", "message", "form"),
    [
        (0, MESSAGE(names=("a",)), {"topicId": ZERO, "names": ["a"], "in": None}),
        (0, MESSAGE(names=None, in_=MESSAGE.In()), {"topicId": ZERO, "names": None, "in": {}}),
        (1, MESSAGE(in_=MESSAGE.In(id=7)), {"topicId": ZERO, "names": [], "in": {"id": 7}}),
        (2, MESSAGE(), {"topicId": ZERO, "names": [], "in": None}),
        (3, MESSAGE(epoch=5, ids=(1,)), {"topicId": ZERO, "names": [], "epoch": 5, "ids": [1]}),
        (
            3,
            MESSAGE(unknown_tags=bytes.fromhex("0502abcd 0900")),
            {"topicId": ZERO, "names": [], "_unknownTags": [{"tag": 5, "data": "q80="}, {"tag": 9, "data": ""}]},
        ),
    ],
)
def test_a_message_has_a_form_that_gives_it_back(version: int, message: Any, form: dict[str, Any]) -> None:
    tree = grow_tree(THING, version)
    assert to_json(tree, message) == form
    assert list(to_json(tree, message)) == list(form)
    assert read(tree, form) == message


def test_what_the_bytes_leave_out_the_form_leaves_out() -> None:
    message = MESSAGE(ids=[])
    assert grow_tree(THING, 3).build(message) == grow_tree(THING, 3).build(MESSAGE())
    assert "ids" not in to_json(grow_tree(THING, 3), message)


@pytest.mark.parametrize(
    ("node", "value", "reason"),
    [
        (INT8, 128, "an integer from -128 to 127 is needed, not 128"),
        (INT8, -129, "an integer from -128 to 127 is needed, not -129"),
        (INT8, True, "an integer from -128 to 127 is needed, not True"),
        (INT8, 1.0, "an integer from -128 to 127 is needed, not 1.0"),
        (INT8, "1", "an integer from -128 to 127 is needed, not '1'"),
        (INT8, None, "an integer from -128 to 127 is needed, not None"),
        (INT8, [10**5000], "an integer from -128 to 127 is needed, not <list>"),
        (wire.FLOAT64, "inf", "a number is needed, not 'inf'"),
        (wire.FLOAT64, True, "a number is needed, not True"),
        (wire.FLOAT64, None, "a number is needed, not None"),
        (wire.FLOAT64, 10**400, f"a number that a float64 can hold is needed, not 1{'0' * 76}..."),
        (wire.BOOLEAN, 1, "true or false is needed, not 1"),
        (wire.BOOLEAN, "true", "true or false is needed, not 'true'"),
        (wire.BOOLEAN, None, "true or false is needed, not None"),
        (wire.UUID, 7, "a uuid of 22 characters in base64url is needed, not 7"),
        (wire.UUID, None, "a uuid of 22 characters in base64url is needed, not None"),
        (wire.UUID, "AAAA", "a uuid of 22 characters in base64url is needed, not 'AAAA'"),
        (wire.UUID, "A" * 24, f"a uuid of 22 characters in base64url is needed, not '{'A' * 24}'"),
        (wire.UUID, "é" * 22, f"base64 is needed, not '{'é' * 22}'"),
        (NAME, 7, "a string is needed, not 7"),
        (NAME, b"a", "a string is needed, not b'a'"),
        (NAME, ["x" * 99], f"a string is needed, not ['{'x' * 75}..."),
        (BYTES_NULL, 7, "base64 is needed, not 7"),
        (BYTES_NULL, [], "base64 is needed, not []"),
        (BYTES_NULL, {}, "base64 is needed, not {}"),
        (BYTES_NULL, "A", "base64 is needed, not 'A'"),
        (BYTES_NULL, "AA-_", "base64 is needed, not 'AA-_'"),
        (BYTES_NULL, "AAAA\n", "base64 is needed, not 'AAAA\\n'"),
        (wire.Array(INT8), {}, "an array is needed, not {}"),
        (wire.Array(INT8), "12", "an array is needed, not '12'"),
        (grow_tree(THING, 0), [], "an object is needed, not []"),
        (grow_tree(THING, 0), None, "an object is needed, not None"),
    ],
    ids=range(32),
)
def test_a_value_of_another_kind_is_refused(node: wire.Node, value: Any, reason: str) -> None:
    assert refused(node, value, WrongType) == f": {reason}"


@pytest.mark.parametrize("node", [NAME, RECORDS, wire.Bytes(), wire.Array(INT8)])
def test_null_is_refused_where_it_is_not_allowed(node: wire.Node) -> None:
    assert refused(node, None, NullNotWritable) == ": null is not allowed here"


FORM: dict[str, Any] = {"topicId": ZERO, "names": [], "in": None}


@pytest.mark.parametrize(
    ("version", "change", "kind", "error"),
    [
        (1, {"names": ["a", 7]}, WrongType, "names[1]: a string is needed, not 7"),
        (1, {"in": {}}, MissingField, "in.id: the field is missing"),
        (1, {"in": {"id": 1, "idd": 2}}, UnknownField, "in.idd: there is no such field; did you mean id?"),
        (0, {"in": {"id": 1}}, UnknownField, "in.id: there is no such field; the first version that has it is 1"),
        (1, {"epoch": 1}, UnknownField, "epoch: there is no such field; the first version that has it is 2"),
        (1, {"nothing": 1}, UnknownField, "nothing: there is no such field"),
        (3, {"in": None}, UnknownField, "in: there is no such field; the last version that has it is 2"),
        (2, {"epoch": "1"}, WrongType, "epoch: an integer from -2147483648 to 2147483647 is needed, not '1'"),
        (2, {"_unknownTags": [{"tag": 9}]}, WrongType, None),
    ],
)
def test_an_error_names_its_place_in_the_words_of_the_json(
    version: int, change: dict[str, Any], kind: type[EncodeError], error: str | None
) -> None:
    seen = refused(grow_tree(THING, version), FORM | change, kind)
    assert seen == (error or '_unknownTags: an array of {"tag": number, "data": base64} is needed, not [{\'tag\': 9}]')


def test_a_field_that_must_be_there_is_missed() -> None:
    assert refused(grow_tree(THING, 0), {"topicId": ZERO, "in": None}, MissingField) == "names: the field is missing"


def test_a_field_of_no_version_of_the_message_is_said_to_be_so() -> None:
    tree = grow_tree(spec_of(field("Later", versions="9+")), 0)
    assert refused(tree, {"later": 1}, UnknownField) == "later: there is no such field; no version has it"


@pytest.mark.parametrize(
    ("value", "need", "found"),
    [
        ({}, 'an array of {"tag": number, "data": base64}', "{}"),
        ([1], 'an array of {"tag": number, "data": base64}', "[1]"),
        ([{"tag": 1, "data": "", "x": 1}], 'an array of {"tag": number, "data": base64}', None),
        ([{"tag": "1", "data": ""}], "a tag number", "'1'"),
        ([{"tag": True, "data": ""}], "a tag number", "True"),
        ([{"tag": -1, "data": ""}], "a tag number", "-1"),
        ([{"tag": 1, "data": 1}], "base64", "1"),
    ],
)
def test_unknown_tags_of_another_form_are_refused(value: Any, need: str, found: str | None) -> None:
    with pytest.raises(WrongType) as caught:
        read_unknown_tags(value)
    assert caught.value.path == "_unknownTags"
    assert caught.value.reason == f"{need} is needed, not {found or repr(value)}"


def test_unknown_tags_have_a_form_that_gives_them_back() -> None:
    raw = bytes.fromhex("0502abcd ac0200")
    assert write_unknown_tags(raw) == [{"tag": 5, "data": "q80="}, {"tag": 300, "data": ""}]
    assert read_unknown_tags(write_unknown_tags(raw)) == raw
    assert (write_unknown_tags(None), read_unknown_tags([])) == ([], None)
    assert read_unknown_tags([{"tag": 0, "data": ""}]) == b"\0\0"


def test_the_place_is_right_after_unknown_tags() -> None:
    forms = [FORM | {"_unknownTags": [{"tag": 9, "data": ""}]}, FORM | {"names": 7}]
    error = refused(wire.Array(grow_tree(THING, 2)), forms, WrongType)
    assert error == "[1].names: an array is needed, not 7"


def test_former_names_are_read_and_present_ones_written() -> None:
    states = field("States", "[]LeaderAndIsrPartitionState", fields=[field("PartitionEpoch")])
    tree = grow_tree(spec_of(states, type="request", name="LeaderAndIsrRequest", apiKey=4), 0)
    place = JsonPosition("LeaderAndIsrRequest", 0)
    message = from_json(tree, {"states": [{"zkVersion": 7}]}, place)
    assert to_json(tree, message) == {"states": [{"partitionEpoch": 7}]}
    with pytest.raises(UnknownField, match=r"states\[0\].zkVersion: there is no such field"):
        from_json(tree, {"states": [{"zkVersion": 7, "partitionEpoch": 7}]}, place)
    with pytest.raises(UnknownField, match="zkVersion"):
        from_json(tree, {"states": [{"zkVersion": 7}]}, JsonPosition("OtherRequest", 0))


def test_a_node_without_a_form_is_a_mistake_of_ours() -> None:
    with pytest.raises(TypeError, match="no JSON form is written for Node"):
        read(wire.Node(), 1)
    with pytest.raises(TypeError, match="no JSON form is written for Node"):
        to_json(wire.Node(), 1)
