"""Arrays, compiled: of numbers, of anything else, within each other."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.codecs.fallback.generated_python import compile_decoder
from kwire.errors import BadLength, NegativeLength, NullNotAllowed, OverlongVarint
from tests.cases import case_by_case
from tests.codecs.fallback.codecs_of import codec_of, comes_back, refused, unread
from tests.messages.small_specs import field

COUNTS = (0, 1, 2, 30, 31, 32, 33, 126, 127, 128, 300)
NULLABLE = {"nullableVersions": "0+"}
ELEMENTS: dict[str, Any] = {
    "int8": -1,
    "int16": 300,
    "int32": 70_000,
    "int64": 2**40,
    "uint16": 65535,
    "uint32": 2**32 - 1,
    "float64": 0.5,
    "bool": True,
    "uuid": bytes(range(16)),
    "string": "word",
}


@case_by_case("version", [0, 3])
@case_by_case("keys", [{}, NULLABLE])
@case_by_case("kind", ELEMENTS)
def test_arrays_of_every_count_come_back(kind: str, keys: dict[str, Any], version: int) -> None:
    for before in ((), (field("N", "int8"),)):
        codec = codec_of(*before, field("X", f"[]{kind}", **keys), version=version)
        for count in COUNTS:
            comes_back(codec, x=(ELEMENTS[kind],) * count)
        assert refused(codec, x=(ELEMENTS[kind], object())).startswith("x[1]: ")
        comes_back(codec, x=None) if keys else None
        assert keys or refused(codec, x=None) == "x: null is not allowed here"


@pytest.mark.parametrize("kind", ["[]int32", "[]string"])
def test_counts_that_are_null_negative_or_too_high_are_told_apart(kind: str) -> None:
    compact, plain = codec_of(field("X", kind)), codec_of(field("X", kind), version=0)
    assert unread(compact, "00 00") is NullNotAllowed
    assert unread(compact, "8100 00") is OverlongVarint
    assert unread(compact, "ffffffff0f 00") is NullNotAllowed
    assert unread(compact, "ffffffff07 00") is BadLength
    assert unread(compact, "04 01") is BadLength
    assert unread(plain, "ffffffff") is NullNotAllowed
    assert unread(plain, "7fffffff 00000000") is BadLength
    nullable = codec_of(field("X", kind, **NULLABLE), version=0)
    assert unread(nullable, "fffffffe") is NegativeLength


def test_any_sequence_is_written_and_nothing_else() -> None:
    for kind, value in (("int32", 7), ("string", "seven"), ("bool", True)):
        codec = codec_of(field("X", f"[]{kind}"))
        wanted = codec.encode(codec.message_class(x=(value, value)))
        assert codec.encode(codec.message_class(x=[value, value])) == wanted
        for other in ({value}, iter([value]), "ab", b"ab", bytearray(2), {value: 1}, 5):
            assert refused(codec, x=other).startswith("x: compact array is needed")
    numbers = codec_of(field("X", "[]int32"))
    assert numbers.encode(numbers.message_class(x=range(3))) == numbers.encode(numbers.message_class(x=(0, 1, 2)))
    assert refused(numbers, x=(1, True)).startswith("x[1]: int32 is needed")
    assert refused(numbers, x=(1, 2.0)).startswith("x[1]: int32 is needed")
    assert refused(numbers, x=(1,) * 40 + (2**31,)).startswith("x[40]: int32: 2147483648 is out of range")


@pytest.mark.parametrize("version", [0, 3])
def test_arrays_within_arrays_deeper_than_python_allows_loops(version: int) -> None:
    innermost = field("Leaf", "string")
    for depth in range(30):
        innermost = field(f"L{depth}", f"[]S{depth}", fields=[innermost, field("N", "[]int32")])
    codec = codec_of(innermost, version=version)
    empty = codec.decode(codec.encode(codec.message_class()))
    assert empty == codec.message_class()
    value: Any = ()
    for depth in range(30):
        cls = getattr(codec.message_class, f"S{depth}")
        inner = {"leaf": "x"} if depth == 0 else {f"l{depth - 1}": value}
        value = (cls(**inner, n=(depth,)), cls(**inner))[: 2 if depth < 4 else 1]
    data = comes_back(codec, l29=value)
    assert compile_decoder(codec.schema, "deep")(data, 0) == (codec.decode(data), len(data))
