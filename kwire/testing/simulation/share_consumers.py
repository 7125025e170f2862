"""Model share consumers (KIP-932): they acquire records, and accept, release or reject them."""

from __future__ import annotations

from random import Random
from typing import Any
from uuid import UUID

from ... import messages
from ...values import ErrorCode
from .cluster import SESSION_TIMEOUT
from .consumers import HEARTBEAT_INTERVAL, read_records
from .history import Joined, MemberUnknown, ShareAcknowledged, ShareAcknowledging, ShareDelivered, TopicPartition
from .model_client import REQUEST_TIMEOUT, RETRY_BACKOFF, Ask, ModelClient, Steps
from .schedule import TOPIC

ACCEPT, RELEASE, REJECT = 1, 2, 3
SHARE_WAIT_MS = 300
Types = dict[int, int]  # acknowledgement types by offset


class ShareConsumer(ModelClient):
    """A member of a share group. While clients work, it releases and rejects some records, or forgets to acknowledge
    them; afterwards it accepts all."""

    def __init__(self, name: str, rng: Random, until: float, group: str) -> None:
        super().__init__(name, rng, until)
        self.group = group
        self.member_id: str = str(UUID(bytes=rng.randbytes(16), version=4))
        self.epoch: int = 0
        self.assigned: frozenset[int] = frozenset()
        self.kept: float = 0.0
        self._beat_due: float = 0.0
        self._misses_assignment = False
        self._turn = 0
        self._sessions: dict[int, int] = {}  # the next epoch of the share session with each broker
        self._fetched: dict[int, set[int]] = {}  # the partitions in each session

    def run(self) -> Steps:
        """Send heartbeats, fetch, and acknowledge."""
        yield self.rng.uniform(0.0, 0.8)
        while not self.is_leaving:
            if self.now >= self._beat_due:
                yield from self._beat(self.epoch)
            if self.assigned:
                yield from self._fetch()
            else:
                yield RETRY_BACKOFF
        yield from self._beat(-1)

    def _beat(self, epoch: int) -> Steps:
        asked_at = self.now
        request = messages.ShareGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.member_id,
            member_epoch=epoch,
            subscribed_topic_names=(TOPIC,) if epoch == 0 or (self._misses_assignment and epoch > 0) else None,
        )
        response = yield from self.ask_coordinator(self.group, request, 1)
        self._misses_assignment = response is None  # then the next heartbeat is complete: the assignment is repeated
        if response is None:
            return
        if response.error_code:
            if response.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH):
                if response.error_code == ErrorCode.UNKNOWN_MEMBER_ID and epoch > 0:
                    self.record(MemberUnknown(self.group, self.member_id, self.kept, SESSION_TIMEOUT))
                self.epoch = 0
                self.assigned = frozenset()
            return
        if epoch == 0:
            self.record(Joined(self.group, self.member_id, response.member_epoch))
        # An earlier request to join that arrives late gets the new epoch and assignment, which nobody receives; a
        # heartbeat that is not complete gets them only if they change again (GroupMetadataManager.shareGroupHeartbeat).
        self._misses_assignment = response.assignment is None and response.member_epoch != self.epoch
        self.kept = asked_at
        self.epoch = response.member_epoch
        self._beat_due = self.now + HEARTBEAT_INTERVAL
        if response.assignment is not None:
            rows = response.assignment.topic_partitions
            self.assigned = frozenset(index for row in rows for index in row.partitions)

    def _fetch(self) -> Steps:
        """Fetch from the leader of the next partition, and acknowledge what it delivers."""
        index = sorted(self.assigned)[self._turn % len(self.assigned)]
        if index not in self.leaders:
            yield from self.find_leaders()
            return
        broker = self.leaders[index][0]
        self._forget_sessions()
        epoch = self._sessions.get(broker, 0)
        message = self._build_fetch(broker, index, epoch)
        self._turn += 1
        asked_at = self.now
        (response,) = yield [Ask(broker, message, 1, REQUEST_TIMEOUT + SHARE_WAIT_MS / 1000)]
        if response is None or response.error_code:
            self._sessions.pop(broker, None)
            self.leaders.pop(index, None)
            yield RETRY_BACKOFF
            return
        self._sessions[broker] = epoch + 1
        for row in (row for topic in response.responses for row in topic.partitions):
            if row.error_code:
                self.leaders.pop(row.partition_index, None)
                yield RETRY_BACKOFF
            elif row.acquired_records:
                yield from self._process(broker, row, asked_at)

    def _build_fetch(self, broker: int, index: int, epoch: int) -> Any:
        """Return the request that adds a partition to a session, and forgets those whose leader has moved."""
        request = messages.ShareFetchRequest
        fetched = self._fetched.get(broker, set()) if epoch else set()
        elsewhere = {partition for partition, (leader, _) in self.leaders.items() if leader != broker}
        moved = fetched & elsewhere
        self._fetched[broker] = (fetched - moved) | {index}
        forgotten = request.ForgottenTopic(topic_id=self.topic_id, partitions=tuple(sorted(moved)))
        part = request.FetchPartition(partition_index=index)
        topic = request.FetchTopic(topic_id=self.topic_id, partitions=(part,))
        return request(
            group_id=self.group,
            member_id=self.member_id,
            share_session_epoch=epoch,
            max_wait_ms=SHARE_WAIT_MS,
            min_bytes=1,
            max_bytes=4096,
            max_records=6 if self.now < self.until else 50,
            batch_size=6,
            topics=(topic,),
            forgotten_topics_data=(forgotten,) if moved else (),
        )

    def _forget_sessions(self) -> None:
        """A session ends with the connection on which it began (KIP-932)."""
        for broker in self.closed_brokers:
            self._sessions.pop(broker, None)
        self.closed_brokers.clear()

    def _process(self, broker: int, row: Any, asked_at: float) -> Steps:
        partition = TopicPartition(TOPIC, row.partition_index)
        counts = {
            offset: acquired.delivery_count
            for acquired in row.acquired_records
            for offset in range(acquired.first_offset, acquired.last_offset + 1)
        }
        records = [record for record in read_records(row.records or b"", 0, None)[1] if record[0] in counts]
        delivered = tuple((offset, value, counts[offset]) for offset, value in records)
        self.record(ShareDelivered(self.group, partition, asked_at, delivered))
        types = {offset: self._choose() for offset in sorted(counts)}
        if self.now < self.until and self.rng.random() < 0.1:
            return  # it forgets to acknowledge: the locks expire
        yield self.rng.uniform(0.0, 0.1)
        yield from self._acknowledge(broker, partition, types)

    def _choose(self) -> int:
        chance = self.rng.random()
        if self.now >= self.until or chance < 0.75:
            return ACCEPT
        return RELEASE if chance < 0.93 else REJECT

    def _acknowledge(self, broker: int, partition: TopicPartition, types: Types) -> Steps:
        self._forget_sessions()
        epoch = self._sessions.get(broker, 0)
        if not epoch:
            return  # with the session, the records are released
        request = messages.ShareAcknowledgeRequest
        row = request.AcknowledgementBatch
        batches = tuple(
            row(first_offset=offset, last_offset=offset, acknowledge_types=(kind,)) for offset, kind in types.items()
        )
        part = request.AcknowledgePartition(partition_index=partition.partition, acknowledgement_batches=batches)
        topic = request.AcknowledgeTopic(topic_id=self.topic_id, partitions=(part,))
        message = request(group_id=self.group, member_id=self.member_id, share_session_epoch=epoch, topics=(topic,))
        rows = tuple(types.items())
        self.record(ShareAcknowledging(self.group, partition, rows))
        response = yield from self.ask(broker, message, 1)
        if response is None or response.error_code:
            self._sessions.pop(broker, None)
            return
        self._sessions[broker] = epoch + 1
        for result in (row for topic in response.responses for row in topic.partitions):
            self.record(ShareAcknowledged(self.group, partition, rows, result.error_code))
            if result.error_code:
                self.leaders.pop(partition.partition, None)
