"""ConsumerGroupDescribe: state, members and assignments of consumer groups (KIP-848)."""

from __future__ import annotations

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...groups.consumer_group import Assigned, ConsumerGroup, ConsumerMember
from ...request_context import RequestContext
from .consumer_group_heartbeat import group_by_topic
from .group_checks import consumer_group_of, problem_with

CLASSIC_TYPE, CONSUMER_TYPE = 0, 1  # types of members


def consumer_group_describe(
    request: RequestContext[messages.ConsumerGroupDescribeRequest],
) -> messages.ConsumerGroupDescribeResponse:
    """Handle ConsumerGroupDescribe."""
    names = dict.fromkeys(request.message.group_ids)
    return messages.ConsumerGroupDescribeResponse(groups=tuple(_describe_group(request, name) for name in names))


def _describe_group(
    request: RequestContext[messages.ConsumerGroupDescribeRequest], group_id: str
) -> messages.ConsumerGroupDescribeResponse.DescribedGroup:
    row = messages.ConsumerGroupDescribeResponse.DescribedGroup
    if code := problem_with(request, group_id):
        return row(group_id=group_id, error_code=code)
    group = request.cluster.groups.find(group_id)
    consumer = consumer_group_of(group)
    if consumer is None:
        missing = f"Group {group_id} {'not found' if group is None else 'is not a consumer group'}."
        return row(group_id=group_id, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=missing)
    return row(
        group_id=group_id,
        group_state=consumer.state.value,
        group_epoch=consumer.epoch,
        assignment_epoch=consumer.target_epoch,
        assignor_name=consumer.assignor,
        members=tuple(_describe_member(request, consumer, member) for member in consumer.members.values()),
    )


def _describe_member(
    request: RequestContext[messages.ConsumerGroupDescribeRequest], consumer: ConsumerGroup, member: ConsumerMember
) -> messages.ConsumerGroupDescribeResponse.Member:
    response = messages.ConsumerGroupDescribeResponse

    def assignment(places: Assigned) -> messages.ConsumerGroupDescribeResponse.Assignment:
        rows = group_by_topic(request, places)
        return response.Assignment(
            topic_partitions=tuple(
                response.TopicPartitions(topic_id=topic_id, topic_name=name, partitions=partitions)
                for topic_id, name, partitions in rows
            )
        )

    return response.Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=member.topics,
        subscribed_topic_regex=member.pattern or None,
        assignment=assignment(member.assigned),
        target_assignment=assignment(consumer.target.get(member.member_id, set())),
        member_type=CONSUMER_TYPE if member.classic is None else CLASSIC_TYPE,
    )


APIS = {  # what each version has changed
    # 1: whether a member is a classic one (KIP-1099)
    "ConsumerGroupDescribe": ServedApi(0, 1, consumer_group_describe, finds_errors=True),
}
