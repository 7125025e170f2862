"""Bytes that are refused are not all read by the reference: the fast path reads blocks of elements ahead."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
from kwire.codecs.json_writer import UNKNOWN_TAGS
from kwire.codecs.wire import INT32, Array, Reader
from kwire.codecs.wire.arrays import BLOCK
from kwire.codecs.wire.varints import unsigned_varint
from kwire.errors import DecodeError

MANY = 40 * BLOCK
METADATA = kwire.codec("MetadataRequest", 9)
TOPICS = unsigned_varint(MANY + 1) + bytes([1, 0]) * MANY + bytes([1, 1, 1, 0])
OFFSETS = kwire.codec("OffsetFetchRequest", 6)  # one topic with many numbers
NUMBERS = b"\2g\2\2t" + unsigned_varint(MANY + 1) + bytes(4) * MANY + b"\0\0"
RESPONSE = kwire.codec("MetadataResponse", 1)


def brokers(odd: int | None = None) -> bytes:
    """Brokers that no fixed size has, one of them with text that is not UTF-8."""
    names = [b"b" * (number % 5) for number in range(MANY)]
    if odd is not None:
        names[odd] = b"\xff"
    rows = b"".join(bytes(4) + len(name).to_bytes(2, "big") + name + bytes(4) + b"\xff\xff" for name in names)
    return MANY.to_bytes(4, "big") + rows + bytes(8)


BAD = {
    "the last byte is missing": (METADATA, TOPICS[:-1]),
    "a byte in the middle": (METADATA, TOPICS[:2001] + b"\x7f" + TOPICS[2002:]),
    "half is missing": (METADATA, TOPICS[: len(TOPICS) // 2]),
    "behind numbers": (OFFSETS, NUMBERS[:-1]),
    "text": (RESPONSE, brokers(odd=MANY - 100)),
    "the end of an array": (RESPONSE, brokers()[:-20]),
}


def read(codec: Any, data: bytes, *, salvage: bool, ahead: bool) -> Any:
    reader = Reader(data, salvage=salvage)
    try:
        value = codec.explain(reader) if ahead else codec.schema._parse(reader, None, "")
        reader.finish()
    except DecodeError as error:
        value = (type(error), error.offset, error.path, error.rest, error.partial, error.need, error.have)
    return value, [(type(fault), fault.offset, fault.path) for fault in reader.faults]


@pytest.mark.parametrize("salvage", [False, True])
@pytest.mark.parametrize("name", BAD)
def test_what_is_refused_is_explained_as_by_the_reference_alone(name: str, salvage: bool) -> None:
    codec, data = BAD[name]
    assert read(codec, data, salvage=salvage, ahead=True) == read(codec, data, salvage=salvage, ahead=False)


@pytest.mark.parametrize("name", BAD)
def test_the_reference_reads_one_block_of_elements_at_most(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    codec, data = BAD[name]
    counted: list[object] = []
    child = Reader.child

    def counting(reader: Reader, segment: Any, node: Any) -> Any:
        counted.append(segment)
        return child(reader, segment, node)

    monkeypatch.setattr(Reader, "child", counting)
    for salvage in (False, True):
        counted.clear()
        read(codec, data, salvage=salvage, ahead=True)
        assert sum(isinstance(segment, int) for segment in counted) <= BLOCK + 1


def test_without_a_fast_path_nothing_is_read_ahead() -> None:
    reader = Reader(bytes(8))
    assert reader.elements(Array(INT32), 2) is None
    reader.ahead = lambda array: lambda data, position, count: ((0,) * count, position + 4 * count)
    assert reader.elements(Array(INT32), 3) is None  # they would end behind the end
    assert (reader.elements(Array(INT32), 2), reader.pos) == ((0, 0), 8)


TAGS = b"".join(unsigned_varint(tag) + b"\1x" for tag in range(5, 5 + MANY))


def tagged(raw: bytes) -> bytes:
    """A Metadata request with unknown tags."""
    return b"\1\1\0\0" + unsigned_varint(MANY) + raw


@pytest.mark.parametrize("data", [tagged(TAGS)[:-1], tagged(TAGS + b"\5\0")[: len(TAGS)], tagged(TAGS[:-3] + b"\5\1x")])
def test_unknown_tags_that_are_refused_are_read_once(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    take = Reader.take

    def counting(reader: Reader, count: int) -> bytes:
        taken.append(count)
        return take(reader, count)

    monkeypatch.setattr(Reader, "take", counting)
    (kind, *_), _ = read(METADATA, data, salvage=True, ahead=True)
    assert issubclass(kind, DecodeError)
    assert len(taken) < 50


@pytest.mark.parametrize("codec", [METADATA, kwire.codec("FetchRequest", 12)], ids=repr)
def test_many_unknown_tags_come_back(codec: Any) -> None:
    message = codec.message_class(unknown_tags=TAGS)
    data = codec.encode(message)
    assert codec.decode(data) == message
    assert len(codec.to_json(message)[UNKNOWN_TAGS]) == MANY
    assert codec.encode(codec.from_json(codec.to_json(message))) == data
