"""The records of groups in `__consumer_offsets`, written."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from ... import messages
from ...protocol.nested import coordinator_record, encode_record
from ..controller.metadata_journal import Row
from ..controller.topic import NO_TOPIC_ID, Topic
from ..internal_topics import Written
from .classic_group import Group
from .committed_offsets import Commit
from .consumer_group import Assigned, ConsumerGroup, ConsumerMember
from .modern_group import GroupState
from .share_group import ShareGroup
from .streams_group import StreamsGroup
from .streams_records import streams_rows

COMMIT_VERSION = GROUP_VERSION = 4  # versions of OffsetCommitValue (4 adds topic ids) and GroupMetadataValue
EXPIRING_VERSION = 1  # the only version of OffsetCommitValue with an expiry time
STABLE, UNREVOKED = 0, 1  # states of ConsumerGroupCurrentMemberAssignmentValue
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
    elif isinstance(group.consumer, ConsumerGroup):
        rows = _consumer_rows(group.group_id, group.consumer, find)
    elif isinstance(group.consumer, StreamsGroup):
        rows = streams_rows(group.group_id, group.consumer)
    else:
        rows = iter([_classic_row(group, time_ms)] if group.generation else [])
    return {key: value for key, value in rows if key is not None and value is not None}


def _classic_row(group: Group, time_ms: int) -> Row:
    row = messages.GroupMetadataValue.MemberMetadata
    is_stable = group.state is GroupState.STABLE
    members = tuple(
        row(
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout=int(member.rebalance_timeout * 1000),
            session_timeout=int(member.session_timeout * 1000),
            subscription=member.metadata(group.protocol),
            assignment=member.assignment,
        )
        for member in group.members.values()
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
    key = messages.ConsumerGroupMetadataKey
    value = messages.ConsumerGroupMetadataValue
    yield _row(key(group_id=group_id), value(epoch=consumer.epoch))
    target_key = messages.ConsumerGroupTargetAssignmentMetadataKey
    target = messages.ConsumerGroupTargetAssignmentMetadataValue
    yield _row(target_key(group_id=group_id), target(assignment_epoch=consumer.target_epoch))
    for member in consumer.members.values():
        yield _member_row(group_id, member)
        yield _target_row(group_id, member.member_id, consumer.target.get(member.member_id, set()), find)
        yield _current_row(group_id, member, find)


def _row(key: Struct, value: Struct) -> Row:
    return encode_record(coordinator_record(key, value))


def _member_row(group_id: str, member: ConsumerMember) -> Row:
    schema = messages.ConsumerGroupMemberMetadataValue
    classic = member.classic
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
    rows = tuple(
        schema.TopicPartition(topic_id=topic_id, partitions=partitions) for topic_id, partitions in _by_id(places, find)
    )
    key = messages.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    return _row(key, schema(topic_partitions=rows))


def _current_row(group_id: str, member: ConsumerMember, find: Find) -> Row:
    schema = messages.ConsumerGroupCurrentMemberAssignmentValue

    def rows(places: Assigned) -> tuple[messages.ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions, ...]:
        return tuple(
            schema.TopicPartitions(topic_id=topic_id, partitions=partitions)
            for topic_id, partitions in _by_id(places, find)
        )

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
        aims = tuple(target.TopicPartition(topic_id=topic_id, partitions=partitions) for topic_id, partitions in wanted)
        key = messages.ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=name)
        yield _row(key, target(topic_partitions=aims))
        has = _by_id(member.assigned, find)
        rows = tuple(current.TopicPartitions(topic_id=topic_id, partitions=partitions) for topic_id, partitions in has)
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
    topics = ((find(None, topic_id), partitions) for topic_id, partitions in indexes.items())
    rows = tuple(
        schema.TopicPartitionsInfo(topic_id=topic.topic_id, topic_name=topic.name, partitions=tuple(partitions))
        for topic, partitions in topics
        if topic is not None
    )
    key = messages.ShareGroupStatePartitionMetadataKey(group_id=group_id)
    return _row(key, schema(initialized_topics=rows))


def _by_id(places: Assigned, find: Find) -> Iterator[tuple[bytes, tuple[int, ...]]]:
    indexes: dict[str, list[int]] = {}
    for name, index in sorted(places):
        indexes.setdefault(name, []).append(index)
    for name, partitions in indexes.items():
        topic = find(name, NO_TOPIC_ID)
        if topic is not None:
            yield topic.topic_id, tuple(partitions)
