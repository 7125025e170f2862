"""Model producers: idempotent, and transactional with both versions of the protocol (KIP-98, KIP-360, KIP-890)."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from ... import messages
from ...codecs.records import Record, build_batch
from ...values import ErrorCode
from .cluster import TRANSACTION_TIMEOUT
from .history import (
    Acknowledged,
    Fenced,
    ProducerBegun,
    Sent,
    SequenceRefused,
    TopicPartition,
    TransactionEnded,
    TransactionEnding,
)
from .model_client import RETRY_BACKOFF, TRANSACTION, Ask, ModelClient, Steps, first_code
from .schedule import BROKERS, PARTITIONS, TOPIC

MOST_IN_FLIGHT = 3
FENCING = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
ABORTING = (ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE)
SEQUENCE_ERRORS = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID)


class SessionOver(Exception):
    """The producer must begin again, with InitProducerId."""


@dataclass(slots=True)
class PendingBatch:
    """A batch that is not acknowledged yet."""

    sequence: int
    values: tuple[bytes, ...]
    data: bytes


@dataclass(slots=True)
class ModelProducer:
    """The state of a producer: its id and epoch, the next sequence number of each partition, and its batches.

    `known` are the partitions that know the producer id. Others take any first sequence number, so that only one batch
    may be in flight.
    """

    producer_id: int
    epoch: int
    sequences: dict[int, int] = field(default_factory=dict)
    pending: dict[int, list[PendingBatch]] = field(default_factory=dict)
    known: set[int] = field(default_factory=set)


class IdempotentProducer(ModelClient):
    """A producer with acks=all and enable.idempotence: it retries in order until its batches are acknowledged."""

    transactional_id: str | None = None
    produce_version = 9

    def __init__(self, name: str, rng: Random, until: float) -> None:
        super().__init__(name, rng, until)
        self.producer: ModelProducer | None = None
        self._count = 0

    def unfinished(self) -> str:
        """Return how many batches are not acknowledged."""
        count = sum(map(len, self.producer.pending.values())) if self.producer is not None else 0
        return f"{count} batches are not acknowledged" if count else ""

    def run(self) -> Steps:
        """Send batches until the time is over or the client leaves, then until all are acknowledged."""
        yield self.rng.uniform(0.0, 0.5)
        while self.producer is None:
            try:
                yield from self.begin_session()
                yield from self._send_batches()
            except SessionOver:
                self.producer = None

    def _send_batches(self) -> Steps:
        while (self.now < self.until and not self.is_leaving) or self.unfinished():
            if self.now < self.until and not self.is_leaving and not self.unfinished():
                index = self.rng.randrange(PARTITIONS)
                for _ in range(self.rng.randint(1, MOST_IN_FLIGHT)):
                    self.add_batch(index)
            yield from self.send_pending()
            yield self.rng.uniform(0.05, 0.4)

    def begin_session(self) -> Steps:
        """Get a producer id."""
        # the timeout has no effect without a transactional id
        request = messages.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        while True:
            response = yield from self.ask(self.rng.choice(BROKERS), request, 4)
            if response is not None and not response.error_code:
                break
            yield RETRY_BACKOFF
        self._note_session(response)

    def _note_session(self, response: Any) -> None:
        self.producer = ModelProducer(response.producer_id, response.producer_epoch)
        self.record(ProducerBegun(self.transactional_id, response.producer_id, response.producer_epoch))

    def add_batch(self, index: int, transaction: str | None = None) -> None:
        """Add a batch of a few records to those that are to be sent."""
        producer = self.producer
        assert producer is not None
        values = []
        for _ in range(self.rng.randint(1, 3)):
            self._count += 1
            values.append(f"{self.name}:{self._count}".encode())
        sequence = producer.sequences.get(index, 0)
        producer.sequences[index] = sequence + len(values)
        now_ms = int(self.now * 1000)
        data = build_batch(
            [Record(index_in_batch, now_ms, value=value) for index_in_batch, value in enumerate(values)],
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            base_sequence=sequence,
            is_transactional=transaction is not None,
        )
        producer.pending.setdefault(index, []).append(PendingBatch(sequence, tuple(values), data))
        partition = TopicPartition(TOPIC, index)
        self.record(Sent(partition, producer.producer_id, producer.epoch, sequence, tuple(values), transaction))

    def send_pending(self) -> Steps:
        """Send the first batches of each partition to its leader, one request for each, without waiting in between."""
        assert self.producer is not None
        asks: list[Ask] = []
        batches: list[tuple[int, PendingBatch]] = []
        asked_at = self.now
        for index, pending in self.producer.pending.items():
            if pending and index not in self.leaders:
                yield from self.find_leaders()
                return
            for batch in pending[: MOST_IN_FLIGHT if index in self.producer.known else 1]:
                asks.append(Ask(self.leaders[index][0], self._build_produce(index, batch.data), self.produce_version))
                batches.append((index, batch))
        if not asks:
            return
        responses = yield asks
        for (index, batch), response in zip(batches, responses, strict=True):
            row = response.responses[0].partition_responses[0] if response is not None else None
            self._take_result(index, batch, row, asked_at)

    def _build_produce(self, index: int, data: bytes) -> Any:
        part = messages.ProduceRequest.PartitionProduceData(index=index, records=data)
        topic = messages.ProduceRequest.TopicProduceData(name=TOPIC, partition_data=(part,))
        return messages.ProduceRequest(
            transactional_id=self.transactional_id, acks=-1, timeout_ms=1000, topic_data=(topic,)
        )

    def _take_result(self, index: int, batch: PendingBatch, row: Any, asked_at: float) -> None:
        """Remove an acknowledged batch; otherwise it is sent again, to the leader of that time."""
        producer = self.producer
        assert producer is not None
        partition = TopicPartition(TOPIC, index)
        code = ErrorCode.REQUEST_TIMED_OUT if row is None else row.error_code
        if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            offset = row.base_offset if not code else -1
            producer.pending[index].remove(batch)
            producer.known.add(index)
            ids = producer.producer_id, producer.epoch
            self.record(Acknowledged(partition, *ids, offset, batch.values, asked_at))
        elif code in FENCING:
            self.record(Fenced(code))
            raise SessionOver
        elif code in ABORTING:
            raise SessionOver
        elif code in SEQUENCE_ERRORS:
            if producer.pending[index][0] is batch:  # otherwise a batch before it has failed
                self.record(SequenceRefused(partition, producer.producer_id, batch.sequence, code))
                raise SessionOver
        else:
            self.leaders.pop(index, None)


class TransactionalProducer(IdempotentProducer):
    """A producer with transactions, which writes records to partitions and commits offsets for a group.

    Attributes:
        is_replaced: set by the simulation when another instance with its transactional id has started: once it is
            fenced, it ends.
    """

    def __init__(self, name: str, rng: Random, until: float, transactional_id: str, protocol: int) -> None:
        super().__init__(name, rng, until)
        self.transactional_id: str = transactional_id
        self.is_replaced = False
        self._protocol = protocol
        self._transactions = 0
        # With protocol 1, a late EndTxn can end the next transaction: the reason for KIP-890.
        self.has_late_requests: bool = protocol == 2
        self.produce_version = 12 if protocol == 2 else 9
        self._is_busy = False

    def unfinished(self) -> str:
        """Return whether a transaction is open."""
        return "its transaction has not ended" if self._is_busy and not self.is_over else ""

    @property
    def group(self) -> str:
        """The group for which it commits offsets."""
        return f"eos-{self.transactional_id}"

    def run(self) -> Steps:
        """Do transactions until the time is over; begin again whenever the session is over."""
        yield self.rng.uniform(0.0, 0.5)
        while self.now < self.until and not self.is_leaving:
            try:
                self._is_busy = True
                yield from self.begin_session()
                self._is_busy = False
                while self.now < self.until and not self.is_leaving:
                    self._is_busy = True
                    yield from self._do_transaction()
                    self._is_busy = False
                    yield self.rng.uniform(0.05, 0.5)
            except SessionOver:
                self._is_busy = False
                if self.is_replaced:
                    return
                yield self.rng.uniform(0.2, 1.0)

    def begin_session(self) -> Steps:
        """Get the producer id and the next epoch."""
        request = messages.InitProducerIdRequest(
            transactional_id=self.transactional_id, transaction_timeout_ms=int(TRANSACTION_TIMEOUT * 1000)
        )
        response = yield from self._ask_until_final(request, 4)
        self._note_session(response)

    def _ask_until_final(self, request: Any, version: int) -> Steps:
        """Send a request to the transaction coordinator until it succeeds; return the response.

        Raises:
            SessionOver: the producer is fenced, or must abort the transaction.
        """
        while True:
            response = yield from self.ask_coordinator(self.transactional_id, request, version, TRANSACTION)
            code = first_code(response) if response is not None else ErrorCode.REQUEST_TIMED_OUT
            if not code:
                return response
            if code in FENCING:
                self.record(Fenced(code))
            if code in FENCING or code in ABORTING:
                raise SessionOver
            yield RETRY_BACKOFF

    def _do_transaction(self) -> Steps:
        producer = self.producer
        assert producer is not None
        self._transactions += 1
        transaction = f"{self.name}#{self._transactions}"
        # 1. Add the partitions; with protocol 2, Produce adds them (KIP-890).
        indexes = self.rng.sample(range(PARTITIONS), self.rng.randint(1, PARTITIONS))
        if self._protocol == 1:
            topic = messages.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=TOPIC, partitions=tuple(indexes))
            request = messages.AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=self.transactional_id,
                v3_and_below_producer_id=producer.producer_id,
                v3_and_below_producer_epoch=producer.epoch,
                v3_and_below_topics=(topic,),
            )
            yield from self._ask_until_final(request, 3)
        # 2. Write batches, once or twice, and wait until all are acknowledged.
        for _ in range(self.rng.randint(1, 2)):
            for index in indexes:
                for _ in range(self.rng.randint(1, 2)):
                    self.add_batch(index, transaction)
            while any(producer.pending.values()):
                yield from self.send_pending()
                yield RETRY_BACKOFF if any(producer.pending.values()) else 0.01
            yield self.rng.uniform(0.0, 0.4)
        # 3. Commit an offset for a group, and end the transaction.
        offset = -1
        if self.rng.random() < 0.5:
            offset = int(self.now * 1000)  # ascends over all instances
            yield from self._commit_offset(offset)
        yield from self._end_transaction(transaction, self.rng.random() < 0.65, offset)

    def _commit_offset(self, offset: int) -> Steps:
        producer = self.producer
        assert producer is not None
        ids: dict[str, Any] = {"producer_id": producer.producer_id, "producer_epoch": producer.epoch}
        if self._protocol == 1:
            add = messages.AddOffsetsToTxnRequest(transactional_id=self.transactional_id, group_id=self.group, **ids)
            yield from self._ask_until_final(add, 3)
        part = messages.TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset
        )
        topic = messages.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(name=TOPIC, partitions=(part,))
        request = messages.TxnOffsetCommitRequest(
            transactional_id=self.transactional_id, group_id=self.group, topics=(topic,), **ids
        )
        while True:
            response = yield from self.ask_coordinator(self.group, request, 3 if self._protocol == 1 else 5)
            code = first_code(response) if response is not None else ErrorCode.REQUEST_TIMED_OUT
            if not code:
                return
            if code in FENCING:
                self.record(Fenced(code))
            if code in FENCING or code in ABORTING:
                raise SessionOver
            yield RETRY_BACKOFF

    def _end_transaction(self, transaction: str, is_commit: bool, offset: int) -> Steps:
        producer = self.producer
        assert producer is not None
        self.record(TransactionEnding(transaction, is_commit, self.group if offset >= 0 else None, offset))
        request = messages.EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            committed=is_commit,
        )
        asked_at = self.now
        response = yield from self._ask_until_final(request, 5 if self._protocol == 2 else 3)
        self.record(TransactionEnded(transaction, is_commit, producer.producer_id, producer.epoch, asked_at))
        if self._protocol == 2:  # the next transaction has the next epoch
            known = producer.known if response.producer_id == producer.producer_id else set()
            self.producer: ModelProducer | None = ModelProducer(
                response.producer_id, response.producer_epoch, known=known
            )
