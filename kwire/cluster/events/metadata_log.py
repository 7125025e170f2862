"""Applies KRaft's metadata log to the state of a cluster: records in log files, snapshots, Fetch and FetchSnapshot.

Every record changes the state; a snapshot has the records that are still needed. Records that the leader has not
committed, or that belong to an aborted transaction, have no effect. Sources: KIP-500, KIP-630 (snapshots),
KIP-868 (transactions).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ...codecs.records import Record, RecordBatch, parse_records
from ...errors import KwireError
from ...protocol.message_summary import is_of_metadata_log
from ...protocol.nested import ControlRecord, FramedRecord, decode_control_record, decode_metadata_frame
from ..state import ClusterState
from .metadata_records import RECORDS


class LoggedRecord(NamedTuple):
    """A record of the metadata log.

    Attributes:
        offset, epoch: its offset in the log, and the epoch of the leader that wrote it.
        time: when it was written, in seconds since 1970; None if the log does not contain it.
        message: its content, of `kwire.messages`.
        file: the file that contains it.
    """

    offset: int
    epoch: int
    time: float | None
    message: Any
    file: str = ""


def logged_records(batches: Iterable[Any]) -> Iterator[LoggedRecord]:
    """Yield the records in batches of the metadata log; records that do not decode are skipped.

    Args:
        batches: the output of `parse_records` in salvage mode.
    """
    for batch in batches:
        if not isinstance(batch, RecordBatch):
            continue
        for record in batch.records(salvage=True):
            try:
                decoded: Any = _decode_record(batch, record)
            except (KwireError, AttributeError):
                continue
            if decoded is not None and isinstance(record, Record):
                time = record.timestamp / 1000 if record.timestamp >= 0 else None
                yield LoggedRecord(record.offset, batch.partition_leader_epoch or 0, time, decoded)


def _decode_record(batch: RecordBatch, record: Any) -> Any:
    if batch.is_control:
        return message_in(decode_control_record(record.key, record.value))
    return message_in(decode_metadata_frame(record.value or b""))


def message_in(record: Any) -> Any:
    """Return the message in a record of the metadata log; None if there is none or its type is unknown."""
    if not isinstance(record, FramedRecord | ControlRecord) or record.value is None:
        return None
    return record.value.message


class MetadataLog:
    """The metadata log of a cluster, from any source; repeated records are ignored.

    Attributes:
        state: the state after the newest record.
        end: the offset after the newest record; None before the first.
        is_whole: whether all records, or a snapshot and all records after it, were read; otherwise the state lacks
            earlier records.

    >>> from kwire import messages
    >>> log = MetadataLog()
    >>> record = LoggedRecord(0, 1, 5.0, messages.FenceBrokerRecord(id=3))
    >>> [one.time for one in log.append([record])], log.end
    ([5.0], 1)
    """

    def __init__(self) -> None:
        self.state: ClusterState = ClusterState()
        self.end: int | None = None
        self.is_whole: bool = False
        self._waiting: dict[int, LoggedRecord] = {}  # not committed yet
        self._transaction: list[LoggedRecord] | None = None
        self._snapshots: dict[tuple[int, int], bytearray] = {}
        self._snapshot_file: list[LoggedRecord] | None = None

    def append(self, records: Iterable[LoggedRecord]) -> Iterator[LoggedRecord]:
        """Apply committed records in the order of their offsets; yield each record after it was applied to `state`.

        Known records and those of aborted transactions are not yielded.
        """
        for record in records:
            if record.offset < (self.end or 0):
                if type(record.message).__name__ == "TopicRecord":
                    self.state.topic_names.setdefault(bytes(record.message.topic_id), record.message.name)
                continue
            self.is_whole = self.is_whole or record.offset == 0
            self.end = record.offset + 1
            yield from self._apply(record)

    def _apply(self, record: LoggedRecord) -> Iterator[LoggedRecord]:
        """Apply a record, or hold it until its transaction ends."""
        name = type(record.message).__name__
        if name == "BeginTransactionRecord":
            self._transaction = []
        elif name in ("EndTransactionRecord", "AbortTransactionRecord"):
            transaction = self._transaction or []
            self._transaction = None
            if name == "EndTransactionRecord":
                for logged in transaction:
                    yield from self._apply(logged)
        elif self._transaction is not None and name != "LeaderChangeMessage":  # which is a control record
            self._transaction.append(record)
        elif name in RECORDS:
            RECORDS[name](self.state, record.message)
            yield record

    def append_response(self, response: Any) -> Iterator[LoggedRecord]:
        """Add the records in a Fetch response; yield those that are now committed, as `append` does.

        Args:
            response: a Fetch response of any version; partitions of other topics are ignored.
        """
        if not is_of_metadata_log(response):
            return
        for partition in (partition for topic in response.responses for partition in topic.partitions):
            for record in logged_records(parse_records(bytes(partition.records or b""), salvage=True, may_be_cut=True)):
                self._wait(record)
            high = partition.high_watermark
            ready = sorted(offset for offset in self._waiting if offset < high)
            yield from self.append([self._waiting.pop(offset) for offset in ready])

    def _wait(self, record: LoggedRecord) -> None:
        known = self._waiting.get(record.offset)
        if known is not None and known.epoch < record.epoch:  # a new leader has truncated later records
            self._waiting = {offset: waiting for offset, waiting in self._waiting.items() if offset < record.offset}
        self._waiting[record.offset] = record

    def append_snapshot_response(self, response: Any) -> bool:
        """Add a part of a snapshot in a FetchSnapshot response; return whether the snapshot became the state."""
        is_restored = False
        if not is_of_metadata_log(response):
            return False
        for partition in (partition for topic in response.topics for partition in topic.partitions):
            key = partition.snapshot_id.end_offset, partition.snapshot_id.epoch
            part = self._snapshots.setdefault(key, bytearray())
            if partition.position == len(part):
                part += bytes(partition.unaligned_records or b"")
            if 0 < partition.size <= len(part):
                del self._snapshots[key]
                records = logged_records(parse_records(bytes(part), salvage=True))
                is_restored = self.restore(records, key[0]) or is_restored
        return is_restored

    def restore(self, records: Iterable[LoggedRecord], end: int) -> bool:
        """Replace the state by that of a snapshot; return whether it was replaced.

        Args:
            records: the records of the snapshot.
            end: the offset after the last record that it covers; an older snapshot has no effect.
        """
        if end <= (self.end or 0) and self.end is not None:
            return False
        state = ClusterState(controller_id=self.state.controller_id)
        for record in records:
            if type(record.message).__name__ in RECORDS:
                RECORDS[type(record.message).__name__](state, record.message)
        self.state = state
        self.end = end
        self.is_whole = True
        self._transaction = None
        return True

    def read(self, record: LoggedRecord, snapshot_end: int) -> Iterator[LoggedRecord]:
        """Add the next record of a log segment or snapshot file; yield as `append`, for a snapshot its last record.

        Args:
            record: the next record.
            snapshot_end: for a snapshot, the offset in the name of the file.
        """
        name = type(record.message).__name__
        if name == "SnapshotHeaderRecord":
            self._snapshot_file = []
        if self._snapshot_file is None:
            yield from self.append([record])
            return
        self._snapshot_file.append(record)
        if name == "SnapshotFooterRecord":
            records = self._snapshot_file
            self._snapshot_file = None
            if self.restore(records, snapshot_end):
                yield record
