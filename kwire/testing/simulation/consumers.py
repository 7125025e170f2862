"""Model consumers: what all have in common, and members of classic groups and of consumer groups (KIP-848)."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any
from uuid import UUID

from ... import messages
from ...codecs.records import parse_records
from ...protocol.nested import decode_control_record
from ...values import ErrorCode
from .cluster import SESSION_TIMEOUT
from .history import (
    Joined,
    MemberUnknown,
    OffsetCommitted,
    OffsetCommitting,
    OffsetFetched,
    OffsetOutOfRange,
    Read,
    TopicPartition,
)
from .model_client import REQUEST_TIMEOUT, RETRY_BACKOFF, Ask, ModelClient, Steps, first_code
from .schedule import TOPIC

HEARTBEAT_INTERVAL = 1.5  # seconds
MAX_WAIT_MS = 700
REBALANCE_TIMEOUT = 6.0
ABORT = 0


def read_records(
    data: bytes, position: int, aborted: Iterable[tuple[int, int]] | None
) -> tuple[int, list[tuple[int, bytes]]]:
    """Return the next position, and the offsets and values of the records, as a consumer reads them.

    Args:
        data: the batches.
        position: records before it are skipped.
        aborted: the producer ids and first offsets of aborted transactions; None to read uncommitted records too.
    """
    left = sorted(aborted or (), key=lambda row: row[1])
    aborting: set[int] = set()
    records = []
    for batch in parse_records(data):
        while left and left[0][1] <= batch.last_offset:
            aborting.add(left.pop(0)[0])
        position = max(position, batch.last_offset + 1)
        if batch.is_control:
            for record in batch.records():
                if decode_control_record(record.key or b"", record.value).type == ABORT:
                    aborting.discard(batch.producer_id)
        elif not (batch.is_transactional and batch.producer_id in aborting):
            records += [(record.offset, record.value or b"") for record in batch.records()]
    return position, records


class Consumer(ModelClient):
    """A consumer: fetches from the leaders of its partitions, and commits its positions.

    Attributes:
        group: its group.
        positions: the position of each assigned partition.
    """

    def __init__(self, name: str, rng: Random, until: float, group: str, is_committed: bool) -> None:
        super().__init__(name, rng, until)
        self.group, self.is_committed = group, is_committed
        self.positions: dict[int, int] = {}
        self.member_id: str = ""
        self.generation: int = -1
        self.committed: dict[int, int] = {}
        self.kept: float = 0.0  # when the last request was sent that the group answered well
        self.beat_due: float = 0.0
        self.lag: dict[int, int] = {}
        self._watermarks: dict[int, tuple[int, int]] = {}  # as last recorded

    def unfinished(self) -> str:
        """Return how many records it has not read, or that it has no assignment."""
        lag = sum(self.lag.get(index, 1) for index in self.positions)
        return f"{lag} records are not read" if lag else ""

    def fetch(self) -> Steps:
        """Fetch once from all leaders, and read the records."""
        by_leader: dict[int, list[int]] = {}
        for index in self.positions:
            if index not in self.leaders:
                yield from self.find_leaders()
                return
            by_leader.setdefault(self.leaders[index][0], []).append(index)
        if not by_leader:
            yield 0.3
            return
        asked_at = self.now
        timeout = REQUEST_TIMEOUT + MAX_WAIT_MS / 1000
        responses = yield [Ask(broker, self._build_fetch(own), 12, timeout) for broker, own in by_leader.items()]
        for own, response in zip(by_leader.values(), responses, strict=True):
            if response is None:
                for index in own:
                    self.leaders.pop(index, None)
            else:
                for row in response.responses[0].partitions if response.responses else ():
                    self._take_partition(row, asked_at)

    def _build_fetch(self, indexes: Iterable[int]) -> Any:
        part = messages.FetchRequest.FetchPartition
        rows = tuple(
            part(
                partition=index,
                current_leader_epoch=self.leaders[index][1],
                fetch_offset=self.positions[index],
                partition_max_bytes=4096,
            )
            for index in indexes
        )
        topic = messages.FetchRequest.FetchTopic(topic=TOPIC, partitions=rows)
        return messages.FetchRequest(
            max_wait_ms=MAX_WAIT_MS,
            min_bytes=1,
            isolation_level=int(self.is_committed),
            topics=(topic,),
            session_epoch=-1,
        )

    def _take_partition(self, row: Any, asked_at: float) -> None:
        index = row.partition_index
        partition = TopicPartition(TOPIC, row.partition_index)
        if row.error_code or index not in self.positions:
            self.leaders.pop(index, None)
            if row.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                self.record(OffsetOutOfRange(partition, self.positions[index]))
                self.positions[index] = 0
            return
        aborted = None
        if self.is_committed:
            transactions = row.aborted_transactions or ()
            aborted = [(transaction.producer_id, transaction.first_offset) for transaction in transactions]
        position, records = read_records(row.records or b"", self.positions[index], aborted)
        kept = tuple(record for record in records if record[0] >= self.positions[index])
        self.positions[index] = position
        end = row.last_stable_offset if self.is_committed else row.high_watermark
        self.lag[index] = end - position
        watermarks = row.high_watermark, row.last_stable_offset
        if kept or watermarks != self._watermarks.get(index):
            self._watermarks[index] = watermarks
            self.record(Read(self.group, partition, asked_at, self.is_committed, *watermarks, kept))

    def fetch_offsets(self, indexes: Iterable[int], *, epoch: int = -1) -> Steps:
        """Fetch the committed offsets of newly assigned partitions; returns an error code."""
        request = messages.OffsetFetchRequest
        topic = request.OffsetFetchRequestTopics(name=TOPIC, partition_indexes=tuple(indexes))
        group = request.OffsetFetchRequestGroup(
            group_id=self.group,
            member_id=self.member_id if epoch >= 0 else None,
            member_epoch=epoch,
            topics=(topic,),
        )
        asked_at = self.now
        response = yield from self.ask_coordinator(self.group, request(groups=(group,), require_stable=True), 9)
        if response is None:
            return ErrorCode.REQUEST_TIMED_OUT
        if code := first_code(response):
            return code
        for row in response.groups[0].topics[0].partitions:
            self.record(
                OffsetFetched(self.group, TopicPartition(TOPIC, row.partition_index), row.committed_offset, asked_at)
            )
            self.positions[row.partition_index] = max(0, row.committed_offset)
            self.committed[row.partition_index] = row.committed_offset
            self.lag.pop(row.partition_index, None)
        return ErrorCode.NONE

    def commit(self, indexes: Iterable[int] | None = None) -> Steps:
        """Commit the positions that have changed; returns an error code."""
        offsets = {
            index: self.positions[index]
            for index in (self.positions if indexes is None else indexes)
            if self.positions.get(index, 0) > self.committed.get(index, -1)
        }
        if not offsets:
            return ErrorCode.NONE
        request = messages.OffsetCommitRequest
        part = request.OffsetCommitRequestPartition
        rows = tuple(part(partition_index=index, committed_offset=offset) for index, offset in offsets.items())
        topic = request.OffsetCommitRequestTopic(name=TOPIC, partitions=rows)
        message = request(
            group_id=self.group,
            generation_id_or_member_epoch=self.generation,
            member_id=self.member_id,
            topics=(topic,),
        )
        for index, offset in offsets.items():
            self.record(OffsetCommitting(self.group, TopicPartition(TOPIC, index), offset, self.generation))
        response = yield from self.ask_coordinator(self.group, message, 9)
        if response is None:
            return ErrorCode.REQUEST_TIMED_OUT
        if code := first_code(response):
            return code
        for index, offset in offsets.items():
            self.committed[index] = offset
            self.record(OffsetCommitted(self.group, TopicPartition(TOPIC, index), offset, self.generation))
        return ErrorCode.NONE

    def forget_membership(self, code: int) -> None:
        """Give up the assignment, because the group does not know the member, or not in this generation."""
        if code == ErrorCode.UNKNOWN_MEMBER_ID and self.generation > 0:
            self.record(MemberUnknown(self.group, self.member_id, self.kept, SESSION_TIMEOUT))
        self.positions.clear()
        self.generation = -1


REJOINING = (
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_INSTANCE_ID,
)


class ClassicConsumer(Consumer):
    """A member of a classic group with eager rebalances; the leader assigns the partitions in turn."""

    joins_since: float | None = None  # when it sent JoinGroup for the first time after its last assignment

    def run(self) -> Steps:
        """Join, read, and join again whenever the group rebalances."""
        yield self.rng.uniform(0.0, 0.8)
        while not self.is_leaving:
            if not (yield from self._join()):
                yield RETRY_BACKOFF
                continue
            code = yield from self._poll()
            if code == ErrorCode.REBALANCE_IN_PROGRESS:
                yield from self.commit()
            self.positions.clear()
            if code == ErrorCode.UNKNOWN_MEMBER_ID:
                self.forget_membership(code)
        if self.member_id:
            identity = messages.LeaveGroupRequest.MemberIdentity(member_id=self.member_id)
            yield from self.ask_coordinator(
                self.group, messages.LeaveGroupRequest(group_id=self.group, members=(identity,)), 4
            )

    def forget_membership(self, code: int) -> None:
        """Give up the assignment and the member id."""
        super().forget_membership(code)
        self.member_id: str = ""
        self.joins_since = None

    def _join(self) -> Steps:
        """Join and sync once; returns whether the member has an assignment."""
        protocol = messages.JoinGroupRequest.JoinGroupRequestProtocol(name="in-turn", metadata=b"t")
        request = messages.JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=int(SESSION_TIMEOUT * 1000),
            rebalance_timeout_ms=int(REBALANCE_TIMEOUT * 1000),
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=(protocol,),
        )
        if self.joins_since is None:
            self.joins_since = self.now
        response = yield from self.ask_coordinator(self.group, request, 9, timeout=REQUEST_TIMEOUT + REBALANCE_TIMEOUT)
        if response is None:
            return False
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
            return False
        if response.error_code:
            if response.error_code == ErrorCode.UNKNOWN_MEMBER_ID:
                self.forget_membership(response.error_code)
            return False
        self.member_id, self.generation = response.member_id, response.generation_id
        # The session, and the time for SyncGroup, run since the generation began: a member that joins again, because it
        # did not receive the response, does not extend them (GroupMetadataManager.classicGroupJoinExistingMember).
        self.kept: float = self.joins_since
        return (yield from self._sync(response))

    def _sync(self, joined: Any) -> Steps:
        members = [member.member_id for member in joined.members]
        row = messages.SyncGroupRequest.SyncGroupRequestAssignment
        assignments = {name: list(range(2))[index :: len(members)] for index, name in enumerate(members)}
        request = messages.SyncGroupRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            protocol_type="consumer",
            protocol_name="in-turn",
            assignments=tuple(row(member_id=name, assignment=bytes(own)) for name, own in assignments.items()),
        )
        asked_at = self.now
        response = yield from self.ask_coordinator(self.group, request, 5, timeout=REQUEST_TIMEOUT + REBALANCE_TIMEOUT)
        if response is None or response.error_code:
            if response is not None and response.error_code == ErrorCode.UNKNOWN_MEMBER_ID:
                self.forget_membership(response.error_code)
            return False
        self.kept = asked_at
        self.joins_since = None
        self.record(Joined(self.group, self.member_id, self.generation))
        indexes = list(response.assignment)
        while indexes:
            code = yield from self.fetch_offsets(indexes)
            if not code:
                break
            if (yield from self._beat()) in REJOINING:
                return False
        return True

    def _poll(self) -> Steps:
        """Fetch, commit and send heartbeats, until the member must rejoin; returns the error code that says so."""
        while not self.is_leaving:
            yield from self.fetch()
            if self.rng.random() < 0.5:
                code = yield from self.commit()
                if code in REJOINING:
                    return code
            if self.now >= self.beat_due:
                code = yield from self._beat()
                if code in REJOINING:
                    return code
        yield from self.commit()
        return ErrorCode.NONE

    def _beat(self) -> Steps:
        asked_at = self.now
        request = messages.HeartbeatRequest(
            group_id=self.group, generation_id=self.generation, member_id=self.member_id
        )
        response = yield from self.ask_coordinator(self.group, request, 4)
        if response is None:
            return ErrorCode.REQUEST_TIMED_OUT
        if not response.error_code:  # in a rebalance, only JoinGroup keeps a member
            self.kept = asked_at
            self.beat_due: float = self.now + HEARTBEAT_INTERVAL
        return response.error_code


class GroupConsumer(Consumer):
    """A member of a consumer group (KIP-848).

    As in Kafka, a heartbeat lists the owned partitions after each new target assignment, even if the member owned just
    these before: the group may have assigned another partition in between, and waits until the member gives it up
    (AbstractMembershipManager.LocalAssignment.updateWith, whose local epoch changes with each target assignment).
    """

    def __init__(self, name: str, rng: Random, until: float, group: str, is_committed: bool) -> None:
        super().__init__(name, rng, until, group, is_committed)
        self.member_id: str = str(UUID(bytes=rng.randbytes(16), version=4))
        self.generation: int = 0
        self._target: frozenset[int] | None = None
        self._owned: frozenset[int] = frozenset()
        self._is_reconciled = True  # whether the target assignment is owned
        self._is_reporting = True
        self._was_lost = False

    def run(self) -> Steps:
        """Send heartbeats, reconcile, and read."""
        yield self.rng.uniform(0.0, 0.8)
        while not self.is_leaving:
            if self.now >= self.beat_due or self._is_reporting or self._was_lost:
                yield from self._beat()
            if self._target is not None and not self._is_reconciled:
                yield from self._reconcile(self._target)
            yield from self._find_positions()
            yield from self.fetch()
            if self.rng.random() < 0.5 and self.generation > 0:
                code = yield from self.commit()
                if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.STALE_MEMBER_EPOCH):
                    self.beat_due: float = 0.0
        yield from self.commit()
        yield from self._beat(epoch=-1)

    def unfinished(self) -> str:
        """Return what is left to read."""
        missing = self._owned - self.positions.keys()
        return f"partitions {sorted(missing)} have no position" if missing else super().unfinished()

    def _beat(self, epoch: int | None = None) -> Steps:
        epoch = self.generation if epoch is None else epoch
        asked_at = self.now
        response = yield from self.ask_coordinator(self.group, self._build_heartbeat(epoch), 1)
        self._was_lost = response is None  # then the next one has all fields, so that the broker repeats the assignment
        if response is None:
            return
        if response.error_code:
            if response.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH):
                self.forget_membership(response.error_code)
                self.generation = 0
                self._target = None
                self._is_reporting = True
                self._owned = frozenset()
                self._is_reconciled = True
            return
        if epoch == 0:
            self.record(Joined(self.group, self.member_id, response.member_epoch))
        self.generation = response.member_epoch
        self._is_reporting = False
        self.beat_due = self.now + HEARTBEAT_INTERVAL
        if response.assignment is not None:
            self._take_assignment(response.assignment)
        if self._is_reconciled or epoch == 0:
            self.kept = asked_at  # otherwise, the time to give up partitions may have begun with a lost response

    def _build_heartbeat(self, epoch: int) -> Any:
        request = messages.ConsumerGroupHeartbeatRequest
        owned: tuple[Any, ...] | None = None
        is_complete = epoch == 0 or (self._was_lost and epoch > 0)
        if epoch == 0:
            owned = ()
        elif self._is_reporting or is_complete:
            rows = request.TopicPartitions(topic_id=self.topic_id, partitions=tuple(sorted(self._owned)))
            owned = (rows,) if self._owned else ()
        return request(
            group_id=self.group,
            member_id=self.member_id,
            member_epoch=epoch,
            rebalance_timeout_ms=int(REBALANCE_TIMEOUT * 1000) if is_complete else -1,
            subscribed_topic_names=(TOPIC,) if is_complete else None,
            topic_partitions=owned,
        )

    def _take_assignment(self, assignment: Any) -> None:
        target = frozenset(index for row in assignment.topic_partitions for index in row.partitions)
        if target != self._target:
            self._target = target
            self._is_reconciled = False

    def _reconcile(self, target: frozenset[int]) -> Steps:
        """Own the target assignment, after committing the positions of the partitions that are not in it."""
        if target and self.topic_id == bytes(16):
            yield from self.find_leaders()
            if self.topic_id == bytes(16):
                return
        revoked = sorted(self.positions.keys() - target)
        if revoked:
            yield from self.commit(revoked)
        for index in revoked:
            self.positions.pop(index, None)
        self._owned = target
        self._is_reconciled = self._is_reporting = True

    def _find_positions(self) -> Steps:
        """Begin to read the new partitions at their committed offsets."""
        new = sorted(self._owned - self.positions.keys())
        if new:
            code = yield from self.fetch_offsets(new, epoch=self.generation)
            if code:
                self.beat_due = 0.0
