"""The partitions of all share groups (KIP-932): their records in `__share_group_state`, acquisition locks, and share
sessions.

As by Kafka's share coordinator, each change of a partition is stored as a snapshot. Acquired states are not stored, so
acquired records become available again after a restart. This module handles no requests.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from ... import messages
from ...errors import KwireError
from ...protocol.nested import coordinator_record, decode_share_record, encode_record
from ...values import ErrorCode
from ..controller.kraft_controller import KRaftController
from ..controller.metadata_journal import Row
from ..controller.topic import Topic
from ..groups.classic_group import Group
from ..groups.group_coordinator import GroupCoordinator
from ..groups.record_states import RecordState, ShareSnapshot, ShareStateBatch
from ..groups.share_group import ShareGroup, TopicIdPartition
from ..groups.share_partition import (
    RECORD_SIZE,
    AcquiredRange,
    OffsetRange,
    ShareLimits,
    SharePartition,
)
from ..internal_topics import InternalTopic
from ..purgatory import Parked, Purgatory
from .dead_letter_queue import DeadLetterQueue

MOST_SESSIONS = 2000  # the default of Kafka's group.share.max.share.sessions, per broker
FIRST, FINAL = 0, -1  # epochs that begin and end a session
_HIGHEST = 2**31 - 1


@dataclass(slots=True, eq=False)
class ShareSession:
    """The share session of a member with a broker.

    Attributes:
        connection: identifies the connection on which the session began; None if there is none.
        epoch: the epoch of the next request.
        parts: the partitions; the value is true for those added since the last response.
        is_over: whether the session must not acquire any more records.
    """

    connection: object = None
    epoch: int = 1
    parts: dict[TopicIdPartition, bool] = field(default_factory=dict)
    is_over: bool = False


class ShareCoordinator:
    """The share partitions, and the share sessions of members.

    Args:
        controller: manages the topics and the configs of groups.
        groups: all groups; the partitions in `__share_group_state` are restored into them.
        purgatory: runs the timers of locks, and holds delayed fetches.
        log: the topic `__share_group_state`.
        time_ms: returns the time of day, in milliseconds since 1970.
        dead_letters: writes records that cannot be processed to dead letter topics.
    """

    def __init__(
        self,
        controller: KRaftController,
        groups: GroupCoordinator,
        purgatory: Purgatory,
        log: InternalTopic,
        time_ms: Callable[[], int],
        dead_letters: DeadLetterQueue,
    ) -> None:
        self._controller = controller
        self._groups = groups
        self._purgatory = purgatory
        self._log = log
        self._time_ms = time_ms
        self._dead_letters = dead_letters
        self._sessions: dict[tuple[int, str, str], ShareSession] = {}
        self._unplaced: list[tuple[messages.ShareSnapshotKey, messages.ShareSnapshotValue | None]] = []
        groups.on_empty.append(self._reset)
        self.restore()

    def restore(self) -> None:
        """Restore the partitions in those partitions of the log that were not read yet; those of a group that is not
        restored yet wait for it."""
        waiting = self._unplaced
        self._unplaced = []
        for snapshot in waiting:
            self._restore_one(*snapshot)
        for latest in self._log.read_once():
            for key, value in latest.values.items():
                try:
                    record = decode_share_record(key, value)
                except KwireError:
                    continue
                if record.key.name == "ShareSnapshotKey" and record.value is not None:
                    self._restore_one(record.key.message, record.value.message)

    def _restore_one(self, key: messages.ShareSnapshotKey, value: messages.ShareSnapshotValue | None) -> None:
        share = self.share(self._groups.find(key.group_id))
        if value is None or key.topic_id not in self._controller.by_id:
            return
        if share is None:
            self._unplaced.append((key, value))
            return
        states = {int(state) for state in RecordState}
        batches = tuple(
            ShareStateBatch(
                batch.first_offset, batch.last_offset, RecordState(batch.delivery_state), batch.delivery_count
            )
            for batch in value.state_batches
            if batch.delivery_state in states
        )
        part = share.partitions.get((bytes(key.topic_id), key.partition))
        if part is not None:
            size = part.size
            part.state_epoch = value.state_epoch
            part.restore(ShareSnapshot(value.start_offset, max(0, value.delivery_complete_count), batches))
            self._groups.held.take(part.size - size)

    @staticmethod
    def share(group: Group | None) -> ShareGroup | None:
        """Return the share group with this id; None if the group is of another type."""
        return group.consumer if group is not None and isinstance(group.consumer, ShareGroup) else None

    def limits(self, group_id: str) -> ShareLimits:
        """Return the limits that the configs of a group set."""
        configs = self._controller.group_configs_of(group_id)
        return ShareLimits(
            int(configs["share.record.lock.duration.ms"]) / 1000,
            int(configs["share.delivery.count.limit"]),
            int(configs["share.partition.max.record.locks"]),
            configs["share.renew.acknowledge.enable"].lower() == "true",
            self._dead_letters.topic_of(group_id) != "",
        )

    def prepare(self, group_id: str, share: ShareGroup) -> bool:
        """Add the partitions to which members subscribe, and remove those of deleted topics; returns whether partitions
        were added.

        Args:
            group_id: the id of the group.
            share: the members and partitions of the group.
        """
        deleted = [partition for partition in share.partitions if partition[0] not in self._controller.by_id]
        self.forget(group_id, share, deleted)
        topics = (self._controller.topics[name] for name in share.counts if name in self._controller.topics)
        places = {(topic.topic_id, index) for topic in topics for index in range(len(topic.partitions))}
        new = [
            topic_partition
            for topic_partition in sorted(places - share.partitions.keys())
            if self._add(share, topic_partition) is not None
        ]
        return bool(new)

    def _add(self, share: ShareGroup, topic_partition: TopicIdPartition) -> SharePartition | None:
        """Add a partition; returns None if the memory limit does not allow it."""
        part = SharePartition()
        if not self._groups.held.has_room(part.size):
            return None
        share.partitions[topic_partition] = part
        self._groups.held.take(part.size)
        return part

    def find(self, group_id: str, topic_partition: TopicIdPartition) -> SharePartition | None:
        """Return a partition of a share group; None if no member has subscribed to its topic yet."""
        share = self.share(self._groups.find(group_id))
        return None if share is None else share.partitions.get(topic_partition)

    def can_store(self, group_id: str, topic_partition: TopicIdPartition) -> bool:
        """Return whether the state of a partition can be stored: its partition of the log has a leader, and replicas
        enough."""
        return self._log.write_problem(state_key(group_id, topic_partition)) == ErrorCode.NONE

    def changed(self, group_id: str, topic_partition: TopicIdPartition, part: SharePartition, size: int) -> None:
        """Store a partition whose records have changed, and try to complete the fetches that wait for them.

        Args:
            group_id: the id of the group.
            topic_partition: the topic id and partition index.
            part: the partition.
            size: the size of its state before the change, in bytes.
        """
        if part.is_dirty:
            self._write(group_id, topic_partition, part)
            part.advance()
            self._groups.held.take(part.size - size)
            self._purgatory.changed(key_of(group_id, topic_partition))
            self.send_letters(group_id, topic_partition, part)

    def send_letters(self, group_id: str, topic_partition: TopicIdPartition, part: SharePartition) -> None:
        """Write the records of a partition that wait for it to the dead letter topic, and archive them then.

        As in Kafka, their state is stored before and after; after a restart in between, they are written again.
        """
        # Kafka: SharePartition.initiateDLQAndArchive, maybeResumeDlqArchiving
        if not part.letters:
            return
        limits = self.limits(group_id)
        letters = [letter._replace(cause=letter.cause or limits.cause_of(letter)) for letter in part.letters]
        part.letters = []

        def archive() -> None:
            if self.find(group_id, topic_partition) is part:
                size = part.size
                part.archive_letters(letters)
                self.changed(group_id, topic_partition, part, size)

        self._dead_letters.write(group_id, topic_partition, letters, archive)

    def _write(self, group_id: str, topic_partition: TopicIdPartition, part: SharePartition) -> None:
        # Kafka: ShareCoordinatorShard.writeState, always as a snapshot
        stored = part.store()
        now = self._time_ms()
        row = messages.ShareSnapshotValue.StateBatch
        value = messages.ShareSnapshotValue(
            state_epoch=part.state_epoch,
            start_offset=stored.start,
            delivery_complete_count=stored.ended,
            create_timestamp=now,
            write_timestamp=now,
            state_batches=tuple(
                row(
                    first_offset=batch.first,
                    last_offset=batch.last,
                    delivery_state=batch.state,
                    delivery_count=batch.deliveries,
                )
                for batch in stored.batches
            ),
        )
        self._log.write(state_key(group_id, topic_partition), [_row(group_id, topic_partition, value)])

    def acquire(
        self,
        group_id: str,
        topic_partition: TopicIdPartition,
        part: SharePartition,
        spans: Sequence[OffsetRange],
        batch_end: int,
        member: str,
        now: float,
    ) -> list[AcquiredRange]:
        """Acquire offsets for a member, as `SharePartition.acquire`, for the lock duration of the group."""
        limits = self.limits(group_id)
        size = part.size
        acquired = part.acquire(spans, batch_end, member, now + limits.lock, limits)
        self._groups.held.take(part.size - size)
        self.lock(group_id, topic_partition, part)
        return acquired

    def has_room(self, spans: Sequence[OffsetRange]) -> bool:
        """Return whether the memory limit allows these records to be in flight."""
        return self._groups.held.has_room(RECORD_SIZE * sum(last - first + 1 for first, last in spans))

    def lock(self, group_id: str, topic_partition: TopicIdPartition, part: SharePartition) -> None:
        """Set the timer that releases acquired records when their locks expire."""
        until = part.next_unlock
        if until < part.timer_at:
            part.timer_at = until
            self._purgatory.park(Parked(lambda over: self._unlock(group_id, topic_partition, part, until)), until)

    def _unlock(self, group_id: str, topic_partition: TopicIdPartition, part: SharePartition, at: float) -> None:
        if part.timer_at != at or self.find(group_id, topic_partition) is not part:
            return  # an earlier timer is set, or the group was deleted
        part.timer_at = inf
        size = part.size
        if part.expire(self._purgatory.now, self.limits(group_id)):
            self.changed(group_id, topic_partition, part, size)
        self.lock(group_id, topic_partition, part)

    def alter(self, group_id: str, share: ShareGroup, topic_partition: TopicIdPartition, offset: int) -> int:
        """Set the start offset of a partition in a group without members; returns an error code."""
        # Kafka: ShareCoordinatorShard.initializeState
        part = share.partitions.get(topic_partition) or self._add(share, topic_partition)
        if part is None:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        size = part.size
        part.begin(offset)
        part.state_epoch += 1
        part.is_dirty = True
        self.changed(group_id, topic_partition, part, size)
        return ErrorCode.NONE

    def forget(self, group_id: str, share: ShareGroup, places: Iterable[TopicIdPartition]) -> None:
        """Delete the state of partitions."""
        for topic_partition in list(places):
            part = share.partitions.pop(topic_partition)
            self._groups.held.take(-part.size)
            self._log.write(state_key(group_id, topic_partition), [_row(group_id, topic_partition, None)])

    def _reset(self, group: Group) -> None:
        """Reset a group's partitions to their stored state after the last member left, as Kafka does."""
        share = self.share(group)
        if share is None:
            return
        share.target_epoch = share.epoch
        share.target = {}
        share.counts = {}
        self._groups.remember(group)
        for topic_partition, part in share.partitions.items():
            size = part.size
            part.restore(part.stored)
            self._groups.held.take(part.size - size)
            self._purgatory.changed(key_of(group.group_id, topic_partition))

    def session(
        self, node_id: int, group_id: str, member_id: str, epoch: int, connection: object = None
    ) -> ShareSession | int:
        """Return the session of a fetch, a new one for epoch 0, or an error code. The final epoch does not end it."""
        # Kafka: SharePartitionManager.newContext
        key = node_id, group_id, member_id
        if epoch == FIRST:
            if key not in self._sessions and sum(key[0] == node_id for key in self._sessions) >= MOST_SESSIONS:
                return ErrorCode.SHARE_SESSION_LIMIT_REACHED
            self._sessions[key] = ShareSession(connection)
            return self._sessions[key]
        session = self._sessions.get(key)
        if session is None:
            return ErrorCode.SHARE_SESSION_NOT_FOUND
        if epoch != FINAL and epoch != session.epoch:
            return ErrorCode.INVALID_SHARE_SESSION_EPOCH
        session.epoch = session.epoch % _HIGHEST + 1
        return session

    def end_session(self, node_id: int, group_id: str, member_id: str) -> None:
        """End a session: records that the member has acquired in its partitions become available again."""
        # Kafka: SharePartitionManager.releaseSession
        session = self._sessions.pop((node_id, group_id, member_id))
        session.is_over = True
        limits = self.limits(group_id)
        for topic_partition in session.parts:
            part = self.find(group_id, topic_partition)
            size = part.size if part is not None else 0
            if part is not None and part.release(member_id, limits):
                self.changed(group_id, topic_partition, part, size)

    def disconnected(self, connection: object) -> None:
        """End the sessions that began on a connection that has closed."""
        for key in [key for key, session in self._sessions.items() if session.connection is connection]:
            self.end_session(*key)

    def state_topics(self, share: ShareGroup) -> Mapping[str, list[int]]:
        """Return the partitions of a share group, grouped by topic name."""
        indexes: dict[str, list[int]] = {}
        for topic_id, index in sorted(share.partitions):
            topic: Topic | None = self._controller.by_id.get(topic_id)
            if topic is not None:
                indexes.setdefault(topic.name, []).append(index)
        return indexes


def key_of(group_id: str, topic_partition: TopicIdPartition) -> tuple[str, str, TopicIdPartition]:
    """Return the purgatory key of fetches from a share partition."""
    return "share", group_id, topic_partition


def state_key(group_id: str, topic_partition: TopicIdPartition) -> str:
    """Return the key that determines which broker coordinates the state of a share partition.

    >>> state_key("g", (bytes(16), 3))
    'g:AAAAAAAAAAAAAAAAAAAAAA:3'
    """
    topic_id = urlsafe_b64encode(topic_partition[0]).decode().rstrip("=")
    return f"{group_id}:{topic_id}:{topic_partition[1]}"


def _row(group_id: str, topic_partition: TopicIdPartition, value: messages.ShareSnapshotValue | None) -> Row:
    key = messages.ShareSnapshotKey(group_id=group_id, topic_id=topic_partition[0], partition=topic_partition[1])
    return encode_record(coordinator_record(key, value))
