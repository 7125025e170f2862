"""What one replica's log knows of its producers: sequence numbers (KIP-98) and their transactions.

All of it follows from the batches of the log, so it is there again after a restart. Knows no coordinator.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import NamedTuple

from ..internal import decode_control_record
from ..records import RecordBatch
from ..values import ErrorCode

REMEMBERED = 5  # batches: a client has no more in flight
MOST_PRODUCERS = 10_000
ABORT, COMMIT = 0, 1  # types of control records
_NUMBERS = 1 << 31  # sequence numbers wrap to 0 after the highest


@dataclass(slots=True)
class Producer:
    """A producer: its epoch, its last batches as first and last sequence number and offset, and its last timestamp.

    `coordinator_epoch` is of the last marker, -1 for none.
    """

    epoch: int
    batches: deque[tuple[int, int, int]] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    last_timestamp: int = -1
    coordinator_epoch: int = -1


class Aborted(NamedTuple):
    """A transaction that was aborted: its first offset, and that of its marker."""

    producer_id: int
    first_offset: int
    last_offset: int


class Producers:
    """The producers that have written to a partition, the least recent forgotten first.

    Attributes:
        open: the first offset of each open transaction, by producer id.
        aborted: the transactions that were aborted, in the order of their markers.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[int, Producer] = OrderedDict()
        self.open: dict[int, int] = {}
        self.aborted: list[Aborted] = []

    def check(self, batch: RecordBatch) -> tuple[int, int | None]:
        """Check whether a batch may be written.

        Returns:
            An error code; and for a duplicate, the offset that it already has.
        """
        producer = self._known.get(batch.producer_id)
        if batch.producer_id < 0 or producer is None:
            return ErrorCode.NONE, None
        if batch.producer_epoch < producer.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH, None
        if batch.producer_epoch > producer.epoch:
            return (ErrorCode.NONE if batch.base_sequence == 0 else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER), None
        numbers = batch.base_sequence, _last(batch)
        for first, last, offset in producer.batches:
            if (first, last) == numbers:
                return ErrorCode.NONE, offset
        if producer.batches and (producer.batches[-1][1] + 1) % _NUMBERS != batch.base_sequence:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, None
        if batch.producer_id in self.open and not batch.is_transactional:
            return ErrorCode.INVALID_TXN_STATE, None
        return ErrorCode.NONE, None

    def note(self, batch: RecordBatch) -> None:
        """Record a written batch."""
        if batch.producer_id < 0:
            return
        producer = self._known.get(batch.producer_id)
        if producer is None or producer.epoch != batch.producer_epoch:
            producer = self._known[batch.producer_id] = Producer(batch.producer_epoch)
        if batch.is_control:
            self._end(producer, batch)
        else:
            producer.batches.append((batch.base_sequence, _last(batch), batch.base_offset or 0))
            producer.last_timestamp = batch.max_timestamp
            if batch.is_transactional:
                self.open.setdefault(batch.producer_id, batch.base_offset or 0)
        self._known.move_to_end(batch.producer_id)
        self._forget()

    def _end(self, producer: Producer, batch: RecordBatch) -> None:
        for record in batch.records():
            marker = decode_control_record(record.key or b"", record.value)
            if marker.type in (ABORT, COMMIT):
                begun = self.open.pop(batch.producer_id, None)
                if marker.type == ABORT and begun is not None:
                    self.aborted.append(Aborted(batch.producer_id, begun, batch.last_offset))
                producer.coordinator_epoch = marker.value.message.coordinator_epoch if marker.value else -1

    def _forget(self) -> None:
        if len(self._known) > MOST_PRODUCERS:
            oldest = next((one for one in self._known if one not in self.open), None)
            if oldest is not None:
                del self._known[oldest]

    def epoch_of(self, producer_id: int) -> int:
        """Return the epoch of a producer; -1 if it is not known."""
        found = self._known.get(producer_id)
        return -1 if found is None else found.epoch

    def known(self) -> dict[int, Producer]:
        """Return the producers by their ids."""
        return dict(self._known)

    def stable_end(self, end: int) -> int:
        """Return the offset below which all transactions have ended (the last stable offset).

        Args:
            end: the end of the log.
        """
        return min(self.open.values(), default=end)

    def aborted_between(self, first: int, end: int) -> list[Aborted]:
        """Return the aborted transactions that have records from an offset on and below another one."""
        return [one for one in self.aborted if one.last_offset >= first and one.first_offset < end]

    def drop_before(self, offset: int) -> None:
        """Forget aborted transactions of which no record is left."""
        self.aborted = [one for one in self.aborted if one.last_offset >= offset]


def _last(batch: RecordBatch) -> int:
    return (batch.base_sequence + batch.last_offset_delta) % _NUMBERS
