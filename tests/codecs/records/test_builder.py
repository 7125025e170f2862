from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kwire import errors
from kwire.codecs.compression.compression_types import NAMES
from kwire.codecs.records import Record, RecordHeader, build_batch, parse_records
from kwire.errors import EncodeError
from kwire.testing import strategies

INT64 = st.integers(-(2**63), 2**63 - 1)
DELTAS = st.integers(0, 2**31 - 1)


def records_of(magic: int, base: int) -> Any:
    """Lists of records whose offsets may repeat, and whose attributes have bits without a name."""
    bits = st.integers(-128, 127) if magic == 2 else st.just(0)
    plain = strategies.records(magic, base_offset=base)
    record = st.builds(lambda record, attributes: replace(record, attributes=attributes), plain, bits)
    return st.lists(record, max_size=6).map(lambda them: sorted(them, key=lambda record: record.offset))


@given(st.data(), st.sampled_from(NAMES), st.integers(0, 2**62), st.booleans())
def test_records_of_magic_2_come_back(data: Any, compression: str, base: int, appended: bool) -> None:
    records = data.draw(records_of(2, base))
    header = {
        "base_offset": base,
        "last_offset": base + data.draw(DELTAS),
        "partition_leader_epoch": data.draw(st.integers(-1, 2**31 - 1)),
        "base_timestamp": data.draw(st.integers(-1, 2**62)),
        "max_timestamp": data.draw(INT64),
        "producer_id": data.draw(INT64),
        "producer_epoch": data.draw(st.integers(-(2**15), 2**15 - 1)),
        "base_sequence": data.draw(st.integers(-(2**31), 2**31 - 1)),
        "is_transactional": data.draw(st.booleans()),
        "is_control": data.draw(st.booleans()),
    }
    kind = "LogAppendTime" if appended else "CreateTime"
    (batch,) = parse_records(build_batch(records, compression=compression, timestamp_type=kind, **header))
    assert {name: getattr(batch, name) for name in header} == header
    assert (batch.compression, batch.timestamp_type, batch.record_count) == (compression, kind, len(records))
    written = [record.timestamp for record in records]
    read = list(batch.records())
    if appended:
        assert [record.create_timestamp for record in read] == written
        assert {record.timestamp for record in read} <= {batch.max_timestamp}
    else:
        assert read == records


@given(st.data(), st.integers(0, 1), st.sampled_from(NAMES[:4]), st.integers(0, 2**62))
def test_records_of_older_magics_come_back(data: Any, magic: int, compression: str, base: int) -> None:
    records = data.draw(records_of(magic, base).filter(bool))
    batches = list(parse_records(build_batch(records, magic=magic, compression=compression)))
    assert len(batches) == (len(records) if compression == "none" else 1)
    read = [record for batch in batches for record in batch.records()]
    if magic and records[-1].offset == 0:
        return  # an outer offset of 0 says nothing
    assert read == records
    assert batches[-1].last_offset == records[-1].offset


def test_what_is_not_said_follows_from_the_records() -> None:
    (batch,) = parse_records(build_batch([Record(7, 500), Record(9, 300), Record(12, 400)]))
    assert (batch.base_offset, batch.last_offset, batch.last_offset_delta, batch.record_count) == (7, 12, 5, 3)
    assert (batch.base_timestamp, batch.max_timestamp) == (500, 500)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.partition_leader_epoch) == (-1,) * 4


def test_an_empty_batch_keeps_what_it_is_told() -> None:
    (batch,) = parse_records(build_batch([], base_offset=20, last_offset=29, max_timestamp=5))
    assert (batch.base_offset, batch.last_offset, batch.record_count) == (20, 29, 0)
    assert (batch.base_timestamp, batch.max_timestamp) == (-1, 5)
    assert build_batch([], magic=1) == b""


def test_a_delete_horizon_takes_the_place_of_the_base_timestamp() -> None:
    (batch,) = parse_records(build_batch([Record(0, 500)], delete_horizon=77))
    assert (batch.delete_horizon, batch.base_timestamp) == (77, 77)
    assert list(batch.records()) == [Record(0, 500)]


def test_append_time_of_magic_1() -> None:
    one = [Record(0, 500, value=b"v", attributes=8)]
    (batch,) = parse_records(build_batch(one, magic=1, timestamp_type="LogAppendTime"))
    assert (batch.timestamp_type, list(batch.records())) == ("LogAppendTime", one)
    two = [Record(3, 500, create_timestamp=5), Record(4, 500, create_timestamp=6)]
    data = build_batch(two, magic=1, timestamp_type="LogAppendTime", compression="gzip")
    (batch,) = parse_records(data)
    assert [(r.timestamp, r.create_timestamp) for r in batch.records()] == [(500, 5), (500, 6)]


@pytest.mark.parametrize("magic, bits", [(0, -8), (1, -16), (2, -128)])
def test_bits_without_a_name_are_kept(magic: int, bits: int) -> None:
    (batch,) = parse_records(build_batch([Record(0)], magic=magic, attributes=bits))
    assert batch.attributes == bits
    (batch,) = parse_records(build_batch([Record(0)], magic=magic, attributes=-1, compression="gzip"))
    assert batch.attributes == bits | 1


def test_headers_may_be_given_as_any_pairs() -> None:
    (batch,) = parse_records(build_batch([Record(0, 0, headers=(("a", b"1"), ["b", None]))]))  # type: ignore[arg-type]
    (record,) = batch.records()
    assert record.headers == (RecordHeader("a", b"1"), RecordHeader("b", None))
    assert all(type(header) is RecordHeader for header in record.headers)


@pytest.mark.parametrize(
    "record, kind, path",
    [
        (Record(0, key="text"), errors.WrongType, "records[1].key"),  # type: ignore[arg-type]
        (Record(0, value=5), errors.WrongType, "records[1].value"),  # type: ignore[arg-type]
        (Record(2**31), errors.OutOfRange, "records[1].offset_delta"),
        (Record(-(2**31) - 1), errors.OutOfRange, "records[1].offset_delta"),
        (Record(0, attributes=128), errors.OutOfRange, "records[1].attributes"),
        (Record(0, headers=(RecordHeader(None, b""),)), errors.NullNotWritable, "records[1].headers[0].key"),  # type: ignore[arg-type]
        (Record(0, headers=(RecordHeader("\ud800", b""),)), errors.WrongType, "records[1].headers[0].key"),
        (Record(0, headers=(RecordHeader("a", "b"),)), errors.WrongType, "records[1].headers[0].value"),  # type: ignore[arg-type]
    ],
)
def test_a_record_that_cannot_be_written_is_refused_where_it_cannot(
    record: Record, kind: type[EncodeError], path: str
) -> None:
    with pytest.raises(kind) as info:
        build_batch([Record(0), record])
    assert type(info.value) is kind
    assert (info.value.path, info.value.message, info.value.version) == (path, "RecordBatch", 2)


@pytest.mark.parametrize(
    "header, path",
    [
        ({"producer_epoch": 2**15}, "producer_epoch"),
        ({"base_sequence": 2**31}, "base_sequence"),
        ({"partition_leader_epoch": -(2**31) - 1}, "partition_leader_epoch"),
        ({"last_offset": 2**31}, "last_offset_delta"),
        ({"attributes": 2**15}, "attributes"),
    ],
)
def test_a_header_that_cannot_be_written_is_refused(header: dict[str, Any], path: str) -> None:
    with pytest.raises(EncodeError) as info:
        build_batch([Record(0)], **header)
    assert info.value.path == path
