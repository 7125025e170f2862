"""A transaction: its producer, state and partitions, and its record in `__transaction_state` (KIP-98, KIP-890)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from ... import messages
from ...protocol.nested import coordinator_record, encode_record
from ..controller.metadata_journal import Row
from ..purgatory import Parked

VALUE_VERSION = 1  # the first version of TransactionLogValue with tagged fields
NO_PRODUCER_ID, NO_EPOCH = -1, -1
TopicPartition = tuple[str, int]  # topic and partition


class TransactionState(StrEnum):
    """The state of a transaction, named as in Kafka."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"


STATES = tuple(TransactionState)  # in the order of their numbers in the log


PREPARED = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)


class ProducerEpochs(NamedTuple):
    """The id and epoch of a transactional producer, and its epoch before."""

    producer_id: int
    producer_epoch: int
    last_epoch: int


@dataclass(slots=True, eq=False)
class Transaction:
    """A transactional id and the state of its transaction.

    Attributes:
        producer_id, producer_epoch: the producer's current id and epoch.
        last_epoch: the producer's epoch before the last change; a retried request may still contain it.
        timeout_ms: the maximum duration of the transaction, in milliseconds.
        partitions: the partitions to which it has written, or that still need a marker.
        marker: the producer id and epoch in its markers.
        started_ms: when it began, in milliseconds since 1970; -1 if no transaction is open.
        protocol: the version of the transaction protocol: 1, or 2 (KIP-890).
        timer: aborts the transaction at its timeout.
    """

    transactional_id: str
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_EPOCH
    last_epoch: int = NO_EPOCH
    timeout_ms: int = 0
    state: TransactionState = TransactionState.EMPTY
    partitions: dict[TopicPartition, None] = field(default_factory=dict)
    marker: tuple[int, int] = (NO_PRODUCER_ID, NO_EPOCH)
    started_ms: int = -1
    protocol: int = 1
    timer: Parked[None] | None = None

    @property
    def epochs(self) -> ProducerEpochs:
        """The id and epochs of its producer."""
        return ProducerEpochs(self.producer_id, self.producer_epoch, self.last_epoch)

    def row(self, time_ms: int) -> Row:
        """Return the transaction as a record of `__transaction_state`; `time_ms` is in milliseconds since 1970."""
        part = messages.TransactionLogValue.PartitionsSchema
        indexes: dict[str, list[int]] = {}
        for topic, index in self.partitions:
            indexes.setdefault(topic, []).append(index)
        rows = tuple(part(topic=topic, partition_ids=tuple(partitions)) for topic, partitions in indexes.items())
        producer = self.marker if self.state in PREPARED else (self.producer_id, self.producer_epoch)
        value = messages.TransactionLogValue(
            producer_id=producer[0],
            producer_epoch=producer[1],
            transaction_timeout_ms=self.timeout_ms,
            transaction_status=STATES.index(self.state),
            transaction_partitions=None if self.state is TransactionState.EMPTY else rows,
            transaction_last_update_timestamp_ms=time_ms,
            transaction_start_timestamp_ms=self.started_ms,
            next_producer_id=NO_PRODUCER_ID if self.producer_id == producer[0] else self.producer_id,
            client_transaction_version=self.protocol,
        )
        key = messages.TransactionLogKey(transactional_id=self.transactional_id)
        return encode_record(coordinator_record(key, value, VALUE_VERSION))


def restore_transaction(transactional_id: str, value: messages.TransactionLogValue) -> Transaction:
    """Return the transaction in a record."""
    places = ((row.topic, index) for row in value.transaction_partitions or () for index in row.partition_ids)
    state = STATES[value.transaction_status]
    transaction = Transaction(
        transactional_id,
        value.producer_id,
        value.producer_epoch,
        timeout_ms=value.transaction_timeout_ms,
        state=state,
        partitions=dict.fromkeys(places),
        marker=(value.producer_id, value.producer_epoch),
        started_ms=value.transaction_start_timestamp_ms,
        protocol=max(1, value.client_transaction_version),
    )
    if state in PREPARED and value.next_producer_id != NO_PRODUCER_ID:
        transaction.producer_id = value.next_producer_id
        transaction.producer_epoch = 0
    return transaction
