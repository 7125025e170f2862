"""`LogReader`: batches with their records one by one, and what is in none."""

from __future__ import annotations

from kwire import LogBatch, LogBytes, LogRecord, Record, build_batch
from kwire.capture.logs.log_reader import LogReader
from tests.capture.logs.building import BATCHES, LOG
from tests.codecs.records.cases import batch_around


def test_records_come_one_by_one_with_their_batch() -> None:
    batches = [batch for batch in LogReader([LOG], "file.log") if isinstance(batch, LogBatch)]
    entries = [entry for batch in batches for entry in batch.entries()]
    assert [entry.record.offset for entry in entries if isinstance(entry, LogRecord)] == [0, 1, 2, 3, 4, 5]
    assert [entry.index for entry in entries if isinstance(entry, LogRecord)] == [0, 1, 0, 0, 0, 0]
    assert {batch.file for batch in batches} == {"file.log"}
    assert [batch.header.data for batch in batches] == BATCHES


def test_a_record_that_cannot_be_read_is_bytes_with_their_place() -> None:
    good = build_batch([Record(0, 0, b"k", b"v")])[61:]
    data = BATCHES[0] + batch_around(good + bytes.fromhex("06 00 ffff") + good, count=3)
    batch = list(LogReader([data]))[1]
    assert isinstance(batch, LogBatch)
    entries = list(batch.entries())
    assert [type(entry) for entry in entries] == [LogRecord, LogBytes, LogRecord]
    bad = entries[1]
    assert isinstance(bad, LogBytes)
    assert bad.error is not None
    assert bad.batch is batch.header
    assert bad.position >= len(BATCHES[0])


def test_strict_refuses_what_is_tolerated() -> None:
    data = batch_around(b"\x0e\0\0\0\x02k\x02v\0", count=0, attributes=0)
    (batch,) = LogReader([data])
    assert isinstance(batch, LogBatch)
    assert list(batch.entries()) == []
    assert [type(fault).__name__ for fault in batch.faults] == ["TrailingBytes"]


def test_in_strict_a_tolerated_record_is_bytes_with_its_error() -> None:
    negative = bytes.fromhex("0e 00 00 00 03 02 76 00")  # the length of the key is -2
    (batch,) = LogReader([batch_around(negative)])
    assert isinstance(batch, LogBatch)
    (entry,) = batch.entries(salvage=False)
    assert isinstance(entry, LogBytes)
    assert (entry.data, type(entry.error).__name__) == (b"v", "NegativeLength")


def test_bytes_have_their_file() -> None:
    (tail,) = [item for item in LogReader([LOG + b"\0\0rest"], "file.log") if isinstance(item, LogBytes)]
    assert (tail.file, tail.position, tail.data) == ("file.log", len(LOG), b"\0\0rest")
