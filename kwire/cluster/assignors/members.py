"""The input of assignors: members with subscriptions, topics with racks, and the differences between Kafka releases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...errors import UnknownMessage
from ..java.hash_order import STRINGS, HashOrder, hash_order_of
from ..state import ClusterState

NO_GENERATION = -1
TopicPartition = tuple[str, int]
Assignment = dict[str, list[TopicPartition]]
Topics = Mapping[str, int | Mapping[int, Iterable[str | None]]]
Racks = Mapping[int, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Held:
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
    user_data: Held | None = None


UNREADABLE = Held()


def member_of(
    member_id: str, subscription: Any, *, user_data: Any = None, group_instance_id: str | None = None
) -> Member:
    """Create a member from decoded messages.

    Args:
        member_id: the member id in the JoinGroupResponse.
        subscription: a `ConsumerProtocolSubscription`.
        user_data: None, `UNREADABLE`, or a `StickyUserData` or `CooperativeUserData` of `kwire.internal`.
        group_instance_id: for a static member (KIP-345).

    >>> from kwire.internal import CooperativeUserData, subscription_of
    >>> member_of("c1", subscription_of(["a"], owned=[("a", 2)]), user_data=CooperativeUserData(7))
    Member(member_id='c1', topics=('a',), rack=None, group_instance_id=None, generation=-1, owned=(('a', 2),),
        user_data=Held(partitions=(), generation=7))
    """
    return Member(
        member_id,
        subscription.topics,
        subscription.rack_id or None,
        group_instance_id,
        subscription.generation_id,
        _flat(subscription.owned_partitions),
        user_data if user_data is None or isinstance(user_data, Held) else _held(user_data),
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
        topic: {index: [racks.get(node) for node in one.replicas] for index, one in partitions.items()}
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


class Group:
    """Members and their topics, in the order in which Kafka's leader iterates over its HashMaps.

    `members` are by id; `topics` are the topics with subscribers and partitions, in ascending order.
    """

    def __init__(self, topics: Topics, members: Iterable[Member]) -> None:
        by_id = {member.member_id: member for member in members}
        self.order: HashOrder[str] = hash_order_of(by_id, STRINGS)
        self.members: dict[str, Member] = {member_id: by_id[member_id] for member_id in self.order}
        self.has_racks: bool = any(member.rack for member in self.members.values())
        subscribed = dict.fromkeys(topic for member in self.members.values() for topic in member.topics)
        found = {topic: _numbers(topics[topic]) for topic in hash_order_of(subscribed, STRINGS) if topic in topics}
        with_partitions = hash_order_of((topic for topic, numbers in found.items() if numbers), STRINGS)
        self.topics: dict[str, Sequence[int]] = {topic: found[topic] for topic in with_partitions}
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


def _held(user_data: Any) -> Held:
    generation = user_data.generation
    return Held(_flat(getattr(user_data, "owned", ())), NO_GENERATION if generation is None else generation)


def _flat(topics: Iterable[Any]) -> tuple[TopicPartition, ...]:
    return tuple((topic.topic, number) for topic in topics for number in topic.partitions)


NEWEST = "newest"
_STICKY = (((2, 4), (2, 5)), ((2, 8), (99999,)))  # known releases: first and last of each range


class Rules(NamedTuple):
    """The behaviour of a release; True is the behaviour of the newest release."""

    loser_is_no_owner: bool = True
    """A member whose older claim is refused does not count as the owner if a third member claims the partition."""
    one_more_is_balanced: bool = True
    """A member with one partition less than another member counts as balanced."""
    keeps_lowest_partitions: bool = True
    """Surplus partitions are taken from a member's highest partitions, not from the end of its list."""
    revoked_from_another: bool = True
    """A partition that returns to its owner is not being transferred; one that racks take from its owner is."""
    counts_full_members: bool = True
    """Matching racks stops filling members once the maximum number of members has one partition more."""
    offline_keeps_rack: bool = True
    """A replica that goes offline keeps its rack when the leader checks for changes."""
    all_generations_own: bool = True
    """A member of an earlier generation keeps what no later one claims (KIP-792); before, it owned nothing."""
    newest_generation_owns: bool = True
    """Members of the newest generation own partitions; before, each partition belonged to the newest claim."""
    equal_topics_differ: bool = True
    """Equal subscriptions use the constrained algorithm; before, the cooperative assignor also had no generations."""


