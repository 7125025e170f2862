"""Restores groups from their records in `__consumer_offsets`, as Kafka's GroupCoordinatorShard.replay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeAlias

from ... import messages
from ...errors import KwireError
from ...protocol.nested import CoordinatorRecord, decode_group_record
from ..controller.topic import NO_TOPIC_ID
from .classic_group import Group, Member
from .committed_offsets import Commit
from .consumer_group import Assigned, ClassicProtocol, ConsumerGroup, ConsumerMember
from .group_records import Find
from .group_types import SHARE
from .modern_group import GroupState
from .share_group import ShareGroup
from .share_partition import SharePartition
from .streams_restorer import StreamsRestorer

TargetEpochKey: TypeAlias = (
    "messages.ConsumerGroupTargetAssignmentMetadataKey | messages.ShareGroupTargetAssignmentMetadataKey"
)
TargetEpochValue: TypeAlias = (
    "messages.ConsumerGroupTargetAssignmentMetadataValue | messages.ShareGroupTargetAssignmentMetadataValue"
)
TargetKey: TypeAlias = "messages.ConsumerGroupTargetAssignmentMemberKey | messages.ShareGroupTargetAssignmentMemberKey"
TargetValue: TypeAlias = (
    "messages.ConsumerGroupTargetAssignmentMemberValue | messages.ShareGroupTargetAssignmentMemberValue"
)
CurrentKey: TypeAlias = (
    "messages.ConsumerGroupCurrentMemberAssignmentKey | messages.ShareGroupCurrentMemberAssignmentKey"
)
CurrentValue: TypeAlias = (
    "messages.ConsumerGroupCurrentMemberAssignmentValue | messages.ShareGroupCurrentMemberAssignmentValue"
)


class TopicIdPartitions(Protocol):
    """Partitions of a topic in a record."""

    @property
    def topic_id(self) -> bytes:
        """The id of the topic."""

    @property
    def partitions(self) -> tuple[int, ...]:
        """The partitions."""


class GroupRestorer:
    """Restores groups from the latest values of their records.

    Args:
        make: returns the group with an id, creating it if necessary.
        find: returns a topic by name or id.
    """

    def __init__(self, make: Callable[[str], Group], find: Find) -> None:
        self._make = make
        self._find = find
        self._streams = StreamsRestorer(make)

    def restore(self, values: Mapping[bytes, bytes], pending: Mapping[int, Mapping[bytes, bytes | None]]) -> None:
        """Restore the groups of one partition.

        Args:
            values: the record values by key; unknown record types and versions are skipped.
            pending: commits of open transactions, by producer id.
        """
        records = list(_decode_records(values.items()))
        ranks = {  # the other records refer to these
            "ConsumerGroupMetadataKey": 0,
            "ShareGroupMetadataKey": 0,
            "ConsumerGroupMemberMetadataKey": 1,
            "ShareGroupMemberMetadataKey": 1,
            "StreamsGroupMetadataKey": 0,
            "StreamsGroupMemberMetadataKey": 1,
        }
        for key, value in sorted(records, key=lambda row: ranks.get(row[0].key.name or "", 2)):
            restore = self._restorers().get(key.key.name or "")
            if restore is not None:
                restore(key.key.message, value)
        for producer_id, rows in pending.items():
            for record, value in _decode_records((key, value) for key, value in rows.items() if value is not None):
                if record.key.name == "OffsetCommitKey" and (commit := self._commit(record.key.message, value)):
                    key = record.key.message
                    self._make(key.group).add_pending(producer_id, key.topic, key.partition, commit)

    def _restorers(self) -> dict[str, Callable[[Any, Any], None]]:
        """The method that restores each record, by the name of its key; `Any`, since the name determines the types."""
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
            **self._streams.methods,
        }

    def _commit(self, key: messages.OffsetCommitKey, value: messages.OffsetCommitValue) -> Commit | None:
        """Return a commit; None if its topic was deleted."""
        by_id = value.topic_id != NO_TOPIC_ID
        topic = self._find(None, value.topic_id) if by_id else self._find(key.topic, NO_TOPIC_ID)
        named = value.offset, value.leader_epoch, value.metadata
        return None if topic is None else Commit(*named, topic.topic_id, value.commit_timestamp, value.expire_timestamp)

    def _restore_commit(self, key: messages.OffsetCommitKey, value: messages.OffsetCommitValue) -> None:
        if commit := self._commit(key, value):
            self._make(key.group).commits.put(key.topic, key.partition, commit)

    def _restore_classic(self, key: messages.GroupMetadataKey, value: messages.GroupMetadataValue) -> None:
        group = self._make(key.group)
        group.generation = value.generation
        group.protocol_type = value.protocol_type or None
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
            group.state = GroupState.STABLE
            group.protocol = value.protocol
            group.leader = value.leader
        elif value.current_state_timestamp >= 0:
            group.empty_since_ms = value.current_state_timestamp

    def _restore_consumer(
        self, key: messages.ConsumerGroupMetadataKey, value: messages.ConsumerGroupMetadataValue
    ) -> None:
        group = self._make(key.group_id)
        group.consumer, group.protocol_type = ConsumerGroup(epoch=value.epoch), "consumer"
        group.generation = value.epoch

    def _restore_member(
        self, key: messages.ConsumerGroupMemberMetadataKey, value: messages.ConsumerGroupMemberMetadataValue
    ) -> None:
        group = self._make(key.group_id)
        if group.consumer is not None:
            member = ConsumerMember(key.member_id, value.instance_id, value.client_id, value.client_host)
            member.rack = value.rack_id
            member.assignor = value.server_assignor
            member.topics = value.subscribed_topic_names
            member.pattern = member.resolved = value.subscribed_topic_regex or ""
            member.rebalance_timeout = value.rebalance_timeout_ms / 1000
            if value.classic_member_metadata is not None:
                classic = value.classic_member_metadata
                protocols = tuple((protocol.name, bytes(protocol.metadata)) for protocol in classic.supported_protocols)
                member.classic = ClassicProtocol(classic.session_timeout_ms / 1000, protocols)
            group.consumer.members[key.member_id] = member
            group.held.take(member.size)

    def _restore_target_epoch(self, key: TargetEpochKey, value: TargetEpochValue) -> None:
        if (consumer := self._make(key.group_id).consumer) is not None:
            consumer.target_epoch = value.assignment_epoch

    def _restore_share(self, key: messages.ShareGroupMetadataKey, value: messages.ShareGroupMetadataValue) -> None:
        group = self._make(key.group_id)
        group.consumer, group.protocol_type = ShareGroup(epoch=value.epoch), SHARE
        group.generation = value.epoch

    def _restore_share_member(
        self, key: messages.ShareGroupMemberMetadataKey, value: messages.ShareGroupMemberMetadataValue
    ) -> None:
        group = self._make(key.group_id)
        if group.consumer is not None:
            member = ConsumerMember(key.member_id, None, value.client_id, value.client_host, value.rack_id)
            member.topics = value.subscribed_topic_names
            group.consumer.members[key.member_id] = member
            group.held.take(member.size)

    def _restore_state_partitions(
        self, key: messages.ShareGroupStatePartitionMetadataKey, value: messages.ShareGroupStatePartitionMetadataValue
    ) -> None:
        """Restore the list of share partitions with state; the state is in `__share_group_state`."""
        group = self._make(key.group_id)
        if isinstance(group.consumer, ShareGroup):
            for row in value.initialized_topics:
                topic = self._find(None, row.topic_id)
                for index in row.partitions if topic is not None else ():
                    part = group.consumer.partitions[bytes(row.topic_id), index] = SharePartition()
                    group.held.take(part.size)

    def _restore_target(self, key: TargetKey, value: TargetValue) -> None:
        consumer = self._make(key.group_id).consumer
        if consumer is not None and key.member_id in consumer.members:
            consumer.target[key.member_id] = self._places(value.topic_partitions)

    def _restore_current(self, key: CurrentKey, value: CurrentValue) -> None:
        consumer = self._make(key.group_id).consumer
        member = consumer.members.get(key.member_id) if consumer is not None else None
        if member is not None:
            member.epoch = value.member_epoch
            member.previous_epoch = value.previous_member_epoch
            member.assigned = self._places(value.assigned_partitions)
            if isinstance(value, messages.ConsumerGroupCurrentMemberAssignmentValue):
                member.revoking = self._places(value.partitions_pending_revocation)

    def _places(self, rows: Iterable[TopicIdPartitions]) -> Assigned:
        topics = ((self._find(None, row.topic_id), row.partitions) for row in rows)
        return {(topic.name, index) for topic, indexes in topics if topic is not None for index in indexes}


def _decode_records(rows: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[CoordinatorRecord, Any]]:
    """Yield decoded records; as in Kafka, damaged records and records of unknown types and versions are skipped."""
    for key, value in rows:
        try:
            record = decode_group_record(key, value)
        except KwireError:
            continue
        if record.value is not None and record.value.message is not None and record.key.message is not None:
            yield record, record.value.message
