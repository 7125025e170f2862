"""Defaults: what a type has by itself, and every way a spec may write one."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from kwire.errors import SpecError
from kwire.schema.field_defaults import parse_default
from kwire.schema.json_with_comments import JsonValue, parse
from kwire.schema.version_ranges import Versions

ALL = Versions.parse("0+")
NONE = Versions()
INTEGERS = ("int8", "int16", "uint16", "int32", "uint32", "int64")


def given(value: Any) -> JsonValue:
    item = parse(json.dumps({"default": value}), "f.json").value["default"]
    assert isinstance(item, JsonValue)
    return item


def read(type_name: str, value: Any, nullable: Versions = NONE, versions: Versions = ALL) -> Any:
    return parse_default(type_name, given(value), versions, nullable)


@pytest.mark.parametrize(
    ("type_name", "zero"),
    [
        *((name, 0) for name in INTEGERS),
        ("bool", False),
        ("float64", 0.0),
        ("string", ""),
        ("bytes", b""),
        ("records", None),
        ("uuid", bytes(16)),
        ("Broker", ...),
        ("[]int32", ()),
        ("[]string", ()),
        ("[]Broker", ()),
    ],
)
def test_a_type_has_a_default_of_its_own(type_name: str, zero: Any) -> None:
    without = (
        parse_default(type_name, None, ALL, NONE),
        read(type_name, ""),
        read(type_name, None),
        read(type_name, "", ALL),
    )
    for default in without:
        assert default == zero
        assert type(default) is type(zero)


@pytest.mark.parametrize(
    ("type_name", "value", "default"),
    [
        ("int8", "-1", -1),
        ("int8", -128, -128),
        ("int8", "0x7f", 127),
        ("int16", "32767", 32767),
        ("uint16", 65535, 65535),
        ("uint16", "0xFFFF", 65535),
        ("int32", "-2147483648", -2147483648),
        ("int32", "007", 7),
        ("uint32", "4294967295", 4294967295),
        ("int64", "9223372036854775807", 9223372036854775807),
        ("int64", "-9223372036854775808", -9223372036854775808),
        ("int64", "0x7fffffffffffffff", 9223372036854775807),
        ("bool", "true", True),
        ("bool", "FALSE", False),
        ("bool", True, True),
        ("float64", "0.5", 0.5),
        ("float64", 0.5, 0.5),
        ("float64", "-1", -1.0),
        ("float64", 3, 3.0),
        ("float64", "1e3", 1000.0),
        ("float64", "-Infinity", -math.inf),
        ("string", "all", "all"),
        ("string", "Null", "Null"),
        ("string", "é\0😀", "é\0😀"),
        ("string", "é" * 16383 + "e", "é" * 16383 + "e"),
        ("string", '"); import os #\n', '"); import os #\n'),
        ("uuid", "AAAAAAAAAAAAAAAAAAAAAQ", bytes(15) + b"\x01"),
        ("uuid", "_____________________w", b"\xff" * 16),
        ("uuid", "AAAAAAAAAAAAAAAAAAAAAQ==", bytes(15) + b"\x01"),
    ],
)
def test_a_default_is_read_however_it_is_written(type_name: str, value: Any, default: Any) -> None:
    assert read(type_name, value) == default
    assert type(read(type_name, value)) is type(default)


@pytest.mark.parametrize(
    ("type_name", "low", "high"),
    [
        ("int8", -128, 127),
        ("int16", -32768, 32767),
        ("uint16", 0, 65535),
        ("int32", -2147483648, 2147483647),
        ("uint32", 0, 4294967295),
        ("int64", -9223372036854775808, 9223372036854775807),
    ],
)
def test_an_integer_is_within_the_range_of_its_type(type_name: str, low: int, high: int) -> None:
    assert [read(type_name, low), read(type_name, high)] == [low, high]
    for value in (low - 1, high + 1):
        with pytest.raises(SpecError) as caught:
            read(type_name, value)
        assert caught.value.hint == f"write a number from {low} to {high}"


def test_not_a_number_is_a_float() -> None:
    assert math.isnan(read("float64", "NaN"))


@pytest.mark.parametrize("type_name", ["string", "bytes", "records", "Broker", "[]int32", "[]Broker"])
def test_null_is_a_default_where_every_version_is_nullable(type_name: str) -> None:
    assert read(type_name, "null", nullable=ALL) is None
    assert read(type_name, "null", nullable=Versions.parse("1+"), versions=Versions.parse("2-3")) is None


@pytest.mark.parametrize("type_name", ["bool", "uuid", "float64", "int8"])
def test_null_is_no_default_of_a_type_that_cannot_be_null(type_name: str) -> None:
    with pytest.raises(SpecError, match=r"'null' is not|true or false is needed"):
        read(type_name, "null", nullable=ALL, versions=NONE)


@pytest.mark.parametrize("type_name", ["string", "bytes", "Broker", "[]int32"])
def test_null_is_no_default_where_a_version_is_not_nullable(type_name: str) -> None:
    with pytest.raises(SpecError) as caught:
        read(type_name, "null", nullable=Versions.parse("2+"), versions=Versions.parse("1+"))
    assert caught.value.problem == "null cannot be the default: the field is there in 1+ and nullable in 2+"
    assert caught.value.hint == 'write "nullableVersions": "1+"'


def test_records_are_null_by_default_wherever_they_are() -> None:
    assert read("records", "null", nullable=NONE) is None


TO_SHORT = "write a number from -32768 to 32767"
AS_FLOAT = 'write it as "0.5" or 0.5'
NO_FLOATS = ["half", "1_0", "0x1p3", "inf", "nan", "1\n", "1e", ".", "-"]
AS_INTEGER = 'write it as "-1", -1 or "0x7f"'


@pytest.mark.parametrize(
    ("type_name", "value", "problem", "hint"),
    [
        *(("int16", value, f"{value!r} is not an int16", TO_SHORT) for value in ("32768", -32769, "0x8000", True)),
        ("uint32", "-1", "'-1' is not an uint32", "write a number from 0 to 4294967295"),
        ("int8", "128", "'128' is not an int8", "write a number from -128 to 127"),
        ("int64", "9223372036854775808", "'9223372036854775808' is not an int64", None),
        *(
            ("int32", value, f"{value!r} is not an integer", AS_INTEGER)
            for value in ("one", "1.0", "1_000", " 1", "+1", "0b1", "-0x1", "0x", "1\n", "null", "\u0663", "1" * 20)
        ),
        ("int32", 1.0, "a string is needed, not a number", None),
        ("bool", "yes", "true or false is needed, not a string", None),
        ("bool", 0, "true or false is needed, not a number", None),
        *(("float64", value, f"{value!r} is not a number", AS_FLOAT) for value in NO_FLOATS),
        ("float64", True, "a string is needed, not a boolean", None),
        ("float64", [1], "a string is needed, not an array", None),
        ("float64", 10**399, f"1{'0' * 76}... is not a float64", AS_FLOAT),
        ("string", 1, "a string is needed, not a number", None),
        ("string", "\ud800", "a text of 1 bytes that cannot be written", "write at most 32767 bytes of UTF-8"),
        ("string", "\udfff", "a text of 1 bytes that cannot be written", None),
        ("string", "é" * 16384, "a text of 32768 bytes that cannot be written", None),
        ("uuid", "AAAA", "'AAAA' is not a uuid", "write 22 characters of base64url"),
        ("uuid", "A" * 23, f"'{'A' * 23}' is not a uuid", None),
        ("uuid", "+" * 22, f"'{'+' * 22}' is not a uuid", None),
        ("uuid", 1, "a string is needed, not a number", None),
        ("bytes", "AAAA", "a default of bytes can only be null or left out", 'write "null", or drop the default'),
        ("records", "AAAA", "a default of records can only be null or left out", None),
        ("Broker", "{}", "a default of Broker can only be null or left out", None),
        ("[]int32", "[]", "a default of []int32 can only be null or left out", None),
        ("[]int32", 0, "a default of []int32 can only be null or left out", None),
    ],
)
def test_a_default_that_does_not_suit_its_type_is_refused(
    type_name: str, value: Any, problem: str, hint: str | None
) -> None:
    with pytest.raises(SpecError) as caught:
        read(type_name, value)
    error = caught.value
    assert (error.problem, error.json_path, error.file, error.line) == (problem, "$.default", "f.json", 1)
    assert error.hint == hint or hint is None


@pytest.mark.parametrize("type_name", [*INTEGERS, "float64", "uuid", "string", "bytes", "bool"])
@pytest.mark.parametrize("value", ["9" * 100_000, "0x" + "f" * 100_000, "\n\"';" * 30_000, [[]], {"a": {}}])
def test_a_hostile_default_is_refused_with_a_short_error(type_name: str, value: Any) -> None:
    with pytest.raises(SpecError) as caught:
        read(type_name, value)
    assert len(str(caught.value)) < 200
