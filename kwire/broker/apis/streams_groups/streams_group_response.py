"""The response to a heartbeat of a streams group's member: its tasks, problems of the group, where states are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .... import messages
from ...groups.streams_group import Role, StreamsGroup, StreamsMember, Task, partitions_of
from ...groups.streams_topology import StreamsStatus
from .streams_group_checks import Heartbeat, describe_tasks

# Kafka's defaults of streams.task.offset.interval.ms and streams.acceptable.recovery.lag, which no client can set yet.
TASK_OFFSET_INTERVAL_MS, ACCEPTABLE_RECOVERY_LAG = 60_000, 10_000


def heartbeat_response(
    request: Heartbeat,
    streams: StreamsGroup,
    member: StreamsMember,
    problems: Sequence[str],
    *,
    is_full: bool,
    has_moved: bool,
) -> messages.StreamsGroupHeartbeatResponse:
    """Return the response to a heartbeat.

    Args:
        request: the heartbeat.
        streams, member: the group, and the member.
        problems: why internal topics were not created.
        is_full: whether the response lists the member's tasks.
        has_moved: whether its endpoint has changed.
    """
    response = messages.StreamsGroupHeartbeatResponse
    if has_moved or (is_full and member.endpoint is not None):
        streams.endpoint_epoch += 1
    is_known = streams.endpoint_epoch == request.message.endpoint_information_epoch
    tasks = describe_tasks(member.assigned, response.TaskIds) if is_full else (None, None, None)
    configs = request.cluster.groups.configs_of(request.message.group_id)
    return response(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=int(configs["streams.heartbeat.interval.ms"]),
        task_offset_interval_ms=TASK_OFFSET_INTERVAL_MS,
        acceptable_recovery_lag=ACCEPTABLE_RECOVERY_LAG,
        status=tuple(_describe_statuses(streams, member, problems)),
        active_tasks=tasks[Role.ACTIVE],
        standby_tasks=tasks[Role.STANDBY],
        warmup_tasks=tasks[Role.WARMUP],
        endpoint_information_epoch=streams.endpoint_epoch,
        partitions_by_user_endpoint=None if is_known else tuple(_describe_endpoints(request, streams)),
    )


def _describe_statuses(
    streams: StreamsGroup, member: StreamsMember, problems: Sequence[str]
) -> Iterator[messages.StreamsGroupHeartbeatResponse.Status]:
    for status, text in streams.statuses(member):
        more = problems if status is StreamsStatus.MISSING_INTERNAL_TOPICS else ()
        detail = "; ".join([text, *more])
        yield messages.StreamsGroupHeartbeatResponse.Status(status_code=status, status_detail=detail)


def _describe_endpoints(
    request: Heartbeat, streams: StreamsGroup
) -> Iterator[messages.StreamsGroupHeartbeatResponse.EndpointToPartitions]:
    response = messages.StreamsGroupHeartbeatResponse
    counts = request.cluster.groups.partition_counts()

    def describe(tasks: Iterable[Task]) -> tuple[messages.StreamsGroupHeartbeatResponse.TopicPartition, ...]:
        rows = partitions_of(streams, tasks, counts)
        return tuple(response.TopicPartition(topic=name, partitions=indexes) for name, indexes in rows)

    for member in streams.members.values():
        if member.endpoint is not None:
            host, port = member.endpoint
            yield response.EndpointToPartitions(
                user_endpoint=response.Endpoint(host=host, port=port),
                active_partitions=describe(task for task in member.assigned if task.role is Role.ACTIVE),
                standby_partitions=describe(task for task in member.assigned if task.role is not Role.ACTIVE),
            )
