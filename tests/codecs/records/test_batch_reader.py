from __future__ import annotations

import pytest

from kwire import errors as faults
from kwire.codecs.compression.compression_types import deflate
from kwire.codecs.records import Record, RecordBatch, UndecodableRecords, parse_records
from kwire.codecs.records.batch_walk import BatchWalk
from kwire.codecs.records.located_reader import LocatedReader
from kwire.errors import DecodeError
from tests.codecs.records.cases import batch_around


def walk_of(data: bytes, *, salvage: bool = False, limit: int = 1000) -> BatchWalk:
    (batch,) = parse_records(data)
    return BatchWalk(batch, salvage=salvage, limit=limit)


def test_a_reader_of_decompressed_bytes_has_the_position_of_the_compressed_ones() -> None:
    walk = walk_of(batch_around(deflate("gzip", b"abc"), attributes=1))
    reader = walk.open_inflated(walk.batch.data[61:], 61)
    assert reader.data == b"abc"
    with pytest.raises(faults.Truncated, match=r"offset 61, inflated offset 3\)"):
        reader.refuse(faults.Truncated, 3, need=1, have=0)


@pytest.mark.parametrize("salvage", [False, True])
def test_what_does_not_inflate_is_placed_and_kept(salvage: bool) -> None:
    data = batch_around(b"nothing", attributes=2)
    walk = walk_of(data, salvage=salvage)
    with pytest.raises(faults.BadCompression, match=r"^batches\[0\].records: .* \(offset 61\)$") as info:
        walk.open_inflated(data[61:], 61)
    assert info.value.rest == b"nothing"
    assert info.value.__context__ is None


def test_the_limit_reaches_the_codecs() -> None:
    data = batch_around(deflate("gzip", bytes(2000)), attributes=1)
    with pytest.raises(faults.LimitExceeded) as info:
        walk_of(data).open_inflated(data[61:], 61)
    assert info.value.need == 1000


def test_what_follows_the_compressed_bytes_is_a_fault() -> None:
    data = batch_around(deflate("gzip", b"abc") + b"tail", attributes=1)
    with pytest.raises(faults.TrailingBytes):
        walk_of(data).open_inflated(data[61:], 61)
    walk = walk_of(data, salvage=True)
    assert walk.open_inflated(data[61:], 61).data == b"abc"
    assert [(fault.path, fault.offset, fault.raw) for fault in walk.faults] == [
        ("batches[0].records", len(data) - 4, b"tail")
    ]


def test_an_unknown_compression_is_told_at_the_attributes() -> None:
    data = batch_around(b"abc", attributes=6)
    walk = walk_of(data)
    with pytest.raises(faults.UnknownCompression, match="compression 6 does not exist in magic 2") as info:
        walk.open_inflated(data[61:], 61)
    assert (info.value.path, info.value.offset, info.value.rest) == ("batches[0].attributes", 21, b"abc")


def test_reading_one_record_leaves_the_reader_after_it() -> None:
    walk = walk_of(batch_around(b"abcdef"), salvage=True)

    def read(reader: LocatedReader) -> Record:
        reader.refuse_field("key", faults.NullNotAllowed, reader.pos, found=-1)

    reader = walk.reader(61)
    item = walk.one(reader, 61, 64, 5, read)
    assert isinstance(item, UndecodableRecords)
    assert (item.data, item.error.path) == (b"abc", "batches[0].records[5].key")
    assert (reader.pos, reader.end, reader.path) == (64, 67, ["batches", 0])


def test_failures_are_values_in_salvage_only() -> None:
    data = batch_around(b"")
    error = DecodeError(offset=1)
    assert walk_of(data, salvage=True).take_failure(b"abc", error) == UndecodableRecords(b"abc", error)
    with pytest.raises(DecodeError):
        walk_of(data).take_failure(b"abc", error)


def test_a_batch_is_all_a_walk_needs() -> None:
    batch = RecordBatch(base_offset=0, last_offset=0, length=0, magic=2, crc=0, attributes=0, data=b"abc")
    assert BatchWalk(batch, salvage=False, limit=1).unread == b"abc"
