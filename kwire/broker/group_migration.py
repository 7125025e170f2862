"""A group changes its protocol while it has members: from the classic one to KIP-848's, and back.

Classic members go on with JoinGroup, SyncGroup and Heartbeat in a group whose broker assigns; a group without members
of the new protocol is classic again. Knows the state of one group; the caller answers requests and writes records.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ..internal import decode_assignment, decode_subscription, encode_assignment
from ..internal.consumer_protocol import assignment_of
from .group import (
    Assigned,
    ClassicProtocol,
    ConsumerGroup,
    ConsumerMember,
    Group,
    GroupState,
    Member,
    Protocols,
    places_of,
)

CONSUMER_TYPE = "consumer"  # the protocol type of groups that can change
BOTH, UPGRADE, DOWNGRADE, DISABLED = "bidirectional", "upgrade", "downgrade", "disabled"
POLICIES = (BOTH, UPGRADE, DOWNGRADE, DISABLED)  # group.consumer.migration.policy


def upgraded(group: Group, topics: Collection[str]) -> ConsumerGroup:
    """Return what a classic group with members is by the new protocol, at the epoch that was its generation.

    Each member keeps its last assignment, which is its target too, and joins again because the next epoch is higher.

    Args:
        group: the classic group.
        topics: the names of all topics; assignments of others are left out.

    Raises:
        DecodeError: a subscription or an assignment cannot be read.
    """
    consumer = ConsumerGroup(epoch=group.generation, target_epoch=group.generation)
    protocol = group.protocol or group.choose_protocol()
    for old in group.members.values():
        member = ConsumerMember(old.member_id, old.instance_id, old.client_id, old.client_host)
        subscribe(member, decode_subscription(old.metadata(protocol)).message)
        rows = decode_assignment(old.assignment).message.assigned_partitions if old.assignment else ()
        member.assigned = places_of((row.topic, row.partitions) for row in rows if row.topic in topics)
        member.epoch = member.previous_epoch = group.generation
        member.rebalance_timeout = old.rebalance_timeout
        member.classic = ClassicProtocol(old.session_timeout, old.protocols)
        consumer.members[old.member_id] = member
        consumer.target[old.member_id] = set(member.assigned)
    return consumer


def subscribe(member: ConsumerMember, subscription: Any) -> bool:
    """Note the topics and the rack of a subscription; returns whether the topics are others."""
    before = member.topics
    member.topics, member.rack = tuple(sorted(subscription.topics)), subscription.rack_id or member.rack
    return before != member.topics


def owned_by(protocols: Protocols) -> tuple[Any, Assigned]:
    """Return the subscription of a classic member, of the protocol that it prefers, and what it says that it reads.

    Raises:
        DecodeError: the bytes are no subscription.
    """
    found = decode_subscription(protocols[0][1]).message
    return found, places_of((row.topic, row.partitions) for row in found.owned_partitions)


def classic_assignment(protocols: Protocols, places: Assigned) -> bytes:
    """Return partitions as a classic member reads them: in the version of its subscription."""
    version = decode_subscription(protocols[0][1]).version
    return encode_assignment(assignment_of(sorted(places)), version)


def downgrade(group: Group, consumer: ConsumerGroup) -> None:
    """Make a group classic, whose members all use the classic protocol; they keep what they are to read."""
    group.generation, group.protocol_type = consumer.epoch, CONSUMER_TYPE
    group.consumer, group.state = None, GroupState.STABLE
    for old in consumer.members.values():
        assert old.classic is not None
        timeouts = old.classic.session_timeout, old.rebalance_timeout
        who = old.member_id, old.instance_id, old.client_id, old.client_host
        target = consumer.target.get(old.member_id, set())
        assignment = classic_assignment(old.classic.protocols, target)
        group.add(Member(*who, *timeouts, old.classic.protocols, assignment, has_synced=True, is_new=False))
    group.protocol = group.choose_protocol()
