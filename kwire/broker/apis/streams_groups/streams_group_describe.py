"""StreamsGroupDescribe: state, topology, members and tasks of streams groups (KIP-1071)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from .... import messages
from ....values import ErrorCode, ResourceType
from ...api import ServedApi
from ...groups.streams_group import STICKY, StreamsGroup, StreamsMember, Task
from ...request_context import RequestContext
from ...security.api_permissions import operations
from ..groups.group_checks import problem_with
from .streams_group_checks import describe_tasks, is_off

Describe: TypeAlias = "RequestContext[messages.StreamsGroupDescribeRequest]"


def streams_group_describe(request: Describe) -> messages.StreamsGroupDescribeResponse:
    """Handle StreamsGroupDescribe."""
    names = dict.fromkeys(request.message.group_ids)
    return messages.StreamsGroupDescribeResponse(groups=tuple(_describe_group(request, name) for name in names))


def _describe_group(request: Describe, group_id: str) -> messages.StreamsGroupDescribeResponse.DescribedGroup:
    row = messages.StreamsGroupDescribeResponse.DescribedGroup
    code = ErrorCode.UNSUPPORTED_VERSION if is_off(request) else problem_with(request, group_id)
    if code:
        return row(group_id=group_id, error_code=code)
    group = request.cluster.groups.find(group_id)
    streams = group.consumer if group is not None else None
    if not isinstance(streams, StreamsGroup):
        missing = f"Group {group_id} {'not found' if group is None else 'is not a streams group'}."
        return row(group_id=group_id, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=missing)
    bits = row().authorized_operations  # the default says that the client did not ask for them
    if request.message.include_authorized_operations:
        bits = operations(request.allows, ResourceType.GROUP, group_id)
    return row(
        group_id=group_id,
        group_state=streams.state.value,
        group_epoch=streams.epoch,
        assignment_epoch=streams.target_epoch,
        topology=_describe_topology(streams),
        members=tuple(_describe_member(streams, member) for member in streams.members.values()),
        authorized_operations=bits,
        assignor_name=STICKY,
    )


def _describe_topology(streams: StreamsGroup) -> messages.StreamsGroupDescribeResponse.Topology | None:
    """Return the topology, with the partition counts of internal topics as far as they are decided."""
    # Kafka: StreamsGroup.asDescribedGroup, ConfiguredTopology.asStreamsGroupDescribeTopology
    response = messages.StreamsGroupDescribeResponse
    if streams.topology is None:
        return None
    configured = streams.configured
    counts = configured.counts if configured is not None and configured.problem is None else {}

    def describe(
        topics: Iterable[messages.StreamsGroupTopologyValue.TopicInfo],
    ) -> tuple[messages.StreamsGroupDescribeResponse.TopicInfo, ...]:
        return tuple(
            response.TopicInfo(
                name=topic.name,
                partitions=counts.get(topic.name, topic.partitions),
                replication_factor=topic.replication_factor,
                topic_configs=tuple(
                    response.KeyValue(key=config.key, value=config.value) for config in topic.topic_configs
                ),
            )
            for topic in topics
        )

    parts = tuple(
        response.Subtopology(
            subtopology_id=part.subtopology_id,
            source_topics=part.source_topics,
            repartition_sink_topics=part.repartition_sink_topics,
            state_changelog_topics=describe(part.state_changelog_topics),
            repartition_source_topics=describe(part.repartition_source_topics),
        )
        for part in streams.topology.subtopologies
    )
    return response.Topology(epoch=streams.topology.epoch, subtopologies=parts)


def _describe_member(streams: StreamsGroup, member: StreamsMember) -> messages.StreamsGroupDescribeResponse.Member:
    response = messages.StreamsGroupDescribeResponse

    def assignment(tasks: Iterable[Task]) -> messages.StreamsGroupDescribeResponse.Assignment:
        active, standby, warmup = describe_tasks(tasks, response.TaskIds)
        return response.Assignment(active_tasks=active, standby_tasks=standby, warmup_tasks=warmup)

    def offsets(
        offsets_by_task: dict[tuple[str, int], int],
    ) -> tuple[messages.StreamsGroupDescribeResponse.TaskOffset, ...]:
        rows = sorted(offsets_by_task.items())
        return tuple(
            response.TaskOffset(subtopology_id=name, partition=index, offset=offset) for (name, index), offset in rows
        )

    endpoint = member.endpoint
    return response.Member(
        member_id=member.member_id,
        member_epoch=member.epoch,
        instance_id=member.instance_id,
        rack_id=member.rack,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=response.Endpoint(host=endpoint[0], port=endpoint[1]) if endpoint is not None else None,
        client_tags=tuple(response.KeyValue(key=key, value=value) for key, value in member.client_tags.items()),
        task_offsets=offsets(member.offsets),
        task_end_offsets=offsets(member.end_offsets),
        assignment=assignment(member.assigned),
        target_assignment=assignment(streams.target.get(member.member_id, set())),
    )


APIS = {  # what each version has changed
    # 1: the name of the assignor, and a description of the topology, which is never there
    "StreamsGroupDescribe": ServedApi(0, 1, streams_group_describe, finds_errors=True),
}
