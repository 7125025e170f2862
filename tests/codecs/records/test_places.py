from __future__ import annotations

import pytest

from kwire.codecs.records.located_reader import LocatedReader
from kwire.codecs.wire import INT32
from kwire.errors import BadChecksum, Truncated


def test_offsets_are_those_of_the_input() -> None:
    reader = LocatedReader(b"abc", 100, ("batches", 4), start=1)
    with pytest.raises(Truncated, match=r"^batches\[4\].crc: 4 bytes needed, 2 left \(offset 101\)$") as info:
        reader.child("crc", INT32)
    assert (info.value.offset, info.value.need, info.value.have, info.value.rest) == (101, 4, 2, b"bc")
    assert info.value.inflated_offset is None


def test_in_inflated_bytes_both_offsets_are_told() -> None:
    reader = LocatedReader(b"abc", 100, ("batches", 4), inflated=True)
    with pytest.raises(Truncated, match=r"\(offset 100, inflated offset 0\)$") as info:
        reader.child("crc", INT32)
    assert (info.value.offset, info.value.inflated_offset, info.value.rest) == (100, 0, b"abc")


def test_faults_of_fields_have_their_name_in_the_path() -> None:
    reader = LocatedReader(b"abc", 100, ("batches", 4), salvage=True)
    reader.fault_field("crc", BadChecksum, 1, found=("0x1", "0x2"))
    assert [(fault.path, fault.offset) for fault in reader.faults] == [("batches[4].crc", 101)]
    assert reader.path == ["batches", 4]
    with pytest.raises(BadChecksum, match=r"batches\[4\].crc: checksum 0x1; the bytes have 0x2"):
        reader.refuse_field("crc", BadChecksum, 1, found=("0x1", "0x2"))
