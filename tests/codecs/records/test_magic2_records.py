from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kwire import errors as faults
from kwire.codecs.records import (
    Record,
    RecordBatch,
    RecordHeader,
    UndecodableRecords,
    build_batch,
    parse_records,
    python_cursors,
    record_reader,
)
from kwire.codecs.records.record_layouts import RECORD
from kwire.codecs.wire import VARINT, Reader
from kwire.codecs.wire.lengths import read_length
from kwire.errors import DecodeError
from tests.codecs.records.cases import batch_around, with_right_crcs
from tests.conftest import needs_engine

# size, attributes, timestamp delta, offset delta, key (null), value "v", one header "h" with null
GOOD = bytes.fromhex("14 00 02 00 01 02 76 02 02 68 01")
RECORDS = Record(0, 1, None, b"v", (RecordHeader("h", None),))


def read(payload: bytes, count: int = 1, *, salvage: bool = False, attributes: int = 0) -> list[Any]:
    (batch,) = parse_records(batch_around(payload, count=count, attributes=attributes))
    return list(batch.records(salvage=salvage))


def test_a_record_is_read() -> None:
    assert read(GOOD) == [RECORDS]


def slow_fields(data: bytes) -> Any:
    """Read by the layout alone, as `magic2` does when the fast path gives up."""
    reader = Reader(data)
    size = read_length(reader, VARINT, nullable=False, element_size=1) or 0
    stop = reader.end = reader.pos + size
    fields = record_reader._record_fields(reader)  # type: ignore[arg-type]
    return tuple(fields), stop


@given(st.binary(max_size=40))
@example(GOOD)
@example(b"\x8a" + b"\x80" * 9 + b"\x01")
def test_both_paths_agree_on_any_bytes(data: bytes) -> None:
    _agree(data)


@given(st.integers(0, len(GOOD) - 1), st.integers(0, 255), st.integers(0, len(GOOD)), st.binary(max_size=6))
def test_both_paths_agree_on_damaged_records(at: int, byte: int, cut: int, more: bytes) -> None:
    data = bytearray(GOOD)
    data[at] = byte
    _agree(bytes(data[:cut]) + more + bytes(data[cut:]))


def test_both_paths_agree_on_many_damaged_records() -> None:
    rng = random.Random(20261121)
    for _ in range(20_000):
        data = bytearray(GOOD + rng.randbytes(rng.randrange(12)))
        for _ in range(rng.choice((1, 2, 3))):
            data[rng.randrange(len(data))] = rng.choice((0, 1, 2, 127, 128, 254, 255, rng.randrange(256)))
        _agree(bytes(data))


def _agree(data: bytes) -> None:
    try:
        fast = python_cursors.read_fast(data, 0)
    except (IndexError, ValueError):
        with pytest.raises(DecodeError):
            slow_fields(data)
    else:
        assert fast == slow_fields(data)


@pytest.mark.parametrize(
    "payload, kind, path, offset, need, have",
    [
        ("04 00", faults.BadLength, "records[0]", 61, 2, 1),
        ("05", faults.NullNotAllowed, "records[0]", 61, None, None),
        ("ff ff ff ff ff ff", faults.BadVarint, "records[0]", 61, 5, None),
        ("80", faults.Truncated, "records[0]", 62, 1, 0),
        ("04 00 02", faults.Truncated, "records[0].offset_delta", 64, 1, 0),
        ("06 00 ff ff", faults.Truncated, "records[0].timestamp_delta", 65, 1, 0),
        ("18 00 ff ff ff ff ff ff ff ff ff ff 01", faults.BadVarint, "records[0].timestamp_delta", 63, 10, None),
        ("0c 00 00 00 02 01 00", faults.Truncated, "records[0].headers", 68, 1, 0),
        ("0c 00 00 00 fe 01 00", faults.BadLength, "records[0].key", 65, 127, 1),
        ("0c 00 00 00 01 08 00", faults.BadLength, "records[0].value", 66, 4, 1),
        ("0e 00 00 00 01 01 04 00", faults.BadLength, "records[0].headers", 67, 4, 1),
        ("0c 00 00 00 01 01 01", faults.NullNotAllowed, "records[0].headers", 67, None, None),
        ("10 00 00 00 01 01 02 01 01", faults.NullNotAllowed, "records[0].headers[0].key", 68, None, None),
        ("12 00 00 00 01 01 02 02 68 04", faults.BadLength, "records[0].headers[0].value", 70, 2, 0),
        ("0e 00 00 00 01 01 00 00", faults.BadRecordSize, "records[0]", 62, None, 6),
        ("14 00 00 00 05 01 00", faults.BadLength, "records[0]", 61, 10, 6),
    ],
)
def test_a_bad_record_is_refused_where_it_is_bad(
    payload: str, kind: type[DecodeError], path: str, offset: int, need: int | None, have: int | None
) -> None:
    with pytest.raises(kind) as info:
        read(bytes.fromhex(payload))
    error = info.value
    assert type(error) is kind
    assert (error.path, error.offset, error.need, error.have) == (f"batches[0].{path}", offset, need, have)
    (item,) = read(bytes.fromhex(payload), salvage=True)
    assert type(item.error) is kind
    assert item.data == bytes.fromhex(payload)


