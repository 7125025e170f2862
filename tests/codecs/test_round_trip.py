"""Round-trip fuzzing: what is written reads back, what reads back is written the same, and any bytes are survived."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kwire
from kwire.errors import DefaultTag
from kwire.testing.strategies.tree_values import values
from tests.conftest import spread
from tests.messages.message_lists import draft_triples, founding_pairs, released_pairs
from tests.messages.random_values import damaged, draw
from tests.seeds import TRIES, named, seeded

FOUNDING = [(None, *pair) for pair in founding_pairs()] + list(draft_triples())
ALL = [(None, *pair) for pair in released_pairs()] + list(draft_triples())
PARTS = 6
FEW = max(10, settings().max_examples // 10)  # of each, for there are many


def codec_of(triple: tuple[str | None, str, int]) -> kwire.Codec:
    profile, name, version = triple
    return kwire.codec(name, version, profile=profile)


@st.composite
def messages(draw: st.DrawFn, triples: list[Any]) -> tuple[kwire.Codec, Any]:
    codec = codec_of(draw(st.sampled_from(triples)))
    return codec, draw(values(codec.schema))


@pytest.mark.parametrize(
    "triple", spread(FOUNDING, 9), ids=lambda triple: ":".join(map(str, filter(None, triple))) + ""
)
@settings(max_examples=FEW)
@given(data=st.data())
def test_a_message_comes_back(triple: tuple[str | None, str, int], data: st.DataObject) -> None:
    codec = codec_of(triple)
    message = data.draw(values(codec.schema))
    raw = codec.encode(message)
    again = codec.decode(raw)
    assert again == message
    assert codec.encode(again) == raw
    members = json.loads(json.dumps(codec.to_json(message)))
    assert codec.from_json(members) == message
    spans = codec.trace(raw)
    assert [span.start for span in spans] == [0, *(span.stop for span in spans)][: len(spans)]
    assert not spans or spans[-1].stop == len(raw)


def drawn(part: int, purpose: str) -> Iterator[tuple[kwire.Codec, Any, Random]]:
    """Fresh messages of every kind and version of a part of them, and the numbers that they were drawn with."""
    for triple in ALL[part::PARTS]:
        codec, rng = codec_of(triple), seeded(f"{purpose} {triple}")
        for _ in range(TRIES):
            yield codec, draw(codec.schema, rng), rng


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(PARTS))
def test_every_message_comes_back(part: int) -> None:
    count = 0
    for codec, message, _ in drawn(part, "round trip"):
        with named(f"{codec} {message}"):
            raw = codec.encode(message)
            assert codec.decode(raw) == message
            assert codec.encode(codec.decode(raw)) == raw
            assert codec.from_json(json.loads(json.dumps(codec.to_json(message)))) == message
            assert b"".join(raw[span.start : span.stop] for span in codec.trace(raw)) == raw
        count += 1
    assert count == len(ALL[part::PARTS]) * TRIES


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(PARTS))
def test_every_damaged_message_is_decoded_exactly_or_refused(part: int) -> None:
    for codec, message, rng in drawn(part, "damage"):
        raw = codec.encode(message)
        for data in (damaged(raw, rng) for _ in range(3)):
            with named(f"{codec} {data.hex()}"):
                check_any_bytes(codec, data)


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(PARTS))
def test_every_message_that_is_cut_is_refused_with_its_place(part: int) -> None:
    for codec, message, rng in drawn(part, "cut"):
        raw = codec.encode(message)
        cut = rng.randrange(len(raw)) if raw else 0
        if raw:
            with named(f"{codec} {raw[:cut].hex()}"), pytest.raises(kwire.DecodeError) as caught:
                codec.decode(raw[:cut])
            assert caught.value.offset <= cut


def test_every_released_pair_and_draft_is_among_them() -> None:
    assert (len(released_pairs()), len(draft_triples()), len(set(ALL))) == (897, 9, 906)


@given(messages(FOUNDING), st.data())
def test_a_cut_is_refused_with_offset_and_path(made: tuple[kwire.Codec, Any], data: st.DataObject) -> None:
    codec, message = made
    raw = codec.encode(message)
    if not raw:
        return
    cut = data.draw(st.integers(0, len(raw) - 1))
    with pytest.raises(kwire.DecodeError) as caught:
        codec.decode(raw[:cut])
    assert caught.value.offset <= cut
    assert caught.value.path


@given(st.sampled_from(ALL), st.binary(max_size=200))
def test_any_bytes_are_decoded_exactly_or_refused(triple: tuple[str | None, str, int], raw: bytes) -> None:
    check_any_bytes(codec_of(triple), raw)


def check_any_bytes(codec: kwire.Codec, raw: bytes) -> None:
    """Strict decoding is exact; salvage accepts more, notes it, and accounts for every byte in its trace."""
    try:
        salvaged = codec.decode(raw, salvage=True)
    except kwire.DecodeError as error:
        assert error.offset <= len(raw)
        with pytest.raises(type(error)) if not error.faults else pytest.raises(kwire.DecodeError):
            codec.decode(raw)
    else:
        strict = all(isinstance(fault, DefaultTag) for fault in salvaged.faults)
        check_strict(codec, raw, strict, bool(salvaged.faults))
    spans = codec.trace(raw, salvage=True)
    assert b"".join(raw[span.start : span.stop] for span in spans) == raw


def check_strict(codec: kwire.Codec, raw: bytes, accepted: bool, noted: bool) -> None:
    if not accepted:
        with pytest.raises(kwire.DecodeError):
            codec.decode(raw)
        return
    again = codec.encode(codec.decode(raw))
    assert (again == raw) is not noted
