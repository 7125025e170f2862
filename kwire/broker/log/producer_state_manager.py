"""The producers of a partition: sequence numbers, epochs, open and aborted transactions (KIP-98), and the last stable
offset. They are derived from the batches, as by Kafka's ProducerStateManager.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import NamedTuple

from ...codecs.records import RecordBatch
from ...protocol.nested import decode_control_record
from ...values import ErrorCode

REMEMBERED = 5  # batches per producer; a client has no more in flight
MOST_PRODUCERS = 10_000
ABORT, COMMIT = 0, 1  # types of control records
_NUMBERS = 1 << 31  # sequence numbers wrap around to 0


@dataclass(slots=True)
class ProducerState:
    """The state of a producer: its epoch, its last batches as first and last sequence number, offset and timestamp,
    and its last timestamp.

    `coordinator_epoch` is the epoch in its last marker; -1 without one. `may_lack_batches` says that its last batch may
    have been deleted with the beginning of the log.
    """

    epoch: int
    may_lack_batches: bool = False
    batches: deque[tuple[int, int, int, int]] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    last_timestamp: int = -1
    coordinator_epoch: int = -1


class AbortedTxn(NamedTuple):
    """An aborted transaction: its first offset, and the offset of its marker."""

    producer_id: int
    first_offset: int
    last_offset: int


class ProducerStateManager:
    """The producers that have written to a partition; if there are too many, the least recent ones are removed.

    Attributes:
        open: the first offset of each open transaction, by producer id.
        aborted: the aborted transactions, in the order of their markers.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[int, ProducerState] = OrderedDict()
        self._first_offset: int | None = None
        self.open: dict[int, int] = {}
        self.aborted: list[AbortedTxn] = []

    def check(self, batch: RecordBatch) -> tuple[int, int | None]:
        """Check whether a batch may be appended.

        Returns:
            An error code, and for a duplicate the offset that it already has.
        """
        producer = self._known.get(batch.producer_id)
        if batch.producer_id < 0 or producer is None:
            return ErrorCode.NONE, None
        if batch.producer_epoch < producer.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH, None
        if batch.producer_epoch > producer.epoch:
            return (ErrorCode.NONE if batch.base_sequence == 0 else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER), None
        numbers = batch.base_sequence, _last(batch)
        for first, last, offset, _ in producer.batches:
            if (first, last) == numbers:
                return ErrorCode.NONE, offset
        # Behind a marker with a new epoch (KIP-890) there is no batch yet, and the first one has number 0 (Kafka:
        # ProducerAppendInfo.checkSequence). Kafka remembers deleted batches in snapshots.
        last = producer.batches[-1][1] if producer.batches else -1
        is_known = bool(producer.batches) or not producer.may_lack_batches
        if is_known and (last + 1) % _NUMBERS != batch.base_sequence:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, None
        if batch.producer_id in self.open and not batch.is_transactional:
            return ErrorCode.INVALID_TXN_STATE, None
        return ErrorCode.NONE, None

    def time_of(self, batch: RecordBatch) -> int:
        """Return the timestamp of a batch that was appended before; -1 if it is not remembered."""
        producer = self._known.get(batch.producer_id)
        numbers = batch.base_sequence, _last(batch)
        rows = producer.batches if producer is not None else ()
        return next((timestamp for first, last, _, timestamp in rows if (first, last) == numbers), -1)

    def note(self, batch: RecordBatch) -> None:
        """Update the producer state for an appended batch."""
        if self._first_offset is None:
            self._first_offset = batch.base_offset or 0
        if batch.producer_id < 0:
            return
        producer = self._known.get(batch.producer_id)
        if producer is None or producer.epoch != batch.producer_epoch:
            may_lack_batches = producer is None and self._first_offset > 0
            producer = self._known[batch.producer_id] = ProducerState(batch.producer_epoch, may_lack_batches)
        if batch.is_control:
            self._end(producer, batch)
        else:
            producer.batches.append((batch.base_sequence, _last(batch), batch.base_offset or 0, batch.max_timestamp))
            producer.last_timestamp = batch.max_timestamp
            if batch.is_transactional:
                self.open.setdefault(batch.producer_id, batch.base_offset or 0)
        self._known.move_to_end(batch.producer_id)
        self._limit_producers()

    def _end(self, producer: ProducerState, batch: RecordBatch) -> None:
        for record in batch.tolerant_records():
            marker = decode_control_record(record.key or b"", record.value)
            if marker.type in (ABORT, COMMIT):
                begun = self.open.pop(batch.producer_id, None)
                if marker.type == ABORT and begun is not None:
                    self.aborted.append(AbortedTxn(batch.producer_id, begun, batch.last_offset))
                producer.coordinator_epoch = marker.value.message.coordinator_epoch if marker.value else -1

    def _limit_producers(self) -> None:
        """Remove the least recent producer without an open transaction, if there are too many producers."""
        if len(self._known) > MOST_PRODUCERS:
            oldest = next((producer_id for producer_id in self._known if producer_id not in self.open), None)
            if oldest is not None:
                del self._known[oldest]

    def epoch_of(self, producer_id: int) -> int:
        """Return the epoch of a producer; -1 if it is unknown."""
        producer = self._known.get(producer_id)
        return -1 if producer is None else producer.epoch

    def known(self) -> dict[int, ProducerState]:
        """Return the producers by id."""
        return dict(self._known)

    def stable_end(self, end: int) -> int:
        """Return the last stable offset, below which all transactions have ended.

        Args:
            end: the end offset of the log.
        """
        return min(self.open.values(), default=end)

    def aborted_between(self, first: int, end: int) -> list[AbortedTxn]:
        """Return the aborted transactions that have records from `first` to below `end`."""
        return [
            transaction
            for transaction in self.aborted
            if transaction.last_offset >= first and transaction.first_offset < end
        ]

    def drop_before(self, offset: int) -> None:
        """Remove the aborted transactions that have no records left."""
        self.aborted = [transaction for transaction in self.aborted if transaction.last_offset >= offset]


def _last(batch: RecordBatch) -> int:
    return (batch.base_sequence + batch.last_offset_delta) % _NUMBERS
