"""The engine, Python's fast path and the layouts read and build the same records, and explain the same faults."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from kwire.codecs import native
from kwire.codecs.records import Record, RecordBatch, RecordHeader, build_batch, parse_records
from tests.codecs.records.cases import all_cases, data_of
from tests.codecs.records.executions import (
    compare_batches,
    compare_building,
    compare_built,
    compare_damaged,
    compare_records,
    without_native_records,
)
from tests.conftest import spread
from tests.seeds import TRIES, seeded

natively = pytest.mark.skipif(native.ENGINE != "native", reason="another engine was chosen")


@pytest.mark.fuzz
def test_damaged_records_are_read_alike() -> None:
    assert compare_damaged(seeded("records by each engine"), 300 * TRIES) > 500


@pytest.mark.ci
@pytest.mark.parametrize("part", range(10))
def test_fifty_thousand_damaged_batches_are_read_alike(part: int) -> None:
    assert compare_damaged(seeded(f"50,000 batches by each engine, {part}"), 2_500) > 5_000


@pytest.mark.fuzz
def test_records_are_built_alike() -> None:
    assert compare_built(seeded("built by each engine"), 700 * TRIES) > 100


@pytest.mark.parametrize("part", spread(range(8), 2))
def test_kafkas_own_records_are_read_alike(part: int) -> None:
    for case in all_cases()[part::8]:
        for salvage in (False, True):
            for batch in compare_batches(data_of(case), salvage=salvage):
                if len(batch.data) < 100_000:
                    compare_records(batch, salvage)


def usual_batch(**options: Any) -> RecordBatch:
    headers = (RecordHeader("n\u00e4me", b"1"), RecordHeader("", None))
    records = [Record(index, 1_700_000_000_000 + index, b"k", b"value", headers) for index in range(100)]
    if options.get("magic", 2) < 2:
        records = [Record(index, -1, b"k", b"value") for index in range(100)]
    batch: RecordBatch = next(parse_records(build_batch(records, **options)))
    return batch


@natively
@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_usual_records_are_read_natively(compression: str) -> None:
    records = usual_batch(compression=compression).records()
    if compression == "none":
        assert len(list(records)) == 100
        assert records._walk is None  # the general path was not begun
    else:
        next(records)  # decompresses
        records._items = None  # a use of the general path would begin again, and be noticed
        assert len(list(records)) == 99


@natively
@pytest.mark.parametrize("magic", [0, 1])
def test_usual_messages_are_read_natively(magic: int) -> None:
    records = usual_batch(magic=magic, compression="gzip").records()
    next(records)
    records._items = None
    assert len(list(records)) == 99
    (batch,) = parse_records(build_batch([Record(5, key=b"k")], magic=magic))
    single = batch.records()
    assert list(single) == [Record(5, key=b"k")]
    assert single._walk is None


@natively
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_usual_records_are_built_natively(magic: int, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = usual_batch(magic=magic, compression="gzip")
    monkeypatch.setattr("kwire.codecs.records.batch_builder.BatchPlan.check_records", None)
    assert usual_batch(magic=magic, compression="gzip") == batch


def test_a_bad_record_does_not_keep_the_rest_from_the_engine() -> None:
    good = build_batch([Record(0, 0, b"k")])[61:]
    tolerated = bytes.fromhex("0c 00 00 00 05 01 00")  # the key's length is -3, which Kafka reads as null
    header = bytearray(build_batch([Record(0)])[:61])
    payload = good * 2 + tolerated + good * 2
    header[8:12] = (49 + len(payload)).to_bytes(4, "big")
    header[57:61] = (5).to_bytes(4, "big")
    (batch,) = parse_records(bytes(header) + payload, check_crcs=False)
    assert compare_records(batch, salvage=True) == 5
    assert compare_records(batch, salvage=False) == 3
    records = batch.records(salvage=True)
    assert [getattr(next(records), "key", "") for _ in range(3)] == [b"k", b"k", None]
    assert records._index == 3
    if native.ENGINE != "reference":
        taken = records._take()
        assert taken is not None and taken.key == b"k"


def test_views_are_of_the_bytes_and_equal_them() -> None:
    for compression in ("none", "gzip"):
        batch = usual_batch(compression=compression)
        viewed: list[Any] = list(batch.records(views=True))
        assert [(record.key, record.value) for record in viewed] == [(b"k", b"value")] * 100
        assert {type(part) for record in viewed for part in (record.key, record.value)} == {memoryview}
        assert [record.headers for record in viewed] == [record.headers for record in batch.records()]
        with without_native_records():
            assert list(batch.records(views=True)) == viewed
    view: Any = next(usual_batch().records(views=True)).value
    assert view.readonly and (native.ENGINE != "native" or view.obj == usual_batch().data)
    (empty,) = parse_records(build_batch([Record(0)]))
    assert list(empty.records(views=True)) == [Record(0)]


@natively
def test_what_is_kept_and_dropped_is_counted_rightly() -> None:
    """References of the engine's own objects: neither is one lost nor one kept."""
    batch, key = usual_batch(), b"a key of its own"
    (one,) = parse_records(build_batch([Record(70_000, 80_000, key, key, (RecordHeader("name", key),))]))
    uses: list[Callable[[], object]] = [lambda: [*batch.records()], lambda: [*one.records()]]
    uses.append(lambda: [*parse_records(one.data)])
    for use in uses:
        use()
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(50):
            use()
        gc.collect()
        assert len(gc.get_objects()) <= before + 5
    count = sys.getrefcount(key)
    for _ in range(50):
        build_batch([Record(0, 5, key, key, (("h", key),))])  # type: ignore[arg-type]
        compare_building([Record(0, 5, key, "text")])  # type: ignore[arg-type]
    assert sys.getrefcount(key) == count


def test_a_batch_of_other_numbers_is_left_to_the_general_path() -> None:
    (batch,) = parse_records(build_batch([Record(3, 4, b"k")]))
    for name, value in (
        ("base_offset", None),
        ("base_offset", 2**70),
        ("base_timestamp", 2**65),
        ("record_count", None),
    ):
        changed = msgspec.structs.replace(batch, **{name: value})
        compare_records(changed, salvage=False)
