from __future__ import annotations

import pytest

from kwire import errors as faults
from kwire.codecs.compression.compression_types import deflate
from kwire.codecs.records import Record, RecordIterator, UndecodableRecords, build_batch, parse_records
from tests.codecs.records.cases import batch_around

RECORDS = [Record(offset, 0, b"k") for offset in range(3)]


def test_records_are_read_once_and_one_by_one() -> None:
    (batch,) = parse_records(build_batch(RECORDS))
    records = batch.records()
    assert isinstance(records, RecordIterator)
    assert next(records) == RECORDS[0]
    assert list(records) == RECORDS[1:]
    assert list(records) == []
    assert list(batch.records()) == RECORDS


def test_nothing_is_inflated_before_it_is_asked_for() -> None:
    (batch,) = parse_records(batch_around(b"not gzip", attributes=1))
    records = batch.records()
    with pytest.raises(faults.BadCompression):
        next(records)
    assert list(records) == []


def test_salvage_gives_a_value_for_what_cannot_be_read() -> None:
    (batch,) = parse_records(batch_around(b"not gzip", attributes=1))
    (item,) = batch.records(salvage=True)
    assert isinstance(item, UndecodableRecords)
    assert item.data == b"not gzip"
    assert isinstance(item.error, faults.BadCompression)
    assert item.error.__traceback__ is None


def test_strict_raises_at_the_first_bad_record_and_gives_those_before() -> None:
    data = build_batch(RECORDS)[61:]
    (batch,) = parse_records(batch_around(data[: len(data) // 3] + b"\x0c\0\0\0\xfe\x01\0", count=2))
    records = batch.records()
    assert next(records) == RECORDS[0]
    with pytest.raises(faults.BadLength):
        next(records)


def test_an_invalid_size_is_kept_with_the_following_bytes() -> None:
    payload = build_batch(RECORDS[:1])[61:] + b"\x80\x80\x80\x80\x80\x80 and more"
    for codec in (0, 1):
        data = batch_around(deflate("gzip", payload) if codec else payload, count=3, attributes=codec)
        (batch,) = parse_records(data)
        first, item = batch.records(salvage=True)
        assert first == RECORDS[0]
        assert isinstance(item, UndecodableRecords)
        assert item.data == b"\x80\x80\x80\x80\x80\x80 and more"


def test_a_limit_can_be_given() -> None:
    (batch,) = parse_records(build_batch([Record(0, 0, bytes(10_000))], compression="zstd"))
    assert len(list(batch.records(limit=20_000))) == 1
    with pytest.raises(faults.LimitExceeded, match="more than 5000 bytes") as info:
        list(batch.records(limit=5000))
    assert info.value.hint == "allow more with limit="
