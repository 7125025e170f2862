"""ShareGroupDescribe: state, members and assignments of share groups (KIP-932)."""

from __future__ import annotations

from .... import messages
from ....values import ErrorCode, ResourceType
from ...api import ServedApi
from ...groups.consumer_group import ConsumerMember
from ...request_context import RequestContext
from ...security.api_permissions import operations
from ..groups.consumer_group_heartbeat import group_by_topic
from .share_group_checks import share_problem


def share_group_describe(
    request: RequestContext[messages.ShareGroupDescribeRequest],
) -> messages.ShareGroupDescribeResponse:
    """Handle ShareGroupDescribe."""
    names = dict.fromkeys(request.message.group_ids)
    return messages.ShareGroupDescribeResponse(groups=tuple(_describe_group(request, name) for name in names))


def _describe_group(
    request: RequestContext[messages.ShareGroupDescribeRequest], group_id: str
) -> messages.ShareGroupDescribeResponse.DescribedGroup:
    row = messages.ShareGroupDescribeResponse.DescribedGroup
    if code := share_problem(request, group_id):
        return row(group_id=group_id, error_code=code)
    group = request.cluster.groups.find(group_id)
    share = request.cluster.shares.share(group)
    if share is None:
        missing = f"Group {group_id} {'not found' if group is None else 'is not a share group'}."
        return row(group_id=group_id, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=missing)
    bits = row().authorized_operations  # the default says that the client did not ask for them
    if request.message.include_authorized_operations:
        bits = operations(request.allows, ResourceType.GROUP, group_id)
    return row(
        group_id=group_id,
        group_state=share.state.value,
        group_epoch=share.epoch,
        assignment_epoch=share.target_epoch,
        assignor_name=share.assignor,
        members=tuple(_describe_member(request, member) for member in share.members.values()),
        authorized_operations=bits,
    )


def _describe_member(
    request: RequestContext[messages.ShareGroupDescribeRequest], member: ConsumerMember
) -> messages.ShareGroupDescribeResponse.Member:
    response = messages.ShareGroupDescribeResponse
    rows = tuple(
        response.TopicPartitions(topic_id=topic_id, topic_name=name, partitions=partitions)
        for topic_id, name, partitions in group_by_topic(request, member.assigned)
    )
    return response.Member(
        member_id=member.member_id,
        rack_id=member.rack,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=member.topics,
        assignment=response.Assignment(topic_partitions=rows),
    )


APIS = {
    "ShareGroupDescribe": ServedApi(1, 1, share_group_describe, finds_errors=True),
}
