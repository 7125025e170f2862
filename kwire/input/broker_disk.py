"""Finds the segments and folders that a file of a broker's disk refers to, and compares it with them.

The rules are in `kwire.logs.checks`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..logs import DiskEntry
from ..logs.checks import Difference, check_disk_file
from ..logs.disk_files import DiskFile, base_offset_of
from ..logs.log import SegmentReader
from ..logs.recognition import stop_of
from ..records import RecordBatch
from ..records.layouts import BATCH
from .open import open_unpacked

_OF_ONE_SEGMENT = ("offset index", "time index", "transaction index")
_OF_THE_FOLDER = ("producer snapshot", "leader epochs", "quorum state")
_LEAVING = ("-delete", "-stray")  # folders of partitions that left the broker; their epochs are cleared first


def disk_differences(disk: DiskFile) -> Iterator[Difference]:
    """Compare a file of a broker's disk with the segments beside it; without segments, check only its consistency.

    Args:
        disk: as `Dump.disk`; its items are read.

    Yields:
        Differences, and undecodable bytes.

    Raises:
        OSError: a segment beside it cannot be read.
    """
    path, unread = Path(disk.file), list[Difference]()

    def entries() -> Iterator[DiskEntry]:
        for item in disk.items:
            if isinstance(item, DiskEntry):
                yield item
            elif item.error is not None:
                unread.append(Difference(item.position, item.error.path, item.error.reason))

    batches = None if disk.file == "-" else _batches_beside(disk.kind, path)
    ends = _ends_beside(path) if disk.file != "-" and disk.kind not in _OF_ONE_SEGMENT + _OF_THE_FOLDER else {}
    for found in check_disk_file(disk.kind, entries(), batches, base=base_offset_of(path.name), ends=ends):
        yield from unread
        unread.clear()
        yield found
    yield from unread


def _batches_beside(kind: str, path: Path) -> Iterator[RecordBatch] | None:
    if kind in _OF_ONE_SEGMENT:
        segments = [path.with_name(f"{path.name.partition('.')[0]}.log")]
    elif kind in _OF_THE_FOLDER and not path.absolute().parent.name.endswith(_LEAVING):
        segments = sorted(path.parent.glob("*.log"))
    else:
        return None
    found = [segment for segment in segments if segment.is_file()]
    return _batches(found) if found else None


def _batches(segments: list[Path]) -> Iterator[RecordBatch]:
    for segment in segments:
        with open_unpacked(segment) as opened:
            reader = SegmentReader()
            for portion in opened.portions():
                yield from (cut for cut in reader.feed(portion) if isinstance(cut, RecordBatch))
            yield from (cut for cut in reader.finish() if isinstance(cut, RecordBatch))


def _ends_beside(path: Path) -> dict[str, int]:
    """Return the end of the log of each folder beside a file, by the folder's name."""
    folders = (folder for folder in path.absolute().parent.iterdir() if folder.is_dir())
    last = {folder.name: max(folder.glob("*.log"), default=None) for folder in folders}
    return {name: _end(segment) for name, segment in last.items() if segment is not None}


def _end(segment: Path) -> int:
    """Return the end offset of a segment, from the headers of its batches."""
    end = base_offset_of(segment.name)
    with segment.open("rb") as stream:
        while len(head := stream.read(BATCH.size)) >= 27:
            stop = stop_of(head, 0)
            if stop < 0:
                break
            delta = int.from_bytes(head[23:27], "big") if head[16] == 2 else 0
            end = int.from_bytes(head[:8], "big") + delta + 1
            stream.seek(stop - len(head), 1)
    return end
