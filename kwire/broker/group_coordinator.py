"""The groups of a served cluster, and their records in `__consumer_offsets`.

All brokers share the groups: if a coordinator stops, the next leader of its partition continues with the same state.
Assignments of classic groups are not decoded: members compute them (`kwire.cluster.assignors`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from math import inf
from typing import Any

from .. import messages
from ..cluster.assignors.members import TopicPartition
from ..errors import DecodeError, KwireError
from ..internal import CoordinatorRecord, coordinator_record, decode_group_record, encode_record
from ..values import ErrorCode
from .classic_group import (
    BOTH,
    CONSUMER_TYPE,
    DOWNGRADE,
    UPGRADE,
    Commit,
    Group,
    Held,
    Member,
    Rebalancing,
    downgrade,
    upgraded,
)
from .consumer_group import LEAST_SIZE, Assigned, ClassicProtocol, ConsumerGroup, ConsumerMember, GroupState
from .internal_topics import InternalTopic, Producer, Written, changes
from .kraft_controller import Controller
from .metadata_journal import Row
from .partition_leader_and_isr import NO_ID, Topic
from .purgatory_and_fetch_sessions import Parked, Purgatory
from .settings_and_quotas import Settings
from .share_group import SHARE, ShareGroup, SharePartition

COMMIT_VERSION = GROUP_VERSION = 4  # versions of OffsetCommitValue (4 adds topic ids) and GroupMetadataValue
EXPIRING_VERSION = 1  # the only version of OffsetCommitValue with an expiry time
STABLE, UNREVOKED = 0, 1  # states of ConsumerGroupCurrentMemberAssignmentValue
MINUTE_MS = 60_000
LEAST_MEMBER = 4096  # estimated bytes that later requests of a KIP-848 group's member add

Find = Callable[[str | None, bytes], Topic | None]


def commit_row(group_id: str, topic: str, index: int, commit: Commit | None) -> Row:
    """Return the record of a commit for a partition; the value is None if the commit is deleted."""
    key = messages.OffsetCommitKey(group=group_id, topic=topic, partition=index)
    if commit is None:
        return encode_record(coordinator_record(key))
    value = messages.OffsetCommitValue(
        offset=commit.offset,
        leader_epoch=commit.leader_epoch,
        metadata=commit.metadata,
        commit_timestamp=commit.time_ms,
        expire_timestamp=commit.expires_ms,
        topic_id=commit.topic_id,
    )
    return encode_record(coordinator_record(key, value, COMMIT_VERSION if commit.expires_ms < 0 else EXPIRING_VERSION))


def group_rows(group: Group, find: Find, time_ms: int) -> Written:
    """Return all records of a group except its commits, by key.

    Args:
        group: the group.
        find: returns a topic by name or id.
        time_ms: the time, in milliseconds since 1970.
    """
    if isinstance(group.consumer, ShareGroup):
        rows = _share_rows(group.group_id, group.consumer, find)
    elif group.consumer is not None:
        rows = _consumer_rows(group.group_id, group.consumer, find)
    else:
        rows = iter([_classic_row(group, time_ms)] if group.generation else [])
    return {key: value for key, value in rows if key is not None and value is not None}


def _classic_row(group: Group, time_ms: int) -> Row:
    row = messages.GroupMetadataValue.MemberMetadata
    is_stable = group.state is GroupState.STABLE
    members = tuple(
        row(
            member_id=one.member_id,
            group_instance_id=one.instance_id,
            client_id=one.client_id,
            client_host=one.client_host,
            rebalance_timeout=int(one.rebalance_timeout * 1000),
            session_timeout=int(one.session_timeout * 1000),
            subscription=one.metadata(group.protocol),
            assignment=one.assignment,
        )
        for one in group.members.values()
    )
    value = messages.GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=group.protocol if is_stable else None,
        leader=group.leader if is_stable else None,
        current_state_timestamp=time_ms if group.empty_since_ms is None else group.empty_since_ms,
        members=members if is_stable else (),
    )
    return encode_record(coordinator_record(messages.GroupMetadataKey(group=group.group_id), value, GROUP_VERSION))


def _consumer_rows(group_id: str, consumer: ConsumerGroup, find: Find) -> Iterator[Row]:
    key, value = messages.ConsumerGroupMetadataKey, messages.ConsumerGroupMetadataValue
    yield _row(key(group_id=group_id), value(epoch=consumer.epoch))
    target_key = messages.ConsumerGroupTargetAssignmentMetadataKey
    target = messages.ConsumerGroupTargetAssignmentMetadataValue
    yield _row(target_key(group_id=group_id), target(assignment_epoch=consumer.target_epoch))
    for member in consumer.members.values():
        yield _member_row(group_id, member)
        yield _target_row(group_id, member.member_id, consumer.target.get(member.member_id, set()), find)
        yield _current_row(group_id, member, find)


def _row(key: Any, value: Any) -> Row:
    return encode_record(coordinator_record(key, value))


def _member_row(group_id: str, member: ConsumerMember) -> Row:
    schema, classic = messages.ConsumerGroupMemberMetadataValue, member.classic
    value = schema(
        instance_id=member.instance_id,
        rack_id=member.rack,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=member.topics,
        subscribed_topic_regex=member.pattern or None,
        rebalance_timeout_ms=int(member.rebalance_timeout * 1000),
        server_assignor=member.assignor,
        classic_member_metadata=schema.ClassicMemberMetadata(
            session_timeout_ms=int(classic.session_timeout * 1000),
            supported_protocols=tuple(
                schema.ClassicProtocol(name=name, metadata=data) for name, data in classic.protocols
            ),
        )
        if classic is not None
        else None,
    )
    return _row(messages.ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id), value)


def _target_row(group_id: str, member_id: str, places: Assigned, find: Find) -> Row:
    schema = messages.ConsumerGroupTargetAssignmentMemberValue
    rows = tuple(schema.TopicPartition(topic_id=one, partitions=found) for one, found in _by_id(places, find))
    key = messages.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    return _row(key, schema(topic_partitions=rows))


def _current_row(group_id: str, member: ConsumerMember, find: Find) -> Row:
    schema = messages.ConsumerGroupCurrentMemberAssignmentValue

    def rows(places: Assigned) -> tuple[Any, ...]:
        return tuple(schema.TopicPartitions(topic_id=one, partitions=found) for one, found in _by_id(places, find))

    value = schema(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=UNREVOKED if member.revoking else STABLE,
        assigned_partitions=rows(member.assigned),
        partitions_pending_revocation=rows(member.revoking),
    )
    return _row(messages.ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id), value)


def _share_rows(group_id: str, share: ShareGroup, find: Find) -> Iterator[Row]:
    """Yield the records of a share group (KIP-932)."""
    target = messages.ShareGroupTargetAssignmentMemberValue
    current = messages.ShareGroupCurrentMemberAssignmentValue
    made = messages.ShareGroupTargetAssignmentMetadataValue(assignment_epoch=share.target_epoch)
    yield _row(messages.ShareGroupMetadataKey(group_id=group_id), messages.ShareGroupMetadataValue(epoch=share.epoch))
    yield _row(messages.ShareGroupTargetAssignmentMetadataKey(group_id=group_id), made)
    for name, member in share.members.items():
        about = messages.ShareGroupMemberMetadataValue(
            rack_id=member.rack,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=member.topics,
        )
        yield _row(messages.ShareGroupMemberMetadataKey(group_id=group_id, member_id=name), about)
        wanted = _by_id(share.target.get(name, set()), find)
        aims = tuple(target.TopicPartition(topic_id=one, partitions=found) for one, found in wanted)
        key = messages.ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=name)
        yield _row(key, target(topic_partitions=aims))
        has = _by_id(member.assigned, find)
        rows = tuple(current.TopicPartitions(topic_id=one, partitions=found) for one, found in has)
        value = current(
            member_epoch=member.epoch,
            previous_member_epoch=member.previous_epoch,
            state=STABLE,
            assigned_partitions=rows,
        )
        yield _row(messages.ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=name), value)
    yield _state_partitions_row(group_id, share, find)


def _state_partitions_row(group_id: str, share: ShareGroup, find: Find) -> Row:
    """Return the record that lists the share partitions with state in `__share_group_state`."""
    schema = messages.ShareGroupStatePartitionMetadataValue
    indexes: dict[bytes, list[int]] = {}
    for topic_id, index in sorted(share.partitions):
        indexes.setdefault(topic_id, []).append(index)
    topics = ((find(None, topic_id), found) for topic_id, found in indexes.items())
    rows = tuple(
        schema.TopicPartitionsInfo(topic_id=topic.topic_id, topic_name=topic.name, partitions=tuple(found))
        for topic, found in topics
        if topic is not None
    )
    key = messages.ShareGroupStatePartitionMetadataKey(group_id=group_id)
    return _row(key, schema(initialized_topics=rows))


def _by_id(places: Assigned, find: Find) -> Iterator[tuple[bytes, tuple[int, ...]]]:
    indexes: dict[str, list[int]] = {}
    for name, index in sorted(places):
        indexes.setdefault(name, []).append(index)
    for name, found in indexes.items():
        topic = find(name, NO_ID)
        if topic is not None:
            yield topic.topic_id, tuple(found)


class Restorer:
    """Restores groups from the latest values of their records.

    Args:
        make: returns the group with an id, creating it if necessary.
        find: returns a topic by name or id.
    """

    def __init__(self, make: Callable[[str], Group], find: Find) -> None:
        self._make, self._find = make, find

    def restore(self, values: Mapping[bytes, bytes], pending: Mapping[int, Mapping[bytes, bytes | None]]) -> None:
        """Restore the groups of one partition.

        Args:
            values: the record values by key; unknown record types and versions are skipped.
            pending: commits of open transactions, by producer id.
        """
        found = list(_decoded(values.items()))
        ranks = {  # the other records refer to these
            "ConsumerGroupMetadataKey": 0,
            "ShareGroupMetadataKey": 0,
            "ConsumerGroupMemberMetadataKey": 1,
            "ShareGroupMemberMetadataKey": 1,
        }
        for key, value in sorted(found, key=lambda row: ranks.get(row[0].key.name or "", 2)):
            restore = self._restorers().get(key.key.name or "")
            if restore is not None:
                restore(key.key.message, value)
        for producer_id, rows in pending.items():
            for record, value in _decoded((key, value) for key, value in rows.items() if value is not None):
                if record.key.name == "OffsetCommitKey" and (commit := self._commit(record.key.message, value)):
                    key = record.key.message
                    self._make(key.group).add_pending(producer_id, key.topic, key.partition, commit)

    def _restorers(self) -> dict[str, Callable[[Any, Any], None]]:
        return {
            "OffsetCommitKey": self._restore_commit,
            "GroupMetadataKey": self._restore_classic,
            "ConsumerGroupMetadataKey": self._restore_consumer,
            "ConsumerGroupMemberMetadataKey": self._restore_member,
            "ConsumerGroupTargetAssignmentMetadataKey": self._restore_target_epoch,
            "ConsumerGroupTargetAssignmentMemberKey": self._restore_target,
            "ConsumerGroupCurrentMemberAssignmentKey": self._restore_current,
            "ShareGroupMetadataKey": self._restore_share,
            "ShareGroupMemberMetadataKey": self._restore_share_member,
            "ShareGroupTargetAssignmentMetadataKey": self._restore_target_epoch,
            "ShareGroupTargetAssignmentMemberKey": self._restore_target,
            "ShareGroupCurrentMemberAssignmentKey": self._restore_current,
            "ShareGroupStatePartitionMetadataKey": self._restore_state_partitions,
        }

    def _commit(self, key: Any, value: Any) -> Commit | None:
        """Return a commit; None if its topic was deleted."""
        by_id = value.topic_id != NO_ID
        topic = self._find(None, value.topic_id) if by_id else self._find(key.topic, NO_ID)
        named = value.offset, value.leader_epoch, value.metadata
        return None if topic is None else Commit(*named, topic.topic_id, value.commit_timestamp, value.expire_timestamp)

    def _restore_commit(self, key: Any, value: Any) -> None:
        if commit := self._commit(key, value):
            self._make(key.group).commits.put(key.topic, key.partition, commit)

    def _restore_classic(self, key: Any, value: Any) -> None:
        group = self._make(key.group)
        group.generation, group.protocol_type = value.generation, value.protocol_type or None
        for row in value.members:
            member = Member(
                row.member_id,
                row.group_instance_id,
                row.client_id,
                row.client_host,
                row.session_timeout / 1000,
                row.rebalance_timeout / 1000,
                ((value.protocol or "", row.subscription),),
                row.assignment,
                has_synced=True,
                is_new=False,
            )
            group.add(member)
        if value.members:
            group.state, group.protocol, group.leader = GroupState.STABLE, value.protocol, value.leader
        elif value.current_state_timestamp >= 0:
            group.empty_since_ms = value.current_state_timestamp

    def _restore_consumer(self, key: Any, value: Any) -> None:
        group = self._make(key.group_id)
        group.consumer, group.protocol_type = ConsumerGroup(epoch=value.epoch), "consumer"
        group.generation = value.epoch

    def _restore_member(self, key: Any, value: Any) -> None:
        group = self._make(key.group_id)
        if group.consumer is not None:
            member = ConsumerMember(key.member_id, value.instance_id, value.client_id, value.client_host)
            member.rack, member.assignor = value.rack_id, value.server_assignor
            member.topics = value.subscribed_topic_names
            member.pattern = member.resolved = value.subscribed_topic_regex or ""
            member.rebalance_timeout = value.rebalance_timeout_ms / 1000
            if value.classic_member_metadata is not None:
                classic = value.classic_member_metadata
                protocols = tuple((one.name, bytes(one.metadata)) for one in classic.supported_protocols)
                member.classic = ClassicProtocol(classic.session_timeout_ms / 1000, protocols)
            group.consumer.members[key.member_id] = member
            group.held.take(member.size)

    def _restore_target_epoch(self, key: Any, value: Any) -> None:
        if (consumer := self._make(key.group_id).consumer) is not None:
            consumer.target_epoch = value.assignment_epoch

    def _restore_share(self, key: Any, value: Any) -> None:
        group = self._make(key.group_id)
        group.consumer, group.protocol_type = ShareGroup(epoch=value.epoch), SHARE
        group.generation = value.epoch

    def _restore_share_member(self, key: Any, value: Any) -> None:
        group = self._make(key.group_id)
        if group.consumer is not None:
            member = ConsumerMember(key.member_id, None, value.client_id, value.client_host, value.rack_id)
            member.topics = value.subscribed_topic_names
            group.consumer.members[key.member_id] = member
            group.held.take(member.size)

    def _restore_state_partitions(self, key: Any, value: Any) -> None:
        """Restore the list of share partitions with state; the state is in `__share_group_state`."""
        group = self._make(key.group_id)
        if isinstance(group.consumer, ShareGroup):
            for row in value.initialized_topics:
                topic = self._find(None, row.topic_id)
                for index in row.partitions if topic is not None else ():
                    part = group.consumer.partitions[bytes(row.topic_id), index] = SharePartition()
                    group.held.take(part.size)

    def _restore_target(self, key: Any, value: Any) -> None:
        consumer = self._make(key.group_id).consumer
        if consumer is not None and key.member_id in consumer.members:
            consumer.target[key.member_id] = self._places(value.topic_partitions)

    def _restore_current(self, key: Any, value: Any) -> None:
        consumer = self._make(key.group_id).consumer
        member = consumer.members.get(key.member_id) if consumer is not None else None
        if member is not None:
            member.epoch, member.previous_epoch = value.member_epoch, value.previous_member_epoch
            member.assigned = self._places(value.assigned_partitions)
            if not isinstance(consumer, ShareGroup):
                member.revoking = self._places(value.partitions_pending_revocation)

    def _places(self, rows: Iterable[Any]) -> Assigned:
        topics = ((self._find(None, row.topic_id), row.partitions) for row in rows)
        return {(topic.name, index) for topic, found in topics if topic is not None for index in found}


def _decoded(rows: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[CoordinatorRecord, Any]]:
    """Yield decoded records; as in Kafka, damaged records and records of unknown types and versions are skipped."""
    for key, value in rows:
        try:
            found = decode_group_record(key, value)
        except KwireError:
            continue
        if found.value is not None and found.value.message is not None and found.key.message is not None:
            yield found, found.value.message


class Groups:
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
        self, controller: Controller, purgatory: Purgatory, log: InternalTopic, time_ms: Callable[[], int]
    ) -> None:
        self.settings: Settings = controller.settings
        self._controller, self._purgatory = controller, purgatory
        self._log, self._time_ms = log, time_ms
        self.held: Held = Held(self.settings.most_group_bytes)
        self.rebalancing: Rebalancing = Rebalancing(purgatory, self.settings.initial_rebalance_delay, self.remember)
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

        restorer = Restorer(make, self._find)
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
            if consumer.revoking and consumer.classic is None:
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

    def remember(self, group: Group) -> None:
        """Write changes of a group and its members to the log."""
        if group.members or group.consumer is not None:
            group.empty_since_ms = None
        elif group.empty_since_ms is None:
            group.empty_since_ms = self._time_ms()
        rows = group_rows(group, self._find, self._time_ms())
        self._log.write(group.group_id, changes(group.written, rows))
        group.written = rows

    def _commit_rows(self, group: Group, commits: Mapping[TopicPartition, Commit | None]) -> list[Row]:
        return [commit_row(group.group_id, *place, commit) for place, commit in commits.items()]

    def _timed(self, commits: Mapping[TopicPartition, Commit], retention_ms: int = -1) -> dict[TopicPartition, Commit]:
        now = self._time_ms()
        expires = -1 if retention_ms == -1 else min(max(now + retention_ms, 0), 2**63 - 1)
        return {place: commit._replace(time_ms=now, expires_ms=expires) for place, commit in commits.items()}

    def commit(self, group: Group, commits: Mapping[TopicPartition, Commit], retention_ms: int = -1) -> int:
        """Store commits of a group, with a retention time of their own unless `retention_ms` is -1; returns an error
        code.
        """
        commits = self._timed(commits, retention_ms)
        code = self._log.write(group.group_id, self._commit_rows(group, commits))
        for place, commit in commits.items() if code == ErrorCode.NONE else ():
            group.commits.put(*place, commit)
        return code

    def delete_commits(self, group: Group, places: Iterable[TopicPartition]) -> None:
        """Delete commits of a group."""
        deleted = [place for place in places if group.commits.remove(*place)]
        self._log.write(group.group_id, self._commit_rows(group, dict.fromkeys(deleted)))

    def commit_pending(self, group: Group, producer: Producer, commits: Mapping[TopicPartition, Commit]) -> int:
        """Store commits that take effect when their transaction is committed; returns an error code."""
        commits = self._timed(commits)
        code = self._log.write(group.group_id, self._commit_rows(group, commits), producer)
        for place, commit in commits.items() if code == ErrorCode.NONE else ():
            group.add_pending(producer.id, *place, commit)
        return code

    def expire_commits(self) -> None:
        """Delete expired commits (KIP-211) and unused groups every `offsets.retention.check.interval.ms`, except on
        read-only brokers."""
        now = self._time_ms()
        if now < self._next_expiry_ms or self.settings.read_only:
            return
        self._next_expiry_ms = now + self.settings.offsets_retention_check_interval_ms
        before = now - self.settings.offsets_retention_minutes * MINUTE_MS
        for group in self.all():
            places = [(topic, index) for topic, indexes in group.commits.topics() for index in indexes]
            if expired := [place for place in places if group.is_expired(*place, before, now)]:
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
        for group in self._groups.values():
            if producer_id in group.pending_commits and self._log.index_of(group.group_id) == index:
                for place, commit in group.end_pending(producer_id).items():
                    if is_commit:
                        group.commits.put(*place, commit)

    def find(self, group_id: str) -> Group | None:
        """Return a group; None if it does not exist."""
        return self._groups.get(group_id)

    def all(self) -> list[Group]:
        """Return all groups."""
        return list(self._groups.values())

    def found_or_made(self, group_id: str) -> Group | None:
        """Return a group, creating it if necessary; None if the limit on groups is reached."""
        group = self._groups.get(group_id)
        if group is None and self._has_room_for_group(group_id):
            group = self._groups[group_id] = Group(group_id, self.held)
        return group

    def _has_room_for_group(self, group_id: str) -> bool:
        if len(self._groups) >= self.settings.most_groups:
            for group in [group for group in self._groups.values() if group.is_unused]:
                self.delete(group)
        return len(self._groups) < self.settings.most_groups and self.held.has_room(LEAST_SIZE + len(group_id))

    def has_room_for_member(self, group: Group, size: int) -> bool:
        """Return whether there is room for another member of a group, of this size in bytes."""
        return len(group.members) + len(group.pending) < self.settings.most_group_members and self.held.has_room(size)

    def prolong(self, member_ids: Collection[str], seconds: float) -> None:
        """Extend the session deadlines of members."""
        for group in self._groups.values():
            for member in group.members.values():
                if member.member_id in member_ids:
                    member.deadline += seconds
            for consumer in group.consumer.members.values() if group.consumer is not None else ():
                if consumer.member_id in member_ids:
                    consumer.prolong(seconds)

    def keep_consumer(self, group: Group, member: ConsumerMember, now: float) -> None:
        """Record that a member of a KIP-848 group is alive: extend its session and set the timer."""
        assert group.consumer is not None
        member.deadline = now + self._session_timeout(group, member)
        group.state = group.consumer.state
        self._wake_consumers(group, group.consumer)

    def _session_timeout(self, group: Group, member: ConsumerMember) -> float:
        if isinstance(group.consumer, ShareGroup):
            return int(self._controller.group_configs_of(group.group_id)["share.session.timeout.ms"]) / 1000
        if member.classic is not None:
            return member.classic.session_timeout
        own = self._controller.group_configs.get(group.group_id, {}).get("consumer.session.timeout.ms")
        return self.settings.consumer_session_timeout if own is None else int(own) / 1000

    def _wake_consumers(self, group: Group, consumer: ConsumerGroup) -> None:
        """Set the timer to the earliest deadline of the members."""
        deadline = consumer.next_deadline()
        if deadline >= consumer.wakes:
            return
        if consumer.timer is not None:
            self._purgatory.forget(consumer.timer)
        consumer.wakes, consumer.timer = deadline, Parked(lambda over: self._expire_consumers(group, consumer))
        self._purgatory.park(consumer.timer, deadline)

    def _expire_consumers(self, group: Group, consumer: ConsumerGroup) -> None:
        consumer.timer, consumer.wakes = None, inf
        now = self._purgatory.now
        for member in consumer.expired(now):
            if group.consumer is consumer:
                self.remove_consumers(group, [member], now)
        if group.consumer is consumer:
            self._wake_consumers(group, consumer)

    def add_consumer(
        self, consumer: ConsumerGroup, member: ConsumerMember, before: ConsumerMember | None
    ) -> ConsumerMember | int:
        """Add a member to a KIP-848 group; returns the member, or an error code.

        Args:
            consumer: the group's members.
            member: the new member.
            before: the static member that the new member replaces, and whose partitions it gets; None if there is none.
        """
        is_full = before is None and len(consumer.members) >= self.settings.most_group_members
        if is_full or not self.held.has_room(LEAST_MEMBER + member.size):
            return ErrorCode.GROUP_MAX_SIZE_REACHED
        if before is not None:
            del consumer.members[before.member_id]
            self.held.take(-before.size)
            consumer.target[member.member_id] = consumer.target.pop(before.member_id, set())
            member.topics, member.assignor = before.topics, before.assignor
            member.pattern, member.resolved = before.pattern, before.resolved
        consumer.members[member.member_id] = member
        self.held.take(member.size)
        return member

    def remove_consumers(self, group: Group, members: Collection[ConsumerMember], now: float) -> None:
        """Remove members of a KIP-848 group; the others get their partitions with their next heartbeats.

        If only classic members remain, the group becomes classic.
        """
        assert group.consumer is not None
        consumer = group.consumer
        is_last = self.ends_migration(consumer, members)
        for member in members:
            consumer.members.pop(member.member_id, None)
            consumer.target.pop(member.member_id, None)
            self.held.take(-member.size)
        if is_last:
            self.downgrade(group, now)
            self.rebalancing.prepare(group, now)
            return
        consumer.epoch += 1
        group.generation, group.state = consumer.epoch, consumer.state
        self.remember(group)
        for act in self.on_empty if not consumer.members else ():
            act(group)

    def ends_migration(self, consumer: ConsumerGroup, members: Collection[ConsumerMember]) -> bool:
        """Return whether the group becomes classic without these members: all others are classic, and the policy allows
        it."""
        return consumer.is_classic_without(members) and self.settings.migration_policy in (BOTH, DOWNGRADE)

    def upgrade(self, group: Group, now: float) -> bool:
        """Convert a classic group with members to a KIP-848 group; returns whether that was possible.

        Members that wait for a response must rejoin.
        """
        is_allowed = self.settings.migration_policy in (BOTH, UPGRADE)
        if not is_allowed or group.protocol_type != CONSUMER_TYPE:
            return False
        try:
            consumer = upgraded(group, self._controller.topics)
        except DecodeError:
            return False
        for member in list(group.members.values()):
            self.rebalancing.interrupt(group, member, now)
            group.remove(member)
        self.begin_consumers(group, consumer)
        consumer.recount(self.partition_counts())
        for one in consumer.members.values():
            self.held.take(one.size)
            self.keep_consumer(group, one, now)
        return True

    def begin_consumers(self, group: Group, consumer: ConsumerGroup) -> None:
        """Convert a group without classic members to a KIP-848 group; it may have pending member ids."""
        self.rebalancing.rest(group)
        group.begin_consumers(consumer)

    def end_consumers(self, group: Group) -> None:
        """Convert a KIP-848 group without members to a new classic group."""
        self._forget_timer(group)
        group.consumer, group.generation, group.state = None, 0, GroupState.EMPTY

    def _forget_timer(self, group: Group) -> None:
        if group.consumer is not None and group.consumer.timer is not None:
            self._purgatory.forget(group.consumer.timer)

    def downgrade(self, group: Group, now: float) -> None:
        """Convert a group whose members all use the classic protocol to a classic group."""
        assert group.consumer is not None
        consumer = group.consumer
        self._forget_timer(group)
        self.held.take(-sum(one.size for one in consumer.members.values()))
        downgrade(group, consumer)
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
