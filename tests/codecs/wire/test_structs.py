"""Containers: arrays, structs and their fields, nullable structs."""

from __future__ import annotations

from collections import deque
from typing import Any

import msgspec
import pytest

from kwire.codecs.wire import (
    BOOLEAN,
    COMPACT_LENGTH,
    INT8,
    INT16,
    Absent,
    Array,
    Field,
    Node,
    NullableStruct,
    String,
    Struct,
    TaggedFields,
)
from kwire.codecs.wire.tagged_fields import is_default
from kwire.codecs.wire.unknown_tags import has_tags
from kwire.errors import (
    BadBoolean,
    BadLength,
    BadMarker,
    BadUnknownTags,
    NegativeLength,
    NotInVersion,
    NullNotAllowed,
    NullNotWritable,
    OverlongVarint,
    TooLong,
    Truncated,
    WrongType,
)
from tests.codecs.wire.walks import read, refused, salvage, unwritable, written


class Pair(msgspec.Struct, frozen=True):
    id: int = 0
    name: Any = ""
    rack: Any = None
    unknown_tags: bytes | None = None


class Outer(msgspec.Struct, frozen=True):
    pairs: tuple[Pair, ...] = ()
    flag: bool = False
    unknown_tags: bytes | None = None


ID = Field("id", INT16, json_name="id", default=0)
NAME = Field("name", String(), json_name="name", default="", about="What it is called.")
PAIR = Struct(Pair, [ID, NAME])
OUTER = Struct(
    Outer,
    [
        Field("pairs", Array(PAIR), json_name="pairs", default=()),
        Field("flag", BOOLEAN, json_name="flag", default=False),
    ],
)
INTS, COMPACT_INTS = Array(INT16), Array(INT16, COMPACT_LENGTH)
INTS_NULL, COMPACT_NULL = Array(INT16, nullable=True), Array(INT16, COMPACT_LENGTH, nullable=True)


@pytest.mark.parametrize(
    ("node", "data", "value"),
    [
        (INTS, "00000000", ()),
        (INTS, "00000002 0001 ffff", (1, -1)),
        (INTS_NULL, "ffffffff", None),
        (INTS_NULL, "00000001 0007", (7,)),
        (COMPACT_INTS, "01", ()),
        (COMPACT_INTS, "03 0001 ffff", (1, -1)),
        (COMPACT_NULL, "00", None),
        (COMPACT_NULL, "01", ()),
        (Array(INTS), "00000002 00000001 0007 00000000", ((7,), ())),
        (Array(String(COMPACT_LENGTH), COMPACT_LENGTH), "03 02 61 01", ("a", "")),
        (PAIR, "0007 0001 61", Pair(7, "a")),
        (OUTER, "00000002 0007 0001 61 0008 0000 01", Outer((Pair(7, "a"), Pair(8, "")), flag=True)),
        (Struct(Pair, [ID], TaggedFields({0: NAME})), "0007 01 00 03 0001 61", Pair(7, "a")),
        (NullableStruct(PAIR), "ff", None),
        (NullableStruct(PAIR), "01 0007 0001 61", Pair(7, "a")),
        (NullableStruct(PAIR, tagged=True), "00", None),
        (NullableStruct(PAIR, tagged=True), "01 0007 0001 61", Pair(7, "a")),
    ],
)
def test_a_value_is_written_as_it_is_read(node: Node, data: str, value: Any) -> None:
    assert read(node, data) == value
    assert type(read(node, data)) is type(value)
    assert written(node, value) == data.replace(" ", "")


@pytest.mark.parametrize("value", [[1, 2], (1, 2), range(1, 3), deque([1, 2])])
def test_any_sequence_is_written(value: Any) -> None:
    assert written(INTS, value) == "0000000200010002"


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("12", "str '12'"),
        (b"12", "bytes b'12'"),
        (bytearray(b"12"), "bytearray bytearray(b'12')"),
        ({1}, "set {1}"),
    ],
)
def test_what_is_no_sequence_is_not_written(value: Any, found: str) -> None:
    assert unwritable(INTS, value, WrongType) == f"it: array is needed, not {found}"


