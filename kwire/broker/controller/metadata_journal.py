"""The cluster state that survives restarts: cluster id, topics with ids, replicas, leaders, ISRs and configs.

It is stored as records of KRaft's metadata log, written to every working log directory at the same time, so that after
a restart the contents of failed directories are known too. As in KRaft, records are flushed to disk before a request is
acknowledged, regardless of the topics' flush settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from ...codecs.records import Record, RecordBatch, build_batch
from ...errors import KwireError
from ..log.batch_recovery import LogDamage, valid_prefix
from ..log.disk import Disk, Store
from ..node import LogDir

Row = tuple[bytes | None, bytes | None]  # key and value of a record
Guard = Callable[[LogDir, Callable[[Disk], None]], None]
Notes = Callable[[str], None]


class JournalReader(Protocol):
    """An object to which the records of a journal are applied."""

    def learn(self, record: Record) -> None:
        """Apply a record; raises KwireError if it is invalid."""


L = TypeVar("L", bound=JournalReader)


class Journal(Generic[L]):
    """The journal in one directory. Damaged records at its end are truncated.

    Args:
        store: stores the records; raises OSError if the disk fails.
        make: creates an empty learner for the records.

    Attributes:
        known: the learner, after applying all records.
        end: the offset of the next record; 0 for an empty journal.
        cut: a description of the truncated data; empty if nothing was truncated.
    """

    def __init__(self, store: Store, make: Callable[[], L]) -> None:
        self.store: Store = store
        self.known: L = make()
        self.end: int = 0
        self.cut: str = ""
        self._begins = 0  # the offset of a complete state that is not yet flushed
        size, last = 0, None
        for batch in valid_prefix(store.batches()):
            if isinstance(batch, LogDamage):
                self.cut = f"cut at record {self.end}, {store.size() - size} bytes lost: {batch.reason}"
                store.truncate(last)
                return
            if batch.batch.base_offset != self.end:  # a rewrite starts here, and older records still exist
                self.known = make()
            self._learn(batch.batch)
            size, last, self.end = size + len(batch.batch.data), batch.place, batch.batch.last_offset + 1

    def _learn(self, batch: RecordBatch) -> None:
        try:
            for record in batch.records():
                self.known.learn(record)
        except KwireError as error:
            raise OSError(f"the journal is damaged: {error}") from None

    def rewrite(self, data: bytes, offset: int) -> None:
        """Write a batch with the complete state; the next flush drops older records."""
        self.store.roll(offset)
        self.store.append(data, offset)
        self._begins = offset

    def flush(self) -> None:
        """Flush written records to disk."""
        self.store.flush()
        if self._begins:
            self.store.drop_before(self._begins)
        self._begins = 0


class Journals(Generic[L]):
    """Journals with identical records, one in each working directory whose contents survive the process.

    Args:
        name: the kind of records, such as `metadata`.
        guard: performs an operation on the disk of a directory, and takes the directory offline if it fails.

    Attributes:
        end: the offset of the next record.
        size: the number of bytes written since the last rewrite.
        blocks: the number of blocks of code (`with`) that the program is in.
    """

    def __init__(self, name: str, guard: Guard) -> None:
        self.name: str = name
        self._guard = guard
        self.end: int = 0
        self.size: int = 0
        self._journals: list[tuple[LogDir, Journal[L]]] = []
        self._to_write: list[list[Row]] = []
        self._is_unflushed = False
        self.blocks: int = 0

    @property
    def is_open(self) -> bool:
        """Whether a directory can be written."""
        return bool(self._journals)

    def open(self, log_dirs: Iterable[LogDir], make: Callable[[], L], note: Notes) -> list[tuple[LogDir, L]]:
        """Read the journals; return their learners, first that of the longest and therefore newest journal."""
        for log_dir in log_dirs:
            self._guard(log_dir, partial(self._open, log_dir, make, note))
        self._journals.sort(key=lambda row: -row[1].end)
        self.end = self._journals[0][1].end if self._journals else 0
        return [(log_dir, journal.known) for log_dir, journal in self._journals]

    def _open(self, log_dir: LogDir, make: Callable[[], L], note: Notes, disk: Disk) -> None:
        store = disk.journal(self.name)
        if store is not None:
            journal = Journal(store, make)
            self._journals.append((log_dir, journal))
            if journal.cut:
                note(f"journal of {self.name}: {journal.cut} ({disk.path})")

    def write(self, rows: list[Row]) -> None:
        """Append records to all journals; records added during the write follow them."""
        self._to_write.append(rows)
        if len(self._to_write) > 1:
            return
        while self._to_write:
            if rows := self._to_write[0]:
                self._put(rows, is_anew=False)
            self._to_write.pop(0)
        self._note_write()

    def _note_write(self) -> None:
        self._is_unflushed = True
        if not self.blocks:
            self.flush()

    def __enter__(self) -> None:
        """Flush at the end of the block instead of after each write, so that a request that creates a hundred topics
        needs one flush per directory."""
        self.blocks += 1

    def __exit__(self, *raised: object) -> None:
        """Flush at the end of the outermost block."""
        self.blocks -= 1
        if self._is_unflushed and not self.blocks:
            self.flush()

    def flush(self) -> None:
        """Flush written records to disk."""
        while self._is_unflushed:  # repeats if a disk fails, because that writes new leaders
            self._is_unflushed = False
            for log_dir, journal in self._journals:
                self._guard(log_dir, partial(_flush, journal))

    def rewrite(self, rows: list[Row]) -> None:
        """Write the complete state after the existing records, then drop the older records."""
        self.size = 0
        self._put(rows, is_anew=True)
        self._note_write()

    def _put(self, rows: list[Row], *, is_anew: bool) -> None:
        if not self._journals:
            return
        offset = self.end
        records = [Record(offset + index, 0, key, value) for index, (key, value) in enumerate(rows)]
        data = build_batch(records, base_offset=offset)
        self.end += len(rows)
        self.size += len(data)
        for log_dir, journal in self._journals:
            act = journal.rewrite if is_anew else journal.store.append
            self._guard(log_dir, partial(_put, act, data, offset))


def _put(act: Callable[[bytes, int], Any], data: bytes, offset: int, disk: Disk) -> None:
    act(data, offset)


def _flush(journal: Journal[Any], disk: Disk) -> None:
    journal.flush()
