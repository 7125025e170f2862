"""Log segments: every byte is in a batch or in a piece with its place, however the bytes arrive."""

from __future__ import annotations

from collections.abc import Iterator

from kwire.capture.logs.log_batch import LogBatch
from kwire.capture.logs.log_reader import LogReader
from kwire.capture.logs.segment_reader import SegmentItem
from kwire.codecs.records import RecordBatch
from tests.capture.logs.building import BATCHES, LOG, cuts, joined


def fuzz_segments(data: bytes) -> None:
    """Read a segment in one portion and in small ones."""
    portion = 1 + data[0] if data else 1
    segment = bytes(data[1:])
    whole = cuts(segment)
    assert joined(whole) == segment
    small = cuts(segment, portion)
    assert joined(small) == segment
    assert places(small) == places(whole)
    for item in LogReader([segment]):
        if isinstance(item, LogBatch):
            for entry in item.entries():
                assert entry is not None


def places(found: list[SegmentItem]) -> list[int]:
    """Return the positions of the batches; bytes between them come in one piece or in several."""
    return [cut.position for cut in found if isinstance(cut, RecordBatch)]


def seeds() -> Iterator[bytes]:
    """Yield a segment, each of its batches, and damage between them."""
    yield b"\x10" + LOG
    for batch in BATCHES:
        yield b"\x01" + batch + bytes(70) + batch + b"\xff" * 9 + batch[:-3]


if __name__ == "__main__":
    from tests.fuzz.running import run

    run(fuzz_segments, seeds())
