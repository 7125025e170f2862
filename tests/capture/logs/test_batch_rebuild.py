"""Building batches again: what a right writer wrote comes back, what not is told by its first byte."""

from __future__ import annotations

import zlib

import pytest

from kwire import DecodeError, Record, build_batch, parse_records
from kwire.capture.logs.checks.batch_rebuild import rebuild_batch
from tests.capture.logs.building import BATCHES
from tests.codecs.records.cases import batch_around, with_right_crcs


@pytest.mark.parametrize("batch", BATCHES)
def test_what_was_built_comes_back(batch: bytes) -> None:
    was, again, _ = rebuild_batch(next(parse_records(batch)))
    assert was == again


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4"])
def test_compressed_records_are_compared_inside(magic: int, codec: str) -> None:
    records = [Record(at, -1 if magic == 0 else 7, b"k", b"v" * at) for at in range(3)]
    was, again, _ = rebuild_batch(next(parse_records(build_batch(records, magic=magic, compression=codec))))
    assert was == again


def test_another_way_to_write_the_same_is_refused_or_seen() -> None:
    overlong = batch_around(bytes.fromhex("8c00 00 00 00 01 01 00"))  # the size in two bytes where one does
    with pytest.raises(DecodeError, match="a varint of 2 bytes; 1 would suffice"):
        rebuild_batch(next(parse_records(overlong)))
    high = build_batch([Record(0, 5)], attributes=0x80)
    was, again, _ = rebuild_batch(next(parse_records(high)))
    assert was == again


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_another_compressor_chose_other_bytes_for_the_same(magic: int) -> None:
    batch = build_batch([Record(0, 7 if magic else -1, b"k", b"v" * 500)], magic=magic, compression="gzip")
    start = 61 if magic == 2 else 26 + 8 * magic
    body = zlib.compress(zlib.decompress(batch[start:], wbits=31), 1, wbits=31)
    head = batch[12:61] if magic == 2 else batch[12 : start - 4] + len(body).to_bytes(4, "big")
    other = with_right_crcs(batch[:8] + (len(head) + len(body)).to_bytes(4, "big") + head + body)
    assert other != batch
    was, again, inside = rebuild_batch(next(parse_records(other)))
    assert (was == again, inside) == (True, True)


def test_what_cannot_be_read_is_raised() -> None:
    with pytest.raises(DecodeError):
        rebuild_batch(next(parse_records(batch_around(b"\xff\xff"))))
