"""Values of a fixed size, byte for byte in both directions."""

from __future__ import annotations

import enum
import math
from typing import Any

import pytest

from kwire.codecs.wire import BOOLEAN, FLOAT64, INT8, INT16, INT32, INT64, UINT16, UINT32, UUID, Integer, Node
from kwire.errors import BadBoolean, OutOfRange, Truncated, WrongType
from tests.codecs.wire.walks import read, refused, salvage, unwritable, written


class Level(enum.IntEnum):
    HIGH = 3


@pytest.mark.parametrize(
    ("node", "data", "value"),
    [
        (INT8, "00", 0),
        (INT8, "7f", 127),
        (INT8, "80", -128),
        (INT8, "ff", -1),
        (INT16, "0102", 258),
        (INT16, "7fff", 32767),
        (INT16, "8000", -32768),
        (UINT16, "ffff", 65535),
        (UINT16, "2384", 9092),
        (INT32, "00000001", 1),
        (INT32, "7fffffff", 2147483647),
        (INT32, "80000000", -2147483648),
        (INT32, "fffffffe", -2),
        (UINT32, "ffffffff", 4294967295),
        (INT64, "0000000000000100", 256),
        (INT64, "7fffffffffffffff", 9223372036854775807),
        (INT64, "8000000000000000", -9223372036854775808),
        (FLOAT64, "0000000000000000", 0.0),
        (FLOAT64, "3ff0000000000000", 1.0),
        (FLOAT64, "c000000000000000", -2.0),
        (FLOAT64, "3fb999999999999a", 0.1),
        (FLOAT64, "7fefffffffffffff", 1.7976931348623157e308),
        (FLOAT64, "0000000000000001", 5e-324),
        (FLOAT64, "7ff0000000000000", math.inf),
        (FLOAT64, "fff0000000000000", -math.inf),
        (BOOLEAN, "00", False),
        (BOOLEAN, "01", True),
        (UUID, "000102030405060708090a0b0c0d0e0f", bytes(range(16))),
        (UUID, "00" * 16, bytes(16)),
        (UUID, "ff" * 16, b"\xff" * 16),
    ],
)
def test_a_value_is_written_as_it_is_read(node: Node, data: str, value: Any) -> None:
    assert read(node, data) == value
    assert type(read(node, data)) is type(value)
    assert written(node, value) == data


@pytest.mark.parametrize("data", ["7ff8000000000000", "7ff8000000000123", "fff8000000000000", "7ff0000000000001"])
def test_every_bit_of_what_is_not_a_number_is_kept(data: str) -> None:
    assert math.isnan(read(FLOAT64, data))
    assert written(FLOAT64, read(FLOAT64, data)) == data


def test_the_sign_of_zero_is_kept() -> None:
    assert math.copysign(1, read(FLOAT64, "8000000000000000")) == -1
    assert written(FLOAT64, -0.0) == "8000000000000000"


@pytest.mark.parametrize(
    ("node", "size", "name"),
    [
        (INT8, 1, "int8"),
        (INT16, 2, "int16"),
        (UINT16, 2, "uint16"),
        (INT32, 4, "int32"),
        (UINT32, 4, "uint32"),
        (INT64, 8, "int64"),
        (FLOAT64, 8, "float64"),
        (BOOLEAN, 1, "bool"),
        (UUID, 16, "uuid"),
    ],
)
def test_a_value_that_is_cut_is_refused(node: Node, size: int, name: str) -> None:
    assert (node.least, node.type_name) == (size, name)
    for have in range(size):
        for lenient in (False, True):
            error = refused(node, "01" * have, Truncated, salvage=lenient)
            assert (error.offset, error.path, error.need, error.have) == (0, "it", size, have)


@pytest.mark.parametrize(
    ("node", "low", "high"),
    [
        (INT8, -128, 127),
        (INT16, -32768, 32767),
        (UINT16, 0, 65535),
        (INT32, -2147483648, 2147483647),
        (UINT32, 0, 4294967295),
        (INT64, -9223372036854775808, 9223372036854775807),
    ],
)
def test_an_integer_beyond_its_ends_is_not_written(node: Integer, low: int, high: int) -> None:
    assert (node.low, node.high) == (low, high)
    for value in (low - 1, high + 1):
        text = f"it: {node.type_name}: {value} is out of range ({low} to {high})"
        assert unwritable(node, value, OutOfRange) == text


@pytest.mark.parametrize(
    ("node", "value", "found"),
    [
        (INT32, True, "bool True"),
        (INT32, 1.0, "float 1.0"),
        (INT32, "1", "str '1'"),
        (INT32, None, "NoneType None"),
        (INT8, b"\x01", "bytes b'\\x01'"),
        (FLOAT64, 1, "int 1"),
        (FLOAT64, None, "NoneType None"),
        (FLOAT64, "1.0", "str '1.0'"),
        (BOOLEAN, 1, "int 1"),
        (BOOLEAN, 0, "int 0"),
        (BOOLEAN, None, "NoneType None"),
        (BOOLEAN, "true", "str 'true'"),
        (UUID, None, "NoneType None"),
        (UUID, "A" * 16, "str 'AAAAAAAAAAAAAAAA'"),
        (UUID, b"A" * 15, "bytes b'AAAAAAAAAAAAAAA'"),
        (UUID, b"A" * 17, "bytes b'AAAAAAAAAAAAAAAAA'"),
        (UUID, bytearray(b"A" * 16), "bytearray bytearray(b'AAAAAAAAAAAAAAAA')"),
    ],
)
def test_a_value_of_another_type_is_not_written(node: Node, value: Any, found: str) -> None:
    assert unwritable(node, value, WrongType) == f"it: {node.type_name} is needed, not {found}"


def test_kin_of_integers_are_written() -> None:
    assert written(INT16, Level.HIGH) == "0003"


@pytest.mark.parametrize("byte", [2, 3, 127, 128, 254, 255])
def test_any_other_boolean_is_refused_in_strict_and_true_in_salvage(byte: int) -> None:
    error = refused(BOOLEAN, f"{byte:02x}", BadBoolean)
    assert (error.offset, error.found, error.raw) == (0, byte, bytes([byte]))
    assert salvage(BOOLEAN, f"{byte:02x}") == (True, [(BadBoolean, 0, "it", f"{byte:02x}")])


def test_the_boolean_that_is_wrong_is_the_one_pointed_at() -> None:
    class Three(Node):
        def _parse(self, stream: Any, context: Any, path: str) -> list[bool]:
            return [stream.child(index, BOOLEAN) for index in range(3)]

    assert salvage(Three(), "010500") == ([True, True, False], [(BadBoolean, 1, "it[1]", "05")])
