from __future__ import annotations

import random

import pytest

from kwire.codecs.compression import zstd
from kwire.errors import BadCompression, LimitExceeded

DATA = random.Random(3).randbytes(300_000) + bytes(1_000_000)
MIB = 1 << 20


def frame(blocks: bytes, *, window: int = 0x58, flags: int = 0) -> bytes:
    return bytes.fromhex("28b52ffd") + bytes([flags, window]) + blocks


def run_of(byte: int, size: int, *, last: bool = False) -> bytes:
    return (size << 3 | 2 | last).to_bytes(3, "little") + bytes([byte])


def stored(data: bytes, *, last: bool = False) -> bytes:
    return (len(data) << 3 | last).to_bytes(3, "little") + data


def test_there_and_back() -> None:
    assert zstd.inflate_zstd(zstd.deflate_zstd(DATA), len(DATA)) == (DATA, b"")


def test_frames_by_hand() -> None:
    blocks = stored(b"abc") + run_of(0x78, 1000) + stored(b"", last=True)
    assert zstd.inflate_zstd(frame(blocks), 2000).data == b"abc" + b"x" * 1000
    single = bytes.fromhex("28b52ffd") + b"\x20\x03" + stored(b"abc", last=True)
    assert zstd.inflate_zstd(single, 3).data == b"abc"


def test_several_frames_and_ones_to_skip() -> None:
    skipped = bytes.fromhex("502a4d18") + (5).to_bytes(4, "little") + b"hello"
    data = zstd.deflate_zstd(b"one") + skipped + zstd.deflate_zstd(b"") + zstd.deflate_zstd(b"two")
    assert zstd.inflate_zstd(data, 6).data == b"onetwo"
    with pytest.raises(LimitExceeded):
        zstd.inflate_zstd(data, 5)


@pytest.mark.parametrize(
    "data, needs",
    [
        (frame(stored(b"abc", last=True)), (3, 2 * MIB)),
        (frame(run_of(0, 131072) * 3 + run_of(0, 1, last=True)), (3 * 131072 + 1, 2 * MIB)),
        (frame(run_of(0, 5, last=True), window=0x88), (5, 128 * MIB)),
        (frame(run_of(0, 5, last=True), window=0x03), (5, 1408)),
        (frame(stored(b"", last=True)) + frame(stored(b"ab", last=True), window=0x70), (2, 16 * MIB)),
        (frame(stored(b"ab"), window=0x70), (2, 16 * MIB)),
        (bytes.fromhex("28b52ffd") + b"\xe0" + (2**40).to_bytes(8, "little"), (0, 2**40)),
        (bytes.fromhex("28b52ffd") + b"\x63\x01\x00\x00\x00\x05\x00" + stored(b"", last=True), (0, 5)),
        (b"other than zstd", (0, 0)),
    ],
)
def test_headers_give_the_memory_needed(data: bytes, needs: tuple[int, int]) -> None:
    assert zstd._zstd_needs(data) == needs


def test_a_compressed_block_may_hold_128_kib() -> None:
    most, _ = zstd._zstd_needs(zstd.deflate_zstd(b"abcdefgh" * 1000))
    assert most == 128 * 1024


def test_a_large_window_counts_toward_the_limit() -> None:
    blocks = run_of(0, 131072) * (40 * 8) + stored(b"", last=True)
    assert len(zstd.inflate_zstd(frame(blocks, window=0x68), 64 * MIB).data) == 40 * MIB
    with pytest.raises(LimitExceeded, match=f"hold more than {36 * MIB} bytes") as info:
        zstd.inflate_zstd(frame(blocks, window=0x88), 64 * MIB)
    assert "window" in info.value.hint
    assert len(zstd.inflate_zstd(frame(blocks, window=0x88), 80 * MIB).data) == 40 * MIB


def test_a_wrong_checksum_is_refused() -> None:
    right = frame(stored(b"abc", last=True) + bytes.fromhex("ca2dddec"), flags=4)
    with pytest.raises(BadCompression):
        zstd.inflate_zstd(right, 3)


@pytest.mark.parametrize(
    "data",
    [
        frame(b""),
        frame(stored(b"abc")),
        frame(run_of(0, 131073, last=True)),
        frame(b"\x07\0\0"),
        zstd.deflate_zstd(DATA)[:-4],
    ],
)
def test_what_is_no_frame_is_refused(data: bytes) -> None:
    with pytest.raises(BadCompression):
        zstd.inflate_zstd(data, 64 * MIB)


def test_what_follows_the_frames_is_refused() -> None:
    with pytest.raises(BadCompression):
        zstd.inflate_zstd(zstd.deflate_zstd(b"abc") + b"garbage behind it", 64 * MIB)