@pytest.mark.parametrize(
    "payload, kind, path, record",
    [
        ("8c 00 00 00 00 01 01 00", faults.OverlongVarint, "records[0]", Record(0, 0)),
        ("0e 00 80 00 00 01 01 00", faults.OverlongVarint, "records[0].timestamp_delta", Record(0, 0)),
        ("0c 00 00 00 05 01 00", faults.NegativeLength, "records[0].key", Record(0, 0)),
        ("0c 00 00 00 01 05 00", faults.NegativeLength, "records[0].value", Record(0, 0)),
        (
            "12 00 00 00 01 01 02 02 ff 01",
            faults.BadText,
            "records[0].headers[0].key",
            Record(0, 0, headers=(RecordHeader("\ufffd", None),)),
        ),
    ],
)
def test_what_kafka_tolerates_is_a_fault_and_a_value(
    payload: str, kind: type[DecodeError], path: str, record: Record
) -> None:
    data = bytes.fromhex(payload)
    with pytest.raises(kind, match=rf"batches\[0\]\.{path}".replace("[0]", r"\[0\]")):
        read(data)
    (batch,) = parse_records(batch_around(data))
    records = batch.records(salvage=True)
    assert list(records) == [record]
    assert [(type(fault), fault.path) for fault in records.faults] == [(kind, f"batches[0].{path}")]


def test_the_error_has_what_was_read_before_it() -> None:
    with pytest.raises(faults.Truncated) as info:
        read(bytes.fromhex("12 00 04 06 02 6b 02 76 02 02"))
    partial = info.value.partial
    assert partial["timestamp_delta"] == 2
    assert (partial["key"], partial["value"]) == (b"k", b"v")


def test_salvage_continues_after_a_bad_record() -> None:
    bad = bytes.fromhex("0c 00 00 00 fe 01 00")
    first, second, third = read(GOOD + bad + GOOD, 3, salvage=True)
    assert first == third == RECORDS
    assert second.data == bad
    assert second.error.path == "batches[0].records[1].key"
    assert second.error.rest == b"\xfe\x01\x00"
    assert second.error.__traceback__ is None


@pytest.mark.parametrize("count, read_before, left", [(3, 2, 0), (1, 1, 11), (-5, 0, 22), (2**31 - 1, 2, 0)])
def test_the_count_must_be_right(count: int, read_before: int, left: int) -> None:
    with pytest.raises(
        faults.BadRecordCount, match=f"the count of {count} records .*; {read_before} were read"
    ) as info:
        read(GOOD * 2, count)
    assert info.value.path == "batches[0].records"
    assert len(info.value.rest) == left
    *records, item = read(GOOD * 2, count, salvage=True)
    assert records == [RECORDS] * read_before
    assert isinstance(item, UndecodableRecords)
    assert item.data == (GOOD * 2)[len(GOOD) * read_before :]