@pytest.mark.parametrize(
    ("node", "name", "least"),
    [
        (INTS, "array", 4),
        (INTS_NULL, "nullable array", 4),
        (COMPACT_INTS, "compact array", 1),
        (COMPACT_NULL, "compact nullable array", 1),
        (PAIR, "struct", 4),
        (OUTER, "struct", 5),
        (Struct(Pair, []), "struct", 0),
        (Struct(Pair, [], TaggedFields({})), "struct", 1),
        (Struct(Pair, [ID], TaggedFields({0: NAME})), "struct", 3),
        (NullableStruct(PAIR), "nullable struct", 1),
        (NullableStruct(PAIR, tagged=True), "nullable struct", 1),
    ],
)
def test_a_node_has_its_type_and_its_least_size(node: Node, name: str, least: int) -> None:
    assert (node.type_name, node.least) == (name, least)


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize(
    ("node", "data", "count", "need", "have"),
    [
        (INTS, "00000002 000100", 2, 4, 3),
        (INTS_NULL, "7fffffff 0001", 2147483647, 4294967294, 2),
        (COMPACT_INTS, "ffffffff07 0001", 2147483646, 4294967292, 2),
        (COMPACT_INTS, "8080808008 0001", 2147483647, 4294967294, 2),
        (Array(PAIR), "00000002 0001 0000 0002 00", 2, 8, 7),
        (Array(NullableStruct(PAIR)), "00000002 ff", 2, 2, 1),
        (Array(String()), "00000002 0000 00", 2, 4, 3),
    ],
)
def test_a_count_is_checked_against_the_least_its_elements_take(
    node: Node, data: str, count: int, need: int, have: int, lenient: bool
) -> None:
    error = refused(node, data, BadLength, salvage=lenient)
    assert (error.offset, error.path, error.partial) == (0, "it", None)
    assert (error.found, error.need, error.have) == (count, need, have)


def test_null_is_an_array_only_where_null_is_allowed() -> None:
    for node, data in ((INTS, "ffffffff"), (COMPACT_INTS, "00")):
        assert refused(node, data, NullNotAllowed, salvage=True).found == -1
        assert unwritable(node, None, NullNotWritable) == "it: null is not allowed here"
    assert salvage(INTS_NULL, "fffffffe") == (None, [(NegativeLength, 0, "it", "fffffffe")])
    assert (
        unwritable(Array(INT8), range(2**31), TooLong)
        == "it: 2147483648 is too long; at most 2147483647 can be written"
    )


def test_faults_and_errors_name_the_element() -> None:
    assert salvage(Array(BOOLEAN), "00000003 01 02 03") == (
        (True, True, True),
        [(BadBoolean, 5, "it[1]", "02"), (BadBoolean, 6, "it[2]", "03")],
    )
    assert unwritable(INTS, [1, 2, "3"], WrongType) == "it[2]: int16 is needed, not str '3'"
    text = "it.pairs[1].name: string is needed, not int 7"
    assert unwritable(OUTER, Outer((Pair(), Pair(name=7))), WrongType) == text


def test_what_was_read_before_an_error_is_kept() -> None:
    error = refused(OUTER, "00000002 0007 0001 61 0008 0005 61", BadLength)
    assert (error.offset, error.path) == (11, "it.pairs[1].name")
    assert error.partial == {"pairs": [Pair(7, "a"), {"id": 8}]}
    error = refused(OUTER, "00000001 0007 0001 61", Truncated)
    assert (error.path, error.partial) == ("it.flag", {"pairs": (Pair(7, "a"),)})
    error = refused(Array(Array(INT16)), "00000002 00000001 0007 00000001", BadLength)
    assert (error.path, error.partial) == ("it[1]", [(7,)])
    error = refused(NullableStruct(PAIR), "01 0007 00", Truncated)
    assert (error.path, error.partial) == ("it.name", {"id": 7})
    assert refused(PAIR, "00", Truncated).partial == {}


