"""What a decoder holds of what it has decoded: shared, bounded, and let alone where nothing comes again."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import kwire
from kwire.compiler import Memo, compile_decoder
from kwire.compiler.memo import EACH, LONGEST, MOST_BYTES, MOST_REST, WINDOW, Usefulness
from kwire.errors import DecodeError
from tests.messages_of import released_pairs
from tests.random_values import damaged, draw


def metadata(rng: Random, topics: int, partitions: int = 5) -> Any:
    response = kwire.messages.MetadataResponse
    topic, partition = response.MetadataResponseTopic, response.MetadataResponsePartition
    return response(
        controller_id=rng.randrange(2**31),
        topics=tuple(
            topic(
                name=f"topic-{number}",
                topic_id=bytes([number % 256]) * 16,
                partitions=tuple(partition(partition_index=p, replica_nodes=(1, 2, 3)) for p in range(partitions)),
            )
            for number in range(topics)
        ),
    )


def held(memo: Memo) -> int:
    return sum(len(table) for table in memo.tables)


def test_messages_and_elements_that_come_again_are_the_same_objects() -> None:
    codec = kwire.codec("MetadataResponse", 12)
    decoder = codec.decoder(memo=True)
    rng = Random(1)
    one, two = (codec.encode(metadata(rng, 10)) for _ in range(2))
    first, again, other = decoder.decode(one), decoder.decode(one), decoder.decode(two)
    assert first is again
    assert first == codec.decode(one)
    assert other == codec.decode(two) != first
    assert all(a is b for a, b in zip(first.topics, other.topics, strict=True))
    assert codec.decode(one) is not codec.decode(one)
    assert codec.decoder().decode(one) is not codec.decoder().decode(one)


def test_a_change_in_an_element_is_seen_wherever_it_is() -> None:
    codec = kwire.codec("MetadataResponse", 12)
    decoder = codec.decoder(memo=True)
    data = codec.encode(metadata(Random(2), 5))
    decoder.decode(data)
    for place in range(len(data)):
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        assert outcome(decoder, changed) == outcome(codec, changed)


def outcome(codec: kwire.Codec, data: bytes) -> Any:
    try:
        return codec.decode(data)
    except DecodeError as error:
        return str(error)


def test_what_is_cut_short_is_not_learnt() -> None:
    codec = kwire.codec("MetadataRequest", 0)
    decoder = codec.decoder(memo=True)
    data = bytes.fromhex("00000002 0006 6f7264657273 0002 6162")
    for cut in range(len(data)):
        with pytest.raises(DecodeError):
            decoder.decode(data[:cut])
    assert decoder.decode(data) == codec.decode(data)


def test_every_message_is_decoded_as_without_a_memo() -> None:
    rng = Random("memo")
    for name, version in released_pairs()[::5]:
        codec = kwire.codec(name, version)
        decoder = codec.decoder(memo=True)
        seen = [codec.encode(draw(codec.schema, rng)) for _ in range(3)]
        seen += [damaged(data, rng) for data in seen]
        for data in [*seen, *seen]:
            assert repr(outcome(decoder, data)) == repr(outcome(codec, data))
            assert repr(decoder_salvage(decoder, data)) == repr(decoder_salvage(codec, data))


def decoder_salvage(codec: kwire.Codec, data: bytes) -> Any:
    try:
        message, faults, rest = codec.decode(data, salvage=True)
    except DecodeError as error:
        return str(error)
    return message, [str(fault) for fault in faults], rest


def test_what_is_held_is_bounded() -> None:
    codec, memo = kwire.codec("MetadataResponse", 12), Memo()
    decode = compile_decoder(codec.schema, "bounded", memo)
    data = codec.encode(metadata(Random(3), 40, 50))
    for number in range(3 * MOST_BYTES // len(data)):
        decode(number.to_bytes(4, "big") + data[4:], 0)
        assert memo.size <= MOST_BYTES
    assert held(memo) * EACH < MOST_BYTES
    before = held(memo)
    decode(codec.encode(metadata(Random(4), 1, LONGEST // 20)), 0)
    assert held(memo) == before


def test_a_memo_that_does_not_help_is_switched_off_for_a_while() -> None:
    use = Usefulness(2)
    looked = 0
    for _ in range(100_000):
        if use.on(1):
            use.looked += 1
            looked += 1
    assert 2 * WINDOW < looked < 100_000 * WINDOW // MOST_REST + 10 * WINDOW
    helped = Usefulness(2)
    for _ in range(1000):
        assert helped.on(1)
        helped.looked += 1
        helped.hits += 1


def test_a_memo_is_of_one_decoder() -> None:
    codec = kwire.codec("MetadataResponse", 12)
    one, other = codec.decoder(memo=True), codec.decoder(memo=True)
    data = codec.encode(metadata(Random(5), 3))
    assert one.decode(data) is not other.decode(data)
    assert isinstance(one._memo, Memo)
    assert codec._memo is None
