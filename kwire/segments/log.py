"""`Log`: a log being read, portion by portion: its batches with their topic, and the bytes that are in none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..records import RecordBatch
from .cutting import Cut, SegmentReader
from .entries import LogBatch, LogBytes
from .topics import Topic


class Log:
    """The batches of a log, once, in their order.

    Args:
        portions: its bytes, in any portions.
        file: its name.
        topic: the topic it is of, where that is known; else its records may tell.

    Attributes:
        topic: what is known of the topic so far.

    >>> from kwire import Record, build_batch
    >>> data = build_batch([Record(7, key=b"k", value=b"v")])
    >>> [entry.record.value for batch in Log([data]) for entry in batch.entries()]
    [b'v']
    """

    def __init__(self, portions: Iterable[bytes], file: str = "", topic: str | None = None) -> None:
        self.file = file
        self.topic: Topic = Topic(topic)
        self._items = self._read(portions)

    def __iter__(self) -> Iterator[LogBatch | LogBytes]:
        return self._items

    def _read(self, portions: Iterable[bytes]) -> Iterator[LogBatch | LogBytes]:
        reader = SegmentReader()
        for portion in portions:
            yield from map(self._item, reader.feed(portion))
        yield from map(self._item, reader.finish())

    def _item(self, cut: Cut) -> LogBatch | LogBytes:
        if not isinstance(cut, RecordBatch):
            return replace(cut, file=self.file)
        self.topic.learn(cut)
        return LogBatch(cut, self.topic.name, self.file, self.topic.read, list(cut.faults))