# The first release with each behaviour.
_SINCE = {
    "loser_is_no_owner": (3, 5, 2),
    "one_more_is_balanced": (3, 5, 2),
    "keeps_lowest_partitions": (3, 7, 1),
    "revoked_from_another": (3, 7, 1),
    "counts_full_members": (3, 7, 1),
    "offline_keeps_rack": (4, 4),
    "all_generations_own": (3, 4),
    "newest_generation_owns": (3, 0),
    "equal_topics_differ": (2, 8),
}


def rules_of(release: str) -> Rules:
    """Return the rules of a Kafka release.

    Args:
        release: a release such as "3.9.2", or "newest".

    Raises:
        UnknownMessage: the text is not a release number, or the results of the release's sticky assignors are unknown
            (before 2.4, and from 2.5 to 2.7).

    >>> rules_of("3.9.2").offline_keeps_rack, rules_of("newest").offline_keeps_rack
    (False, True)
    """
    if release == NEWEST:
        return Rules()
    if not knows_sticky(release):
        raise _unknown(release)
    numbers = numbers_in(release)
    return Rules(**{rule: numbers >= since for rule, since in _SINCE.items()})


def knows_sticky(release: str) -> bool:
    """Whether the results of the sticky assignors of a release are known.

    >>> [knows_sticky(release) for release in ("2.4.1", "2.6.0", "2.8.2", "newest")]
    [True, False, True, True]
    """
    return release == NEWEST or any(first <= numbers_in(release) < end for first, end in _STICKY)


def numbers_in(release: str) -> tuple[int, ...]:
    """Return the numbers of a release. Raises UnknownMessage if the text is not a release.

    >>> numbers_in("3.9.2")
    (3, 9, 2)
    """
    words = release.split(".")
    if not all(word.isascii() and word.isdigit() and len(word) < 6 for word in words):
        raise _unknown(release)
    return tuple(map(int, words))


def _unknown(release: str) -> UnknownMessage:
    return UnknownMessage("release whose sticky assignors are known", release, ("newest", "2.4.1", "2.8.2", "3.0.0"))


NOWHERE: frozenset[str] = frozenset()


