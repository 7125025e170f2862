"""Batches whose records are damaged at random, and what `is_whole` and `records` say of them."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from kwire.codecs.compression.compression_types import deflate
from kwire.codecs.records import Record, RecordBatch, RecordHeader, build_batch, parse_records
from kwire.codecs.records.record_layouts import BATCH
from kwire.codecs.wire.java_integers import wrap_int64
from kwire.codecs.wire.varints import unsigned_varint
from kwire.errors import DecodeError
from tests.messages.random_values import damaged

TIMES = (0, 1, -1, 63, 64, 8191, 8192, 2**31, -(2**31), 2**40, 2**62, -(2**62), 2**63 - 1)


def drawn_batch(rng: Random) -> bytes:
    """Return a batch of magic 2 without compression."""
    base = rng.choice((0, 0, 5, 2**31, 2**63 - 3))
    count = rng.randrange(1, 5)
    names = ("h", "", "name", "n\u00e4me")
    records = [
        Record(
            wrap_int64(base + index),
            rng.choice(TIMES),
            rng.choice((None, b"", b"key", rng.randbytes(70))),
            rng.choice((None, b"", b"value", rng.randbytes(130))),
            tuple(RecordHeader(rng.choice(names), rng.choice((None, b"", b"x"))) for _ in range(rng.randrange(3))),
        )
        for index in range(count)
    ]
    return build_batch(records, base_timestamp=rng.choice((0, 7)), last_offset=wrap_int64(base + count - 1))


def lengthened(records: bytes, rng: Random) -> bytes:
    """Write one varint of the first record with more bytes than it needs, and correct the size of the record."""
    size, place = _varint(records, 0)
    body = bytearray(records[place : place + size])
    at = rng.choice((1, rng.randrange(1, len(body))))  # mostly the timestamp delta, otherwise any byte
    _, stop = _varint(body, at)
    body[stop - 1 : stop] = (
        bytes([body[stop - 1] | 0x80]) + b"\x80" * rng.randrange(9) + rng.choice((b"\0", b"\0", b"\1"))
    )
    length = unsigned_varint(2 * len(body))
    return bytes(length) + bytes(body) + records[place + size :]


def _varint(data: bytes | bytearray, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data):
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            break
    return value >> 1, at


def damaged_batches(rng: Random, count: int) -> Iterator[RecordBatch]:
    """Yield batches whose records are damaged, some of them compressed afterwards."""
    while count:
        data = drawn_batch(rng)
        header, records = bytearray(data[: BATCH.size]), data[BATCH.size :]
        records = rng.choice((damaged, lengthened, lengthened, lambda kept, _: kept))(records, rng)
        if rng.random() < 0.2:
            header[57:61] = rng.choice((-5, 0, 1, 2, 2**31 - 1)).to_bytes(4, "big", signed=True)
        if rng.random() < 0.3:
            header[22] |= 1
            records = deflate("gzip", records) + rng.choice((b"", b"", b"!"))
        header[8:12] = (len(header) + len(records) - 12).to_bytes(4, "big")
        (batch,) = parse_records(bytes(header) + records, check_crcs=False)
        yield batch
        count -= 1


def whole(batch: RecordBatch, salvage: bool) -> bool:
    """Return what `is_whole` says; false if a record cannot be read."""
    try:
        return batch.is_whole(salvage=salvage)
    except DecodeError:
        return False


def read_one_by_one(batch: RecordBatch, salvage: bool) -> bool:
    """Return whether the records can be read, and have consecutive offsets."""
    first = batch.base_offset or 0
    try:
        records = list(batch.tolerant_records() if salvage else batch.records())
    except DecodeError:
        return False
    return [wrap_int64(record.offset - first) for record in records] == list(range(batch.record_count or 0))
