"""Cutting logs: every byte once, whatever is damaged; batches that were not touched are always found."""

from __future__ import annotations

import random
from itertools import accumulate

import pytest

from kwire import Record, build_batch
from kwire.capture.logs import batch_recognition, segment_reader
from kwire.capture.logs.segment_reader import SegmentReader
from kwire.codecs.records import RecordBatch
from kwire.codecs.records.crc32c import crc32c
from tests.capture.logs.building import BATCHES, LOG, cuts, joined, offsets, unread
from tests.cases import case_by_case

STARTS = [0, *accumulate(map(len, BATCHES))]


@pytest.mark.parametrize("portion", [1, 2, 7, 64, 1 << 16])
def test_a_log_comes_in_any_portions(portion: int) -> None:
    found = cuts(LOG, portion)
    assert [cut.data for cut in found] == BATCHES
    assert [(cut.position, cut.index) for cut in found if isinstance(cut, RecordBatch)] == [
        (start, index) for index, start in enumerate(STARTS[:-1])
    ]


def test_a_batch_is_yielded_as_soon_as_it_is_complete() -> None:
    reader = SegmentReader()
    assert list(reader.feed(LOG[: STARTS[1] - 1])) == []
    assert [cut.data for cut in reader.feed(LOG[STARTS[1] - 1 : STARTS[1]])] == BATCHES[:1]


def test_a_log_cut_at_any_byte_keeps_what_is_whole() -> None:
    for stop in range(len(LOG) + 1):
        found = cuts(LOG[:stop])
        assert joined(found) == LOG[:stop]
        whole = sum(start <= stop for start in STARTS[1:])
        assert len(offsets(found)) == whole
        tail = unread(found)
        assert [type(cut.error).__name__ for cut in tail] == (["CutBatch"] if stop not in STARTS else []) or not any(
            LOG[STARTS[whole] : stop]
        )


def test_a_flipped_byte_touches_its_own_batch_only() -> None:
    for at in range(len(LOG)):
        data = bytearray(LOG)
        data[at] ^= 0xFF
        found = cuts(bytes(data))
        assert joined(found) == data
        hit = sum(start <= at for start in STARTS) - 1
        others = {0: 1, 1: 2, 2: 3, 3: 4, 4: 5}
        del others[hit]
        there = [cut.data for cut in found if isinstance(cut, RecordBatch)]
        for number in others:
            assert BATCHES[number] in there, (at, number)


def test_a_wrong_checksum_is_a_fault_of_the_batch() -> None:
    data = LOG.replace(b"older", b"OLDER")
    found = cuts(data)
    assert offsets(found) == [1, 2, 3, 5]
    assert [str(fault) for cut in found if isinstance(cut, RecordBatch) for fault in cut.faults] == [
        "batches[3].crc: checksum 0x01a17b4e; the bytes have 0xae4b1f9c (offset 234)"
    ]


def test_offsets_that_go_down_are_told() -> None:
    found = cuts(BATCHES[4] + BATCHES[0])
    assert isinstance(found[1], RecordBatch)
    assert [fault.reason for fault in found[1].faults] == ["offset 0 comes after offset 5"]


@pytest.mark.parametrize("seed", range(5))
def test_garbage_between_batches_is_named_and_passed_over(seed: int) -> None:
    chance = random.Random(seed)
    garbage = chance.randbytes(chance.randrange(1, 2000))
    found = cuts(BATCHES[0] + garbage + LOG[STARTS[1] :], chance.randrange(1, 500))
    assert joined(found) == BATCHES[0] + garbage + LOG[STARTS[1] :]
    assert offsets(found) == [1, 2, 3, 4, 5]
    assert [type(cut.error).__name__ for cut in unread(found)] == ["NoBatch"]


def test_a_damaged_length_does_not_swallow_what_follows() -> None:
    for length in (b"\0\0\0\x01", b"\x05\0\0\0", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\0\0\0\x60"):
        data = LOG[:8] + length + LOG[12:]
        found = cuts(data)
        assert joined(found) == data
        assert offsets(found) == [2, 3, 4, 5]


@pytest.mark.parametrize("count", [1, 11, 12, 100, 5000, 3 << 20])
def test_zeros_after_the_last_batch_are_space(count: int) -> None:
    found = cuts(LOG + bytes(count))
    assert offsets(found) == [1, 2, 3, 4, 5]
    assert [(cut.position, cut.count, cut.error) for cut in unread(found)] == [(len(LOG), count, None)]


@case_by_case("count", range(1, 80))
def test_zeros_between_batches_do_not_hide_the_next(count: int) -> None:
    found = cuts(BATCHES[0] + bytes(count) + LOG[STARTS[1] :], 50)
    assert joined(found) == BATCHES[0] + bytes(count) + LOG[STARTS[1] :]
    assert offsets(found) == [1, 2, 3, 4, 5]


def test_a_batch_whose_end_was_never_written_is_damaged_and_zeros_follow() -> None:
    found = cuts(BATCHES[0] + BATCHES[4][:-5] + bytes(5) + bytes(1000))
    assert offsets(found) == [1]
    assert isinstance(found[1], RecordBatch)
    assert [type(fault).__name__ for fault in found[1].faults] == ["BadChecksum"]
    assert [cut.count for cut in unread(found)] == [1000]


def test_much_garbage_comes_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_reader, "PIECE", 1000)
    data = BATCHES[0] + b"\xff" * 5500 + BATCHES[1]
    found = cuts(data, 100)
    assert joined(found) == data
    assert offsets(found) == [1, 2]
    assert len(unread(found)) >= 5


def test_an_endless_run_of_zeros_is_yielded_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_reader, "_MOST_ZEROS", 1 << 21)
    reader = SegmentReader()
    found = [cut for _ in range(100) for cut in reader.feed(bytes(1 << 16))]
    assert len(found) == 3
    assert all(1 << 21 <= cut.count < 1 << 22 for cut in unread(found))


def test_headers_that_all_claim_much_do_not_take_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every place looks like a batch of 200,000 bytes; checksums over all of them would be 2 GB."""
    checked = 0

    def counting(data: bytes) -> int:
        nonlocal checked
        checked += len(data)
        return crc32c(data)

    monkeypatch.setattr(batch_recognition, "crc32c", counting)
    header = build_batch([Record(0, 0, b"k", b"v" * 200_000)], compression="none")[:61]
    data = b"\xff" * 20 + header * 10_000
    assert joined(cuts(data)) == data
    assert 0 < checked < 200 << 20


def test_zeros_after_a_damaged_length_are_judged_when_all_of_them_are_there() -> None:
    """A batch whose length is too large seems to end in the zeros after it, while the next batch has not arrived."""
    damaged = bytearray(BATCHES[0])
    damaged[11] += 48
    data = bytes(damaged) + bytes(70) + BATCHES[0]
    whole = [(cut.position, len(cut.data)) for cut in cuts(data) if isinstance(cut, RecordBatch)]
    for portion in range(1, 90):
        found = cuts(data, portion)
        assert [(cut.position, len(cut.data)) for cut in found if isinstance(cut, RecordBatch)] == whole
