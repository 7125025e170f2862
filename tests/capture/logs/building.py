"""What the tests of logs share: small logs, and what is read of them."""

from __future__ import annotations

from kwire import Record, build_batch
from kwire.capture.logs.log_batch import LogBytes
from kwire.capture.logs.segment_reader import SegmentItem, SegmentReader
from kwire.codecs.records import RecordBatch

BATCHES = [
    build_batch([Record(0, 1700000000000, b"k", b"value"), Record(1, 1700000000001, None, b"v")]),
    build_batch([Record(2, 1700000000002, b"key", b"value" * 5)], compression="gzip"),
    build_batch([Record(3, 1700000000003, b"old", b"value")], magic=1),
    build_batch([Record(4, -1, b"older", b"value")], magic=0),
    build_batch([Record(5, 1700000000005, b"k", b"v")], producer_id=9, producer_epoch=1, base_sequence=0),
]
LOG = b"".join(BATCHES)


def cuts(data: bytes, portion: int = 1 << 16) -> list[SegmentItem]:
    reader = SegmentReader()
    found: list[SegmentItem] = []
    for start in range(0, len(data), portion):
        found += reader.feed(data[start : start + portion])
    return [*found, *reader.finish()]


def joined(found: list[SegmentItem]) -> bytes:
    """All bytes of what was cut; places are checked on the way."""
    out = b""
    for cut in found:
        assert cut.position == len(out)
        data = cut.data if isinstance(cut, RecordBatch) or cut.error else bytes(cut.count)
        assert isinstance(data, bytes)
        out += data
    return out


def offsets(found: list[SegmentItem]) -> list[int]:
    """The last offsets of the batches that are as they were written."""
    return [cut.last_offset for cut in found if isinstance(cut, RecordBatch) and not cut.faults]


def unread(found: list[SegmentItem]) -> list[LogBytes]:
    return [cut for cut in found if isinstance(cut, LogBytes)]
