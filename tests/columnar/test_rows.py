"""What is taken of rows, in all bodies at once: texts of any lengths, long lengths, and what is none."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwire import wire
from kwire.columnar.rows import Buffer, Even, Rows
from kwire.wire.lengths import COMPACT_LENGTH, INT16_LENGTH, INT32_LENGTH
from kwire.wire.numbers import BOOLEAN, FLOAT64, INT16, INT32, UINT32, UUID

TEXTS = st.one_of(st.none(), st.text(max_size=9), st.text("aé€😀", max_size=200), st.just("x" * 40))
LENGTHS = st.sampled_from([COMPACT_LENGTH, INT16_LENGTH, INT32_LENGTH])
NUMBERS = [INT16, INT32, UINT32, FLOAT64, BOOLEAN, UUID]


def rows(bodies: list[bytes]) -> Rows:
    sizes = np.array([len(body) for body in bodies], np.int64)
    return Rows(Buffer(bodies), np.cumsum(sizes) - sizes, np.cumsum(sizes), lambda which: which)


def whole(some: Rows) -> list[bool]:
    bad = some.buffer.bad
    return [at == end and row not in bad for row, (at, end) in enumerate(zip(some.at, some.ends, strict=True))]


@given(texts=st.lists(TEXTS, max_size=50), length=LENGTHS)
@settings(deadline=None)
def test_texts_of_any_lengths(texts: list[str | None], length: Any) -> None:
    node = wire.String(length, nullable=True)
    some = rows([node.build(text) for text in texts])
    array = some.texts(node)
    array.validate(full=True)
    assert array.to_pylist() == texts
    assert all(whole(some))
    some = rows([node.build(text) for text in texts])
    some.pass_over(node, 1)
    assert all(whole(some))


@given(bodies=st.lists(st.binary(max_size=12), max_size=40), length=LENGTHS, nullable=st.booleans())
@settings(max_examples=200, deadline=None)
def test_texts_are_taken_or_refused_as_by_the_reference(bodies: list[bytes], length: Any, nullable: bool) -> None:
    node = wire.String(length, nullable=nullable)
    some = rows(bodies)
    array = some.texts(node)
    for body, is_whole, value in zip(bodies, whole(some), array.view("binary").to_pylist(), strict=True):
        reader = wire.Reader(body)
        try:
            want = node._parse(reader, None, "")
            reader.finish()
        except Exception:
            assert not is_whole
        else:
            assert is_whole
            assert value == (None if want is None else want.encode())


@pytest.mark.parametrize("size", [126, 127, 128, 16382, 16383, 2**21 - 2, 2**21 - 1])
def test_long_lengths(size: int) -> None:
    node = wire.Bytes(COMPACT_LENGTH)
    some = rows([node.build(bytes(size)), node.build(b"ab"), node.build(bytes(size))])
    assert some.texts(node).to_pylist() == [bytes(size), b"ab", bytes(size)]
    assert all(whole(some))


@pytest.mark.parametrize("prefix", ["80 80 80 80 08", "ff ff ff ff 0f", "80 00", "81 80 80 80 80 01", "80 80 80 80 10"])
def test_lengths_that_are_none(prefix: str) -> None:
    some = rows([bytes.fromhex(prefix) + b"ab", b"\3ab", bytes.fromhex(prefix)])
    assert some.texts(wire.Bytes(COMPACT_LENGTH)).to_pylist()[1] == b"ab"
    assert whole(some) == [False, True, False]


def test_a_text_may_be_no_longer_than_its_kind() -> None:
    node = wire.String(COMPACT_LENGTH, longest=3)
    some = rows([wire.String(COMPACT_LENGTH).build(text) for text in ("abc", "abcd", "")])
    some.texts(node)
    assert whole(some) == [True, False, True]


@pytest.mark.parametrize("element", NUMBERS, ids=str)
@given(data=st.data(), length=st.sampled_from([COMPACT_LENGTH, INT32_LENGTH]), is_even=st.booleans())
@settings(max_examples=30, deadline=None)
def test_arrays_of_fixed_things(element: Any, data: Any, length: Any, is_even: bool) -> None:
    node = wire.Array(element, length, nullable=True)
    one = st.binary(min_size=element.least, max_size=element.least)
    if element is BOOLEAN:
        one = st.sampled_from([b"\0", b"\1"])
    if element is FLOAT64:
        one = st.floats(allow_nan=False).map(lambda value: struct.pack(">d", value))
    count = data.draw(st.integers(0, 5))
    lists = st.lists(one, min_size=count, max_size=count) if is_even else st.none() | st.lists(one, max_size=40)
    values = [
        None if items is None else tuple(element.parse(item) for item in items)
        for items in data.draw(st.lists(lists, min_size=1, max_size=20))
    ]
    bodies = [node.build(value) for value in values]
    buffer = Buffer(bodies)
    some = Even(buffer, b"".join(bodies), len(bodies[0]), lambda which: which) if is_even else rows(bodies)
    array = some.numbers(node)
    array.validate(full=True)
    assert array.to_pylist() == [None if value is None else list(value) for value in values]
    assert not buffer.bad


@pytest.mark.parametrize("is_even", [False, True])
def test_what_is_no_truth_and_no_text_is_of_its_body(is_even: bool) -> None:
    def made(bodies: list[bytes]) -> Any:
        even = Even(Buffer(bodies), b"".join(bodies), len(bodies[0]), lambda which: which + 7)
        return even if is_even else rows(bodies)

    first = 7 if is_even else 0
    some = made([b"\1", b"\2", b"\0"])
    some.fixed(BOOLEAN)
    assert some.buffer.bad == {first + 1}
    some = made([b"\3\1\1", b"\3\0\1", b"\3\1\2"])
    some.numbers(wire.Array(BOOLEAN, COMPACT_LENGTH))
    assert some.buffer.bad == {first + 2}
    some = made([b"\3\xc3\xa9", b"\3\xa9a", b"\3ab", b"\3a\xc3"])  # the last and what follows are no text together
    some.texts(wire.String(COMPACT_LENGTH))
    assert some.buffer.bad == {first + 1, first + 3}
