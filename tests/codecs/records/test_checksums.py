from __future__ import annotations

import sys
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.codecs import native
from kwire.codecs.compression.xxh32 import xxh32, xxh32_in_python
from kwire.codecs.records import crc32c
from tests.conftest import needs_engine
from tests.seeds import seeded


@pytest.fixture
def without_library(monkeypatch: pytest.MonkeyPatch) -> Any:
    crc32c._find_fastest.cache_clear()
    monkeypatch.setattr(crc32c, "ENGINE", "python")
    monkeypatch.setitem(sys.modules, "google_crc32c", None)
    yield
    crc32c._find_fastest.cache_clear()


@given(st.binary(max_size=300), st.integers(0, 300))
def test_the_table_agrees_with_what_is_faster(data: bytes, cut: int) -> None:
    wanted = crc32c.crc32c_by_table(data)
    assert crc32c.crc32c(data) == wanted
    assert crc32c.crc32c(data[cut:], crc32c.crc32c(data[:cut])) == wanted
    assert crc32c.crc32c_by_table(data[cut:], crc32c.crc32c_by_table(data[:cut])) == wanted


@needs_engine
@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 3071, 3072, 3073, 6144, 10_000, 100_003])
def test_the_engines_checksums_agree_with_others_of_any_size(size: int) -> None:
    """Three lanes of 1024 bytes are read at once by the instruction, eight bytes by the tables."""
    data = seeded("checksums").randbytes(size)
    assert native.crc32c(data) == native.crc32c(data, by_table=True)
    if size < 20_000:
        assert native.crc32c(data) == crc32c.crc32c_by_table(data)
        assert native.xxh32(data) == xxh32_in_python(data)
    assert native.crc32(data) == zlib.crc32(data)
    assert native.crc32(data[size // 3 :], native.crc32(data[: size // 3])) == zlib.crc32(data)


# Out of RFC 3720, B.4.
@pytest.mark.parametrize(
    "data, crc",
    [
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
        (b"", 0),
    ],
)
def test_crc32c_of_the_rfc(data: bytes, crc: int) -> None:
    assert crc32c.crc32c_by_table(data) == crc32c.crc32c(data) == crc


def test_without_the_library_the_table_is_used(without_library: None) -> None:
    """And without the engine."""
    assert crc32c._find_fastest() is crc32c.crc32c_by_table
    assert crc32c.crc32c(b"123456789") == 0xE3069283


# xxHash's own test vectors: bytes of its generator, of these lengths, seed 0.
@pytest.mark.parametrize("length, value", [(0, 0x02CC5D05), (1, 0xCF65B03E), (14, 0x1208E7E2), (222, 0x5BD11DBD)])
def test_xxh32_of_its_makers(length: int, value: int) -> None:
    generator, data = 2654435761, bytearray()
    while len(data) < length:
        data.append(generator >> 56)
        generator = generator * 11400714785074694797 % 2**64
    assert xxh32(bytes(data)) == xxh32_in_python(bytes(data)) == value
