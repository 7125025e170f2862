"""Values of a fixed size, compiled."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any

import pytest

from kwire.errors import BadBoolean, Truncated
from tests.codecs.fallback.codecs_of import codec_of, comes_back, refused, unread
from tests.messages.small_specs import field

BITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63, "uint16": 16, "uint32": 32}


@pytest.mark.parametrize("version", [0, 3])
@pytest.mark.parametrize("kind", BITS)
def test_the_least_and_greatest_numbers_come_back_and_none_beyond(kind: str, version: int) -> None:
    codec = codec_of(field("X", kind), field("Y", kind), version=version)
    high = 2 ** BITS[kind] - 1
    low = 0 if kind.startswith("u") else -high - 1
    comes_back(codec, x=low, y=high)
    ends = f"is out of range ({low} to {high})"
    assert refused(codec, x=low, y=high + 1) == f"y: {kind}: {high + 1} {ends}"
    assert refused(codec, x=low - 1, y=high) == f"x: {kind}: {low - 1} {ends}"


@pytest.mark.parametrize("value", [True, False, 1.0, None, "1", b"1", (1,)])
def test_what_is_no_integer_is_refused_though_structs_may_pack_it(value: Any) -> None:
    assert refused(codec_of(field("X"), field("Y")), y=value).startswith("y: int32 is needed")


def test_integers_of_other_classes_are_written() -> None:
    class Code(IntEnum):
        NONE = 3

    codec = codec_of(field("X"), field("Y", "int8"))
    assert codec.encode(codec.message_class(x=Code.NONE, y=Code.NONE)).hex() == "000000030300"


def test_floats_come_back_and_integers_are_none() -> None:
    codec = codec_of(field("X", "float64"))
    for value in (0.0, -0.0, 1.5, math.inf, -math.inf, 5e-324):
        comes_back(codec, x=value)
    assert math.isnan(codec.decode(codec.encode(codec.message_class(x=math.nan))).x)
    assert refused(codec, x=1).startswith("x: float64 is needed")


def test_booleans_are_zero_and_one() -> None:
    codec = codec_of(field("X", "bool"), field("Y", "bool"))
    assert comes_back(codec, x=True, y=False).hex() == "010000"
    assert unread(codec, "00 02 00") is BadBoolean
    assert unread(codec, "ff 00 00") is BadBoolean
    assert unread(codec, "00") is Truncated
    assert refused(codec, x=1).startswith("x: bool is needed")


def test_uuids_are_sixteen_bytes() -> None:
    codec = codec_of(field("X", "uuid"))
    comes_back(codec, x=bytes(range(16)))
    for value in (bytes(15), bytes(17), bytearray(16), "x" * 16, None):
        assert refused(codec, x=value).startswith("x: uuid is needed")
