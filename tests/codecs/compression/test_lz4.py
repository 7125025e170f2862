from __future__ import annotations

import random

import pytest

from kwire.codecs.compression import lz4
from kwire.codecs.compression.bounded_decompression import load_cramjam
from kwire.codecs.compression.xxh32 import xxh32
from kwire.errors import BadCompression, LimitExceeded

DATA = random.Random(3).randbytes(100_000) + bytes(100_000)


def frame(
    blocks: bytes, *, flags: int = 0x60, sizes: int = 0x40, size: bytes = b"", checksum: int | None = None
) -> bytes:
    header = lz4.LZ4_MAGIC + bytes([flags, sizes]) + size
    right = lz4.lz4_header_checksum(header, 2)
    return header + bytes([right if checksum is None else checksum]) + blocks


def stored(data: bytes) -> bytes:
    return (len(data) | 1 << 31).to_bytes(4, "little") + data


def test_the_frame_is_one_that_any_lz4_reads() -> None:
    data = lz4.deflate_lz4(DATA)
    assert data[:7].hex() == "04224d18604082"
    assert bytes(load_cramjam("lz4").lz4.decompress(data)) == DATA


def test_magic_0_has_the_wrong_header_checksum_and_does_not_look_at_it() -> None:
    wrong = lz4.deflate_lz4(b"abc", magic=0)
    assert wrong[:7].hex() == "04224d1860401a"
    for magic in (0, 1, 2):
        assert lz4.inflate_lz4(lz4.deflate_lz4(b"abc", magic=magic), 3, magic=magic).data == b"abc"
    assert lz4.inflate_lz4(lz4.deflate_lz4(b"abc"), 3, magic=0).data == b"abc"
    for magic in (1, 2):
        with pytest.raises(BadCompression, match="header checksum"):
            lz4.inflate_lz4(wrong, 3, magic=magic)


def test_what_does_not_shrink_is_stored() -> None:
    data = lz4.deflate_lz4(DATA[:65536])
    assert len(data) == 7 + 4 + 65536 + 4
    assert data[10] & 0x80


@pytest.mark.parametrize("sizes, most", [(0x40, 65536), (0x50, 1 << 18), (0x60, 1 << 20), (0x70, 1 << 22)])
def test_blocks_are_as_large_as_the_header_allows(sizes: int, most: int) -> None:
    block = bytes(load_cramjam("lz4").lz4.compress_block(bytes(most), store_size=False))
    data = frame(len(block).to_bytes(4, "little") + block + stored(b"x" * most) + bytes(4), sizes=sizes)
    assert lz4.inflate_lz4(data, 2 * most).data == bytes(most) + b"x" * most
    larger = bytes(load_cramjam("lz4").lz4.compress_block(bytes(most + 1), store_size=False))
    for blocks in (stored(bytes(most + 1)), len(larger).to_bytes(4, "little") + larger):
        with pytest.raises(BadCompression):
            lz4.inflate_lz4(frame(blocks + bytes(4), sizes=sizes), 10 * most)


def test_checksums_and_sizes_in_the_frame() -> None:
    block = stored(b"abc") + xxh32(b"abc").to_bytes(4, "little")
    assert lz4.inflate_lz4(frame(block * 2 + bytes(4), flags=0x70), 6).data == b"abcabc"
    with pytest.raises(BadCompression, match="block's checksum"):
        lz4.inflate_lz4(frame(stored(b"abd") + block[-4:] + bytes(4), flags=0x70), 6)
    with pytest.raises(BadCompression, match="are left"):
        lz4.inflate_lz4(frame(block[:-1], flags=0x70), 6)
    assert lz4.inflate_lz4(frame(stored(b"abc") + bytes(4), flags=0x68, size=bytes(8)), 6).data == b"abc"
    assert lz4.inflate_lz4(frame(stored(b"abc") + bytes(8), flags=0x64), 6).data == b"abc"
    with pytest.raises(BadCompression, match="content checksum is cut off"):
        lz4.inflate_lz4(frame(stored(b"abc") + bytes(7), flags=0x64), 6)


def test_the_end_may_be_marked_as_stored() -> None:
    assert lz4.inflate_lz4(frame(stored(b"abc") + b"\0\0\0\x80"), 3) == (b"abc", b"")


def test_what_follows_the_frame_is_left_over() -> None:
    assert lz4.inflate_lz4(lz4.deflate_lz4(b"abc") + b"tail", 3) == (b"abc", b"tail")


@pytest.mark.parametrize(
    "data, problem",
    [
        (frame(bytes(4), flags=0x40), "depend on each other"),
        (frame(bytes(4), flags=0x20), "flags 0x20"),
        (frame(bytes(4), flags=0x62), "flags 0x62"),
        (frame(bytes(4), flags=0x61), "flags 0x61"),
        (frame(bytes(4), sizes=0x30), "block size 0x30"),
        (frame(bytes(4), sizes=0x80), "block size 0x80"),
        (frame(bytes(4), sizes=0x41), "block size 0x41"),
        (frame(bytes(4), checksum=0), "header checksum"),
        (frame(bytes(4), flags=0x68, size=bytes(8))[:14], "header checksum"),
        (frame(b""), "cut off"),
        (frame(stored(b"abc")), "cut off"),
        (frame(stored(b"abc")[:-1]), "a block of 3 bytes"),
        (frame(b"\xff\xff\xff\x7f" + bytes(100)), "a block of 2147483647 bytes"),
        (frame(b"\x05\0\0\0" + b"\xff" * 5 + bytes(4)), "Decompression failed|invalid"),
        (b"\x04\x22\x4d\x19" + bytes(20), "does not begin"),
    ],
)
def test_other_frames_are_refused_as_kafka_refuses_them(data: bytes, problem: str) -> None:
    with pytest.raises(BadCompression, match=f"do not decompress as lz4: .*({problem})"):
        lz4.inflate_lz4(data, 1 << 20)


def test_the_limit_holds_at_every_block() -> None:
    data = lz4.deflate_lz4(DATA)
    assert lz4.inflate_lz4(data, len(DATA)).data == DATA
    for limit in (0, 1, 65535, 65536, len(DATA) - 1):
        with pytest.raises(LimitExceeded):
            lz4.inflate_lz4(data, limit)
