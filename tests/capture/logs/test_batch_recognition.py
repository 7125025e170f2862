"""What looks like a log, and what must not be taken for one."""

from __future__ import annotations

import random

import pytest

from kwire import Record, build_batch, encode_request, messages
from kwire.capture.logs.batch_recognition import (
    NO,
    SHORT,
    find_batch_end,
    find_candidate,
    find_credible_end,
    is_sound,
    looks_like_log,
)
from tests.capture.logs.building import BATCHES, LOG


@pytest.mark.parametrize("batch", BATCHES, ids=["magic 2", "gzip", "magic 1", "magic 0", "producer"])
def test_a_batch_is_known_whole_and_from_its_length_on(batch: bytes) -> None:
    assert looks_like_log(batch)
    assert [stop for stop in range(12, len(batch)) if not looks_like_log(batch[:stop])] == []
    assert find_batch_end(batch, 0) == find_credible_end(batch, 0) == len(batch)
    assert is_sound(batch, 0, len(batch))
    assert find_batch_end(batch[:16], 0) == SHORT


def test_high_offsets_need_a_right_checksum() -> None:
    """Their upper half could be the size of a frame."""
    data = build_batch([Record(2**34 + 5, key=b"k")])
    assert looks_like_log(data)
    assert not looks_like_log(data[:-1])
    assert not looks_like_log(data[:-1] + b"x")
    assert looks_like_log(build_batch([Record(2**34 - 1, key=b"k")])[:-1])


def test_damage_before_a_valid_batch_is_still_a_log() -> None:
    assert looks_like_log(bytes(8) + b"\xff" * 30 + LOG)
    assert not looks_like_log(bytes(8) + b"\xff" * 30)


def test_frames_text_zeros_and_noise_are_no_logs() -> None:
    frames = encode_request(messages.MetadataRequest(topics=None), 1, correlation_id=7, client_id="me")
    produce = messages.ProduceRequest(acks=1, timeout_ms=1)
    assert not looks_like_log(frames)
    assert not looks_like_log(encode_request(produce, 3, client_id="me") + LOG)
    assert not any(map(looks_like_log, (b"", bytes(4), bytes(10_000), b"00000004 00000007\n", b"0\n1\n0 0\n")))
    chance = random.Random(5)
    assert not any(looks_like_log(chance.randbytes(200)) for _ in range(2000))
    assert not any(looks_like_log(bytes(4) + chance.randbytes(200)) for _ in range(2000))


def test_what_no_right_writer_writes_is_not_credible() -> None:
    batch = BATCHES[0]
    for at, value in ((0, 0xFF), (8, 0x7F), (16, 3), (21, 1), (22, 7), (23, 0xFF), (57, 0x7F)):
        assert find_credible_end(batch[:at] + bytes([value]) + batch[at + 1 :], 0) == NO
    old = BATCHES[3]
    for at, value in ((17, 4), (17, 0x10), (18, 0x80), (21, 99), (27, 1)):
        assert find_credible_end(old[:at] + bytes([value]) + old[at + 1 :], 0) == NO


def test_candidates_skip_zeros() -> None:
    data = bytearray(bytes(1000) + BATCHES[4])
    places = []
    at: int | None = 0
    while at is not None and (at := find_candidate(data, at)) is not None:
        places.append(at)
        at += 1
    assert 1000 in places
    assert min(places) > 980
