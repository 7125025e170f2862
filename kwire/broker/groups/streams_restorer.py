"""Restores streams groups from their records in `__consumer_offsets`, as Kafka's GroupMetadataManager.replay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from ... import messages
from .classic_group import Group
from .modern_group import GroupState
from .streams_group import Role, StreamsGroup, StreamsMember, Task


class TaskIds(Protocol):
    """Tasks of a subtopology in a record."""

    @property
    def subtopology_id(self) -> str:
        """The subtopology."""

    @property
    def partitions(self) -> tuple[int, ...]:
        """The partitions."""


class StreamsRestorer:
    """Restores streams groups from the latest values of their records.

    Args:
        make: returns the group with an id, creating it if necessary.
    """

    def __init__(self, make: Callable[[str], Group]) -> None:
        self._make = make

    @property
    def methods(self) -> Mapping[str, Callable[[Any, Any], None]]:
        """The method that restores each record, by the name of its key; `Any`, since the name determines the types."""
        return {
            "StreamsGroupMetadataKey": self._restore_group,
            "StreamsGroupTopologyKey": self._restore_topology,
            "StreamsGroupMemberMetadataKey": self._restore_member,
            "StreamsGroupTargetAssignmentMetadataKey": self._restore_target_epoch,
            "StreamsGroupTargetAssignmentMemberKey": self._restore_target,
            "StreamsGroupCurrentMemberAssignmentKey": self._restore_current,
        }

    def _find(self, group_id: str) -> StreamsGroup | None:
        streams = self._make(group_id).consumer
        return streams if isinstance(streams, StreamsGroup) else None

    def _find_member(self, group_id: str, member_id: str) -> tuple[StreamsGroup, StreamsMember] | None:
        streams = self._find(group_id)
        member = streams.members.get(member_id) if streams is not None else None
        return None if streams is None or member is None else (streams, member)

    def _restore_group(self, key: messages.StreamsGroupMetadataKey, value: messages.StreamsGroupMetadataValue) -> None:
        group = self._make(key.group_id)
        configs = {config.key: config.value for config in value.last_assignment_configs or ()}
        group.consumer = StreamsGroup(
            epoch=value.epoch,
            metadata_hash=value.metadata_hash,
            validated_epoch=value.validated_topology_epoch,
            configs=configs,
        )
        group.protocol_type = group.kind
        group.generation = value.epoch
        group.state = GroupState.EMPTY

    def _restore_topology(
        self, key: messages.StreamsGroupTopologyKey, value: messages.StreamsGroupTopologyValue
    ) -> None:
        if (streams := self._find(key.group_id)) is not None:
            streams.topology = value

    def _restore_member(
        self, key: messages.StreamsGroupMemberMetadataKey, value: messages.StreamsGroupMemberMetadataValue
    ) -> None:
        streams = self._find(key.group_id)
        if streams is None:
            return
        member = StreamsMember(key.member_id, value.instance_id, value.client_id, value.client_host, value.rack_id)
        member.rebalance_timeout = value.rebalance_timeout_ms / 1000
        member.topology_epoch = value.topology_epoch
        member.process_id = value.process_id
        member.client_tags = {tag.key: tag.value for tag in value.client_tags}
        if value.user_endpoint is not None:
            member.endpoint = value.user_endpoint.host, value.user_endpoint.port
        streams.members[key.member_id] = member
        streams.target[key.member_id] = set()
        self._make(key.group_id).held.take(member.size)

    def _restore_target_epoch(
        self,
        key: messages.StreamsGroupTargetAssignmentMetadataKey,
        value: messages.StreamsGroupTargetAssignmentMetadataValue,
    ) -> None:
        if (streams := self._find(key.group_id)) is not None:
            streams.target_epoch = value.assignment_epoch
            streams.assigned_ms = value.assignment_timestamp

    def _restore_target(
        self,
        key: messages.StreamsGroupTargetAssignmentMemberKey,
        value: messages.StreamsGroupTargetAssignmentMemberValue,
    ) -> None:
        if (known_member := self._find_member(key.group_id, key.member_id)) is not None:
            known_member[0].target[key.member_id] = _read_tasks(
                value.active_tasks, value.standby_tasks, value.warmup_tasks
            )

    def _restore_current(
        self,
        key: messages.StreamsGroupCurrentMemberAssignmentKey,
        value: messages.StreamsGroupCurrentMemberAssignmentValue,
    ) -> None:
        known_member = self._find_member(key.group_id, key.member_id)
        if known_member is None:
            return
        member = known_member[1]
        member.epoch = value.member_epoch
        member.previous_epoch = value.previous_member_epoch
        member.has_left = member.epoch < -1
        member.assigned = _read_tasks(value.active_tasks, value.standby_tasks, value.warmup_tasks)
        member.revoking = _read_tasks(
            value.active_tasks_pending_revocation,
            value.standby_tasks_pending_revocation,
            value.warmup_tasks_pending_revocation,
        )
        for row in (*value.active_tasks, *value.active_tasks_pending_revocation):
            epochs = row.assignment_epochs or (member.epoch,) * len(row.partitions)
            tasks = (Task(Role.ACTIVE, row.subtopology_id, index) for index in row.partitions)
            member.epochs |= dict(zip(tasks, epochs, strict=False))


def _read_tasks(*rows: Iterable[TaskIds]) -> set[Task]:
    """Return the tasks in the rows of each role."""
    return {
        Task(role, task.subtopology_id, index)
        for role, tasks in zip(Role, rows, strict=True)
        for task in tasks
        for index in task.partitions
    }
