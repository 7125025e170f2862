"""The records of streams groups in `__consumer_offsets` (KIP-1071), written, as by StreamsCoordinatorRecordHelpers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from ... import messages
from ...protocol.nested import coordinator_record, encode_record
from ..controller.metadata_journal import Row
from .streams_group import Role, StreamsGroup, StreamsMember, Task

STABLE, UNREVOKED, UNRELEASED = 1, 2, 3  # states of StreamsGroupCurrentMemberAssignmentValue
TaskRows = dict[str, list[int]]


def streams_rows(group_id: str, streams: StreamsGroup) -> Iterator[Row]:
    """Yield the records of a streams group."""
    metadata = messages.StreamsGroupMetadataValue(
        epoch=streams.epoch,
        metadata_hash=streams.metadata_hash,
        validated_topology_epoch=streams.validated_epoch,
        last_assignment_configs=tuple(
            messages.StreamsGroupMetadataValue.LastAssignmentConfig(key=key, value=value)
            for key, value in streams.configs.items()
        ),
    )
    yield encode_record(coordinator_record(messages.StreamsGroupMetadataKey(group_id=group_id), metadata))
    if streams.topology is not None:
        topology_key = messages.StreamsGroupTopologyKey(group_id=group_id)
        yield encode_record(coordinator_record(topology_key, streams.topology))
    target = messages.StreamsGroupTargetAssignmentMetadataValue(
        assignment_epoch=streams.target_epoch, assignment_timestamp=streams.assigned_ms
    )
    target_key = messages.StreamsGroupTargetAssignmentMetadataKey(group_id=group_id)
    yield encode_record(coordinator_record(target_key, target))
    for member in streams.members.values():
        name = member.member_id
        member_key = messages.StreamsGroupMemberMetadataKey(group_id=group_id, member_id=name)
        yield encode_record(coordinator_record(member_key, _describe_member(member)))
        target_member_key = messages.StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=name)
        wanted = _describe_target(streams.target.get(name, set()))
        yield encode_record(coordinator_record(target_member_key, wanted))
        current_key = messages.StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=name)
        yield encode_record(coordinator_record(current_key, _describe_current(streams, member)))


def _describe_member(member: StreamsMember) -> messages.StreamsGroupMemberMetadataValue:
    schema = messages.StreamsGroupMemberMetadataValue
    endpoint = member.endpoint
    return schema(
        instance_id=member.instance_id,
        rack_id=member.rack,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=int(member.rebalance_timeout * 1000),
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=schema.Endpoint(host=endpoint[0], port=endpoint[1]) if endpoint is not None else None,
        client_tags=tuple(schema.KeyValue(key=key, value=value) for key, value in member.client_tags.items()),
    )


def _group_tasks(tasks: Iterable[Task], role: Role) -> TaskRows:
    rows: TaskRows = {}
    for task in sorted(tasks):
        if task.role is role:
            rows.setdefault(task.subtopology, []).append(task.partition)
    return rows


def _describe_target(tasks: Collection[Task]) -> messages.StreamsGroupTargetAssignmentMemberValue:
    schema = messages.StreamsGroupTargetAssignmentMemberValue

    def rows(role: Role) -> tuple[messages.StreamsGroupTargetAssignmentMemberValue.TaskIds, ...]:
        grouped = _group_tasks(tasks, role).items()
        return tuple(schema.TaskIds(subtopology_id=name, partitions=tuple(indexes)) for name, indexes in grouped)

    return schema(active_tasks=rows(Role.ACTIVE), standby_tasks=rows(Role.STANDBY), warmup_tasks=rows(Role.WARMUP))


def _describe_current(
    streams: StreamsGroup, member: StreamsMember
) -> messages.StreamsGroupCurrentMemberAssignmentValue:
    schema = messages.StreamsGroupCurrentMemberAssignmentValue

    def rows(
        tasks: Collection[Task], role: Role
    ) -> tuple[messages.StreamsGroupCurrentMemberAssignmentValue.TaskIds, ...]:
        return tuple(
            schema.TaskIds(
                subtopology_id=name,
                partitions=tuple(indexes),
                assignment_epochs=tuple(member.epochs.get(Task(role, name, index), 0) for index in indexes)
                if role is Role.ACTIVE
                else None,
            )
            for name, indexes in _group_tasks(tasks, role).items()
        )

    state = STABLE
    if member.revoking:
        state = UNREVOKED
    elif member.assigned != streams.target.get(member.member_id, set()) and member.epoch == streams.target_epoch:
        state = UNRELEASED
    return schema(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=state,
        active_tasks=rows(member.assigned, Role.ACTIVE),
        standby_tasks=rows(member.assigned, Role.STANDBY),
        warmup_tasks=rows(member.assigned, Role.WARMUP),
        active_tasks_pending_revocation=rows(member.revoking, Role.ACTIVE),
        standby_tasks_pending_revocation=rows(member.revoking, Role.STANDBY),
        warmup_tasks_pending_revocation=rows(member.revoking, Role.WARMUP),
    )
