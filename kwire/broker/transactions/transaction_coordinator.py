"""The transaction coordinator of a served cluster: transactional ids, transactions, markers and timeouts (KIP-98).

Both versions of the transaction protocol are supported; with version 2 (KIP-890) the epoch of a producer changes at the
end of each transaction. The caller passes the time. After a restart, open transactions continue, and prepared
transactions are completed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from ... import messages
from ...codecs.records import Record, RecordBatch, build_batch, parse_records
from ...errors import KwireError
from ...protocol.nested import ControlRecord, Embedded, decode_transaction_record, encode_control_record
from ...values import ErrorCode
from ..controller.kraft_controller import KRaftController
from ..controller.partition import Partition
from ..controller.topic_names import GROUPS
from ..groups.group_coordinator import GroupCoordinator
from ..internal_topics import Append, InternalTopic
from ..log.producer_state_manager import ABORT, COMMIT
from ..purgatory import Parked, Purgatory
from .transaction import (
    NO_EPOCH,
    NO_PRODUCER_ID,
    PREPARED,
    ProducerEpochs,
    TopicPartition,
    Transaction,
    TransactionState,
    restore_transaction,
)

HIGHEST_EPOCH = 2**15 - 2  # the last epoch; after it a producer gets a new id
MOST_TRANSACTIONS = 10_000
RETRY_INTERVAL = 1.0  # seconds until a transaction is aborted again, if the log could not be written


def marker_batch(
    producer_id: int, epoch: int, *, is_commit: bool, coordinator_epoch: int, timestamp: int
) -> RecordBatch:
    """Return the control batch that ends a transaction in a partition."""
    kind = COMMIT if is_commit else ABORT
    key = Embedded("ControlRecordTypeSchema", 0, messages.ControlRecordTypeSchema(type=kind))
    value = Embedded("EndTxnMarker", 0, messages.EndTxnMarker(coordinator_epoch=coordinator_epoch))
    record = Record(0, timestamp, *encode_control_record(ControlRecord(kind, key, value)))
    data = build_batch([record], producer_id=producer_id, producer_epoch=epoch, is_transactional=True, is_control=True)
    (batch,) = parse_records(data)
    return batch


class TransactionCoordinator:
    """The transactional ids and their transactions.

    Args:
        controller: manages the partitions.
        groups: the groups, which store the offsets that transactions commit.
        purgatory: runs the transactions' timers.
        log: the topic `__transaction_state`.
        append: appends a batch to a partition; returns an error code.
        new_id: returns a new producer id.
        time_ms: returns the time of day, in milliseconds since 1970.
    """

    def __init__(
        self,
        controller: KRaftController,
        groups: GroupCoordinator,
        purgatory: Purgatory,
        log: InternalTopic,
        append: Append,
        new_id: Callable[[], int],
        time_ms: Callable[[], int],
    ) -> None:
        self._controller = controller
        self._groups = groups
        self._purgatory = purgatory
        self._append = append
        self._new_id = new_id
        self._time_ms = time_ms
        self._known: dict[str, Transaction] = {}
        self._log = log
        self.restore()

    def restore(self) -> None:
        """Restore the transactions in partitions of the log that were not read yet: prepared transactions are
        completed, and open ones continue until their timeout."""
        restored = []
        for latest in self._log.read_once():
            for key, value in latest.values.items():
                try:
                    record = decode_transaction_record(key, value)
                except KwireError:
                    continue
                message: Any = record.key.message
                if message is not None and record.value is not None and record.value.message is not None:
                    transaction = restore_transaction(message.transactional_id, record.value.message)
                    self._known[transaction.transactional_id] = transaction
                    restored.append(transaction)
        for transaction in restored:
            if transaction.state is TransactionState.ONGOING:
                self._time(transaction, 0.0)  # reads the time, which is not set before the first tick
        if restored:
            self.retry()

    def _time(self, transaction: Transaction, deadline: float) -> None:
        """Abort an open transaction at its timeout; times are in seconds."""
        transaction.timer = Parked(lambda over: self._expire(transaction))
        self._purgatory.park(transaction.timer, deadline)

    def all(self) -> list[Transaction]:
        """Return the transactions of all transactional ids."""
        return list(self._known.values())

    def find(self, transactional_id: str) -> Transaction | None:
        """Return the transaction of a transactional id; None if it does not exist."""
        return self._known.get(transactional_id)

    def begin_producer(self, transactional_id: str, timeout_ms: int, producer_id: int, epoch: int) -> Transaction | int:
        """Assign a producer its id and next epoch, and abort the open transaction of its predecessor.

        Args:
            transactional_id: the transactional id of the producer.
            timeout_ms: the maximum duration of its transactions, in milliseconds.
            producer_id, epoch: the previous id and epoch of the producer (KIP-360); -1 for a new producer.

        Returns:
            The transaction, or an error code.
        """
        # Kafka: TransactionCoordinator.handleInitProducerId, prepareInitProducerIdTransit
        transaction = self._known.get(transactional_id) or Transaction(transactional_id)
        if transactional_id not in self._known and len(self._known) >= MOST_TRANSACTIONS:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if producer_id != NO_PRODUCER_ID and transaction.producer_id != NO_PRODUCER_ID:
            is_same = producer_id == transaction.producer_id and epoch in (
                transaction.producer_epoch,
                transaction.last_epoch,
            )
            if not is_same:
                return ErrorCode.PRODUCER_FENCED
            if epoch != transaction.producer_epoch and transaction.state not in (TransactionState.ONGOING, *PREPARED):
                return transaction  # the epoch that the producer did not receive is its next one (KIP-588)
        code = self.fence(transaction) if transaction.state is TransactionState.ONGOING else ErrorCode.NONE
        return code or self._begin(transaction, timeout_ms)

    def _begin(self, transaction: Transaction, timeout_ms: int) -> Transaction | int:
        if transaction.state in PREPARED:
            return ErrorCode.CONCURRENT_TRANSACTIONS
        state = TransactionState.EMPTY
        code = self._change(transaction, self._next_epochs(transaction), timeout_ms=timeout_ms, state=state)
        if code == ErrorCode.NONE:
            self._known[transaction.transactional_id] = transaction
        return code or transaction

    def _next_epochs(self, transaction: Transaction) -> ProducerEpochs:
        """Return the next epoch of a producer, or a new id after the last epoch."""
        # Kafka: TransactionMetadata.prepareIncrementProducerEpoch, prepareProducerIdRotation
        if transaction.producer_id == NO_PRODUCER_ID or transaction.producer_epoch >= HIGHEST_EPOCH:
            return ProducerEpochs(self._new_id(), 0, NO_EPOCH)
        return ProducerEpochs(transaction.producer_id, transaction.producer_epoch + 1, transaction.producer_epoch)

    def find_for_producer(self, transactional_id: str, producer_id: int, epoch: int) -> Transaction | int:
        """Return the transaction of a producer, or an error code if the producer may not use it now."""
        transaction = self._known.get(transactional_id)
        if transaction is None or transaction.producer_id != producer_id:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING
        if transaction.producer_epoch != epoch:
            return ErrorCode.PRODUCER_FENCED
        return ErrorCode.CONCURRENT_TRANSACTIONS if transaction.state in PREPARED else transaction

    def add(self, transaction: Transaction, now: float, places: Iterable[TopicPartition], protocol: int = 1) -> int:
        """Add partitions to a transaction; adding the first partition begins the transaction.

        To add the offsets of a group, pass the group's partition of `__consumer_offsets`. Returns an error code if the
        log cannot be written: after a restart, nobody would know that the partition needs a marker.
        """
        # Kafka: TransactionCoordinator.handleAddPartitionsToTransaction
        if transaction.state is TransactionState.ONGOING:
            partitions = {**transaction.partitions, **dict.fromkeys(places)}
            if len(partitions) == len(transaction.partitions):
                return ErrorCode.NONE
            return self._change(transaction, transaction.epochs, partitions=partitions)
        begun = {"state": TransactionState.ONGOING, "protocol": protocol, "started_ms": self._time_ms()}
        code = self._change(transaction, transaction.epochs, partitions=dict.fromkeys(places), **begun)
        if code == ErrorCode.NONE:
            self._time(transaction, now + transaction.timeout_ms / 1000)
        return code

    def _expire(self, transaction: Transaction) -> None:
        # Kafka: TransactionCoordinator.abortTimedOutTransactions
        transaction.timer = None
        left_ms = transaction.started_ms + transaction.timeout_ms - self._time_ms()
        if transaction.state is TransactionState.ONGOING and left_ms > 0:
            self._time(transaction, self._purgatory.now + left_ms / 1000)
        elif transaction.state is TransactionState.ONGOING and self.fence(transaction):
            self._time(transaction, self._purgatory.now + RETRY_INTERVAL)

    def fence(self, transaction: Transaction) -> int:
        """Abort a transaction that its producer has not ended, and fence the producer with a new epoch; returns an
        error code."""
        return self._end(transaction, is_commit=False, bumps_epoch=True)

    def has_ended(self, transaction: Transaction, epoch: int, *, is_commit: bool) -> bool:
        """Return whether an EndTxn request is a retry: a producer with protocol 2 has already ended its transaction in
        this way.
        """
        done = TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT
        return transaction.protocol == 2 and transaction.state is done and epoch == transaction.last_epoch != NO_EPOCH

    def end(self, transaction: Transaction, *, is_commit: bool, protocol: int) -> int:
        """End a transaction as its producer requests; returns an error code.

        Args:
            transaction: the transaction, as returned by `find_for_producer`.
            is_commit: whether to commit it.
            protocol: the version of the protocol; 2 assigns the producer a new epoch (KIP-890).
        """
        # Kafka: TransactionCoordinator.handleEndTransaction
        done = TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT
        is_open = transaction.state is TransactionState.ONGOING
        if not is_open and protocol == 1:
            return ErrorCode.NONE if transaction.state is done else ErrorCode.INVALID_TXN_STATE
        if not is_open and is_commit:
            return ErrorCode.INVALID_TXN_STATE
        partitions = transaction.partitions if is_open else {}
        bumps_epoch = protocol == 2
        return self._end(
            transaction, is_commit=is_commit, bumps_epoch=bumps_epoch, protocol=protocol, partitions=partitions
        )

    def _end(self, transaction: Transaction, *, is_commit: bool, bumps_epoch: bool, **changes: Any) -> int:
        """Log the outcome of a transaction, then write its markers: after a crash, the log contains the outcome.
        Returns an error code; if the log cannot be written, nothing has changed."""
        code = self._change(
            transaction,
            self._next_epochs(transaction) if bumps_epoch else transaction.epochs,
            marker=(transaction.producer_id, transaction.producer_epoch + bumps_epoch),
            state=TransactionState.PREPARE_COMMIT if is_commit else TransactionState.PREPARE_ABORT,
            **changes,
        )
        if code:
            return code
        if transaction.timer is not None:
            self._purgatory.forget(transaction.timer)
            transaction.timer = None
        self._mark(transaction)
        return ErrorCode.NONE

    def _change(self, transaction: Transaction, producer: ProducerEpochs, **changes: Any) -> int:
        """Log a transaction with changed attributes, and then change them; returns an error code."""
        # Kafka: TransactionStateManager.appendTransactionToLog
        changes |= producer._asdict()
        code = self._log.write(transaction.transactional_id, [replace(transaction, **changes).row(self._time_ms())])
        if code == ErrorCode.NONE:
            for name, value in changes.items():
                setattr(transaction, name, value)
        return code

    def _mark(self, transaction: Transaction) -> None:
        """Write the pending markers, except in partitions without a leader, which get their markers later."""
        # Kafka: TransactionMarkerChannelManager.addTxnMarkersToSend
        is_commit = transaction.state is TransactionState.PREPARE_COMMIT
        for topic, index in list(transaction.partitions):
            partition = self._controller.partition(topic, index)
            if partition is None or self.mark(partition, *transaction.marker, is_commit=is_commit) == ErrorCode.NONE:
                del transaction.partitions[topic, index]
        if not transaction.partitions:
            transaction.state = TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT
            transaction.started_ms = -1
        self._log.write(transaction.transactional_id, [transaction.row(self._time_ms())])

    def mark(
        self, partition: Partition, producer_id: int, epoch: int, *, is_commit: bool, coordinator_epoch: int = 0
    ) -> int:
        """Write the marker that ends a transaction in a partition; returns an error code."""
        log = partition.log_at(partition.leader)
        if isinstance(log, int):
            return log
        if epoch < log.producers.epoch_of(producer_id):
            return ErrorCode.INVALID_PRODUCER_EPOCH
        now = self._time_ms()
        coordinator = coordinator_epoch
        batch = marker_batch(producer_id, epoch, is_commit=is_commit, coordinator_epoch=coordinator, timestamp=now)
        code = self._append(partition, batch)
        if partition.topic == GROUPS and code == ErrorCode.NONE:
            self._groups.end_transaction(producer_id, partition.index, is_commit=is_commit)
        return code

    def retry(self) -> None:
        """Write the markers that could not be written before."""
        for transaction in self._known.values():
            if transaction.state in PREPARED:
                self._mark(transaction)
