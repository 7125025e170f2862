"""Idempotent producers of one partition (KIP-98): what each wrote last, so that nothing is written twice or in between.

Knows headers of batches. The last five batches of each producer are remembered, as in Kafka, of a bounded number.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field

from ..records import RecordBatch
from . import codes

REMEMBERED = 5  # batches: a client has no more in flight
MOST_PRODUCERS = 10_000
_NUMBERS = 1 << 31  # sequence numbers go back to 0 behind the highest


@dataclass(slots=True)
class _Producer:
    epoch: int
    batches: deque[tuple[int, int, int]] = field(default_factory=lambda: deque(maxlen=REMEMBERED))


class Producers:
    """The producers that have written to a partition, the least recent forgotten first."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, _Producer] = OrderedDict()

    def check(self, batch: RecordBatch) -> tuple[int, int | None]:
        """Say whether a batch may be written.

        Returns:
            An error code; and the offset that the batch has already, if this is its second time.
        """
        producer = self._known.get(batch.producer_id)
        if batch.producer_id < 0 or producer is None:
            return codes.NONE, None
        if batch.producer_epoch < producer.epoch:
            return codes.INVALID_PRODUCER_EPOCH, None
        if batch.producer_epoch > producer.epoch:
            return (codes.NONE if batch.base_sequence == 0 else codes.OUT_OF_ORDER_SEQUENCE_NUMBER), None
        numbers = batch.base_sequence, _last(batch)
        for first, last, offset in producer.batches:
            if (first, last) == numbers:
                return codes.NONE, offset
        if producer.batches and (producer.batches[-1][1] + 1) % _NUMBERS != batch.base_sequence:
            return codes.OUT_OF_ORDER_SEQUENCE_NUMBER, None
        return codes.NONE, None

    def note(self, batch: RecordBatch) -> None:
        """Remember a batch that was written."""
        if batch.producer_id < 0:
            return
        producer = self._known.get(batch.producer_id)
        if producer is None or producer.epoch != batch.producer_epoch:
            producer = self._known[batch.producer_id] = _Producer(batch.producer_epoch)
        producer.batches.append((batch.base_sequence, _last(batch), batch.base_offset or 0))
        self._known.move_to_end(batch.producer_id)
        if len(self._known) > MOST_PRODUCERS:
            self._known.popitem(last=False)


def _last(batch: RecordBatch) -> int:
    return (batch.base_sequence + batch.last_offset_delta) % _NUMBERS
