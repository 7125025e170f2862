"""Records of `__consumer_offsets`: a group's metadata, members, assignments and commits, and how to restore them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ... import messages
from ...errors import KwireError
from ...internal import CoordinatorRecord, coordinator_record, decode_group_record, encode_record
from ..metadata_journal import Row
from ..topics import Topic
from .consumer_group import Assigned, ConsumerGroup, ConsumerMember
from .group import Commit, Group, GroupState, Member

COMMIT_VERSION = GROUP_VERSION = 4  # of OffsetCommitValue, the first with the topic id (KIP-848); of GroupMetadataValue
STABLE, UNREVOKED = 0, 1  # states of ConsumerGroupCurrentMemberAssignmentValue
NO_ID = bytes(16)

Find = Callable[[str | None, bytes], Topic | None]
Written = dict[bytes, bytes]


def commit_row(group_id: str, topic: str, index: int, commit: Commit | None, time_ms: int = -1) -> Row:
    """Return the record of a commit for a partition; its value is None if the commit is deleted."""
    key = messages.OffsetCommitKey(group=group_id, topic=topic, partition=index)
    if commit is None:
        return encode_record(coordinator_record(key))
    value = messages.OffsetCommitValue(
        offset=commit.offset,
        leader_epoch=commit.leader_epoch,
        metadata=commit.metadata,
        commit_timestamp=time_ms,
        topic_id=commit.topic_id,
    )
    return encode_record(coordinator_record(key, value, COMMIT_VERSION))


def group_rows(group: Group, find: Find, time_ms: int) -> Written:
    """Return all records of a group but its commits, by key.

    Args:
        group: the group.
        find: finds a topic by name.
        time_ms: the time, in milliseconds since 1970.
    """
    if group.consumer is not None:
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
        current_state_timestamp=time_ms,
        members=members if is_stable else (),
    )
    return encode_record(coordinator_record(messages.GroupMetadataKey(group=group.group_id), value, GROUP_VERSION))


def _consumer_rows(group_id: str, consumer: ConsumerGroup, find: Find) -> Iterator[Row]:
    key, value = messages.ConsumerGroupMetadataKey, messages.ConsumerGroupMetadataValue
    yield _row(key(group_id=group_id), value(epoch=consumer.epoch))
    target_key = messages.ConsumerGroupTargetAssignmentMetadataKey
    target = messages.ConsumerGroupTargetAssignmentMetadataValue
    yield _row(target_key(group_id=group_id), target(assignment_epoch=consumer.epoch))
    for member in consumer.members.values():
        yield _member_row(group_id, member)
        yield _target_row(group_id, member.member_id, consumer.target.get(member.member_id, set()), find)
        yield _current_row(group_id, member, find)


def _row(key: Any, value: Any) -> Row:
    return encode_record(coordinator_record(key, value))


def _member_row(group_id: str, member: ConsumerMember) -> Row:
    value = messages.ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=member.topics,
        subscribed_topic_regex=member.pattern or None,
        rebalance_timeout_ms=int(member.rebalance_timeout * 1000),
        server_assignor=member.assignor,
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


def _by_id(places: Assigned, find: Find) -> Iterator[tuple[bytes, tuple[int, ...]]]:
    indexes: dict[str, list[int]] = {}
    for name, index in sorted(places):
        indexes.setdefault(name, []).append(index)
    for name, found in indexes.items():
        topic = find(name, NO_ID)
        if topic is not None:
            yield topic.topic_id, tuple(found)


def changes(before: Written, after: Written) -> list[Row]:
    """Return the records that turn one state into another: changed values, and deletions.

    >>> changes({b"a": b"1", b"b": b"1"}, {b"a": b"2"})
    [(b'a', b'2'), (b'b', None)]
    """
    rows: list[Row] = [(key, value) for key, value in after.items() if before.get(key) != value]
    return rows + [(key, None) for key in before if key not in after]


class Restorer:
    """Restores groups from the last values of their records.

    Args:
        make: returns the group of an id, creating it if necessary.
        find: finds a topic by name, or by id.
    """

    def __init__(self, make: Callable[[str], Group], find: Find) -> None:
        self._make, self._find = make, find

    def restore(self, values: Mapping[bytes, bytes], pending: Mapping[int, Mapping[bytes, bytes | None]]) -> None:
        """Restore the groups of one partition.

        Args:
            values: of the records, by key; those of unknown types and versions are left out.
            pending: commits of open transactions, by producer id.
        """
        found = list(_decoded(values.items()))
        ranks = {"ConsumerGroupMetadataKey": 0, "ConsumerGroupMemberMetadataKey": 1}  # the rest refers to these
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
            "ConsumerGroupTargetAssignmentMemberKey": self._restore_target,
            "ConsumerGroupCurrentMemberAssignmentKey": self._restore_current,
        }

    def _commit(self, key: Any, value: Any) -> Commit | None:
        """Return a commit, unless its topic was deleted."""
        by_id = value.topic_id != NO_ID
        topic = self._find(None, value.topic_id) if by_id else self._find(key.topic, NO_ID)
        return None if topic is None else Commit(value.offset, value.leader_epoch, value.metadata, topic.topic_id)

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

    def _restore_consumer(self, key: Any, value: Any) -> None:
        group = self._make(key.group_id)
        group.consumer, group.protocol_type = ConsumerGroup(epoch=value.epoch), "consumer"
        group.generation = value.epoch

    def _restore_member(self, key: Any, value: Any) -> None:
        group = self._make(key.group_id)
        if group.consumer is not None:
            member = ConsumerMember(key.member_id, value.instance_id, value.client_id, value.client_host)
            member.rack, member.assignor = value.rack_id, value.server_assignor
            member.topics, member.pattern = value.subscribed_topic_names, value.subscribed_topic_regex or ""
            member.rebalance_timeout = value.rebalance_timeout_ms / 1000
            group.consumer.members[key.member_id] = member
            group.held.take(member.size)

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
            member.revoking = self._places(value.partitions_pending_revocation)

    def _places(self, rows: Iterable[Any]) -> Assigned:
        topics = ((self._find(None, row.topic_id), row.partitions) for row in rows)
        return {(topic.name, index) for topic, found in topics if topic is not None for index in found}


def _decoded(rows: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[CoordinatorRecord, Any]]:
    """Decode records; those of unknown types and versions, and damaged ones, are left out, as they are in Kafka."""
    for key, value in rows:
        try:
            found = decode_group_record(key, value)
        except KwireError:
            continue
        if found.value is not None and found.value.message is not None and found.key.message is not None:
            yield found, found.value.message