def test_bytes_after_an_empty_batch_are_ignored() -> None:
    assert read(b"", 0) == []
    with pytest.raises(faults.TrailingBytes):
        read(GOOD, 0)
    (batch,) = parse_records(batch_around(b"not gzip", count=0, attributes=1))
    records = batch.records(salvage=True)
    assert list(records) == []
    assert [(fault.offset, fault.raw) for fault in records.faults] == [(61, b"not gzip")]


def test_an_empty_batch_of_an_unknown_compression_is_refused_too() -> None:
    with pytest.raises(faults.UnknownCompression):
        read(b"", 0, attributes=7)
    (item,) = read(b"abc", 0, attributes=7, salvage=True)
    assert item.data == b"abc"


def test_offsets_and_times_wrap_as_javas_do() -> None:
    records = (Record(-(2**63) + 5, -(2**63) + 7), Record(2**63 - 1, 2**63 - 1))
    data = build_batch(records, base_offset=2**63 - 1, base_timestamp=2**63 - 1, last_offset=2**63 - 1)
    (batch,) = parse_records(data)
    assert tuple(batch.records()) == records


def test_append_time_keeps_the_producers_time_too() -> None:
    (batch,) = parse_records(
        with_right_crcs(build_batch([Record(0, 500, create_timestamp=7)], timestamp_type="LogAppendTime"))
    )
    assert list(batch.records()) == [Record(0, 500, create_timestamp=7)]


def test_a_batch_with_nothing_but_faults_is_given_up() -> None:
    bad = bytes.fromhex("0c 00 00 00 fe 01 00")
    items = read(bad * 20_000, 20_000, salvage=True)
    assert len(items) == 10_001
    assert isinstance(items[-1].error, faults.TooManyFaults)
    assert b"".join(item.data for item in items) == bad * 20_000
    tolerated = bytes.fromhex("0c 00 00 00 05 01 00")
    items = read(tolerated * 20_000, 20_000, salvage=True)
    assert len(items) == 10_001
    assert isinstance(items[-1].error, faults.TooManyFaults)
    assert items[-1].data == tolerated * 10_000


def test_fields_are_those_of_the_layout() -> None:
    fields, stop = python_cursors.read_fast(GOOD, 0)
    assert RECORD.message_class(*fields)._asdict() == {
        "attributes": 0,
        "timestamp_delta": 1,
        "offset_delta": 0,
        "key": None,
        "value": b"v",
        "headers": (RecordHeader("h", None),),
    }
    assert stop == len(GOOD)


def read_one_by_one(one: RecordBatch) -> bool:
    try:
        offsets = [record.offset for record in one.records()]
    except DecodeError:
        return False
    return offsets == list(range(len(offsets)))


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_a_batch_is_whole_if_its_records_can_be_read_one_by_one(compression: str) -> None:
    """Each byte of the records is another one in turn: a batch that is taken for whole can be read."""
    records = [
        Record(0, 5, b"key", b"value", (RecordHeader("name", b"1"), RecordHeader("n\u00e4me", None))),
        Record(1, 300, None, None),
        Record(2, 0, b"", b"x" * 70),
    ]
    data = build_batch(records, compression=compression)
    (whole,) = parse_records(data)
    assert whole.is_whole()
    kept = 0
    for place in range(61, len(data)):
        for change in (1, 2, 128, 255):
            damaged = bytearray(data)
            damaged[place] ^= change
            (one,) = parse_records(bytes(damaged), check_crcs=False)
            expected = read_one_by_one(one)
            try:
                found = one.is_whole()
            except DecodeError:
                found = False
            assert found == expected, (place, change)
            kept += found
    assert 0 < kept < 4 * len(data)


@needs_engine
def test_records_that_are_not_there_are_not_whole() -> None:
    from kwire.codecs.native import records_are_whole

    data = build_batch([Record(0, 5, b"key", b"value")])
    for start, count in ((61, 2), (60, 1), (61, 0), (62, 1), (-1, 1), (10**6, 1)):
        assert not records_are_whole(data, start, count), (start, count)
    assert records_are_whole(data, 61, 1)
    assert records_are_whole(data, len(data), 0)
