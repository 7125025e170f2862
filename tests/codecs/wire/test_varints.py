"""Variable-length integers: their bytes, their limits, and what is too long (test plan T3)."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.codecs.wire import UNSIGNED_VARINT, VARINT, VARLONG, Node, UnsignedVarint
from kwire.codecs.wire.varints import unsigned_varint
from kwire.errors import BadVarint, OutOfRange, OverlongVarint, Truncated, WrongType
from tests.codecs.wire.walks import read, refused, salvage, unwritable, written

UNSIGNED_VARLONG = UnsignedVarint("unsigned varlong", 64)
VALUES = [
    (UNSIGNED_VARINT, "00", 0),
    (UNSIGNED_VARINT, "01", 1),
    (UNSIGNED_VARINT, "7f", 127),
    (UNSIGNED_VARINT, "8001", 128),
    (UNSIGNED_VARINT, "ac02", 300),
    (UNSIGNED_VARINT, "ff7f", 16383),
    (UNSIGNED_VARINT, "808001", 16384),
    (UNSIGNED_VARINT, "ffff7f", 2097151),
    (UNSIGNED_VARINT, "80808001", 2097152),
    (UNSIGNED_VARINT, "ffffff7f", 268435455),
    (UNSIGNED_VARINT, "8080808001", 268435456),
    (UNSIGNED_VARINT, "ffffffff07", 2147483647),
    (UNSIGNED_VARINT, "8080808008", 2147483648),
    (UNSIGNED_VARINT, "ffffffff0f", 4294967295),
    (UNSIGNED_VARLONG, "8080808010", 4294967296),
    (UNSIGNED_VARLONG, "ffffffffffffffff7f", 9223372036854775807),
    (UNSIGNED_VARLONG, "ffffffffffffffffff01", 18446744073709551615),
    (VARINT, "00", 0),
    (VARINT, "01", -1),
    (VARINT, "02", 1),
    (VARINT, "03", -2),
    (VARINT, "7e", 63),
    (VARINT, "7f", -64),
    (VARINT, "8001", 64),
    (VARINT, "8101", -65),
    (VARINT, "feffffff0f", 2147483647),
    (VARINT, "ffffffff0f", -2147483648),
    (VARLONG, "01", -1),
    (VARLONG, "8080808010", 2147483648),
    (VARLONG, "feffffffffffffffff01", 9223372036854775807),
    (VARLONG, "ffffffffffffffffff01", -9223372036854775808),
]


@pytest.mark.parametrize(("node", "data", "value"), VALUES)
def test_a_varint_is_written_as_it_is_read(node: Node, data: str, value: int) -> None:
    assert read(node, data) == value
    assert written(node, value) == data


@pytest.mark.parametrize(("node", "data", "value"), VALUES)
def test_a_varint_that_is_cut_is_refused_where_a_byte_is_missing(node: Node, data: str, value: int) -> None:
    for have in range(len(data) // 2):
        for lenient in (False, True):
            error = refused(node, data[: 2 * have], Truncated, salvage=lenient)
            assert (error.offset, error.path, error.need, error.have) == (have, "it", 1, 0)


@pytest.mark.parametrize(
    ("node", "data", "value", "have", "need"),
    [
        (UNSIGNED_VARINT, "8000", 0, 2, 1),
        (UNSIGNED_VARINT, "808000", 0, 3, 1),
        (UNSIGNED_VARINT, "8080808000", 0, 5, 1),
        (UNSIGNED_VARINT, "8100", 1, 2, 1),
        (UNSIGNED_VARINT, "ff00", 127, 2, 1),
        (UNSIGNED_VARINT, "ac8200", 300, 3, 2),
        (UNSIGNED_VARINT, "ffffffff00", 268435455, 5, 4),
        # bits that do not fit are dropped, as Java's int drops them
        (UNSIGNED_VARINT, "ffffffff1f", 4294967295, 5, 5),
        (UNSIGNED_VARINT, "ffffffff7f", 4294967295, 5, 5),
        (UNSIGNED_VARINT, "8080808010", 0, 5, 1),
        (UNSIGNED_VARINT, "8180808070", 1, 5, 1),
        (UNSIGNED_VARLONG, "ffffffffffffffffff7f", 18446744073709551615, 10, 10),
        (UNSIGNED_VARLONG, "80808080808080808002", 0, 10, 1),
        (VARINT, "8100", -1, 2, 1),
        (VARINT, "ffffffff1f", -2147483648, 5, 5),
        (VARLONG, "82808080808080808000", 1, 10, 1),
        (VARLONG, "ffffffffffffffffff03", -9223372036854775808, 10, 10),
    ],
)
def test_an_overlong_varint_is_refused_in_strict_and_read_in_salvage(
    node: Node, data: str, value: int, have: int, need: int
) -> None:
    error = refused(node, data, OverlongVarint)
    assert (error.offset, error.path, error.raw.hex(), error.have, error.need) == (0, "it", data, have, need)
    assert salvage(node, data) == (value, [(OverlongVarint, 0, "it", data)])


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize(
    ("node", "longest"), [(UNSIGNED_VARINT, 5), (VARINT, 5), (UNSIGNED_VARLONG, 10), (VARLONG, 10)]
)
def test_a_varint_of_too_many_bytes_is_refused_in_salvage_too(node: Node, longest: int, lenient: bool) -> None:
    for data in ("ff" * longest, "80" * longest + "00", "ff" * longest + "01", "ff" * 1_000_000):
        error = refused(node, data, BadVarint, salvage=lenient)
        assert (error.offset, error.path, error.need) == (0, "it", longest)
        assert error.raw.hex() == data[: 2 * longest]


@pytest.mark.parametrize(
    ("node", "low", "high"),
    [
        (UNSIGNED_VARINT, 0, 4294967295),
        (UNSIGNED_VARLONG, 0, 18446744073709551615),
        (VARINT, -2147483648, 2147483647),
        (VARLONG, -9223372036854775808, 9223372036854775807),
    ],
)
def test_a_varint_beyond_its_ends_is_not_written(node: Node, low: int, high: int) -> None:
    assert read(node, written(node, low)) == low
    assert read(node, written(node, high)) == high
    for value in (low - 1, high + 1):
        text = f"it: {node.type_name}: {value} is out of range ({low} to {high})"
        assert unwritable(node, value, OutOfRange) == text


@pytest.mark.parametrize("node", [UNSIGNED_VARINT, VARINT, VARLONG])
@pytest.mark.parametrize(("value", "found"), [(True, "bool True"), (1.0, "float 1.0"), (None, "NoneType None")])
def test_a_varint_is_an_integer(node: Node, value: Any, found: str) -> None:
    assert unwritable(node, value, WrongType) == f"it: {node.type_name} is needed, not {found}"


def test_a_varint_takes_a_byte_at_least() -> None:
    assert [(node.type_name, node.least) for node in (UNSIGNED_VARINT, VARINT, VARLONG)] == [
        ("unsigned varint", 1),
        ("varint", 1),
        ("varlong", 1),
    ]


def test_any_number_is_written_in_as_few_bytes_as_it_takes() -> None:
    assert [unsigned_varint(value).hex() for value in (0, 127, 128, 2**63)] == [
        "00",
        "7f",
        "8001",
        "80808080808080808001",
    ]
