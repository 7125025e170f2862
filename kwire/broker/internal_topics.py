"""Internal topics: coordinators restore their state from the records, and the partitions' leaders are the coordinators.

As in Kafka, the hash of a group or transactional id selects the partition, and the partition's leader is the
coordinator. This module does not interpret the records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..cluster.java.hash_order import string_hash
from ..cluster.state import NO_LEADER
from ..codecs.records import Record, RecordBatch, build_batch, parse_records
from ..errors.refused import Refused
from ..protocol.nested import decode_control_record
from ..values import ErrorCode
from .controller.kraft_controller import KRaftController
from .controller.metadata_journal import Row
from .controller.partition import Partition
from .controller.topic import Topic
from .controller.topic_names import GROUPS
from .log.producer_state_manager import ABORT, COMMIT

_PORTION = 1 << 20
# What clients of a coordinator get for an error of the log: they look for another coordinator, or for this one later.
# CoordinatorOperationExceptionHelper.handleOperationException, TransactionStateManager.appendTransactionToLog
_CLIENT_ERRORS: Mapping[int, int] = {
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
}
Append = Callable[[Partition, RecordBatch], int]
Written = dict[bytes, bytes]


class ProducerIdAndEpoch(NamedTuple):
    """The producer id and epoch of a transaction's records."""

    id: int = -1
    epoch: int = -1


NOBODY = ProducerIdAndEpoch()


class LatestValues:
    """The latest value of each key in a partition, as after compaction.

    Attributes:
        values: the values by key; deleted keys are not included.
        pending: the values written in open transactions, by producer id; None deletes a key.
    """

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self.pending: dict[int, dict[bytes, bytes | None]] = {}

    def learn(self, batch: RecordBatch) -> None:
        """Apply the records of a batch; raises DecodeError if they are invalid."""
        for record in batch.tolerant_records():
            key = record.key or b""
            if batch.is_control:
                self._end(batch.producer_id, decode_control_record(key, record.value).type)
            elif batch.is_transactional:
                self.pending.setdefault(batch.producer_id, {})[key] = record.value
            else:
                self._put(key, record.value)

    def _end(self, producer_id: int, kind: int) -> None:
        if kind in (ABORT, COMMIT):
            rows = self.pending.pop(producer_id, {})
            for key, value in rows.items() if kind == COMMIT else ():
                self._put(key, value)

    def _put(self, key: bytes, value: bytes | None) -> None:
        if value is None:
            self.values.pop(key, None)
        else:
            self.values[key] = value


class InternalTopic:
    """One internal topic.

    Args:
        name: its name.
        controller: creates the topic, and manages its partitions.
        append: appends a batch to a partition; returns an error code.
        time_ms: returns the time of day, in milliseconds since 1970.
    """

    def __init__(self, name: str, controller: KRaftController, append: Append, time_ms: Callable[[], int]) -> None:
        self.name = name
        self._controller, self._append, self._time_ms = controller, append, time_ms
        self._unread: set[int] | None = None  # the partitions of an earlier process that had no leader yet

    def index_of(self, key: str) -> int:
        """Return the index of the partition for a group or transactional id; -1 if the topic cannot be created."""
        topic = _topic(self._controller, self.name)
        return -1 if topic is None else _index(topic, key)

    def write_problem(self, key: str) -> int:
        """Return the error code for which records of a group or transactional id cannot be written now; 0 if they can.

        Kafka reverts what a request has changed if its records cannot be written; kwire asks before the change.
        """
        topic = _topic(self._controller, self.name)
        if topic is None:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        partition = topic.partitions[_index(topic, key)]
        log = partition.log_at(partition.leader)
        if isinstance(log, int):
            return _CLIENT_ERRORS.get(log, log)
        return ErrorCode.COORDINATOR_NOT_AVAILABLE if topic.lacks_in_sync(partition) else ErrorCode.NONE

    def write(self, key: str, rows: Iterable[Row], producer: ProducerIdAndEpoch = NOBODY) -> int:
        """Append records for a group or transactional id; returns an error code.

        If the leader's log directory fails, the records are appended at the next leader.

        Args:
            key: the group or transactional id.
            rows: the keys and values of the records.
            producer: the producer if the records are part of a transaction, otherwise None.
        """
        topic = _topic(self._controller, self.name)
        if topic is None:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        now = self._time_ms()
        records = [Record(index, now, row_key, value) for index, (row_key, value) in enumerate(rows)]
        if not records:
            return ErrorCode.NONE
        is_transactional = producer.id >= 0
        data = build_batch(
            records,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            base_sequence=0 if is_transactional else -1,
            is_transactional=is_transactional,
        )
        (batch,) = parse_records(data)
        partition = topic.partitions[_index(topic, key)]
        code: int = ErrorCode.KAFKA_STORAGE_ERROR
        for _ in partition.replicas:
            code = self._append(partition, batch)
            if code == ErrorCode.NONE:
                return ErrorCode.NONE
        return _CLIENT_ERRORS.get(code, code)

    def latest(self) -> Iterator[tuple[int, LatestValues]]:
        """Yield the index of each partition that has a leader, with the latest values of its keys."""
        for partition in self._partitions:
            if (values := _read(partition)) is not None:
                yield partition.index, values

    def read_once(self) -> Iterator[LatestValues]:
        """Yield the latest values of each partition that an earlier process has written, once; those of a partition
        without a leader in a later call, when it has one."""
        if self._unread is None:
            self._unread = {partition.index for partition in self._partitions}
        for partition in [unread for unread in self._partitions if unread.index in self._unread]:
            if (values := _read(partition)) is not None:
                self._unread.remove(partition.index)
                yield values

    @property
    def _partitions(self) -> Sequence[Partition]:
        topic = self._controller.topics.get(self.name)
        return topic.partitions if topic is not None else ()


def _read(partition: Partition) -> LatestValues | None:
    """Return the latest values of a partition; None if it has no leader."""
    replica = partition.replicas.get(partition.leader)
    if replica is None or replica.log is None:
        return None
    log, values = replica.log, LatestValues()
    at = log.start
    while at < log.end and (data := log.read(at, log.measure(at, _PORTION))):
        for batch in parse_records(data):
            values.learn(batch)
            at = batch.last_offset + 1
    return values


def coordinator_of(key: str, controller: KRaftController, topic_name: str = GROUPS) -> int | None:
    """Return the id of the broker that coordinates a group or transactional id.

    Returns None if its partition has no leader or the topic cannot be created.

    Args:
        key: the group or transactional id.
        controller: manages the internal topic; creates it if it is missing.
        topic_name: the internal topic, `GROUPS` or `TRANSACTIONS`.
    """
    topic = _topic(controller, topic_name)
    leader = NO_LEADER if topic is None else topic.partitions[_index(topic, key)].leader
    return None if leader == NO_LEADER else leader


def _index(topic: Topic, key: str) -> int:
    return abs(string_hash(key)) % len(topic.partitions)


def _topic(controller: KRaftController, name: str) -> Topic | None:
    try:
        return controller.topics.get(name) or controller.create_internal(name)
    except Refused:
        return None


def changes(before: Written, after: Written) -> list[Row]:
    """Return the records that change one state into another: changed values, and tombstones for deleted keys.

    >>> changes({b"a": b"1", b"b": b"1"}, {b"a": b"2"})
    [(b'a', b'2'), (b'b', None)]
    """
    rows: list[Row] = [(key, value) for key, value in after.items() if before.get(key) != value]
    return rows + [(key, None) for key in before if key not in after]
