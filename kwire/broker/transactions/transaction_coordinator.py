"""The transaction coordinator of a served cluster: transactional ids, transactions, markers and timeouts (KIP-98).

Both versions of the transaction protocol are supported; with version 2 (KIP-890) the epoch of a producer changes at the
end of each transaction. The caller passes the time. After a restart, open transactions continue, and prepared
transactions are completed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
    TopicPartition,
    Transaction,
    TransactionState,
    restore_transaction,
)

HIGHEST_EPOCH = 2**15 - 2  # the last epoch; after it a producer gets a new id
MOST_TRANSACTIONS = 10_000


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
        self._controller, self._groups, self._purgatory = controller, groups, purgatory
        self._append, self._new_id, self._time_ms = append, new_id, time_ms
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
                    found = decode_transaction_record(key, value)
                except KwireError:
                    continue
                message: Any = found.key.message
                if message is not None and found.value is not None and found.value.message is not None:
                    one = restore_transaction(message.transactional_id, found.value.message)
                    self._known[one.transactional_id] = one
                    restored.append(one)
        for one in restored:
            if one.state is TransactionState.ONGOING:
                self._time(one, 0.0)  # reads the time, which is not set before the first tick
        if restored:
            self.retry()

    def _time(self, one: Transaction, deadline: float) -> None:
        """Abort an open transaction at its timeout; times are in seconds."""
        one.timer = Parked(lambda over: self._expire(one))
        self._purgatory.park(one.timer, deadline)

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
        one = self._known.get(transactional_id)
        if one is None:
            if len(self._known) >= MOST_TRANSACTIONS:
                return ErrorCode.COORDINATOR_NOT_AVAILABLE
            one = self._known[transactional_id] = Transaction(transactional_id)
        if producer_id != NO_PRODUCER_ID and one.producer_id != NO_PRODUCER_ID:
            is_same = producer_id == one.producer_id and epoch in (one.producer_epoch, one.last_epoch)
            if not is_same:
                return ErrorCode.PRODUCER_FENCED
            if epoch != one.producer_epoch and one.state not in (TransactionState.ONGOING, *PREPARED):
                return one  # the epoch that the producer did not receive is its next one (KIP-588)
        if one.state is TransactionState.ONGOING:
            self.fence(one)
        if one.state in PREPARED:
            return ErrorCode.CONCURRENT_TRANSACTIONS
        self._bump(one)
        one.timeout_ms, one.state = timeout_ms, TransactionState.EMPTY
        self._remember(one)
        return one

    def _bump(self, one: Transaction) -> None:
        """Assign a producer its next epoch, or a new id after the last epoch."""
        one.last_epoch = one.producer_epoch
        if one.producer_id == NO_PRODUCER_ID or one.producer_epoch >= HIGHEST_EPOCH:
            one.producer_id, one.producer_epoch, one.last_epoch = self._new_id(), 0, NO_EPOCH
        else:
            one.producer_epoch += 1

    def checked(self, transactional_id: str, producer_id: int, epoch: int) -> Transaction | int:
        """Return the transaction of a producer, or an error code if the producer may not use it now."""
        one = self._known.get(transactional_id)
        if one is None or one.producer_id != producer_id:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING
        if one.producer_epoch != epoch:
            return ErrorCode.PRODUCER_FENCED
        return ErrorCode.CONCURRENT_TRANSACTIONS if one.state in PREPARED else one

    def add(self, one: Transaction, now: float, places: Iterable[TopicPartition], protocol: int = 1) -> None:
        """Add partitions to a transaction; adding the first partition begins the transaction.

        To add the offsets of a group, pass the group's partition of `__consumer_offsets`.
        """
        is_new = one.state is not TransactionState.ONGOING
        if is_new:
            one.state, one.protocol, one.started_ms = TransactionState.ONGOING, protocol, self._time_ms()
            one.partitions = {}
            self._time(one, now + one.timeout_ms / 1000)
        before = len(one.partitions)
        one.partitions.update(dict.fromkeys(places))
        if is_new or len(one.partitions) != before:
            self._remember(one)

    def _expire(self, one: Transaction) -> None:
        one.timer = None
        left_ms = one.started_ms + one.timeout_ms - self._time_ms()
        if one.state is TransactionState.ONGOING and left_ms > 0:
            self._time(one, self._purgatory.now + left_ms / 1000)
        elif one.state is TransactionState.ONGOING:
            self.fence(one)

    def fence(self, one: Transaction) -> None:
        """Abort a transaction that its producer has not ended, and fence the producer with a new epoch."""
        self._end(one, is_commit=False, bumps_epoch=True)

    def has_ended(self, one: Transaction, epoch: int, *, is_commit: bool) -> bool:
        """Return whether an EndTxn request is a retry: a producer with protocol 2 has already ended its transaction in
        this way.
        """
        done = TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT
        return one.protocol == 2 and one.state is done and epoch == one.last_epoch != NO_EPOCH

    def end(self, one: Transaction, *, is_commit: bool, protocol: int) -> int:
        """End a transaction as its producer requests; returns an error code.

        Args:
            one: the transaction, as returned by `checked`.
            is_commit: whether to commit it.
            protocol: the version of the protocol; 2 assigns the producer a new epoch (KIP-890).
        """
        done = TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT
        is_open = one.state is TransactionState.ONGOING
        if not is_open and protocol == 1:
            return ErrorCode.NONE if one.state is done else ErrorCode.INVALID_TXN_STATE
        if not is_open and is_commit:
            return ErrorCode.INVALID_TXN_STATE
        if not is_open:
            one.partitions = {}
        one.protocol = protocol
        self._end(one, is_commit=is_commit, bumps_epoch=protocol == 2)
        return ErrorCode.NONE

    def _end(self, one: Transaction, *, is_commit: bool, bumps_epoch: bool) -> None:
        """Log the outcome of a transaction, then write its markers: after a crash, the log contains the outcome."""
        if one.timer is not None:
            self._purgatory.forget(one.timer)
            one.timer = None
        producer_id, epoch = one.producer_id, one.producer_epoch
        one.marker = producer_id, epoch + bumps_epoch
        if bumps_epoch:
            self._bump(one)
        one.state = TransactionState.PREPARE_COMMIT if is_commit else TransactionState.PREPARE_ABORT
        self._remember(one)
        self._mark(one)

    def _mark(self, one: Transaction) -> None:
        """Write the pending markers, except in partitions without a leader, which get their markers later."""
        is_commit = one.state is TransactionState.PREPARE_COMMIT
        for topic, index in list(one.partitions):
            found = self._controller.topics.get(topic)
            partition = found.partitions[index] if found is not None and index < len(found.partitions) else None
            if partition is None or self.mark(partition, *one.marker, is_commit=is_commit) == ErrorCode.NONE:
                del one.partitions[topic, index]
        if not one.partitions:
            one.state = TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT
            one.started_ms = -1
        self._remember(one)

    def mark(
        self, partition: Partition, producer_id: int, epoch: int, *, is_commit: bool, coordinator_epoch: int = 0
    ) -> int:
        """Write the marker that ends a transaction in a partition; returns an error code."""
        log = partition.log_at(partition.leader)
        if isinstance(log, int):
            return log
        if epoch < log.producers.epoch_of(producer_id):
            return ErrorCode.INVALID_PRODUCER_EPOCH
        now, coordinator = self._time_ms(), coordinator_epoch
        batch = marker_batch(producer_id, epoch, is_commit=is_commit, coordinator_epoch=coordinator, timestamp=now)
        code = self._append(partition, batch)
        if partition.topic == GROUPS and code == ErrorCode.NONE:
            self._groups.end_transaction(producer_id, partition.index, is_commit=is_commit)
        return code

    def retry(self) -> None:
        """Write the markers that could not be written before."""
        for one in self._known.values():
            if one.state in PREPARED:
                self._mark(one)

    def _remember(self, one: Transaction) -> None:
        self._log.write(one.transactional_id, [one.row(self._time_ms())])
