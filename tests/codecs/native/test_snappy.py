"""snappy as the engine decompresses it, beside the library: what it gives is equal, what it refuses is left to that."""

from __future__ import annotations

import pytest

from kwire import Record, build_batch, parse_records
from kwire.codecs import native
from kwire.codecs.compression.snappy import SNAPPY_HEADER, deflate_snappy, inflate_snappy
from kwire.errors import BadCompression, LimitExceeded
from tests.seeds import seeded

pytestmark = pytest.mark.skipif(native.ENGINE != "native", reason="the engine is not built")
LIMIT = 1 << 20


def by_library(data: bytes) -> bytes | None:
    try:
        inflated, tail = inflate_snappy(data, LIMIT)
    except (BadCompression, LimitExceeded):
        return None
    return None if tail else inflated


# By hand, from google/snappy's format_description.txt.
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("03 08 616263", b"abc"),  # a literal
        ("0b 08 616263 11 03", b"abc" + b"abcabcab"),  # a copy with a one-byte offset, which overlaps
        ("07 08 616263 0e 0300", b"abcabca"),  # with a two-byte offset
        ("07 08 616263 0f 03000000", b"abcabca"),  # with a four-byte offset
        ("3d f0 3c" + "61" * 61, b"a" * 61),  # a literal whose length takes a byte
        ("03 f4 0200 616263", b"abc"),  # two bytes
        ("03 fc 02000000 616263", b"abc"),  # four
        ("82534e4150505900 00000001 00000001 00000005 03 08616263 00000003 01 00 64", b"abcd"),  # snappy-java's blocks
    ],
)
def test_elements(text: str, expected: bytes) -> None:
    data = bytes.fromhex(text)
    assert native.inflate_snappy(data, 0, LIMIT) == native.inflate_snappy(b"xy" + data, 2, LIMIT) == expected
    assert by_library(data) == expected
    assert native.inflate_snappy(data, 0, len(expected)) == expected
    assert native.inflate_snappy(data, 0, len(expected) - 1) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "03",  # claims what does not follow
        "03 08 6162",  # a literal that is cut off
        "04 08 616263",  # less than it claims
        "02 08 616263",  # more
        "07 08 616263 0e 0000",  # a copy of itself
        "07 08 616263 0e 0400",  # a copy from before the beginning
        "07 08 616263 0e 03",  # an offset that is cut off
        "03 fc ffffffff 616263",  # a literal of 4 GiB
        "ffffffffff 08 616263",  # a size that does not end
        "ffffffff0f 08 616263",  # 4 GiB
        "82534e4150505900 00000001 00000001",  # no block
        "82534e4150505900 00000001 00000001 00000006 03 08616263",  # a block that is cut off
        "82534e4150505900 00000001 00000001 00000005 03 08616263 0000",  # a size that is cut off
    ],
)
def test_what_is_damaged_is_refused(text: str) -> None:
    data = bytes.fromhex(text)
    assert native.inflate_snappy(data, 0, LIMIT) is None
    assert not by_library(data)


def test_positions_outside_are_refused() -> None:
    data = bytes.fromhex("03 08 616263")
    for start in (-1, len(data), len(data) + 1, 1 << 40):
        assert native.inflate_snappy(data, start, LIMIT) is None
    assert native.inflate_snappy(data, 0, -1) is None


def test_any_bytes_are_as_the_library_has_them() -> None:
    rng, accepted = seeded("snappy"), 0
    for _ in range(3000):
        text = rng.randbytes(rng.randrange(1, 60)) * rng.randrange(1, 12) + bytes(rng.randrange(100))
        data = bytearray(deflate_snappy(text) if rng.random() < 0.5 else deflate_snappy(text)[len(SNAPPY_HEADER) + 4 :])
        assert native.inflate_snappy(bytes(data), 0, LIMIT) == text
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        if rng.random() < 0.3:
            del data[rng.randrange(len(data)) :]
        found = native.inflate_snappy(bytes(data), 0, LIMIT)
        assert found == by_library(bytes(data)) or (found is None and not by_library(bytes(data))), data.hex()
        accepted += found is not None
    assert accepted > 100


def test_a_batch_is_checked_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [Record(place, place, b"k", b"v" * 100) for place in range(3)]
    (batch,) = parse_records(build_batch(records, compression="snappy"))
    monkeypatch.setattr("kwire.codecs.records.record_batch.inflate", None)
    assert batch.is_whole()
