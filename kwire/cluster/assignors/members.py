"""The input of assignors: members with subscriptions, topics with racks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..java.hash_order import STRINGS, HashOrder, hash_order_of
from ..state import ClusterState

NO_GENERATION = -1
TopicPartition = tuple[str, int]
Assignment = dict[str, list[TopicPartition]]
Topics = Mapping[str, int | Mapping[int, Iterable[str | None]]]
Racks = Mapping[int, frozenset[str]]


@dataclass(frozen=True, slots=True)
class MemberData:
    """Partitions that a member claims to own, and their generation; -1 for none."""

    partitions: Sequence[TopicPartition] = ()
    generation: int = NO_GENERATION


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a group, with the content of its subscription.

    `owned` and `generation` (KIP-792; negative means none) are fields of the subscription. `user_data` is the decoded
    user data of the assignor: None if it is empty, `UNREADABLE` if it does not decode.

    >>> Member("c1", ["orders"], rack="a").generation
    -1
    """

    member_id: str
    topics: Sequence[str]
    rack: str | None = None
    group_instance_id: str | None = None
    generation: int = NO_GENERATION
    owned: Sequence[TopicPartition] = ()
    user_data: MemberData | None = None


UNREADABLE = MemberData()


def member_of(
    member_id: str, subscription: Any, *, user_data: Any = None, group_instance_id: str | None = None
) -> Member:
    """Create a member from decoded messages.

    Args:
        member_id: the member id in the JoinGroupResponse.
        subscription: a `ConsumerProtocolSubscription`.
        user_data: None, `UNREADABLE`, or a `StickyUserData` or `CooperativeUserData` of `kwire.protocol.nested`.
        group_instance_id: for a static member (KIP-345).

    >>> from kwire.protocol.nested import CooperativeUserData, subscription_of
    >>> member_of("c1", subscription_of(["a"], owned=[("a", 2)]), user_data=CooperativeUserData(7))
    Member(member_id='c1', topics=('a',), rack=None, group_instance_id=None, generation=-1, owned=(('a', 2),),
        user_data=MemberData(partitions=(), generation=7))
    """
    return Member(
        member_id,
        subscription.topics,
        subscription.rack_id or None,
        group_instance_id,
        subscription.generation_id,
        _flat(subscription.owned_partitions),
        user_data if user_data is None or isinstance(user_data, MemberData) else _read_user_data(user_data),
    )


def topics_of(state: ClusterState) -> dict[str, dict[int, list[str | None]]]:
    """Return the topics of a cluster: for each partition the racks of its replicas, None for an unknown broker.

    >>> from kwire.cluster import Broker, Partition
    >>> state = ClusterState(brokers={1: Broker(1, rack="a")})
    >>> state.put(Partition("orders", 0, replicas=(1, 2)))
    >>> topics_of(state)
    {'orders': {0: ['a', None]}}
    """
    racks = {node: broker.rack for node, broker in (state.brokers or {}).items()}
    return {
        topic: {index: [racks.get(node) for node in partition.replicas] for index, partition in partitions.items()}
        for topic, partitions in state.topics.items()
    }


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return the partitions of a member as in the user data of the sticky assignor: topics in Kafka's order.

    >>> by_topic([("b", 1), ("a", 0), ("b", 0)])
    {'a': [0], 'b': [1, 0]}
    """
    numbers: dict[str, list[int]] = {}
    order = HashOrder(STRINGS)
    for topic, number in partitions:
        order.compute_if_absent(topic)
        numbers.setdefault(topic, []).append(number)
    return {topic: numbers[topic] for topic in order}


class GroupSubscription:
    """Members and their topics, in the order in which Kafka's leader iterates over its HashMaps.

    `members` are by id; `topics` are the topics with subscribers and partitions, in ascending order.
    """

    def __init__(self, topics: Topics, members: Iterable[Member]) -> None:
        by_id = {member.member_id: member for member in members}
        self.order: HashOrder[str] = hash_order_of(by_id, STRINGS)
        self.members: dict[str, Member] = {member_id: by_id[member_id] for member_id in self.order}
        self.has_racks: bool = any(member.rack for member in self.members.values())
        subscribed = dict.fromkeys(topic for member in self.members.values() for topic in member.topics)
        numbers_of = {topic: _numbers(topics[topic]) for topic in hash_order_of(subscribed, STRINGS) if topic in topics}
        with_partitions = hash_order_of((topic for topic, numbers in numbers_of.items() if numbers), STRINGS)
        self.topics: dict[str, Sequence[int]] = {topic: numbers_of[topic] for topic in with_partitions}
        self._given = topics
        self._seen: dict[tuple[str | None, ...], frozenset[str]] = {}

    def racks(self, topic: str) -> Racks:
        """Return the racks of each partition of a topic; replicas without a rack are omitted."""
        given = self._given[topic]
        if isinstance(given, int):
            return dict.fromkeys(range(given), frozenset())
        return {number: self._set_of(tuple(racks)) for number, racks in given.items()}

    def nothing(self) -> Assignment:
        """Return an assignment without any partitions."""
        return {member_id: [] for member_id in hash_order_of(self.order, STRINGS)}

    @staticmethod
    def answer(assignment: Assignment) -> Assignment:
        """Return an assignment in the order in which Kafka's leader sends it."""
        return {member_id: assignment[member_id] for member_id in hash_order_of(assignment, STRINGS)}

    def _set_of(self, racks: tuple[str | None, ...]) -> frozenset[str]:
        known = self._seen.get(racks)
        if known is None:
            known = self._seen[racks] = frozenset(rack for rack in racks if rack is not None)
        return known


def racks_matter(of_members: Iterable[str], of_partitions: Iterable[frozenset[str]]) -> bool:
    """Whether racks affect the assignment.

    Args:
        of_members: the racks of members, without empty ones.
        of_partitions: the racks of each partition.

    Returns:
        True if a member's rack has a replica, and not all partitions are on the same racks. Source: KIP-881.

    >>> racks_matter(["a"], [frozenset("ab"), frozenset("b")]), racks_matter(["a"], [frozenset("ab")] * 2)
    (True, False)
    """
    different = set(of_partitions)
    everywhere: frozenset[str] = frozenset().union(*different)
    return not everywhere.isdisjoint(of_members) and different != {everywhere}


def _numbers(given: int | Mapping[int, Iterable[str | None]]) -> Sequence[int]:
    return range(given) if isinstance(given, int) else sorted(given)


def _read_user_data(user_data: Any) -> MemberData:
    generation = user_data.generation
    return MemberData(_flat(getattr(user_data, "owned", ())), NO_GENERATION if generation is None else generation)


def _flat(topics: Iterable[Any]) -> tuple[TopicPartition, ...]:
    return tuple((topic.topic, number) for topic in topics for number in topic.partitions)
