"""Short messages of one length: those that are alike, and those that are not, hostile ones among them."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import kwire
from kwire.codecs import Codec
from kwire.compiler import alike
from kwire.compiler.alike import (
    LONGEST,
    MOST_COUNTED,
    MOST_HELD,
    MOST_KNOWN,
    MOST_SHAPES,
    MOST_VALUES,
    OFTEN,
    Lengths,
    reader_for,
)
from kwire.compiler.support import Refused, refuse
from kwire.schema import grow
from tests.compiler.codecs_of import codec_of
from tests.executions import agreeing_decoder, reference_decoding
from tests.messages_of import released_pairs
from tests.random_values import damaged, draw
from tests.small_specs import field

TEXTS = [field("One", "string"), field("Two", "string"), field("N", "int32")]


def lengths_of(codec: Codec) -> tuple[Lengths, list[int]]:
    """Return what reads a codec's messages, and a list that grows where straight lines are asked."""
    asked: list[int] = []

    def straight(b: bytes, p: int) -> tuple[Any, int]:
        asked.append(len(b))
        found = reference_decoding(codec.schema, b, p)
        if found is None:
            raise Refused
        return found

    return Lengths(codec.schema, straight, "test"), asked


def read(lengths: Lengths, data: bytes, start: int = 0) -> Any:
    return lengths[len(data) - start](data, start)[0]


@pytest.mark.ci
def test_every_message_has_a_reader_that_agrees_about_it_and_its_damages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alike, "OFTEN", 1)
    rng, made = Random("alike"), 0
    for name, version in released_pairs():
        schema = grow(kwire.codec(name, version).spec, version)
        decoder = agreeing_decoder(schema, f"{name} {version}")
        for _ in range(2):
            raw = kwire.codec(name, version).encode(draw(schema, rng))
            for data in (raw, raw, *(same_length(raw, rng) for _ in range(10))):
                try:  # a difference is no Exception
                    decoder(data, 0)
                except Exception:
                    assert data != raw
            made += len(raw) <= LONGEST
    assert made > 1000


def same_length(raw: bytes, rng: Random) -> bytes:
    """Damage bytes without making them more or fewer: only so does a reader for the length see them."""
    for _ in range(20):
        changed = damaged(raw, rng)
        if len(changed) == len(raw):
            return changed
    return raw


def test_a_reader_is_made_for_what_comes_often() -> None:
    codec = codec_of(*TEXTS)
    lengths, asked = lengths_of(codec)
    rng = Random(1)
    for count in range(2 * OFTEN):
        message = codec.message_class(one=f"{count:04}", two="x" * 200, n=rng.randrange(2**31))
        data = codec.encode(message)
        assert read(lengths, b"header" + data, 6) == message
    assert len(asked) == OFTEN


def test_a_length_may_have_a_few_shapes_and_others_are_read_by_straight_lines() -> None:
    codec = codec_of(*TEXTS)
    lengths, asked = lengths_of(codec)

    def once(ones: int, count: int) -> int:
        message = codec.message_class(one="a" * ones, two="b" * (8 - ones), n=count)
        before = len(asked)
        assert read(lengths, codec.encode(message)) == message
        return len(asked) - before

    for count in range(7 * OFTEN):
        once(count % MOST_SHAPES, count)
    assert [once(ones, 1) for ones in range(MOST_SHAPES + 2)] == [0] * MOST_SHAPES + [1, 1]
    for count in range(OFTEN):
        once(5 + count % 3, count)
    assert lengths.held[0] == MOST_SHAPES
    assert [once(ones, 1) for ones in range(MOST_SHAPES + 2)] == [0] * MOST_SHAPES + [1, 1]


def test_readers_are_few_whatever_comes_and_others_have_their_turn_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alike, "LATER", 3)
    codec = codec_of(*TEXTS)
    lengths, asked = lengths_of(codec)
    for size in range(MOST_KNOWN + 1):
        data = codec.encode(codec.message_class(one="a" * size, two="", n=1))
        for _ in range(OFTEN + 1):
            read(lengths, data)
        assert len(lengths.made) == min(size + 1, MOST_KNOWN)
    for _ in range(2 + OFTEN + 1):
        read(lengths, data)
    assert list(lengths.made) == [len(data)]
    asked.clear()
    read(lengths, data)
    assert not asked


def test_readers_of_many_values_are_fewer() -> None:
    codec = codec_of(field("Parts", "[]Part", fields=[field("N", "int8")]))
    lengths, _ = lengths_of(codec)
    part = getattr(codec.message_class, "Part")  # noqa: B009
    for count in range(300, 310):
        data = codec.encode(codec.message_class(parts=(part(n=1),) * count))
        for _ in range(OFTEN + 1):
            read(lengths, data)
    assert lengths.held[1] < MOST_HELD + MOST_VALUES
    assert len(lengths.made) < 5


def test_lengths_that_are_counted_are_few_and_those_with_a_reader_stay() -> None:
    codec = codec_of(*TEXTS)
    lengths, asked = lengths_of(codec)
    often = codec.encode(codec.message_class(one="often", two="", n=1))
    for _ in range(OFTEN + 1):
        read(lengths, often)
    for size in range(3 * MOST_COUNTED):
        assert read(lengths, codec.encode(codec.message_class(one="a" * size, two="b" * 20, n=1))).one == "a" * size
        assert len(lengths) <= MOST_COUNTED
    asked.clear()
    read(lengths, often)
    assert not asked


def test_long_messages_are_not_counted() -> None:
    codec = codec_of(*TEXTS)
    lengths, asked = lengths_of(codec)
    data = codec.encode(codec.message_class(one="a" * LONGEST, two="", n=1))
    assert read(lengths, data).n == 1
    assert not lengths
    assert asked


def test_messages_with_tags_or_too_many_values_are_left_to_straight_lines() -> None:
    tagged = codec_of(field("N"), field("T", "int8", tag=0, taggedVersions="2+", versions="2+"))
    many = codec_of(field("Parts", "[]Part", fields=[field("N", "int8")]))
    part = getattr(many.message_class, "Part")  # noqa: B009
    for codec, message in [
        (tagged, tagged.message_class(n=1, t=5)),
        (tagged, tagged.message_class(n=1, unknown_tags=b"\7\1x")),
        (many, many.message_class(parts=(part(n=1),) * 1000)),
    ]:
        with pytest.raises(alike.Unlike):
            reader_for(codec.schema, message, refuse, "test")


def test_the_reader_leaves_what_differs_to_others() -> None:
    codec = codec_of(field("One", "string", nullableVersions="0+"), field("Flag", "bool"), field("Id", "uuid"))
    message = codec.message_class(one="abc", flag=True, id=bytes(range(16)))
    data = codec.encode(message)
    decode, _ = reader_for(codec.schema, message, refuse, "test")
    assert decode(data, 0) == (message, len(data))
    for at in (0, len(data) - 1):  # the length, the tags
        with pytest.raises(Refused):
            decode(data[:at] + b"\2" + data[at + 1 :], 0)
    with pytest.raises(IndexError):  # a boolean of two: the reference path will say so
        decode(data[:4] + b"\2" + data[5:], 0)
