from __future__ import annotations

import random

import pytest

from kwire.codecs.compression import snappy
from kwire.codecs.compression.bounded_decompression import load_cramjam
from kwire.codecs.compression.snappy import SNAPPY_HEADER as HEADER
from kwire.errors import BadCompression, LimitExceeded

RAW = bytes(load_cramjam("snappy").snappy.compress_raw(b"abc" * 1000))
DATA = random.Random(3).randbytes(100_000)


def test_blocks_have_32_kib_and_follow_a_header() -> None:
    data = snappy.deflate_snappy(DATA)
    assert data[:16] == HEADER
    assert len(snappy._cut_snappy(data)[0]) == 2 * 4
    assert snappy.inflate_snappy(data, len(DATA)).data == DATA


def test_bare_snappy_is_read() -> None:
    assert snappy.inflate_snappy(RAW, 3000).data == b"abc" * 1000


def test_several_streams_follow_each_other() -> None:
    data = snappy.deflate_snappy(b"one") + snappy.deflate_snappy(b"") + snappy.deflate_snappy(b"two")
    assert snappy.inflate_snappy(data, 100).data == b"onetwo"


@pytest.mark.parametrize(
    "claim, size",
    [("ffffffff0f", 10), ("ffffffff07", 10), ("8080808004", 1000), ("f0ab01", 1000)],
)
def test_a_claim_that_the_bytes_cannot_hold_is_refused_before_memory_is_taken(claim: str, size: int) -> None:
    with pytest.raises(BadCompression, match="it claims to hold"):
        snappy.inflate_snappy(bytes.fromhex(claim) + bytes(size), 2**40)


def test_a_claim_above_the_limit_is_refused_before_memory_is_taken() -> None:
    with pytest.raises(LimitExceeded):
        snappy.inflate_snappy(RAW, 2999)
    data = HEADER + (len(RAW).to_bytes(4, "big") + RAW) * 10
    assert len(snappy.inflate_snappy(data, 30_000).data) == 30_000
    with pytest.raises(LimitExceeded):
        snappy.inflate_snappy(data, 29_999)


def test_a_claim_without_end_is_refused() -> None:
    with pytest.raises(BadCompression, match="does not end"):
        snappy.inflate_snappy(b"\xff" * 100, 2**40)


@pytest.mark.parametrize("size", [-1, -(2**31), 2**31 - 1, 5])
def test_a_block_beyond_the_end_is_refused(size: int) -> None:
    with pytest.raises(BadCompression, match=f"a block of {size} bytes, 4 are left") as info:
        snappy.inflate_snappy(HEADER + size.to_bytes(4, "big", signed=True) + bytes(4), 100)
    assert info.value.offset == 16


@pytest.mark.parametrize("versions", ["0000000000000000", "ffffffff00000001", "0000000900000009"])
def test_the_version_of_the_first_header_is_not_checked(versions: str) -> None:
    data = HEADER[:8] + bytes.fromhex(versions) + len(RAW).to_bytes(4, "big") + RAW
    assert len(snappy.inflate_snappy(data, 3000).data) == 3000


@pytest.mark.parametrize("header, problem", [(HEADER[:8] + bytes(8), "version below 1"), (HEADER[:15], "cut short")])
def test_a_later_header_must_be_right(header: bytes, problem: str) -> None:
    data = snappy.deflate_snappy(b"abc")
    with pytest.raises(BadCompression, match=problem) as info:
        snappy.inflate_snappy(data + header, 100)
    assert info.value.offset == len(data)


@pytest.mark.parametrize("tail", [b"\0", b"\0\0\0", HEADER[:4] + b"other" + bytes(20)])
def test_what_snappy_java_passes_over_is_left_over(tail: bytes) -> None:
    assert snappy.inflate_snappy(snappy.deflate_snappy(b"abc") + tail, 100) == (b"abc", tail)


def test_damage_inside_a_block_is_refused() -> None:
    with pytest.raises(BadCompression, match="corrupt input"):
        snappy.inflate_snappy(RAW[:-3], 3000)
