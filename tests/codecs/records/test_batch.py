from __future__ import annotations

from typing import Any

import pytest

from kwire.codecs.records import Record, RecordBatch, build_batch, parse_records


def batch(attributes: int = 0, magic: int = 2, **fields: Any) -> RecordBatch:
    common: dict[str, Any] = {"base_offset": 0, "last_offset": 9, "length": 49, "crc": 0, "data": b"x" * 61}
    return RecordBatch(**{**common, "attributes": attributes, "magic": magic, **fields})


@pytest.mark.parametrize(
    "attributes, names",
    [
        (0, ("none", "CreateTime", False, False, None)),
        (1, ("gzip", "CreateTime", False, False, None)),
        (2 | 8, ("snappy", "LogAppendTime", False, False, None)),
        (3 | 16, ("lz4", "CreateTime", True, False, None)),
        (4 | 32, ("zstd", "CreateTime", False, True, None)),
        (64, ("none", "CreateTime", False, False, 777)),
        (5, (None, "CreateTime", False, False, None)),
        (-128, ("none", "CreateTime", False, False, None)),
        (-1, (None, "LogAppendTime", True, True, 777)),
    ],
)
def test_the_bits_of_the_attributes(attributes: int, names: tuple[Any, ...]) -> None:
    it = batch(attributes, base_timestamp=777)
    assert (it.compression, it.timestamp_type, it.is_transactional, it.is_control, it.delete_horizon) == names


@pytest.mark.parametrize(
    "magic, names",
    [
        (0, ("lz4", "NoTimestampType", False, False, None)),
        (1, ("lz4", "LogAppendTime", False, False, None)),
    ],
)
def test_the_bits_that_older_magics_have(magic: int, names: tuple[Any, ...]) -> None:
    it = batch(0x7B, magic=magic)
    assert (it.compression, it.timestamp_type, it.is_transactional, it.is_control, it.delete_horizon) == names
    assert batch(4, magic=magic).compression is None


@pytest.mark.parametrize(
    "base_sequence, offset, sequence",
    [
        (-1, 5, -1),
        (0, 5, 5),
        (10, 5, 15),
        (2**31 - 1, 0, 2**31 - 1),
        (2**31 - 1, 1, 0),
        (2**31 - 2, 5, 3),
        (5, -1, 4 - 2**31),
    ],
)
def test_sequence_numbers_wrap_at_31_bits(base_sequence: int, offset: int, sequence: int) -> None:
    assert batch(base_sequence=base_sequence).sequence(Record(offset)) == sequence


def test_it_is_told_in_a_line() -> None:
    assert repr(batch(3)) == "<RecordBatch magic 2, offset 0 to 9, lz4, 61 bytes>"
    assert repr(batch(1, magic=0, base_offset=None)) == "<RecordBatch magic 0, offset 9, gzip, 61 bytes>"


def test_it_is_a_frozen_value() -> None:
    assert batch() == batch()
    with pytest.raises(AttributeError):
        batch().crc = 5  # type: ignore[misc]


def test_a_compressed_message_has_its_first_offset_in_its_records_only() -> None:
    (it,) = parse_records(build_batch([Record(7), Record(8)], magic=0, compression="gzip"))
    assert (it.base_offset, it.last_offset, it.record_count) == (None, 8, None)
    assert [record.offset for record in it.records()] == [7, 8]
