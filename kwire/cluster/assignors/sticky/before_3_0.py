"""What the sticky assignors of Kafka 2.4 to 2.8 do otherwise than those since 3.0."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from ....errors.refused import CannotAssign
from ...java.hash_order import TOPIC_PARTITIONS, hash_order_of, utf16
from ..members import Assignment, GroupSubscription, MemberData, TopicPartition
from ..releases import AssignorRules
from .claims import Claims
from .holdings import Holdings, Pile
from .subscription_counts import Start, Wishes


class _Owners:
    """The owners of partitions according to all claims.

    `now` maps a member id to its partitions, which need not exist; `before` maps a partition to its former owner.
    """

    def __init__(self, group: GroupSubscription, past_of: Mapping[str, MemberData]) -> None:
        claims: dict[TopicPartition, dict[int, str]] = {}
        for member_id in group.members:
            former = past_of[member_id]
            for partition in former.partitions:
                of_generations = claims.setdefault(partition, {})
                if former.generation < 0 or former.generation not in of_generations:
                    of_generations[former.generation] = member_id
        self.now: dict[str, list[TopicPartition]] = {member_id: [] for member_id in group.members}
        self.before: dict[TopicPartition, str] = {}
        for partition in hash_order_of(claims, TOPIC_PARTITIONS):
            newest, *earlier = sorted(claims[partition], reverse=True)
            self.now[claims[partition][newest]].append(partition)
            if earlier:
                self.before[partition] = claims[partition][earlier[0]]


def start_before_3_0(group: GroupSubscription, past_of: Mapping[str, MemberData], rules: AssignorRules) -> Start:
    """Return the initial state of the general algorithm."""
    owners = _Owners(group, past_of)
    wishes = Wishes(group)
    every = [(topic, number) for topic in wishes.rarest_first for number in group.topics[topic]]
    existing = set(every)
    owned = {}
    piles = {}
    for member_id, member in group.members.items():
        owned[member_id] = [partition for partition in owners.now[member_id] if partition in existing]
        wanted = set(member.topics)
        piles[member_id] = Pile(partition for partition in owned[member_id] if partition[0] in wanted)
    if not rules.equal_topics_differ and any(owners.now.values()) and wishes.all_equal():
        every = _most_loaded_first(group, owned, owners.before)
    holder = {partition: member_id for member_id, pile in piles.items() for partition in pile}
    unassigned = [partition for partition in every if partition not in holder]
    revoked = any(len(piles[member_id]) < len(owned[member_id]) for member_id in piles)
    return Start(wishes, piles, holder, every, unassigned, revoked, owners.before)


def _most_loaded_first(
    group: GroupSubscription, owned: Mapping[str, list[TopicPartition]], before: Mapping[TopicPartition, str]
) -> list[TopicPartition]:
    """Return all partitions. Members with the most partitions come first and contribute one partition per turn, if
    possible one with a former owner.
    """
    waiting = Holdings({member_id: Pile(partitions) for member_id, partitions in owned.items()}, {}, {}, {})
    with_former_owner = hash_order_of(before, TOPIC_PARTITIONS)
    order: dict[TopicPartition, None] = {}
    while waiting.most:
        member_id = waiting.most_loaded
        pile = waiting.piles[member_id]
        partition = next((partition for partition in with_former_owner if partition in pile), None) or next(iter(pile))
        waiting.drop(partition, member_id)
        order[partition] = None
    every = ((topic, number) for topic, numbers in group.topics.items() for number in numbers)
    order.update(dict.fromkeys(hash_order_of(every, TOPIC_PARTITIONS)))
    return list(order)


def assign_constrained_before_3_0(
    assignor: str, group: GroupSubscription, claims: Claims
) -> tuple[Assignment, dict[TopicPartition, str]]:
    """Assign all partitions with the constrained algorithm of 2.8; also return those that change their owner."""
    shares = _Shares(assignor, group, claims)
    shares.keep()
    shares.fill()
    shares.take_from_others()
    shares.give_one_more()
    return group.answer(shares.assignment), shares.transferring


class _Shares:
    """Assigns `least` or `most` partitions to each member."""

    def __init__(self, assignor: str, group: GroupSubscription, claims: Claims) -> None:
        every = [(topic, number) for topic in sorted(group.topics, key=utf16) for number in group.topics[topic]]
        self._assignor = assignor
        self._claims = claims
        self._least, more = divmod(len(every), len(group.members))
        self._most = self._least + (more > 0)
        self._left = deque(every)
        self._given_up = set(claims.contested)
        self._below: list[str] = []
        self._at_least: deque[str] = deque()
        self._at_most: deque[str] = deque()
        self.assignment: Assignment = group.nothing()
        self.transferring: dict[TopicPartition, str] = {}

    def keep(self) -> None:
        """Let members keep their first partitions, up to `most`."""
        kept: set[TopicPartition] = set()
        for member_id, owned in self._claims.owned.items():
            mine = [*owned][: self._most]
            self.assignment[member_id] += mine
            kept.update(mine)
            self._given_up.update([*owned][self._most :])
            if len(mine) < self._least:
                self._below.append(member_id)
            elif len(mine) == self._least:
                self._at_least.append(member_id)
            if len(mine) == self._most:
                self._at_most.append(member_id)
        self._below.sort(key=utf16)
        self._left = deque(partition for partition in self._left if partition not in kept)

    def fill(self) -> None:
        """Assign partitions in turn to members that have too few."""
        while self._below and self._left:
            for member_id in [*self._below][: len(self._left)]:
                self._give(self._left.popleft(), member_id)
                if len(self.assignment[member_id]) == self._least:
                    self._below.remove(member_id)
                    self._at_least.append(member_id)

    def take_from_others(self) -> None:
        """Take partitions from the members with the most, for members that still have too few."""
        for member_id in self._below:
            while len(self.assignment[member_id]) < self._least:
                if not self._at_most:
                    raise CannotAssign("members_without_their_share", assignor=self._assignor, count=len(self._below))
                partition = self.assignment[self._at_most.popleft()].pop(0)
                self._given_up.add(partition)
                self._give(partition, member_id)
            self._at_least.append(member_id)

    def give_one_more(self) -> None:
        """Assign each remaining partition to a different member."""
        while self._left:
            if not self._at_least:
                count = len(self._left)
                raise CannotAssign("more_partitions_left_than_room_for", assignor=self._assignor, count=count)
            self._give(self._left.popleft(), self._at_least.popleft())

    def _give(self, partition: TopicPartition, member_id: str) -> None:
        self.assignment[member_id].append(partition)
        if partition in self._given_up:
            self.transferring[partition] = member_id
