"""The groups of a served cluster: their coordinator creates and deletes them, stores commits, and ends sessions.

All brokers share the groups: if a coordinator stops, the next leader of its partition continues with the same state.
Assignments of classic groups are not decoded: members compute them (`kwire.cluster.assignors`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from math import inf
from typing import Any

from ...cluster.assignors.members import TopicPartition
from ...errors import DecodeError
from ...values import ErrorCode
from ..controller.kraft_controller import KRaftController
from ..controller.metadata_journal import Row
from ..controller.topic import Topic
from ..internal_topics import InternalTopic, ProducerIdAndEpoch, changes
from ..purgatory import Parked, Purgatory
from ..settings import Settings
from .classic_group import Group
from .classic_rebalance import ClassicRebalance
from .committed_offsets import Commit
from .consumer_group import ConsumerGroup, ConsumerMember
from .group_memory import LEAST_SIZE, GroupMemory
from .group_migration import BOTH, CONSUMER_TYPE, DOWNGRADE, UPGRADE, downgrade_group, upgrade_group
from .group_records import commit_row, group_rows
from .group_restorer import GroupRestorer
from .group_types import SHARE, STREAMS
from .modern_group import GroupState, MemberT, ModernGroup, ModernMember

MINUTE_MS = 60_000
LEAST_MEMBER = 4096  # estimated bytes that later requests of a KIP-848 group's member add


class GroupCoordinator:
    """The groups of all types.

    Attributes:
        held: the memory that all groups use, in bytes.
        on_empty: called with each KIP-848 group whose last member has left.
        rebalancing: the state machine of classic groups.

    Args:
        controller: manages the topics.
        purgatory: holds delayed responses.
        log: the topic `__consumer_offsets`.
        time_ms: returns the time of day, in milliseconds since 1970.
    """

    def __init__(
        self, controller: KRaftController, purgatory: Purgatory, log: InternalTopic, time_ms: Callable[[], int]
    ) -> None:
        self.settings: Settings = controller.settings
        self._controller = controller
        self._purgatory = purgatory
        self._log = log
        self._time_ms = time_ms
        self.held: GroupMemory = GroupMemory(self.settings.most_group_bytes)
        self.rebalancing: ClassicRebalance = ClassicRebalance(
            purgatory, self.settings.initial_rebalance_delay, self.remember
        )
        self.on_empty: list[Callable[[Group], None]] = []
        self._groups: dict[str, Group] = {}
        self._next_expiry_ms = 0
        self.restore()

    def restore(self) -> None:
        """Restore the groups with members and commits, except commits for deleted topics, from partitions of the log
        that were not read yet (Kafka: GroupCoordinator.onElection)."""
        restored: dict[str, Group] = {}

        def make(group_id: str) -> Group:
            restored[group_id] = self._groups.setdefault(group_id, Group(group_id, self.held))
            return restored[group_id]

        restorer = GroupRestorer(make, self._find)
        for latest in self._log.read_once():
            restorer.restore(latest.values, latest.pending)
        for group in restored.values():
            group.written = group_rows(group, self._find, self._time_ms())
            if group.consumer is not None:
                group.consumer.recount(self.partition_counts())
                group.state = group.consumer.state
            if group.members or group.consumer is not None:
                self._purgatory.park(Parked(partial(self._begin, group)), 0.0)

    def _begin(self, group: Group, over: bool) -> None:
        """Start the timeouts of restored members (Kafka: GroupMetadataManager.onLoaded); this waits for the first tick,
        which sets the time."""
        now = self._purgatory.now
        for member in group.members.values():
            self.rebalancing.keep(group, member, now)
        for consumer in list(group.consumer.members.values() if group.consumer is not None else ()):
            if consumer.revoking and not consumer.is_classic:
                consumer.revokes_until = now + consumer.rebalance_timeout
            self.keep_consumer(group, consumer, now)

    def _find(self, name: str | None, topic_id: bytes) -> Topic | None:
        return self._controller.find(name, topic_id)

    def partition_counts(self) -> dict[str, int]:
        """Return the partition count of each topic."""
        return {topic.name: len(topic.partitions) for topic in self._controller.topics.values()}

    def plan(self, group: Group, consumer: ConsumerGroup, *, changed: bool = True) -> None:
        """Compute a new target assignment if members, or the topics to which they subscribe, have changed."""
        ids = {topic.name: topic.topic_id for topic in self._controller.topics.values()}
        consumer.plan(self.partition_counts(), ids=ids, changed=changed)
        group.generation = consumer.epoch

    def write_problem(self, group_id: str) -> int:
        """Return the error code for which changes of a group cannot be written now; 0 if they can."""
        return self._log.write_problem(group_id)

    def remember(self, group: Group) -> int:
        """Write changes of a group and its members to the log; returns an error code. What cannot be written is written
        with the next change."""
        if group.members or group.consumer is not None:
            group.empty_since_ms = None
        elif group.empty_since_ms is None:
            group.empty_since_ms = self._time_ms()
        rows = group_rows(group, self._find, self._time_ms())
        code = self._log.write(group.group_id, changes(group.written, rows))
        group.is_unwritten = code != ErrorCode.NONE
        if not group.is_unwritten:
            group.written = rows
        return code

    def remember_or_revert(self, group: Group) -> int:
        """Write changes of a group whose broker assigns; undo them if they cannot be written. Returns an error code."""
        # Kafka: CoordinatorRuntime.CoordinatorContext.append, SnapshottableCoordinator.revertLastWritten
        code = self.remember(group)
        if code != ErrorCode.NONE and group.consumer is not None:
            self._revert(group, group.consumer)
        return code

    def _revert(self, group: Group, changed: ModernGroup[Any, Any]) -> None:
        """Restore a group from its records, but for what they do not have, such as the ends of sessions."""
        self._forget_timer(group)
        self.held.take(-changed.size_of_partitions - sum(member.size for member in changed.members.values()))
        group.consumer = None
        GroupRestorer(lambda group_id: group, self._find).restore(group.written, {})
        if group.consumer is None:  # it was classic, or is new
            if not group.members:
                self.end_consumers(group)
            for member in group.members.values():
                self.rebalancing.keep(group, member, self._purgatory.now)
            return
        size = group.consumer.size_of_partitions
        group.consumer.keep_unwritten(changed)
        self.held.take(group.consumer.size_of_partitions - size)
        group.consumer.recount(self.partition_counts())
        group.state = group.consumer.state
        group.is_unwritten = False
        self._wake_consumers(group, group.consumer)

    def _commit_rows(self, group: Group, commits: Mapping[TopicPartition, Commit | None]) -> list[Row]:
        return [commit_row(group.group_id, *topic_partition, commit) for topic_partition, commit in commits.items()]

    def _stamp_times(
        self, commits: Mapping[TopicPartition, Commit], retention_ms: int = -1
    ) -> dict[TopicPartition, Commit]:
        now = self._time_ms()
        expires = -1 if retention_ms == -1 else min(max(now + retention_ms, 0), 2**63 - 1)
        return {
            topic_partition: commit._replace(time_ms=now, expires_ms=expires)
            for topic_partition, commit in commits.items()
        }

    def commit(self, group: Group, commits: Mapping[TopicPartition, Commit], retention_ms: int = -1) -> int:
        """Store commits of a group, with a retention time of their own unless `retention_ms` is -1; returns an error
        code.
        """
        commits = self._stamp_times(commits, retention_ms)
        code = self._log.write(group.group_id, self._commit_rows(group, commits))
        for topic_partition, commit in commits.items() if code == ErrorCode.NONE else ():
            group.commits.put(*topic_partition, commit)
        return code

    def delete_commits(self, group: Group, places: Iterable[TopicPartition]) -> None:
        """Delete commits of a group."""
        deleted = [topic_partition for topic_partition in places if group.commits.remove(*topic_partition)]
        self._log.write(group.group_id, self._commit_rows(group, dict.fromkeys(deleted)))

    def commit_pending(
        self, group: Group, producer: ProducerIdAndEpoch, commits: Mapping[TopicPartition, Commit]
    ) -> int:
        """Store commits that take effect when their transaction is committed; returns an error code."""
        commits = self._stamp_times(commits)
        code = self._log.write(group.group_id, self._commit_rows(group, commits), producer)
        for topic_partition, commit in commits.items() if code == ErrorCode.NONE else ():
            group.add_pending(producer.id, *topic_partition, commit)
        return code

    def expire_commits(self) -> None:
        """Delete expired commits (KIP-211) and unused groups every `offsets.retention.check.interval.ms`, except on
        read-only brokers."""
        # Kafka: OffsetMetadataManager.cleanupExpiredOffsets (KIP-211)
        now = self._time_ms()
        if now < self._next_expiry_ms or self.settings.read_only:
            return
        self._next_expiry_ms = now + self.settings.offsets_retention_check_interval_ms
        before = now - self.settings.offsets_retention_minutes * MINUTE_MS
        for group in self.all():
            places = [(topic, index) for topic, indexes in group.commits.topics() for index in indexes]
            if expired := [
                topic_partition for topic_partition in places if group.is_expired(*topic_partition, before, now)
            ]:
                self.delete_commits(group, expired)
            if group.is_unused and group.state is GroupState.EMPTY:
                self.delete(group)

    def log_place(self, group_id: str) -> TopicPartition:
        """Return the partition of `__consumer_offsets` that stores a group."""
        return self._log.name, self._log.index_of(group_id)

    def end_transaction(self, producer_id: int, index: int, *, is_commit: bool) -> None:
        """Store or discard the pending commits of a transaction, after its marker was written to a partition of the
        log.
        """
        # Kafka: OffsetMetadataManager.replayEndTransactionMarker
        for group in self._groups.values():
            if producer_id in group.pending_commits and self._log.index_of(group.group_id) == index:
                for topic_partition, commit in group.end_pending(producer_id).items():
                    if is_commit:
                        group.commits.put(*topic_partition, commit)

    def find(self, group_id: str) -> Group | None:
        """Return a group; None if it does not exist."""
        return self._groups.get(group_id)

    def all(self) -> list[Group]:
        """Return all groups."""
        return list(self._groups.values())

    def find_or_create(self, group_id: str) -> Group | None:
        """Return a group, creating it if necessary; None if the limit on groups is reached."""
        group = self._groups.get(group_id)
        if group is None and self._make_room_for_group(group_id):
            group = self._groups[group_id] = Group(group_id, self.held)
        return group

    def _make_room_for_group(self, group_id: str) -> bool:
        """Delete unused groups if there are too many; return whether there is room for another group."""
        if len(self._groups) >= self.settings.most_groups:
            unused = [group for group in self._groups.values() if group.is_unused]
            for group in unused:
                self.delete(group)
        return len(self._groups) < self.settings.most_groups and self.held.has_room(LEAST_SIZE + len(group_id))

    def has_room_for_member(self, group: Group, size: int) -> bool:
        """Return whether there is room for another member of a group, of this size in bytes."""
        limit = min(self.settings.most_group_members, self.settings.classic_group_max_size)
        return len(group.members) + len(group.pending) < limit and self.held.has_room(size)

    def prolong(self, member_ids: Collection[str], seconds: float) -> None:
        """Extend the session deadlines of members."""
        for group in self._groups.values():
            for member in group.members.values():
                if member.member_id in member_ids:
                    member.deadline += seconds
            for consumer in group.consumer.members.values() if group.consumer is not None else ():
                if consumer.member_id in member_ids:
                    consumer.prolong(seconds)

    def keep_consumer(self, group: Group, member: ModernMember[Any], now: float) -> None:
        """Record that a member of a group whose broker assigns is alive: extend its session and set the timer."""
        assert group.consumer is not None
        member.deadline = now + self._session_timeout(group, member)
        group.state = group.consumer.state
        self._wake_consumers(group, group.consumer)

    def _session_timeout(self, group: Group, member: ModernMember[Any]) -> float:
        if group.kind in (SHARE, STREAMS):
            return int(self.configs_of(group.group_id)[f"{group.kind}.session.timeout.ms"]) / 1000
        if isinstance(member, ConsumerMember) and member.classic is not None:
            return member.classic.session_timeout
        own = self._controller.group_configs.get(group.group_id, {}).get("consumer.session.timeout.ms")
        return self.settings.consumer_session_timeout if own is None else int(own) / 1000

    def configs_of(self, group_id: str) -> dict[str, str]:
        """Return all configs of a group, including defaults."""
        return self._controller.group_configs_of(group_id)

    def _wake_consumers(self, group: Group, consumer: ModernGroup[Any, Any]) -> None:
        """Set the timer to the earliest deadline of the members."""
        deadline = consumer.next_deadline()
        if deadline >= consumer.wakes:
            return
        if consumer.timer is not None:
            self._purgatory.forget(consumer.timer)
        consumer.wakes, consumer.timer = deadline, Parked(lambda over: self._expire_consumers(group, consumer))
        self._purgatory.park(consumer.timer, deadline)

    def _expire_consumers(self, group: Group, consumer: ModernGroup[Any, Any]) -> None:
        consumer.timer = None
        consumer.wakes = inf
        now = self._purgatory.now
        for member in consumer.expired(now):
            if group.consumer is consumer:
                self.remove_consumers(group, [member], now)
        if group.consumer is consumer:
            self._wake_consumers(group, consumer)

    def add_consumer(
        self, consumer: ModernGroup[MemberT, Any], member: MemberT, before: MemberT | None
    ) -> MemberT | int:
        """Add a member to a group whose broker assigns; returns the member, or an error code.

        Args:
            consumer: the group's members.
            member: the new member.
            before: the static member that the new member replaces, and whose target it gets; None if there is none.
        """
        is_full = before is None and len(consumer.members) >= self.settings.most_group_members
        if is_full or not self.held.has_room(LEAST_MEMBER + member.size):
            return ErrorCode.GROUP_MAX_SIZE_REACHED
        if before is not None:
            del consumer.members[before.member_id]
            self.held.take(-before.size)
            consumer.target[member.member_id] = consumer.target.pop(before.member_id, set())
            member.take_over(before)
        consumer.members[member.member_id] = member
        self.held.take(member.size)
        return member

    def has_room_for(self, texts: Iterable[str], before: ModernMember[Any] | None) -> bool:
        """Return whether a member of a group whose broker assigns may be described by some texts.

        Args:
            texts: what its heartbeat says, of variable size.
            before: the member as it is; None if the heartbeat adds it.
        """
        size = LEAST_SIZE + sum(map(len, texts))
        return self.held.has_room(size - before.size if before is not None else size + LEAST_MEMBER)

    def remove_consumers(self, group: Group, members: Collection[ModernMember[Any]], now: float) -> None:
        """Remove members of a group whose broker assigns; the others get what they had with their next heartbeats.

        If only classic members remain, the group becomes classic.
        """
        assert group.consumer is not None
        consumer = group.consumer
        is_last = self.ends_migration(consumer, members)
        consumer.remove(members)
        self.held.take(-sum(member.size for member in members))
        if is_last:
            self.downgrade(group, now)
            self.rebalancing.prepare(group, now)
            return
        consumer.bump()
        group.generation = consumer.epoch
        group.state = consumer.state
        self.remember(group)
        for act in self.on_empty if not consumer.members else ():
            act(group)

    def ends_migration(self, consumer: ModernGroup[Any, Any], members: Collection[ModernMember[Any]]) -> bool:
        """Return whether the group becomes classic without these members: all others are classic, and the policy allows
        it."""
        # Kafka: GroupMetadataManager.validateOnlineDowngradeWithFencedMembers
        is_allowed = self.settings.migration_policy in (BOTH, DOWNGRADE)
        return is_allowed and isinstance(consumer, ConsumerGroup) and consumer.is_classic_without(members)

    def upgrade(self, group: Group, now: float) -> bool:
        """Convert a classic group with members to a KIP-848 group; returns whether that was possible.

        Members that wait for a response must rejoin.
        """
        # Kafka: GroupMetadataManager.convertToConsumerGroup
        is_allowed = self.settings.migration_policy in (BOTH, UPGRADE)
        if not is_allowed or group.protocol_type != CONSUMER_TYPE:
            return False
        try:
            consumer = upgrade_group(group, self._controller.topics)
        except DecodeError:
            return False
        for member in list(group.members.values()):
            self.rebalancing.interrupt(group, member, now)
            group.remove(member)
        self.begin_consumers(group, consumer)
        consumer.recount(self.partition_counts())
        for upgraded in consumer.members.values():
            self.held.take(upgraded.size)
            self.keep_consumer(group, upgraded, now)
        return True

    def begin_consumers(self, group: Group, consumer: ModernGroup[Any, Any]) -> None:
        """Convert a group without classic members to one whose broker assigns; it may have pending member ids."""
        self.rebalancing.rest(group)
        group.begin_consumers(consumer)

    def end_consumers(self, group: Group) -> None:
        """Convert a group whose broker assigns, and without members, to a new classic group."""
        self._forget_timer(group)
        group.consumer = None
        group.generation = 0
        group.state = GroupState.EMPTY

    def can_convert(self, group: Group) -> bool:
        """Return whether a group can become one of another type: it is classic, or a streams group without members,
        which becomes a new classic group."""
        # Kafka: GroupMetadataManager.maybeDeleteEmptyStreamsGroup
        if group.kind == STREAMS and group.consumer is not None and not group.consumer.members:
            self.end_consumers(group)
        return group.consumer is None

    def _forget_timer(self, group: Group) -> None:
        if group.consumer is not None and group.consumer.timer is not None:
            self._purgatory.forget(group.consumer.timer)

    def downgrade(self, group: Group, now: float) -> None:
        """Convert a group whose members all use the classic protocol to a classic group."""
        # Kafka: GroupMetadataManager.convertToClassicGroup
        assert isinstance(group.consumer, ConsumerGroup)
        consumer = group.consumer
        self._forget_timer(group)
        self.held.take(-sum(member.size for member in consumer.members.values()))
        downgrade_group(group, consumer)
        for member in group.members.values():
            self.rebalancing.keep(group, member, now)
        self.remember(group)

    def delete(self, group: Group) -> None:
        """Delete a group without members."""
        del self._groups[group.group_id]
        self.rebalancing.rest(group)
        self._forget_timer(group)
        group.expect_nobody()
        places = [(topic, index) for topic, indexes in group.commits.topics() for index in indexes]
        rows = self._commit_rows(group, dict.fromkeys(places)) + changes(group.written, {})
        if rows:
            self._log.write(group.group_id, rows)
        group.written = {}
        group.commits.clear()
        group.state = GroupState.DEAD
        self.held.take(-group.size)
