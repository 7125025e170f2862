"""Subscriptions and assignments of consumer groups, each with a version of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ... import messages
from .versioned_message import Embedded, codec_for, read_newest, versions_of, write_newest

SUBSCRIPTION = "ConsumerProtocolSubscription"
ASSIGNMENT = "ConsumerProtocolAssignment"
Partition = tuple[str, int]


def decode_subscription(data: bytes) -> Embedded:
    """Decode a member's subscription.

    Args:
        data: `metadata` of a protocol in JoinGroupRequest, or of a member in JoinGroupResponse.

    Returns:
        An `Embedded` whose message is a `ConsumerProtocolSubscription`. A version above 3 is read as 3, and the bytes
        after the message are in `rest`, as in Kafka's own reader.

    Raises:
        DecodeError: the version is negative, or the bytes are not a subscription.

    >>> found = decode_subscription(bytes.fromhex("0001 00000001 000161 ffffffff 00000000"))
    >>> found.version, found.message.topics, found.message.user_data
    (1, ('a',), None)
    """
    return read_newest(data, SUBSCRIPTION)


def decode_assignment(data: bytes) -> Embedded:
    """Decode a member's assignment; for arguments, result and errors see `decode_subscription`.

    >>> found = decode_assignment(bytes.fromhex("0000 00000001 000161 00000001 00000002 ffffffff"))
    >>> [(topic.topic, topic.partitions) for topic in found.message.assigned_partitions]
    [('a', (2,))]
    """
    return read_newest(data, ASSIGNMENT)


def encode_subscription(subscription: Any, version: int | None = None) -> bytes:
    """Encode a subscription.

    Args:
        subscription: a `ConsumerProtocolSubscription`, or a decoded `Embedded`, which is encoded to the same bytes.
        version: the version of the message; None for the highest. A version above 3 is written as 3, as Kafka does.

    Raises:
        EncodeError: the version is negative, or the message does not fit.

    >>> encode_subscription(subscription_of(["a"], rack="r1")).hex(" ", -4)
    '00030000 00010001 61ffffff ff000000 00ffffff ff000272 31'
    """
    return _encode_message(subscription, SUBSCRIPTION, version)


def encode_assignment(assignment: Any, version: int | None = None) -> bytes:
    """Encode an assignment; for arguments and errors see `encode_subscription`.

    >>> encode_assignment(assignment_of([("a", 2)]), 0).hex(" ", -4)
    '00000000 00010001 61000000 01000000 02ffffff ff'
    """
    return _encode_message(assignment, ASSIGNMENT, version)


def subscription_of(
    topics: Iterable[str],
    *,
    owned: Iterable[Partition] = (),
    generation: int = -1,
    rack: str | None = None,
    user_data: bytes | None = None,
) -> Any:
    """Create a subscription as Kafka's consumer does: topics and owned partitions sorted.

    >>> subscription_of(["b", "a"]).topics
    ('a', 'b')
    """
    cls = messages.ConsumerProtocolSubscription
    ordered = sorted(owned, key=lambda partition: (_sort_as_java(partition[0]), partition[1]))
    return cls(
        topics=tuple(sorted(topics, key=_sort_as_java)),
        user_data=user_data,
        owned_partitions=_group_by_topic(ordered, cls.TopicPartition),
        generation_id=generation,
        rack_id=rack,
    )


def assignment_of(partitions: Iterable[Partition], user_data: bytes | None = None) -> Any:
    """Create an assignment as Kafka's consumer does: in the order given, topics in the order of their first partition.

    >>> [topic.partitions for topic in assignment_of([("a", 1), ("b", 0), ("a", 0)]).assigned_partitions]
    [(1, 0), (0,)]
    """
    cls = messages.ConsumerProtocolAssignment
    return cls(assigned_partitions=_group_by_topic(partitions, cls.TopicPartition), user_data=user_data)


def _group_by_topic(partitions: Iterable[Partition], make: Any) -> tuple[Any, ...]:
    by_topic: dict[str, list[int]] = {}
    for topic, number in partitions:
        by_topic.setdefault(topic, []).append(number)
    return tuple(make(topic=topic, partitions=tuple(numbers)) for topic, numbers in by_topic.items())


def _encode_message(value: Any, name: str, version: int | None) -> bytes:
    if isinstance(value, Embedded):
        return write_newest(value)
    highest = versions_of(name).last
    wanted = highest if version is None else min(version, highest)
    codec_for(name, wanted)  # a negative one is not there
    return write_newest(Embedded(name, wanted, value))


def _sort_as_java(text: str) -> bytes:
    """Return the sort key of a string in Java: UTF-16 units, whose order differs from Python's above U+FFFF."""
    return text.encode("utf-16-be", "surrogatepass")
