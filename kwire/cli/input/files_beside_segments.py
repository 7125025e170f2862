"""Compares a file of a broker's disk (an index, a checkpoint, a snapshot) with the segments beside it.

The rules are in `kwire.capture.logs.checks`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...capture.logs.batch_recognition import find_batch_end
from ...capture.logs.checks.check_disk_files import check_disk_file
from ...capture.logs.checks.inconsistency import Inconsistency
from ...capture.logs.disk_entry import DiskEntry
from ...capture.logs.disk_files import DiskFile, parse_base_offset
from ...capture.logs.segment_reader import SegmentReader
from ...capture.open_file import open_unpacked
from ...codecs.records import RecordBatch
from ...codecs.records.record_layouts import BATCH

_OF_ONE_SEGMENT = ("offset index", "time index", "transaction index")
_OF_THE_FOLDER = ("producer snapshot", "leader epochs", "quorum state")
_LEAVING = ("-delete", "-stray")  # folders of partitions that were moved off the broker; their epochs are cleared first


def disk_differences(disk: DiskFile) -> Iterator[Inconsistency]:
    """Compare a file of a broker's disk with the segments beside it; without segments, check only its consistency.

    Args:
        disk: the file, see `Dump.disk`; its items are read.

    Yields:
        Differences, and undecodable bytes.

    Raises:
        OSError: a segment beside the file cannot be read.
    """
    path, unread = Path(disk.file), list[Inconsistency]()

    def entries() -> Iterator[DiskEntry]:
        for item in disk.items:
            if isinstance(item, DiskEntry):
                yield item
            elif item.error is not None:
                unread.append(Inconsistency(item.position, item.error.path, item.error.reason))

    batches = None if disk.file == "-" else _batches_beside(disk.kind, path)
    ends = _ends_beside(path) if disk.file != "-" and disk.kind not in _OF_ONE_SEGMENT + _OF_THE_FOLDER else {}
    for difference in check_disk_file(disk.kind, entries(), batches, base=parse_base_offset(path.name), ends=ends):
        yield from unread
        unread.clear()
        yield difference
    yield from unread


def _batches_beside(kind: str, path: Path) -> Iterator[RecordBatch] | None:
    if kind in _OF_ONE_SEGMENT:
        segments = [path.with_name(f"{path.name.partition('.')[0]}.log")]
    elif kind in _OF_THE_FOLDER and not path.absolute().parent.name.endswith(_LEAVING):
        segments = sorted(path.parent.glob("*.log"))
    else:
        return None
    files = [segment for segment in segments if segment.is_file()]
    return _batches(files) if files else None


def _batches(segments: list[Path]) -> Iterator[RecordBatch]:
    for segment in segments:
        with open_unpacked(segment) as opened:
            reader = SegmentReader()
            for portion in opened.portions():
                yield from (cut for cut in reader.feed(portion) if isinstance(cut, RecordBatch))
            yield from (cut for cut in reader.finish() if isinstance(cut, RecordBatch))


def _ends_beside(path: Path) -> dict[str, int]:
    """Return the log end offset of each folder beside a file, by folder name."""
    folders = (folder for folder in path.absolute().parent.iterdir() if folder.is_dir())
    last = {folder.name: max(folder.glob("*.log"), default=None) for folder in folders}
    return {name: _end(segment) for name, segment in last.items() if segment is not None}


def _end(segment: Path) -> int:
    """Return the end offset of a segment, from the headers of its batches."""
    end = parse_base_offset(segment.name)
    with segment.open("rb") as stream:
        while len(head := stream.read(BATCH.size)) >= 27:
            stop = find_batch_end(head, 0)
            if stop < 0:
                break
            delta = int.from_bytes(head[23:27], "big") if head[16] == 2 else 0
            end = int.from_bytes(head[:8], "big") + delta + 1
            stream.seek(stop - len(head), 1)
    return end
