from __future__ import annotations

from typing import Any

import pytest

from kwire import errors as faults
from kwire.codecs.records import Batches, Record, RecordBatch, UndecodableRecords, build_batch, parse_records
from kwire.errors import DecodeError
from tests.codecs.records.cases import with_right_crcs

ONE = build_batch([Record(5, 1, b"k", b"v")], partition_leader_epoch=3)
OLD = build_batch([Record(6, key=b"k", value=b"v")], magic=0)
NEXT = build_batch([Record(7, 9, b"k", b"v")], magic=1)


def changed(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


def test_batches_of_all_magics_follow_each_other() -> None:
    batches = parse_records(ONE + OLD + NEXT)
    assert isinstance(batches, Batches)
    first, second, third = batches
    assert [batch.magic for batch in (first, second, third)] == [2, 0, 1]
    assert [batch.index for batch in (first, second, third)] == [0, 1, 2]
    assert [batch.position for batch in (first, second, third)] == [0, len(ONE), len(ONE) + len(OLD)]
    assert [batch.data for batch in (first, second, third)] == [ONE, OLD, NEXT]
    assert (third.base_offset, third.max_timestamp, third.record_count) == (7, 9, 1)
    assert (batches.rest, batches.faults, list(batches)) == (b"", [], [])


def test_no_bytes_are_no_batches() -> None:
    assert list(parse_records(b"")) == []


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_bytes_are_taken(kind: Any) -> None:
    (batch,) = parse_records(kind(ONE))
    assert type(batch.data) is bytes


@pytest.mark.parametrize(
    "wrong, kind, path, offset",
    [
        (changed(ONE, len(ONE) - 1, b"\x01"), faults.BadChecksum, "crc", 17),
        (changed(NEXT, len(NEXT) - 1, b"\x01"), faults.BadChecksum, "crc", 12),
        (changed(ONE, 16, b"\x03"), faults.UnknownMagic, "magic", 16),
        (changed(ONE, 16, b"\xff"), faults.UnknownMagic, "magic", 16),
        (changed(ONE, 8, b"\xff\xff\xff\xff"), faults.BadBatchLength, "length", 8),
        (changed(ONE, 8, b"\0\0\0\x0d"), faults.BadBatchLength, "length", 8),
        (changed(ONE[:60], 8, b"\0\0\0\x30"), faults.BadBatchLength, "length", 8),
        (changed(NEXT[:33], 8, b"\0\0\0\x15"), faults.BadBatchLength, "length", 8),
    ],
)
def test_a_bad_batch_is_refused_where_it_is_bad(wrong: bytes, kind: type[DecodeError], path: str, offset: int) -> None:
    batches = parse_records(OLD + wrong + OLD)
    assert next(batches).data == OLD
    with pytest.raises(kind) as info:
        next(batches)
    assert type(info.value) is kind
    assert info.value.path == f"batches[1].{path}"
    assert info.value.offset == len(OLD) + offset
    assert list(batches) == []


def test_a_wrong_checksum_leaves_the_header() -> None:
    wrong = changed(ONE, len(ONE) - 1, b"\x01")
    with pytest.raises(faults.BadChecksum) as info:
        list(parse_records(wrong))
    assert info.value.partial.partition_leader_epoch == 3
    (batch,) = parse_records(wrong, salvage=True)
    assert isinstance(batch, RecordBatch)
    assert [type(fault) for fault in batch.faults] == [faults.BadChecksum]
    found, right = batch.faults[0].found
    assert found == f"0x{ONE[17:21].hex()}" != right
    (batch,) = parse_records(wrong, check_crcs=False)
    assert batch.faults == ()


def test_salvage_continues_where_the_next_batch_must_begin() -> None:
    unknown, short = changed(ONE, 16, b"\x07"), changed(ONE[:60], 8, b"\0\0\0\x30")
    first, bad, other, last = parse_records(OLD + unknown + short + NEXT, salvage=True)
    assert isinstance(first, RecordBatch) and isinstance(last, RecordBatch)
    assert isinstance(bad, UndecodableRecords) and isinstance(other, UndecodableRecords)
    assert (bad.data, other.data) == (unknown, short)
    assert bad.error.rest == unknown[16:]
    assert last.index == 3


@pytest.mark.parametrize("length", [b"\0\0\0\x05", b"\x80\0\0\0", b"\x7f\xff\xff\xff"])
def test_salvage_keeps_the_rest_where_no_next_batch_can_be_found(length: bytes) -> None:
    _, bad = parse_records(OLD + changed(ONE, 8, length) + NEXT, salvage=True)
    assert isinstance(bad, UndecodableRecords)
    assert bad.data == changed(ONE, 8, length) + NEXT
    _, bad = parse_records(OLD + changed(ONE, 8, b"\x7f\xff\xff\xf3\0\0\0\0\x09") + NEXT, salvage=True)
    assert isinstance(bad.error if isinstance(bad, UndecodableRecords) else None, faults.UnknownMagic)


def test_magic_is_a_signed_byte() -> None:
    with pytest.raises(faults.UnknownMagic, match=r"magic -1; 0, 1 and 2 are known"):
        list(parse_records(changed(ONE, 16, b"\xff")))


@pytest.mark.parametrize("stop", range(1, len(ONE)))
def test_every_cut_is_reported_and_kept(stop: int) -> None:
    data = OLD + ONE[:stop]
    with pytest.raises(faults.CutBatch) as info:
        list(parse_records(data))
    assert info.value.path == "batches[1]"
    assert info.value.offset == len(OLD)
    assert (info.value.need, info.value.have) == (12 if stop < 12 else len(ONE), stop)
    for batches in (parse_records(data, may_be_cut=True), parse_records(data, salvage=True)):
        assert len(list(batches)) == 1
        assert batches.rest == ONE[:stop]
        assert [type(fault) for fault in batches.faults] == [faults.CutBatch]
        assert batches.faults[0].raw == ONE[:stop]


def test_a_batch_that_claims_nearly_2_gib_is_cut_off() -> None:
    with pytest.raises(faults.CutBatch, match=f"{2**31 - 1} bytes needed, {len(ONE)} left"):
        list(parse_records(changed(ONE, 8, b"\x7f\xff\xff\xf3")))


def test_a_batch_that_claims_more_is_refused_as_kafka_does() -> None:
    for may_be_cut in (False, True):
        with pytest.raises(faults.BadLength, match=f"needs {2**31} bytes, {len(ONE)} left") as info:
            list(parse_records(changed(ONE, 8, b"\x7f\xff\xff\xf4"), may_be_cut=may_be_cut))
        assert (info.value.path, info.value.offset) == ("batches[0].length", 8)
    short = parse_records(bytes(8) + b"\x7f\xff\xff\xff\0\0\0\0", may_be_cut=True)
    assert list(short) == []
    assert len(short.rest) == 16


def test_the_header_is_read_with_any_values() -> None:
    data = with_right_crcs(changed(ONE, 21, b"\xff\xff" + b"\x80\0\0\0" + b"\x7f" + b"\xff" * 7 + bytes(26)))
    (batch,) = parse_records(data)
    assert (batch.attributes, batch.last_offset_delta, batch.last_offset) == (-1, -(2**31), 5 - 2**31)
    assert (batch.base_timestamp, batch.delete_horizon) == (2**63 - 1, 2**63 - 1)
