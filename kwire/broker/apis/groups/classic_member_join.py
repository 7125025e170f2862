"""JoinGroup of a classic member in a consumer group (KIP-848).

As Kafka's GroupMetadataManager.classicGroupJoinToConsumerGroup.
"""

from __future__ import annotations

from uuid import UUID

from .... import messages
from ....errors import DecodeError
from ....values import ErrorCode
from ...groups.classic_group import Group
from ...groups.classic_responses import join_error
from ...groups.consumer_group import ClassicProtocol, ConsumerGroup, ConsumerMember
from ...groups.group_memory import Protocols, size_of
from ...groups.group_migration import decode_owned, subscribe
from ...groups.group_types import CONSUMER
from ...request_context import RequestContext

FIRST_WITH_KNOWN_IDS = 4  # the first version of JoinGroup in which members join with an id from the broker (KIP-394)


def join_consumer_group(
    request: RequestContext[messages.JoinGroupRequest], group: Group, consumer: ConsumerGroup
) -> messages.JoinGroupResponse:
    """Handle JoinGroup of a classic member in a KIP-848 group: respond immediately, as to a heartbeat."""
    message = request.message
    protocols: Protocols = tuple((row.name, bytes(row.metadata)) for row in message.protocols)
    if message.protocol_type != CONSUMER or not consumer.supports(protocols):
        return join_error(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, message.member_id)
    if request.version >= FIRST_WITH_KNOWN_IDS and not message.member_id and message.group_instance_id is None:
        return join_error(ErrorCode.MEMBER_ID_REQUIRED, new_member_id(request))
    if not request.cluster.groups.held.has_room(size_of(protocols)):
        return join_error(ErrorCode.GROUP_MAX_SIZE_REACHED, message.member_id)
    try:
        subscription, owned = decode_owned(protocols)
    except DecodeError:
        return join_error(ErrorCode.UNKNOWN_SERVER_ERROR, message.member_id)
    before = consumer.static(message.group_instance_id)
    member = _classic_member(request, consumer, before)
    if isinstance(member, int):
        return join_error(member, message.member_id)
    is_new = member.member_id not in consumer.target
    _plan_classic(request, group, consumer, member, protocols, changed=subscribe(member, subscription) or is_new)
    consumer.reconcile(member, owned, request.now)
    if before is not None and before is not member and request.cluster.groups.ends_migration(consumer, [before]):
        request.cluster.groups.downgrade(group, request.now)
    if group.consumer is not None:
        request.cluster.groups.remember(group)
        request.cluster.groups.keep_consumer(group, member, request.now)
    response = messages.JoinGroupResponse
    name = protocols[0][0]
    return response(member_id=member.member_id, generation_id=member.epoch, protocol_type=CONSUMER, protocol_name=name)


def _classic_member(
    request: RequestContext[messages.JoinGroupRequest], consumer: ConsumerGroup, before: ConsumerMember | None
) -> ConsumerMember | int:
    """Return the member that sent JoinGroup, a new one, or an error code.

    Args:
        request: the request.
        consumer: the members of the group.
        before: the member with the same instance id; a request without a member id replaces it.
    """
    message = request.message
    groups = request.cluster.groups
    if message.group_instance_id is not None and message.member_id:
        return ErrorCode.UNKNOWN_MEMBER_ID if before is None else _check_member_id(before, message.member_id)
    if message.member_id in consumer.members:
        return consumer.members[message.member_id]
    member_id = message.member_id or new_member_id(request)
    made = ConsumerMember(member_id, message.group_instance_id, request.client_id, request.client_host)
    return groups.add_consumer(consumer, made, before)


def _check_member_id(member: ConsumerMember, member_id: str) -> ConsumerMember | int:
    return member if member.member_id == member_id else ErrorCode.FENCED_INSTANCE_ID


def _plan_classic(
    request: RequestContext[messages.JoinGroupRequest],
    group: Group,
    consumer: ConsumerGroup,
    member: ConsumerMember,
    protocols: Protocols,
    *,
    changed: bool,
) -> None:
    """Update a classic member from JoinGroup, set its deadline for SyncGroup, and compute the target assignment."""
    message = request.message
    groups = request.cluster.groups
    size = member.size
    session_timeout = message.session_timeout_ms / 1000
    is_given = message.rebalance_timeout_ms >= 0  # version 0 has one timeout for both
    member.rebalance_timeout = message.rebalance_timeout_ms / 1000 if is_given else session_timeout
    member.classic = ClassicProtocol(session_timeout, protocols, syncs_until=request.now + member.rebalance_timeout)
    member.client_id = request.client_id
    member.client_host = request.client_host
    groups.held.take(member.size - size)
    groups.plan(group, consumer, changed=changed)


def new_member_id(request: RequestContext[object]) -> str:
    """Return a new id for a member of a KIP-848 group."""
    return str(UUID(bytes=request.cluster.rng.randbytes(16), version=4))
