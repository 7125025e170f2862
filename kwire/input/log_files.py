"""Recognises log segments, metadata logs and snapshots by their first bytes, and opens them.

Batches and topics are read by `kwire.logs`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..internal.topic_records import METADATA
from ..logs import Log, LogBatch, LogBytes, topic_of_folder
from ..logs.log import SegmentReader
from ..logs.recognition import Topic, credible_stop
from ..protocol import LEAST
from ..records import Record, RecordBatch
from ..records.layouts import BATCH
from .compressed import Opened

Item = LogBatch | LogBytes
SNAPSHOT_HEADER = b"\0\0\0\3"  # the key of the first record: version and type


def looked(opened: Opened) -> Opened:
    """Look at more of an input that may be a log, until a batch's header is there; other inputs are not waited for."""
    head = opened.head
    while len(head) < _need(head) and (portion := next(opened.rest, b"")):
        head += portion
    return Opened(head, opened.rest, opened.prefix)


def _need(head: bytes) -> int:
    if int.from_bytes(head[:4], "big") < LEAST:
        return BATCH.size  # as a frame it would be impossible
    return max(0, credible_stop(head, 0))


def log_kind(head: bytes, file: str, topic: str | None) -> tuple[str, str | None]:
    """Return the kind and topic of a log: as given, else by its folder, else by its first records."""
    if topic is not None:
        return f"a log segment of {topic}", topic
    named = topic_of_folder(Path(file).absolute().parent.name)
    learnt = Topic()
    for cut in SegmentReader().feed(head):
        if isinstance(cut, RecordBatch):
            if cut.index == 0 and _is_snapshot(cut):
                return "a snapshot of the metadata log", METADATA
            learnt.learn(cut)
        if learnt.name is not None:
            return f"a log segment of {learnt.name}, as its records show", learnt.name
    if named is not None:
        return f"a log segment of {named}, by its folder's name (--log-of overrides it)", named
    return "a log segment", None


def logged(
    portions: Iterator[bytes], file: str, topic: str | None, remarks: list[str]
) -> Iterator[LogBatch | LogBytes]:
    """Yield the items of a log, and remark on a topic that its records revealed late."""
    log = Log(portions, file, topic)
    yield from log
    if log.topic.found:
        remarks.append(f"from some record on, its records are those of {log.topic.name}: --log-of reads all of them so")


def _is_snapshot(batch: RecordBatch) -> bool:
    first = next(batch.records(salvage=True), None) if batch.is_control else None
    return isinstance(first, Record) and first.key == SNAPSHOT_HEADER
