from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.codecs.compression.xxh32 import xxh32
from kwire.codecs.records import crc32c


@pytest.fixture
def without_library(monkeypatch: pytest.MonkeyPatch) -> Any:
    crc32c._find_fastest.cache_clear()
    monkeypatch.setitem(sys.modules, "google_crc32c", None)
    yield
    crc32c._find_fastest.cache_clear()


@given(st.binary(max_size=300))
def test_the_table_agrees_with_the_library(data: bytes) -> None:
    assert crc32c.crc32c_by_table(data) == crc32c.crc32c(data)


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
    assert crc32c._find_fastest() is crc32c.crc32c_by_table
    assert crc32c.crc32c(b"123456789") == 0xE3069283


# xxHash's own test vectors: bytes of its generator, of these lengths, seed 0.
@pytest.mark.parametrize("length, value", [(0, 0x02CC5D05), (1, 0xCF65B03E), (14, 0x1208E7E2), (222, 0x5BD11DBD)])
def test_xxh32_of_its_makers(length: int, value: int) -> None:
    generator, data = 2654435761, bytearray()
    while len(data) < length:
        data.append(generator >> 56)
        generator = generator * 11400714785074694797 % 2**64
    assert xxh32(bytes(data)) == value
