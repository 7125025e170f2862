from __future__ import annotations

import gzip
import random
import sys
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.codecs.compression import compression_types
from kwire.codecs.compression.compression_types import deflate, inflate
from kwire.errors import BadCompression, EncodeError, LimitExceeded, MissingExtra
from tests.cases import case_by_case

CODECS = compression_types.NAMES[1:]
MANY = random.Random(5).randbytes(70_000) + bytes(200_000) + b"0123456789" * 10_000


@case_by_case("name", CODECS)
@case_by_case("magic", [0, 1, 2])
@case_by_case("data", [b"", b"a", b"abc" * 100, MANY], ids=len)
def test_what_is_compressed_inflates_again(name: str, magic: int, data: bytes) -> None:
    if name == "zstd" and magic < 2:
        return
    assert inflate(name, deflate(name, data, magic=magic), magic=magic) == (data, b"")


@given(st.sampled_from(CODECS), st.binary(max_size=2000))
def test_any_bytes_inflate_again(name: str, data: bytes) -> None:
    assert inflate(name, deflate(name, data)).data == data


@pytest.mark.parametrize("name", CODECS)
def test_the_limit_is_the_most_bytes_that_may_come_out(name: str) -> None:
    data = deflate(name, MANY)
    assert inflate(name, data, limit=len(MANY)).data == MANY
    with pytest.raises(LimitExceeded) as info:
        inflate(name, data, limit=len(MANY) - 1)
    assert (info.value.need, info.value.have) == (len(MANY) - 1, len(data))


@pytest.mark.parametrize("name", CODECS)
def test_every_cut_is_noticed(name: str) -> None:
    data = deflate(name, b"abcdefgh" * 40 + random.Random(1).randbytes(40))
    for stop in range(len(data)):
        if name != "snappy" or not 16 <= stop < 20:  # up to three bytes behind its blocks are no fault, nor no blocks
            with pytest.raises(BadCompression):
                inflate(name, data[:stop])


@pytest.mark.parametrize("name", CODECS)
@pytest.mark.parametrize("data", [b"", b"\x00", bytes(100), b"\xff" * 100, b"This was never compressed."], ids=repr)
def test_other_bytes_are_refused(name: str, data: bytes) -> None:
    if name == "snappy" and data == b"\x00":
        return  # a snappy of nothing
    with pytest.raises(BadCompression, match=f"as {name}"):
        inflate(name, data)


@pytest.mark.parametrize("name, magic", [("none", 2), ("brotli", 2), ("zstd", 1), ("zstd", 0)])
def test_a_codec_that_the_magic_has_not_is_not_written(name: str, magic: int) -> None:
    with pytest.raises(EncodeError, match=f"compression of magic {magic} is needed"):
        deflate(name, b"", magic=magic)


def test_gzip_needs_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cramjam", None)
    assert inflate("gzip", deflate("gzip", MANY)).data == MANY
    for name in ("snappy", "lz4", "zstd"):
        with pytest.raises(MissingExtra, match=name):
            deflate(name, MANY)


def test_a_gzip_may_have_many_members_and_trailing_bytes() -> None:
    data = gzip.compress(b"one") + gzip.compress(b"") + gzip.compress(MANY)
    for tail in (b"", b"tail" * 9, b"\x1f", b"\x1f\x8b", b"\x1f\x8b\x08" + bytes(15), b"\x1f\x8b\x07" + bytes(30)):
        assert inflate("gzip", data + tail) == (b"one" + MANY, tail)
    with pytest.raises(BadCompression):
        inflate("gzip", data + b"\x1f\x8b\x08" + bytes(16))


def test_a_gzip_with_all_fields_in_its_header() -> None:
    plain = gzip.compress(b"abc")
    header = b"\x1f\x8b\x08\x1e" + bytes(6) + b"\x03\x00xyz" + b"name\x00" + b"comment\x00"
    header += (zlib.crc32(header) & 0xFFFF).to_bytes(2, "little")
    assert inflate("gzip", header + plain[10:]).data == b"abc"


def test_a_gzip_with_a_wrong_checksum_is_refused_where_it_lies() -> None:
    data = bytearray(gzip.compress(b"abc"))
    data[-5] ^= 1
    with pytest.raises(BadCompression, match="incorrect"):
        inflate("gzip", bytes(data))
    with pytest.raises(BadCompression) as info:
        inflate("gzip", gzip.compress(bytes(10)) + bytes(data))
    assert info.value.offset == len(gzip.compress(bytes(10)))


def test_output_that_the_library_holds_back_is_not_lost() -> None:
    for size in (65535, 65536, 65537, 131072, 131073):
        assert len(inflate("gzip", gzip.compress(bytes(size))).data) == size
