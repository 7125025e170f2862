from __future__ import annotations

import pickle

import msgspec
import pytest

from kwire.codecs.records import Record, RecordHeader, UndecodableRecords
from kwire.errors import DecodeError


def test_a_record_is_a_frozen_value_with_kafkas_defaults() -> None:
    record = Record(7)
    assert record == Record(offset=7, timestamp=-1, key=None, value=None, headers=(), attributes=0)
    assert hash(record) == hash(Record(7))
    assert pickle.loads(pickle.dumps(record)) == record
    assert msgspec.structs.replace(record, key=b"k").key == b"k"
    with pytest.raises(AttributeError):
        record.offset = 8  # type: ignore[misc]


def test_a_header_is_a_pair() -> None:
    assert RecordHeader("name", None) == ("name", None)
    name, value = RecordHeader("name", b"value")
    assert (name, value) == ("name", b"value")


def test_what_cannot_be_read_is_bytes_and_a_reason() -> None:
    error = DecodeError(offset=3)
    assert UndecodableRecords(b"abc", error) == (b"abc", error)
