"""The conversion of classic groups to consumer groups and back, while they have members (KIP-848)."""

from __future__ import annotations

from collections.abc import Collection

from ... import messages
from ...protocol.nested import assignment_of, decode_assignment, decode_subscription, encode_assignment
from .classic_group import Group, Member
from .consumer_group import Assigned, ClassicProtocol, ConsumerGroup, ConsumerMember, places_of
from .group_memory import Protocols
from .modern_group import GroupState

CONSUMER_TYPE = "consumer"  # the protocol type of groups that can be converted
BOTH, UPGRADE, DOWNGRADE, DISABLED = "bidirectional", "upgrade", "downgrade", "disabled"
POLICIES = (BOTH, UPGRADE, DOWNGRADE, DISABLED)  # values of group.consumer.migration.policy


def upgrade_group(group: Group, topics: Collection[str]) -> ConsumerGroup:
    """Return the KIP-848 state of a classic group with members; its epoch is the group's generation.

    Each member keeps its last assignment, which is also its target, and rejoins because the next epoch is higher.

    Args:
        group: the classic group.
        topics: the existing topics; assignments of other topics are left out.

    Raises:
        DecodeError: a subscription or an assignment cannot be decoded.
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


def subscribe(member: ConsumerMember, subscription: messages.ConsumerProtocolSubscription) -> bool:
    """Set a member's topics and rack from its subscription; returns whether the topics have changed."""
    before = member.topics
    member.topics, member.rack = tuple(sorted(subscription.topics)), subscription.rack_id or member.rack
    return before != member.topics


def decode_owned(protocols: Protocols) -> tuple[messages.ConsumerProtocolSubscription, Assigned]:
    """Return the subscription of a classic member's preferred protocol, and the partitions that it reports as owned.

    Raises:
        DecodeError: the metadata is not a valid subscription.
    """
    subscription: messages.ConsumerProtocolSubscription = decode_subscription(protocols[0][1]).message
    owned = places_of((row.topic, row.partitions) for row in subscription.owned_partitions)
    return subscription, owned


def classic_assignment(protocols: Protocols, places: Assigned) -> bytes:
    """Encode assigned partitions for a classic member, in the version of its subscription."""
    version = decode_subscription(protocols[0][1]).version
    return encode_assignment(assignment_of(sorted(places)), version)


def downgrade_group(group: Group, consumer: ConsumerGroup) -> None:
    """Make a group classic whose members all use the classic protocol; they keep their target assignments."""
    group.generation = consumer.epoch
    group.protocol_type = CONSUMER_TYPE
    group.consumer = None
    group.state = GroupState.STABLE
    for old in consumer.members.values():
        assert old.classic is not None
        timeouts = old.classic.session_timeout, old.rebalance_timeout
        who = old.member_id, old.instance_id, old.client_id, old.client_host
        target = consumer.target.get(old.member_id, set())
        assignment = classic_assignment(old.classic.protocols, target)
        group.add(Member(*who, *timeouts, old.classic.protocols, assignment, has_synced=True, is_new=False))
    group.protocol = group.choose_protocol()
