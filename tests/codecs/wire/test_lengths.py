"""Lengths and counts: what they claim is checked first, and -1 means null (test plan T2)."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.codecs.wire import COMPACT_LENGTH, INT16_LENGTH, INT32_LENGTH, Node, Reader, Writer
from kwire.codecs.wire.java_integers import wrap_int32
from kwire.codecs.wire.lengths import read_length, write_length
from kwire.errors import (
    BadLength,
    BadVarint,
    NegativeLength,
    NullNotAllowed,
    NullNotWritable,
    OverlongVarint,
    TooLong,
    Truncated,
)
from tests.codecs.wire.walks import refused, salvage, unwritable, written


class Counted(Node):
    """A length and nothing behind it."""

    def __init__(self, length: Node, *, nullable: bool = False, least: int = 1) -> None:
        super().__init__()
        self.length, self.nullable, self.of_each = length, nullable, least

    def _parse(self, stream: Reader, context: Any, path: str) -> tuple[int | None, int]:
        count = read_length(stream, self.length, nullable=self.nullable, element_size=self.of_each)
        return count, len(stream.take(stream.end - stream.pos))

    def _build(self, obj: Any, stream: Writer, context: Any, path: str) -> None:
        write_length(stream, self.length, obj, nullable=self.nullable)


@pytest.mark.parametrize(
    ("length", "data", "count"),
    [
        (INT16_LENGTH, "0000", 0),
        (INT16_LENGTH, "0003", 3),
        (INT32_LENGTH, "00000000", 0),
        (INT32_LENGTH, "00000003", 3),
        (COMPACT_LENGTH, "01", 0),
        (COMPACT_LENGTH, "04", 3),
        (COMPACT_LENGTH, "7f", 126),
        (COMPACT_LENGTH, "8001", 127),
    ],
)
def test_a_length_is_written_as_it_is_read(length: Node, data: str, count: int) -> None:
    for nullable in (False, True):
        node = Counted(length, nullable=nullable)
        assert salvage(node, data + "aa" * count) == ((count, count), [])
        assert written(node, count) == data


@pytest.mark.parametrize(
    ("length", "data"), [(INT16_LENGTH, "ffff"), (INT32_LENGTH, "ffffffff"), (COMPACT_LENGTH, "00")]
)
def test_null_is_a_length_of_minus_one_where_null_is_allowed(length: Node, data: str) -> None:
    assert salvage(Counted(length, nullable=True), data) == ((None, 0), [])
    assert written(Counted(length, nullable=True), None) == data
    for lenient in (False, True):
        error = refused(Counted(length), data, NullNotAllowed, salvage=lenient)
        assert (error.offset, error.path, error.found, error.raw.hex()) == (0, "it", -1, data)
    assert unwritable(Counted(length), None, NullNotWritable) == "it: null is not allowed here"


@pytest.mark.parametrize(
    ("length", "data", "found"),
    [
        (INT16_LENGTH, "fffe", -2),
        (INT16_LENGTH, "8000", -32768),
        (INT32_LENGTH, "fffffffe", -2),
        (INT32_LENGTH, "80000000", -2147483648),
        (COMPACT_LENGTH, "ffffffff0f", -2),
        (COMPACT_LENGTH, "8180808008", -2147483648),
    ],
)
def test_a_negative_length_is_null_only_where_null_is_allowed(length: Node, data: str, found: int) -> None:
    error = refused(Counted(length, nullable=True), data, NegativeLength)
    assert (error.offset, error.path, error.found, error.raw.hex()) == (0, "it", found, data)
    assert salvage(Counted(length, nullable=True), data) == ((None, 0), [(NegativeLength, 0, "it", data)])
    for lenient in (False, True):
        error = refused(Counted(length), data, NullNotAllowed, salvage=lenient)
        assert (error.offset, error.found, error.raw.hex()) == (0, found, data)


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize(
    ("length", "least", "data", "count", "need", "have"),
    [
        (INT16_LENGTH, 1, "0004 aaaaaa", 4, 4, 3),
        (INT16_LENGTH, 1, "7fff aaaaaa", 32767, 32767, 3),
        (INT32_LENGTH, 1, "00000001", 1, 1, 0),
        (INT32_LENGTH, 4, "00000001 aaaaaa", 1, 4, 3),
        (INT32_LENGTH, 9, "00000002 aaaaaaaaaaaaaaaa aa", 2, 18, 9),
        (INT32_LENGTH, 1, "7fffffff aaaaaa", 2147483647, 2147483647, 3),
        (INT32_LENGTH, 100, "7fffffff aaaaaa", 2147483647, 214748364700, 3),
        (COMPACT_LENGTH, 1, "05 aaaaaa", 4, 4, 3),
        (COMPACT_LENGTH, 2, "03 aaaaaa", 2, 4, 3),
        (COMPACT_LENGTH, 1, "ffffffff07 aa", 2147483646, 2147483646, 1),
        (COMPACT_LENGTH, 1, "8080808008 aa", 2147483647, 2147483647, 1),
    ],
)
def test_a_length_of_more_than_is_left_is_refused_at_once(
    length: Node, least: int, data: str, count: int, need: int, have: int, nullable: bool, lenient: bool
) -> None:
    error = refused(Counted(length, nullable=nullable, least=least), data, BadLength, salvage=lenient)
    assert (error.offset, error.path) == (0, "it")
    assert (error.found, error.need, error.have) == (count, need, have)


@pytest.mark.parametrize(("least", "data"), [(1, "00000003 aaaaaa"), (3, "00000001 aaaaaa"), (2, "00000001 aaaaaa")])
def test_a_length_of_what_is_left_or_less_is_read(least: int, data: str) -> None:
    count = int(data[:8], 16)
    assert salvage(Counted(INT32_LENGTH, least=least), data) == ((count, 3), [])


@pytest.mark.parametrize(("length", "data"), [(INT16_LENGTH, "00"), (INT32_LENGTH, "000000"), (COMPACT_LENGTH, "80")])
def test_a_length_that_is_cut_is_refused(length: Node, data: str) -> None:
    error = refused(Counted(length), data, Truncated)
    assert (error.path, error.rest.hex()) == ("it", data if length is not COMPACT_LENGTH else "")


def test_a_compact_length_is_a_varint_with_its_faults() -> None:
    assert salvage(Counted(COMPACT_LENGTH), "8200 aa") == ((1, 1), [(OverlongVarint, 0, "it", "8200")])
    assert salvage(Counted(COMPACT_LENGTH, nullable=True), "8000") == ((None, 0), [(OverlongVarint, 0, "it", "8000")])
    assert refused(Counted(COMPACT_LENGTH), "ffffffffff01", BadVarint).raw.hex() == "ffffffffff"


@pytest.mark.parametrize(
    ("length", "most", "data"),
    [
        (INT16_LENGTH, 32767, "7fff"),
        (INT32_LENGTH, 2147483647, "7fffffff"),
        (COMPACT_LENGTH, 2147483646, "ffffffff07"),
    ],
)
def test_a_length_beyond_what_can_be_said_is_not_written(length: Node, most: int, data: str) -> None:
    assert written(Counted(length), most) == data
    text = f"it: {most + 1} is too long; at most {most} can be written"
    assert unwritable(Counted(length), most + 1, TooLong) == text


@pytest.mark.parametrize(
    ("value", "wrapped"),
    [
        (0, 0),
        (-1, -1),
        (2147483647, 2147483647),
        (2147483648, -2147483648),
        (4294967295, -1),
        (-2147483649, 2147483647),
    ],
)
def test_numbers_wrap_as_javas_int_does(value: int, wrapped: int) -> None:
    assert wrap_int32(value) == wrapped


def test_the_lengths_have_their_sizes() -> None:
    assert [length.least for length in (INT16_LENGTH, INT32_LENGTH, COMPACT_LENGTH)] == [2, 4, 1]
    assert COMPACT_LENGTH.type_name == "compact length"