def test_fields_come_in_order_and_then_tagged_ones_by_tag() -> None:
    rack = Field("rack", String(nullable=True), json_name="rack", default=None)
    struct = Struct(Pair, [ID], TaggedFields({1: rack, 0: NAME}))
    assert [field.name for field in struct.all_fields] == ["id", "name", "rack"]
    assert [field.name for field in PAIR.all_fields] == ["id", "name"]
    assert (NAME.json_name, NAME.default, NAME.docs, ID.docs) == ("name", "", "What it is called.", "")


@pytest.mark.parametrize("value", [Outer(), {"id": 1}, None, Pair])
def test_a_struct_writes_its_own_class_only(value: Any) -> None:
    reason = unwritable(PAIR, value, WrongType)
    assert reason.startswith(f"it: a Pair is needed, not {type(value).__name__} ")
    assert len(reason) < 120


@pytest.mark.parametrize(
    ("rack", "ignorable", "default", "found"),
    [
        (None, False, None, None),
        ("dc1", False, None, "'dc1'"),
        ("x" * 99, False, None, f"'{'x' * 56}..."),
        ("", False, None, "''"),
        (None, False, "", "None"),
        ("dc1", True, None, None),
        ([], False, (), None),
        ([1], False, (), "[1]"),
    ],
)
def test_a_field_of_other_versions_must_hold_its_default_or_be_ignorable(
    rack: Any, ignorable: bool, default: Any, found: str | None
) -> None:
    struct = Struct(Pair, [ID], absent=[Absent("rack", "rack", default, ignorable, 5, 9)])
    if found is None:
        assert written(struct, Pair(7, rack=rack)) == "0007"
    else:
        text = f"it.rack: {found} would be lost: version 3 does not have this field"
        assert unwritable(struct, Pair(7, rack=rack), NotInVersion) == text


def test_unknown_tags_are_not_written_where_there_is_no_tagged_section() -> None:
    text = "it: the unknown tagged fields cannot be written: this version has no tagged fields"
    assert unwritable(PAIR, Pair(unknown_tags=b"\x05\x00"), BadUnknownTags) == text
    assert written(PAIR, Pair(unknown_tags=b"")) == "00000000"


@pytest.mark.parametrize(
    ("tagged", "marker", "value", "found"),
    [
        (False, "00", Pair(7), 0),
        (False, "02", Pair(7), 2),
        (False, "7f", Pair(7), 127),
        (False, "fe", None, -2),
        (False, "80", None, -128),
        (True, "02", Pair(7), 2),
        (True, "7f", Pair(7), 127),
        (True, "ffffffff07", Pair(7), 2147483647),
        (True, "ffffffff0f", None, -1),
        (True, "8080808008", None, -2147483648),
    ],
)
def test_another_marker_is_refused_in_strict_and_read_as_kafka_does_in_salvage(
    tagged: bool, marker: str, value: Any, found: int
) -> None:
    node = NullableStruct(PAIR, tagged=tagged)
    data = marker + ("0007 0000" if value else "")
    error = refused(node, data, BadMarker)
    assert (error.offset, error.path, error.found, error.raw.hex()) == (0, "it", found, marker)
    assert salvage(node, data) == (value, [(BadMarker, 0, "it", marker)])


def test_a_marker_in_a_tagged_field_is_a_varint_with_its_faults() -> None:
    assert salvage(NullableStruct(PAIR, tagged=True), "8000") == (None, [(OverlongVarint, 0, "it", "8000")])
    assert refused(NullableStruct(PAIR), "", Truncated).need == 1


class Incomparable:
    """Has neither equality nor truth, like an array of numbers."""

    def __eq__(self, other: object) -> bool:
        raise ValueError

    def __bool__(self) -> bool:
        raise ValueError

    __hash__ = None  # type: ignore[assignment]


def test_what_cannot_be_compared_is_no_default_and_counts_as_tags() -> None:
    assert not is_default(Incomparable(), 0)
    assert has_tags(Incomparable())
    assert (is_default([], ()), is_default("", ()), has_tags(b"")) == (True, False, False)
