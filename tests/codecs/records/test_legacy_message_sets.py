from __future__ import annotations

import struct
import zlib
from typing import Any

import pytest

from kwire import errors as faults
from kwire.codecs.compression.compression_types import deflate
from kwire.codecs.records import Record, UndecodableRecords, build_batch, parse_records
from kwire.errors import DecodeError
from tests.codecs.records.cases import message_around, with_right_crcs


def read(data: bytes, *, salvage: bool = False) -> list[Any]:
    (batch,) = parse_records(data)
    return list(batch.records(salvage=salvage))


def around(*messages: bytes, magic: int = 1, offset: int = 9, attributes: int = 1) -> bytes:
    """A gzip message around others."""
    value = deflate("gzip", b"".join(messages))
    return message_around(value, offset=offset, magic=magic, attributes=attributes)


def inner(offset: int, value: bytes = b"v", *, magic: int = 1, attributes: int = 0) -> bytes:
    return message_around(value, offset=offset, magic=magic, attributes=attributes)


def offsets(data: bytes) -> list[int]:
    return [record.offset for record in read(data)]


def test_inner_offsets_of_magic_1_count_from_the_first() -> None:
    assert offsets(around(inner(0), inner(1), inner(2))) == [7, 8, 9]
    assert offsets(around(inner(3), inner(5), offset=9)) == [7, 9]


def test_inner_offsets_of_magic_0_are_those_of_the_log() -> None:
    assert offsets(around(inner(7, magic=0), inner(9, magic=0), magic=0)) == [7, 9]


def test_offsets_wrap_as_javas_do() -> None:
    assert offsets(around(inner(2**63 - 1), inner(1), offset=2**63 - 1)) == [-3, 2**63 - 1]


def test_an_outer_offset_of_0_is_librdkafkas_and_is_ignored() -> None:
    assert offsets(around(inner(0), inner(1), offset=0)) == [0, 1]


def test_an_outer_offset_below_the_last_is_refused() -> None:
    with pytest.raises(faults.BadOuterOffset, match="offset 3 of the outer message is less than 5"):
        offsets(around(inner(5), offset=3))


def test_times_of_magic_1() -> None:
    body = struct.pack(">bbqii", 1, 8 | 1, 777, -1, 0)
    value = deflate("gzip", inner(0))
    body = body[:-4] + len(value).to_bytes(4, "big") + value
    data = struct.pack(">qiI", 4, len(body) + 4, zlib.crc32(body)) + body
    assert read(data) == [Record(4, 777, None, b"v", create_timestamp=0)]


@pytest.mark.parametrize(
    "data, kind, path",
    [
        (message_around(None, attributes=1), faults.NullNotAllowed, "value"),
        (message_around(b"", attributes=1), faults.BadCompression, "records"),
        (message_around(b"abc", attributes=4), faults.UnknownCompression, "attributes"),
        (message_around(b"abc", attributes=7), faults.UnknownCompression, "attributes"),
        (around(), faults.EmptyMessageSet, "value"),
        (around(inner(0)[:-1]), faults.EmptyMessageSet, "value"),
        (around(b"short"), faults.EmptyMessageSet, "value"),
        (around(inner(0, attributes=1)), faults.NestedCompression, "records[0].attributes"),
        (around(inner(0), bytes(8) + b"\0\0\0\x0d" + bytes(13)), faults.BadBatchLength, "records[1].length"),
        (around(inner(0), bytes(8) + b"\xff\xff\xff\xff" + bytes(13)), faults.BadBatchLength, "records[1].length"),
        (with_right_crcs(inner(0, b"")[:-1] + b"\x01"), faults.BadLength, "records[0].value"),
        (around(with_right_crcs(inner(0, b"")[:-1] + b"\x01")), faults.BadLength, "records[0].value"),
    ],
)
def test_what_kafka_refuses_is_refused_where_it_is(data: bytes, kind: type[DecodeError], path: str) -> None:
    with pytest.raises(kind) as info:
        read(data)
    assert type(info.value) is kind
    assert info.value.path == f"batches[0].{path}"
    items = read(data, salvage=True)
    assert [item.error.path for item in items if isinstance(item, UndecodableRecords)] == [f"batches[0].{path}"]


@pytest.mark.parametrize(
    "data, kind, path",
    [
        (around(inner(0)[:-1] + b"w", offset=5), faults.BadChecksum, "records[0].crc"),
        (around(inner(0, magic=0), offset=5), faults.MixedMagic, "records[0].magic"),
        (around(inner(0, magic=2), offset=5), faults.MixedMagic, "records[0].magic"),
        (around(inner(0, magic=-128), offset=5), faults.MixedMagic, "records[0].magic"),
        (around(inner(0), inner(1)[:-1], offset=5), faults.CutBatch, "records[1]"),
        (around(inner(0), bytes(5), offset=5), faults.CutBatch, "records[1]"),
        (
            with_right_crcs(struct.pack(">qiIbbqiibb", 5, 24, 0, 1, 0, 0, -1, 0, 1, 2)),
            faults.TrailingBytes,
            "records[0]",
        ),
        (with_right_crcs(struct.pack(">qiIbbqii", 5, 22, 0, 1, 0, 0, -7, 0)), faults.NegativeLength, "records[0].key"),
        (
            message_around(deflate("gzip", inner(0)) + b"tail", offset=5, attributes=1),
            faults.TrailingBytes,
            "records",
        ),
    ],
)
def test_what_kafka_tolerates_is_a_fault_and_a_value(data: bytes, kind: type[DecodeError], path: str) -> None:
    with pytest.raises(kind) as info:
        read(data)
    assert info.value.path == f"batches[0].{path}"
    (batch,) = parse_records(data)
    records = batch.records(salvage=True)
    assert [record.offset for record in records if isinstance(record, Record)] == [5]
    assert [(type(fault), fault.path) for fault in records.faults] == [(kind, f"batches[0].{path}")]


def test_bytes_after_the_value_of_the_outer_message_are_a_fault() -> None:
    data = bytearray(around(inner(0)) + b"more")
    data[8:12] = (len(data) - 12).to_bytes(4, "big")
    with pytest.raises(faults.TrailingBytes, match="4 bytes left over"):
        read(with_right_crcs(bytes(data)))
    (batch,) = parse_records(with_right_crcs(bytes(data)))
    records = batch.records(salvage=True)
    assert len(list(records)) == 1
    assert [fault.raw for fault in records.faults] == [b"more"]


def test_salvage_continues_after_a_bad_message() -> None:
    bad = inner(1, attributes=2)
    first, second, third = read(around(inner(0), bad, inner(2)), salvage=True)
    assert (first.offset, third.offset) == (7, 9)
    assert second.data == bad
    assert second.error.inflated_offset == len(inner(0)) + 17
    assert second.error.offset == 34  # where the compressed bytes begin: 18 bytes, a time, a null key, a size


@pytest.mark.parametrize("magic", [0, 1])
def test_compressed_sets_are_what_the_builder_builds(magic: int) -> None:
    records = [Record(7, 5 if magic else -1, b"k", None), Record(9, 6 if magic else -1, None, b"v")]
    assert read(build_batch(records, magic=magic, compression="gzip")) == records
