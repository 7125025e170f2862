"""What generated source calls: as strict as the nodes are."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from kwire.codecs.fallback.generated_helpers import CONSTANTS, SHORT, numbers, packers, refuse, unpackers, wide
from kwire.codecs.native import Declined
from kwire.codecs.wire import UNSIGNED_VARINT, Reader
from kwire.codecs.wire.varints import short_varint, unsigned_varint
from kwire.errors import DecodeError


def strictly(data: bytes) -> tuple[int, int] | None:
    reader = Reader(data)
    try:
        return UNSIGNED_VARINT._parse(reader, None, ""), reader.pos
    except DecodeError:
        return None


def quickly(data: bytes) -> tuple[int, int] | None:
    try:
        return short_varint(data, 0)
    except (ValueError, IndexError):
        return None


def test_varints_are_those_of_the_node() -> None:
    rng = Random(1)
    seen = [unsigned_varint(1 << bit) for bit in range(34)] + [unsigned_varint((1 << bit) - 1) for bit in range(34)]
    seen += [bytes(rng.choice((0, 1, 127, 128, 255)) for _ in range(rng.randrange(8))) for _ in range(3000)]
    assert [quickly(data) for data in seen] == [strictly(data) for data in seen]
    assert len({strictly(data) is None for data in seen}) == 2


def test_wide_ones_have_two_bytes_and_a_limit() -> None:
    assert wide(unsigned_varint(300), 1, 300) == (300, 2)
    for raw, most in ((unsigned_varint(300), 299), (b"\5", 300), (b"\0", 300), (b"\x85\0", 300)):
        with pytest.raises((Declined, ValueError)):
            wide(raw, 1, most)


def test_tables_go_by_the_count() -> None:
    assert len(unpackers("i", False)) == SHORT
    assert unpackers("h", False)[2](b"\0\1\0\2", 0) == unpackers("h", True)[3](b"\0\1\0\2", 0) == (1, 2)
    assert packers("B", "h")[2](3, 1, 2).hex() == "0300010002"
    with pytest.raises(Declined):
        unpackers("h", True)[0](b"", 0)


@pytest.mark.parametrize(("count", "nullable"), [(-1, False), (-2, True), (-2, False)])
def test_counts_below_zero_are_null_or_refused(count: int, nullable: bool) -> None:
    assert numbers(b"", 7, -1, "i", 4, True) == (None, 7)
    with pytest.raises(Declined):
        numbers(b"", 0, count, "i", 4, nullable)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("ints", [0, 2**70], [True, 1.0, None, "1"]),
        ("floats", [0.5], [1, True, None]),
        ("bools", [True, False], [0, 1, None]),
        ("uuids", [bytes(16)], [bytes(15), bytearray(16), None]),
        ("check_sequence", [(), [], range(2)], ["ab", b"ab", bytearray(2), set(), {}, None, iter(())]),
        ("raw", [b"", bytearray(1), memoryview(b"")], ["", None, [1]]),
    ],
)
def test_checks_let_pass_what_nodes_write(name: str, good: list[Any], bad: list[Any]) -> None:
    for value in good:
        CONSTANTS[name](value)
    for value in bad:
        with pytest.raises(Declined):
            CONSTANTS[name](value)


def test_refusing_takes_anything() -> None:
    with pytest.raises(Declined):
        refuse(1, b"")