class GroupRacks:
    """The racks of members and partitions.

    `of_members` and `of_topics` are empty if racks do not affect the assignment.
    """

    def __init__(self, group: Group) -> None:
        members = {member_id: member.rack for member_id, member in group.members.items() if member.rack}
        topics = {topic: group.racks(topic) for topic in group.topics} if members else {}
        all_sets = {racks for topic in topics.values() for racks in topic.values()}
        matter = racks_matter(members.values(), all_sets)
        self.of_members: dict[str, str] = members if matter else {}
        self.of_topics: dict[str, Racks] = topics if matter else {}
        in_rack = Counter(members.values())
        self._members_in = {racks: sum(in_rack[rack] for rack in racks) for racks in all_sets}
        self._topics = topics

    def of(self, partition: TopicPartition) -> frozenset[str]:
        """Return the racks of a partition's replicas.

        The set is empty if the partition does not exist or racks do not affect the assignment.
        """
        topic, number = partition
        return self.of_topics[topic].get(number, NOWHERE) if topic in self.of_topics else NOWHERE

    def mismatch(self, member_id: str, partition: TopicPartition) -> bool:
        """Return whether a member has a rack in which the partition has no replica."""
        rack = self.of_members.get(member_id)
        return rack is not None and rack not in self.of(partition)

    def hardest_first(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Sort partitions by the number of members in their racks; unknown partitions count as 0."""
        if not self._topics:
            return partitions
        topics, members_in = self._topics, self._members_in
        counts = [members_in.get(topics[topic].get(number, NOWHERE), 0) for topic, number in partitions]
        order = sorted(range(len(partitions)), key=counts.__getitem__)
        return [partitions[place] for place in order]


class Claims:
    """The partitions that each member may keep.

    Attributes:
        owned: member id -> its existing partitions, in the order of its claim.
        contested: partitions that two members of one generation claim; neither of them keeps these.
    """

    def __init__(self, group: Group, held: Mapping[str, Held], rules: Rules, newest: int = NO_GENERATION) -> None:
        self._group, self._rules = group, rules
        self.owned: dict[str, dict[TopicPartition, None]] = {member_id: {} for member_id in group.nothing()}
        self.contested: set[TopicPartition] = set()
        self._owners: dict[TopicPartition, str] = {}
        if not rules.all_generations_own:
            newest = max(newest, *(past.generation for past in held.values()))
            held = {member_id: past for member_id, past in held.items() if past.generation == newest}
        for member_id, past in held.items():
            self._claim(member_id, past)

    def _claim(self, member_id: str, past: Held) -> None:
        topics, owners, mine = self._group.topics, self._owners, self.owned[member_id]
        if {topic for topic, _ in past.partitions} <= topics.keys():
            all_at_once = dict.fromkeys(past.partitions)
            if len(all_at_once) == len(past.partitions) and owners.keys().isdisjoint(all_at_once):
                owners.update(dict.fromkeys(all_at_once, member_id))
                mine.update(all_at_once)
                return
        for partition in past.partitions:
            if partition[0] not in topics:
                continue
            other = owners.get(partition)
            if other is None:
                owners[partition] = member_id
                mine[partition] = None
            else:
                self._settle(partition, member_id, past.generation, other)

    def _settle(self, partition: TopicPartition, member_id: str, generation: int, other: str) -> None:
        # For the other member, the generation of the subscription counts, regardless of its user data.
        others = max(self._group.members[other].generation, -1) if self._rules.all_generations_own else generation
        if generation >= others or not self._rules.loser_is_no_owner:
            self._owners[partition] = member_id
        if generation < others:
            return
        owned_it = partition in self.owned[other]
        self.owned[other].pop(partition, None)
        if generation == others:
            self.contested.add(partition)
        elif other != member_id or owned_it:  # a partition that is claimed twice is owned once, at its last position
            self.owned[member_id][partition] = None


def same_topics(group: Group) -> bool:
    """Whether all members subscribe to the same topics; members before the first with topics are ignored."""
    return len(same_topics_at_first(group)) == len(group.members)


def same_topics_at_first(group: Group) -> list[str]:
    """Return the members before the first one that subscribes to other topics."""
    wanted: set[str] = set()
    equal: list[str] = []
    for member_id, member in group.members.items():
        if not wanted:
            wanted = set(member.topics)
        elif len(member.topics) != len(wanted) or not wanted.issuperset(member.topics):
            break
        equal.append(member_id)
    return equal


def numbers_of(partitions: Iterable[TopicPartition], kept: dict[str, list[int]]) -> None:
    """Append partitions to the kept numbers of each topic."""
    for topic, number in partitions:
        kept[topic].append(number)


def not_among(kept: Mapping[str, Sequence[int]], topics: Mapping[str, Sequence[int]]) -> list[TopicPartition]:
    """Return the partitions of given topics whose numbers are not kept.

    Kafka compares two sorted lists: after a kept partition that does not exist, all following partitions count as not
    kept.

    >>> not_among({"a": [1]}, {"a": range(3)}), not_among({"a": [7], "b": [0]}, {"a": range(1), "b": range(1)})
    ([('a', 0), ('a', 2)], [('a', 0), ('b', 0)])
    """
    rest: list[TopicPartition] = []
    lost = False
    for topic, numbers in topics.items():
        gone = set() if lost else set(kept[topic])
        left = [number for number in numbers if number not in gone]
        if not lost and len(numbers) - len(left) != len(kept[topic]):  # some do not exist, or are kept twice
            left = _behind(sorted(kept[topic], reverse=True), numbers)
            lost = True
        rest += [(topic, number) for number in left]
    return rest


def _behind(awaited: list[int], numbers: Iterable[int]) -> list[int]:
    """Compare sorted numbers; `awaited`, whose smallest number is last, advances only on a match."""
    left = []
    for number in numbers:
        if awaited and awaited[-1] == number:
            awaited.pop()
        else:
            left.append(number)
    return left
