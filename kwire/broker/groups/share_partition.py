"""A partition of a share group (KIP-932): which records are in flight, acknowledged or archived, as in Kafka's
SharePartition.

A record is acquired for a limited time, and is then accepted, rejected or released. This module handles no messages and
reads no log. The caller passes the time, in seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from ...values import ErrorCode
from .record_states import (
    ENDED,
    NOTHING,
    UNSEEN,
    AcknowledgeType,
    DeadLetter,
    InFlightRecord,
    RecordState,
    ShareSnapshot,
    ShareStateBatch,
)

RECORD_SIZE = 256  # estimated bytes of a record in flight
LEAST_THROTTLED = 2  # the maximum number of deliveries
MOST_RECORDS = 200_000  # the maximum in a partition, regardless of the record counts in batches
OffsetRange = tuple[int, int]  # first and last offset
# Kafka: ShareGroupDLQManager.CLIENT_REJECT, DELIVERY_COUNT_EXCEEDED, which consumers of dead letters may look at
REJECTED = "Offset rejected by client."
DELIVERED_TOO_OFTEN = "Offset delivery count exceeded the threshold."


class ShareLimits(NamedTuple):
    """The limits of a share group's partitions, from its configs.

    Attributes:
        lock: the duration of acquisition locks, in seconds.
        deliveries: the maximum number of deliveries of a record.
        most_locks: the maximum number of records in flight per partition.
        may_renew: whether members may renew acquisition locks (KIP-1222).
        has_dead_letters: whether records that cannot be processed are written to a dead letter topic (KIP-1191).
    """

    lock: float = 30.0
    deliveries: int = 5
    most_locks: int = 2000
    may_renew: bool = True
    has_dead_letters: bool = False

    def cause_of(self, letter: DeadLetter) -> str:
        """Return why a record could not be processed, as the number of its deliveries tells after a restart."""
        return DELIVERED_TOO_OFTEN if letter.deliveries >= self.deliveries else REJECTED


class AcquireLimits(NamedTuple):
    """The limits of a fetch: a maximum number of records, or whole batches until this number is reached, in ranges of
    about `batch_size` records."""

    most: int
    batch_size: int
    is_exact: bool = False


class AcquiredRange(NamedTuple):
    """A range of acquired offsets, and the number of deliveries."""

    first: int
    last: int
    deliveries: int


@dataclass(slots=True, eq=False)
class SharePartition:
    """A partition of a share group.

    Attributes:
        start: the first offset without a final state (SPSO); -1 before the first fetch.
        end: the first offset that no member has acquired yet.
        records: the records in flight, by offset.
        stored: the stored state.
        state_epoch: increases whenever the offsets are altered.
        timer_at: when the timer for the first lock expires.
        is_dirty: whether changes must be stored.
        letters: the records that are to be written to a dead letter topic.

    >>> part = SharePartition()
    >>> part.begin(0)
    >>> wanted, limits = AcquireLimits(500, 500), ShareLimits()
    >>> part.acquire(part.acquirable([(0, 9)], wanted, limits), 9, "a", 30.0, limits)
    [AcquiredRange(first=0, last=9, deliveries=1)]
    >>> int(part.acknowledge("a", [(0, 4, (AcknowledgeType.ACCEPT,))], limits, 60.0))
    0
    >>> part.store().start, part.advance(), part.start
    (0, None, 5)
    >>> part.release("a", limits), part.next_offset
    (True, 5)
    """

    start: int = -1
    end: int = -1
    records: dict[int, InFlightRecord] = field(default_factory=dict)
    stored: ShareSnapshot = NOTHING
    state_epoch: int = 0
    timer_at: float = inf
    is_dirty: bool = False
    letters: list[DeadLetter] = field(default_factory=list)

    @property
    def size(self) -> int:
        """The size of the state in bytes."""
        return RECORD_SIZE * (2 + len(self.records))

    @property
    def next_offset(self) -> int:
        """The first offset that can be acquired next."""
        # Kafka: SharePartition.nextFetchOffset
        free = (offset for offset, record in self.records.items() if record.state is RecordState.AVAILABLE)
        return min(free, default=self.end)

    def begin(self, start: int) -> None:
        """Start at an offset, without in-flight records."""
        self.start = self.end = start
        self.records = {}
        self.letters = []

    def restore(self, stored: ShareSnapshot) -> None:
        """Reset to a stored state: acquired records become available again."""
        self.stored = stored
        self.begin(stored.start)
        if any(not batch.first <= batch.last < stored.start + MOST_RECORDS for batch in stored.batches):
            return
        for batch in stored.batches:
            together = batch.last - batch.first + 1
            for offset in range(max(batch.first, self.start), batch.last + 1):
                self.records[offset] = InFlightRecord(batch.state, batch.deliveries, together)
        self.end = max(self.records, default=self.start - 1) + 1
        for offset in range(self.start, self.end):
            self.records.setdefault(offset, InFlightRecord(RecordState.AVAILABLE, 0))
        self.records = dict(sorted(self.records.items()))
        self.letters = [
            DeadLetter(offset, record.count, "")
            for offset, record in self.records.items()
            if record.state is RecordState.ARCHIVING
        ]
        self.advance()

    def store(self) -> ShareSnapshot:
        """Return the state to store. As in Kafka, it includes records with a final state at its start."""
        rows: list[ShareStateBatch] = []
        for offset, share_record in sorted(self.records.items()):
            is_acquired = share_record.state is RecordState.ACQUIRED
            state, count = (
                (RecordState.AVAILABLE, share_record.count - 1)
                if is_acquired
                else (share_record.state, share_record.count)
            )
            if state is RecordState.AVAILABLE and not count:
                continue
            if rows and rows[-1][1:] == (offset - 1, state, count):
                rows[-1] = rows[-1]._replace(last=offset)
            else:
                rows.append(ShareStateBatch(offset, offset, state, count))
        ended = sum(record.state in ENDED for record in self.records.values())
        self.stored, self.is_dirty = ShareSnapshot(self.start, ended, tuple(rows)), False
        return self.stored

    def trim(self, log_start: int, log_end: int) -> bool:
        """Adapt to the start and end offset of the log; return whether the start has changed."""
        before = self.start
        if not log_start <= self.start <= log_end:
            kept = {offset: record for offset, record in self.records.items() if log_start <= offset < log_end}
            self.start = min(max(self.start, log_start), log_end)
            self.records, self.end = kept, min(max(self.end, self.start), log_end)
            self.is_dirty = True
            self.advance()
        return self.start != before

    def acquirable(
        self, batches: Iterable[OffsetRange], wanted: AcquireLimits, limits: ShareLimits
    ) -> list[OffsetRange]:
        """Return the ranges of offsets that a fetch can acquire, without acquiring them.

        Records with many deliveries are delivered alone or with few others, so that a bad record does not affect good
        ones (KAFKA-19865).

        Args:
            batches: first and last offsets of the batches to be read, in order.
            wanted: the limits of the fetch.
            limits: the limits of the group.
        """
        ranges: list[OffsetRange] = []
        count = 0
        base = self.start if self.records else -1
        for first, last in batches:
            if count >= wanted.most:
                break
            base = max(first, self.start) if base < 0 else base
            for offset in range(max(first, self.start), min(last + 1, base + MOST_RECORDS)):
                record = self.records.get(offset, UNSEEN)
                is_beyond = record is UNSEEN and offset - base >= limits.most_locks
                if is_beyond and (offset == first or wanted.is_exact):  # otherwise the current batch is completed
                    return ranges
                if record.state is RecordState.AVAILABLE and _is_throttled(record, limits):
                    return ranges or [(offset, self._few(offset, last, record, wanted, limits))]
                if record.state is RecordState.AVAILABLE:
                    _append(ranges, offset, first, wanted.batch_size)
                    count += 1
                if wanted.is_exact and count >= wanted.most:
                    return ranges
        return ranges

    def _few(self, offset: int, last: int, record: InFlightRecord, wanted: AcquireLimits, limits: ShareLimits) -> int:
        """Return the last offset to deliver together with an offset; records with many deliveries are delivered with
        few others.
        """
        limit = max(1, record.together >> (record.count - _throttled_from(limits) + 1))
        if record.count >= limits.deliveries - 1:
            limit = 1
        if wanted.is_exact:
            limit = min(limit, wanted.most)
        end = offset
        while end < last and end - offset + 1 < limit:
            other = self.records.get(end + 1)
            if other is None or other.state is not RecordState.AVAILABLE or other.count != record.count:
                break
            end += 1
        return end

    def acquire(
        self, spans: Sequence[OffsetRange], batch_end: int, member: str, until: float, limits: ShareLimits
    ) -> list[AcquiredRange]:
        """Acquire offsets for a member, as returned by `acquirable`; preceding offsets that are missing in the log get
        a final state.

        Args:
            spans: ranges of offsets.
            batch_end: the last offset of the batch in which the last range ends; its records behind the range become
                available, as the batch is in flight.
            member: the id of the member.
            until: when the locks expire.
            limits: the limits of the group.
        """
        # Kafka: SharePartition.acquire
        acquired: list[AcquiredRange] = []
        for first, last in spans:
            batch_last = batch_end if last == spans[-1][1] else last  # of what is in flight together
            if not self.records:
                self.start = self.end = max(self.end, first)
            for offset in range(self.end, first):
                self.records[offset] = InFlightRecord(RecordState.ARCHIVED, 0)
            for offset in range(first, last + 1):
                record = self.records.get(offset)
                if record is None:
                    record = self.records[offset] = InFlightRecord(RecordState.AVAILABLE, 0, batch_last - first + 1)
                record.state = RecordState.ACQUIRED
                record.member = member
                record.until = until
                record.count = min(record.count + 1, limits.deliveries)
                if acquired and acquired[-1].last == offset - 1 >= first and acquired[-1].deliveries == record.count:
                    acquired[-1] = acquired[-1]._replace(last=offset)
                else:
                    acquired.append(AcquiredRange(offset, offset, record.count))
            for offset in range(max(self.end, last + 1), batch_last + 1):
                self.records[offset] = InFlightRecord(RecordState.AVAILABLE, 0, batch_last - first + 1)
            self.end = max(self.end, batch_last + 1)
        return acquired

    def archive(self, first: int, last: int) -> None:
        """Archive records that must not be delivered, such as those of aborted transactions."""
        # Kafka: SharePartition.filterAbortedTransactionalAcquiredRecords
        self.is_dirty = True
        for offset in range(first, last + 1):
            if offset in self.records:
                self.records[offset] = InFlightRecord(RecordState.ARCHIVED, self.records[offset].count)

    def archive_letters(self, letters: Iterable[DeadLetter]) -> None:
        """Archive records that were written to a dead letter topic, or could not be."""
        # Kafka: SharePartition.initiateDLQAndArchive
        for letter in letters:
            record = self.records.get(letter.offset)
            if record is not None and record.state is RecordState.ARCHIVING:
                self.archive(letter.offset, letter.offset)

    def acknowledge(
        self, member: str, batches: Iterable[tuple[int, int, Sequence[int]]], limits: ShareLimits, until: float
    ) -> int:
        """Apply a member's acknowledgements: all of them, or none but renewals if one is invalid.

        Args:
            member: the id of the member.
            batches: first and last offset, with one type for all offsets or one for each; already validated.
            limits: the limits of the group.
            until: when renewed locks expire.

        Returns:
            An error code.
        """
        # Kafka: SharePartition.acknowledge
        ended: dict[int, int] = {}
        for batch in batches:
            if code := self._check_batch(member, batch, limits, until, ended):
                return code
        for offset, kind in ended.items():
            self._end(offset, kind, limits)
        return ErrorCode.NONE

    def _check_batch(
        self,
        member: str,
        batch: tuple[int, int, Sequence[int]],
        limits: ShareLimits,
        until: float,
        ended: dict[int, int],
    ) -> int:
        """Renew locks, and put the other acknowledgements of a batch into `ended`; return an error code.

        As in Kafka, locks that are renewed before an invalid acknowledgement stay so.
        """
        # Kafka: SharePartition.acknowledgePerOffsetBatchRecords
        first, last, types = batch
        if last < self.start:
            return ErrorCode.NONE
        if self.records and last >= self.end:
            return ErrorCode.INVALID_REQUEST
        for offset in range(max(first, self.start), last + 1):
            record = self.records.get(offset)
            kind = types[0] if len(types) == 1 else types[offset - first]
            if record is None or record.state is not RecordState.ACQUIRED or record.member != member or offset in ended:
                return ErrorCode.INVALID_RECORD_STATE
            if kind != AcknowledgeType.RENEW:
                ended[offset] = kind
            elif limits.may_renew:
                record.until = until
            else:
                return ErrorCode.INVALID_RECORD_STATE
        return ErrorCode.NONE

    def _end(self, offset: int, kind: int, limits: ShareLimits) -> None:
        record = self.records[offset]
        record.member = ""
        record.until = inf
        self.is_dirty = True
        if kind == AcknowledgeType.ACCEPT:
            record.state = RecordState.ACKNOWLEDGED
        elif kind == AcknowledgeType.RELEASE and record.count < limits.deliveries:
            record.state = RecordState.AVAILABLE
        elif kind == AcknowledgeType.GAP or not limits.has_dead_letters:
            record.state = RecordState.ARCHIVED
        else:
            record.state = RecordState.ARCHIVING
            cause = REJECTED if kind == AcknowledgeType.REJECT else DELIVERED_TOO_OFTEN
            self.letters.append(DeadLetter(offset, record.count, cause))

    def release(self, member: str, limits: ShareLimits) -> bool:
        """Release the records that a member has acquired; return whether there were any."""
        # Kafka: SharePartition.releaseAcquiredRecords
        return self._release(lambda record: record.member == member, limits)

    def expire(self, now: float, limits: ShareLimits) -> bool:
        """Release the records whose lock has expired; return whether there were any."""
        # Kafka: SharePartition.releaseAcquisitionLockOnTimeout
        return self._release(lambda record: record.until <= now, limits)

    def _release(self, is_meant: Callable[[InFlightRecord], bool], limits: ShareLimits) -> bool:
        offsets = [
            offset
            for offset, record in self.records.items()
            if record.state is RecordState.ACQUIRED and is_meant(record)
        ]
        for offset in offsets:
            self._end(offset, AcknowledgeType.RELEASE, limits)
        return bool(offsets)

    def advance(self) -> None:
        """Move the start offset past records with a final state; the stored state no longer includes them."""
        # Kafka: SharePartition.maybeUpdateCachedStateAndOffsets
        while (record := self.records.get(self.start)) is not None and record.state in ENDED:
            del self.records[self.start]
            self.start += 1

    @property
    def next_unlock(self) -> float:
        """When the first lock expires; infinite if no records are acquired."""
        return min((record.until for record in self.records.values()), default=inf)


def _append(spans: list[OffsetRange], offset: int, batch: int, size: int) -> None:
    """Add an offset to a list of ranges; a batch starts a new range if the last range is large enough."""
    if spans and spans[-1][1] == offset - 1 and not (offset == batch and offset - spans[-1][0] >= size):
        spans[-1] = spans[-1][0], offset
    else:
        spans.append((offset, offset))


def _throttled_from(limits: ShareLimits) -> int:
    """Return the number of deliveries from which a record is delivered with few others: half of the limit."""
    return max(LEAST_THROTTLED, (limits.deliveries + 1) // 2)


def _is_throttled(record: InFlightRecord, limits: ShareLimits) -> bool:
    return limits.deliveries > LEAST_THROTTLED and record.count >= _throttled_from(limits)
