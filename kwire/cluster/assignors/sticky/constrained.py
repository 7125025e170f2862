"""Kafka's sticky assignors: members keep their partitions as far as balance and racks allow.

If all members subscribe to the same topics, the constrained algorithm is used: each member gets the same number of
partitions, or one more. Otherwise `sticky_balance`, the general algorithm, is used. The cooperative assignor withholds
partitions that another member must revoke first (KIP-429). `_Owners` and `assign_constrained_before_3_0` implement the
differences of Kafka 2.4 and 2.8.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ....errors.refused import CannotAssign
from ...java.hash_order import STRINGS, TOPIC_PARTITIONS, HashOrder, hash_order_of, utf16
from ..members import (
    NEWEST,
    NO_GENERATION,
    Assignment,
    Claims,
    Group,
    GroupRacks,
    Held,
    Member,
    Rules,
    TopicPartition,
    Topics,
    not_among,
    numbers_of,
    rules_of,
    same_topics,
    same_topics_at_first,
)
from .balance import Balance, Holdings, Pile, Start, Wishes


class _Owners:
    """The owners of partitions according to all claims.

    `now` maps a member id to its partitions, which need not exist; `before` maps a partition to its former owner.
    """

    def __init__(self, group: Group, held: Mapping[str, Held]) -> None:
        claims: dict[TopicPartition, dict[int, str]] = {}
        for member_id in group.members:
            past = held[member_id]
            for partition in past.partitions:
                of_generations = claims.setdefault(partition, {})
                if past.generation < 0 or past.generation not in of_generations:
                    of_generations[past.generation] = member_id
        self.now: dict[str, list[TopicPartition]] = {member_id: [] for member_id in group.members}
        self.before: dict[TopicPartition, str] = {}
        for partition in hash_order_of(claims, TOPIC_PARTITIONS):
            newest, *earlier = sorted(claims[partition], reverse=True)
            self.now[claims[partition][newest]].append(partition)
            if earlier:
                self.before[partition] = claims[partition][earlier[0]]


def start_before_3_0(group: Group, held: Mapping[str, Held], rules: Rules) -> Start:
    """Return the initial state of the general algorithm."""
    owners, wishes = _Owners(group, held), Wishes(group)
    every = [(topic, number) for topic in wishes.rarest_first for number in group.topics[topic]]
    there, existing = {}, set(every)
    piles = {}
    for member_id, member in group.members.items():
        there[member_id] = [one for one in owners.now[member_id] if one in existing]
        wanted = set(member.topics)
        piles[member_id] = Pile(one for one in there[member_id] if one[0] in wanted)
    if not rules.equal_topics_differ and any(owners.now.values()) and wishes.all_equal():
        every = _most_loaded_first(group, there, owners.before)
    holder = {partition: member_id for member_id, pile in piles.items() for partition in pile}
    left = [partition for partition in every if partition not in holder]
    revoked = any(len(piles[member_id]) < len(there[member_id]) for member_id in piles)
    return Start(wishes, piles, holder, every, left, revoked, owners.before)


def _most_loaded_first(
    group: Group, owned: Mapping[str, list[TopicPartition]], before: Mapping[TopicPartition, str]
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
        partition = next((one for one in with_former_owner if one in pile), None) or next(iter(pile))
        waiting.drop(partition, member_id)
        order[partition] = None
    every = ((topic, number) for topic, numbers in group.topics.items() for number in numbers)
    order.update(dict.fromkeys(hash_order_of(every, TOPIC_PARTITIONS)))
    return list(order)


def assign_constrained_before_3_0(
    assignor: str, group: Group, claims: Claims
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

    def __init__(self, assignor: str, group: Group, claims: Claims) -> None:
        every = [(topic, number) for topic in sorted(group.topics, key=utf16) for number in group.topics[topic]]
        self._assignor, self._claims = assignor, claims
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


Plan = tuple[Assignment, dict[TopicPartition, str]]
Past = Callable[[Member], Held]


class Waiting:
    """A queue of member ids that can also be searched by rack.

    Args:
        members: the initial members, in order.
        racks: member id -> rack.

    >>> waiting = Waiting(["c1", "c2", "c3"], {"c1": "a", "c2": "b", "c3": "a"})
    >>> waiting.next_in({"a"}, after="c1"), waiting.next_in({"a"}, after="c3"), waiting.next_in({"x"})
    ('c3', 'c1', None)
    """

    def __init__(self, members: Iterable[str], racks: Mapping[str, str]) -> None:
        self._racks = racks
        self._names: list[str] = []
        self._places: dict[str, int] = {}
        self._by_rack: dict[str, list[int]] = {}
        self._former: dict[str, int] = {}
        self._first = 0
        for member_id in members:
            self.add(member_id)

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def add(self, member_id: str) -> None:
        """Append a member."""
        self._places[member_id] = place = len(self._names)
        self._names.append(member_id)
        rack = self._racks.get(member_id)
        if rack is not None:
            self._by_rack.setdefault(rack, []).append(place)

    def remove(self, member_id: str) -> None:
        """Remove a member. It can still be passed as `after` to `next_in`."""
        self._former[member_id] = place = self._places.pop(member_id)
        rack = self._racks.get(member_id)
        if rack is not None:
            places = self._by_rack[rack]
            del places[bisect_left(places, place)]

    def pop(self) -> str:
        """Remove and return the first member."""
        while self._places.get(self._names[self._first]) != self._first:
            self._first += 1
        member_id = self._names[self._first]
        self.remove(member_id)
        return member_id

    def clear(self) -> None:
        """Remove all members."""
        for member_id in list(self._places):
            self.remove(member_id)

    def next_in(self, racks: Iterable[str], after: str | None = None) -> str | None:
        """Return the next member in one of these racks after a given member, cyclically; None if there is none."""
        start = -1 if after is None else self._places.get(after, self._former.get(after, -1))
        best = None
        for rack in racks:
            places = self._by_rack.get(rack)
            if places:
                index = bisect_right(places, start)
                # positions up to `start` come after all others
                found = places[index] if index < len(places) else places[0] + len(self._names)
                if best is None or found < best:
                    best = found
        return None if best is None else self._names[best % len(self._names)]


def assign_constrained(assignor: str, group: Group, claims: Claims, racks: GroupRacks, rules: Rules) -> Plan:
    """Assign all partitions with the constrained algorithm.

    Returns:
        The assignment, and the new owners of partitions that another member must revoke first.

    Raises:
        CannotAssign: members keep partitions that do not exist, so that the shares are inconsistent.
    """
    return _Constrained(assignor, group, claims, racks, rules).plan()


class _Constrained:
    def __init__(self, assignor: str, group: Group, claims: Claims, racks: GroupRacks, rules: Rules) -> None:
        self.assignor, self.group, self.claims, self.racks, self.rules = assignor, group, claims, racks, rules
        self.least, self.full_left = divmod(sum(map(len, group.topics.values())), len(group.members))
        self.most = self.least + (self.full_left > 0)
        self.names = sorted(group.topics, key=utf16)
        self.places = {name: place for place, name in enumerate(self.names)}
        self.assignment = group.nothing()
        self.kept: dict[str, list[int]] = {name: [] for name in self.names}
        self.let_go: dict[TopicPartition, str] = {}
        self.transferring: dict[TopicPartition, str] = {}
        self.below: list[str] = []  # members with fewer than `least` partitions
        self.at_least: list[str] = []  # members with `least` partitions that may get one more

    def plan(self) -> Plan:
        """Compute the assignment."""
        self._keep()
        left = self.racks.hardest_first(self._unassigned())
        of_members = self.racks.of_members
        below = Waiting(sorted(self.below, key=utf16), of_members)
        at_least = Waiting(sorted(self.at_least, key=utf16), of_members)
        if of_members:
            left = self._fill_by_rack(left, below, at_least)
        self._fill(left, below, at_least)
        self._check(below)
        # Kafka copies its map, possibly with another capacity, and iterates over the copy.
        copy = hash_order_of(self.assignment, STRINGS).copy()
        return self.group.answer({member_id: self.assignment[member_id] for member_id in copy}), self.transferring

    def _keep(self) -> None:
        """Let members keep their partitions up to their share, and record who may get more."""
        for member_id in self.claims.owned:
            owned = self._keepable(member_id)
            if len(owned) < self.least:
                keep = len(owned)
                self.below.append(member_id)
            elif len(owned) >= self.most and self.full_left:
                keep = self.most
                self._fill_up(self.at_least)
            else:
                keep = self.least
                if self.full_left:
                    self.at_least.append(member_id)
            self.assignment[member_id] += owned[:keep]
            numbers_of(owned[:keep], self.kept)
            self.let_go.update(dict.fromkeys(owned[keep:], member_id))

    def _keepable(self, member_id: str) -> list[TopicPartition]:
        owned = list(self.claims.owned[member_id])
        if self.racks.of_members:
            elsewhere = {partition for partition in owned if self.racks.mismatch(member_id, partition)}
            if self.rules.revoked_from_another:
                self.let_go.update(dict.fromkeys(elsewhere, member_id))
            owned = [partition for partition in owned if partition not in elsewhere]
        if self.rules.keeps_lowest_partitions:
            places, step = self.places, len(self.places)
            owned.sort(key=lambda partition: partition[1] * step + places[partition[0]])
        contested = self.claims.contested
        return [partition for partition in owned if partition not in contested] if contested else owned

    def _fill_up(self, at_least: Waiting | list[str]) -> None:
        """Record that a member has `most` partitions; once enough members have, members with `least` get no more."""
        self.full_left -= 1
        if self.full_left == 0:
            at_least.clear()

    def _unassigned(self) -> list[TopicPartition]:
        """Return the unassigned partitions by topic and number. Kafka counts from 0 if any partition is kept."""
        topics = self.group.topics
        if not any(self.kept.values()):
            return [(topic, number) for topic in self.names for number in topics[topic]]
        return not_among(self.kept, {topic: range(len(topics[topic])) for topic in self.names})

    def _fill_by_rack(
        self, partitions: Iterable[TopicPartition], below: Waiting, at_least: Waiting
    ) -> list[TopicPartition]:
        """Assign partitions to members in their racks; return the others."""
        left = []
        last: str | None = None
        for partition in partitions:
            racks = self.racks.of(partition)
            member_id = below.next_in(racks, last)
            if member_id is not None:
                last = member_id
                self._give_to_below(member_id, below, at_least)
            else:
                member_id = at_least.next_in(racks)
                if member_id is None:
                    left.append(partition)
                    continue
                self._give_to_at_least(member_id, at_least)
            self._give(partition, member_id)
        return left

    def _give_to_below(self, member_id: str, below: Waiting, at_least: Waiting) -> None:
        count = len(self.assignment[member_id]) + 1
        if count >= self.least:
            below.remove(member_id)
            if count < self.most and (self.full_left or not self.rules.counts_full_members):
                at_least.add(member_id)

    def _give_to_at_least(self, member_id: str, at_least: Waiting) -> None:
        if len(self.assignment[member_id]) + 1 == self.most:
            at_least.remove(member_id)
            if self.rules.counts_full_members:
                self._fill_up(at_least)

    def _fill(self, partitions: Sequence[TopicPartition], below: Waiting, at_least: Waiting) -> None:
        """Assign partitions to members in turn: first to members below `least`, then one more to each."""
        turns = iter(list(below))
        for place, partition in enumerate(partitions):
            member_id = next(turns, None)
            if member_id is None:
                if not below and not at_least:
                    left = len(partitions) - place
                    raise CannotAssign("more_partitions_left_than_room_for", assignor=self.assignor, count=left)
                if not below:
                    member_id = at_least.pop()
                else:
                    turns = iter(list(below))
                    member_id = next(turns)
            self._give(partition, member_id)
            count = len(self.assignment[member_id])
            if count == self.least:
                below.remove(member_id)
                at_least.add(member_id)
            elif count == self.most:
                self.full_left -= 1

    def _give(self, partition: TopicPartition, member_id: str) -> None:
        self.assignment[member_id].append(partition)
        former = self.let_go.get(partition)
        other = former is not None and (former != member_id or not self.rules.revoked_from_another)
        if other or partition in self.claims.contested:
            self.transferring[partition] = member_id

    def _check(self, below: Waiting) -> None:
        """Raise an error, as Kafka does, if members have less than their share."""
        counts = Counter(len(self.assignment[member_id]) for member_id in below)
        if below and (self.full_left or counts.keys() != {self.least}):
            raise CannotAssign("members_without_their_share", assignor=self.assignor, count=len(below))


def assign_general(assignor: str, group: Group, start: Start, racks: GroupRacks, rules: Rules) -> Assignment:
    """Assign all partitions with the general algorithm.

    Raises:
        CannotAssign: members own partitions that do not exist, for which Kafka fails as well.
    """
    holdings = Holdings(start.piles, start.holder, start.wishes.wanted_by, racks.of_members)
    starting = holdings.most == 0
    _hand_out(start.left, holdings, racks)
    balance = Balance(assignor, start.wishes, holdings, racks, rules, start.before)
    balance.run(start.every, [] if start.revoked else start.left, starting)
    return group.answer({member_id: list(balance.result[member_id]) for member_id in _order(group, balance)})


def start_of(group: Group, claims: Claims, racks: GroupRacks, held: Mapping[str, Held], newest: int) -> Start:
    """Return the initial state of the general algorithm.

    Args:
        held: member id -> the partitions that it claims to have owned.
        newest: the highest generation; partitions of earlier generations may be returned to their former owners.
    """
    piles, revoked = _kept(group, claims, racks)
    wishes = Wishes(group)
    every = [(topic, number) for topic in wishes.rarest_first for number in group.topics[topic]]
    kept: dict[str, list[int]] = {topic: [] for topic in wishes.rarest_first}
    for pile in piles.values():
        numbers_of(pile, kept)
    left = not_among(kept, {topic: group.topics[topic] for topic in wishes.rarest_first})
    holder = {partition: one for one, owned in claims.owned.items() for partition in owned}
    return Start(wishes, piles, holder, every, left, revoked, _before(held, newest))


def _order(group: Group, balance: Balance) -> HashOrder[str]:
    """Return the order of Kafka's map.

    Members that do not take part are removed from the map for a while; if balancing is undone, all members are.
    """
    order = hash_order_of(group.members, STRINGS)
    apart = [one for one in hash_order_of(group.members, STRINGS, len(group.members)) if one in balance.fixed]
    for member_id in apart:
        order.remove(member_id)
    if balance.went_back:
        copy = hash_order_of(order, STRINGS)
        for member_id in copy:
            order.remove(member_id)
        for member_id in copy:
            order.put(member_id)
    for member_id in hash_order_of(apart, STRINGS):
        order.put(member_id)
    return order


def _kept(group: Group, claims: Claims, racks: GroupRacks) -> tuple[dict[str, Pile], bool]:
    """Return the partitions that members keep, and whether a member loses an existing partition."""
    piles = {}
    revoked = False
    for member_id, owned in claims.owned.items():
        wanted = set(group.members[member_id].topics)
        keeps = [one for one in owned if one[0] in wanted and not racks.mismatch(member_id, one)]
        piles[member_id] = Pile(keeps)
        revoked |= len(keeps) < len(owned)
    return piles, revoked


def _hand_out(partitions: Iterable[TopicPartition], holdings: Holdings, racks: GroupRacks) -> None:
    """Assign each partition to the member with the fewest partitions, preferably in one of its racks."""
    if racks.of_members:
        rest = []
        for partition in partitions:
            member_id = holdings.least_loaded(partition[0], racks.of(partition))
            if member_id is None:
                rest.append(partition)
            else:
                holdings.give(partition, member_id)
        partitions = rest
    for partition in partitions:
        member_id = holdings.least_loaded(partition[0])
        if member_id is not None:
            holdings.give(partition, member_id)


def _before(held: Mapping[str, Held], newest: int) -> dict[TopicPartition, str]:
    """Return the latest owner of each partition in the generations before the newest."""
    before: dict[TopicPartition, tuple[int, str]] = {}
    for member_id, past in held.items():
        if past.generation < newest:
            for partition in past.partitions:
                if partition not in before or past.generation > before[partition][0]:
                    before[partition] = (past.generation, member_id)
    return {partition: member_id for partition, (_, member_id) in before.items()}


def assign_sticky(
    topics: Topics,
    members: Iterable[Member],
    *,
    max_generation: int = NO_GENERATION,
    release: str = NEWEST,
) -> Assignment:
    """Assign partitions as Kafka's `StickyAssignor` does.

    Args:
        topics, members: as for `assign_range`. A member's user data contains the partitions that it owned.
        max_generation: the highest generation of earlier rebalances, used from 3.0 on if the leader keeps its assignor.
        release: Kafka release of the leader: 2.4, or from 2.8 on. The results changed in 2.8, 3.0, 3.4, 3.5, 3.5.2 and
            3.7.1. Before 3.5, members must not have racks.

    Returns:
        Member id -> partitions, both in the order of Kafka's leader.

    Raises:
        CannotAssign: there are no members, or they claim more partitions than exist.

    >>> held = Held([("a", 1), ("a", 2)], generation=1)
    >>> assign_sticky({"a": 3}, [Member("c1", ["a"], user_data=held), Member("c2", ["a"])])
    {'c1': [('a', 1), ('a', 2)], 'c2': [('a', 0)]}

    Source: KIP-54, KIP-341 (generations), KIP-881 (racks).
    """
    return _assign("sticky", Group(topics, members), sticky_past, max_generation, release)[0]


def assign_cooperative(
    topics: Topics,
    members: Iterable[Member],
    *,
    max_generation: int = NO_GENERATION,
    release: str = NEWEST,
) -> Assignment:
    """Assign partitions as Kafka's `CooperativeStickyAssignor` does.

    For arguments, result and errors see `assign_sticky`. But owned partitions are in `owned` and `generation`, and
    partitions that change their owner are not assigned: they are revoked now, and assigned in the next rebalance.

    >>> members = [Member("c1", ["a"], generation=1, owned=[("a", 0), ("a", 1)]), Member("c2", ["a"])]
    >>> assign_cooperative({"a": 2}, members)
    {'c1': [('a', 0)], 'c2': []}

    Source: KIP-429, KIP-792 (generation in the subscription), KIP-881 (racks).
    """
    group = Group(topics, members)
    assignment, transferring = _assign("cooperative-sticky", group, cooperative_past, max_generation, release)
    if transferring is None:
        transferring = _changing_hands(group, assignment)
    for partition, member_id in transferring.items():
        if partition in assignment[member_id]:
            assignment[member_id].remove(partition)
    return assignment


def algorithm_for(topics: Topics, members: Iterable[Member], release: str = NEWEST) -> str:
    """Return the algorithm that the sticky assignors of a release use: "constrained" or "general".

    >>> algorithm_for({"a": 1, "b": 1}, [Member("c1", ["a"]), Member("c2", ["a", "b"])])
    'general'
    """
    differ = rules_of(release).equal_topics_differ
    return "constrained" if differ and same_topics(Group(topics, members)) else "general"


def sticky_past(member: Member) -> Held:
    """Return the partitions that a member owned according to the sticky assignor, from its user data."""
    return member.user_data or Held()


def cooperative_past(member: Member) -> Held:
    """Return the partitions that a member owned according to the cooperative assignor.

    The user data of this assignor contains at most a generation.
    """
    if member.generation >= 0 or member.user_data is None:
        return Held(member.owned, max(member.generation, NO_GENERATION))
    return Held(member.owned, member.user_data.generation)


def _assign(
    assignor: str, group: Group, past: Past, max_generation: int, release: str
) -> tuple[Assignment, dict[TopicPartition, str] | None]:
    rules = rules_of(release)
    if not group.members:
        raise CannotAssign("division_by_zero", assignor=assignor)
    if not rules.all_generations_own:  # as racks, generations in subscriptions are not read yet (KIP-792)
        group.members = {one: replace(member, generation=NO_GENERATION) for one, member in group.members.items()}
    held = {member_id: past(member) for member_id, member in group.members.items()}
    known = max_generation if rules.newest_generation_owns else NO_GENERATION  # 2.8 does not store the generation
    newest = max(known, NO_GENERATION, *(one.generation for one in held.values()))
    racks = GroupRacks(group)
    constrained = rules.equal_topics_differ and same_topics(group)
    if not constrained and not rules.newest_generation_owns:
        read = _read_again(assignor, group, held, rules)
        return assign_general(assignor, group, start_before_3_0(group, read, rules), racks, rules), None
    claims = Claims(group, held, rules, newest)
    if not constrained:
        return assign_general(assignor, group, start_of(group, claims, racks, held, newest), racks, rules), None
    if not rules.newest_generation_owns:
        return assign_constrained_before_3_0(assignor, group, claims)
    return assign_constrained(assignor, group, claims, racks, rules)


def _read_again(assignor: str, group: Group, held: Mapping[str, Held], rules: Rules) -> dict[str, Held]:
    """Return the partitions that the general algorithm before 3.0 reads from subscriptions.

    Kafka 2.8 reads user data until it finds different subscriptions. For the general algorithm, the user data read by
    then is empty: these members own nothing with `sticky`, and have no generation with `cooperative-sticky`.
    """
    if not rules.equal_topics_differ:
        return {one: Held(past.partitions) for one, past in held.items()} if assignor != "sticky" else {**held}
    lost = dict.fromkeys(same_topics_at_first(group), Held())
    if assignor != "sticky":
        lost = {one: Held(held[one].partitions) for one in lost}
    return {**held, **lost}


def _changing_hands(group: Group, assignment: Assignment) -> dict[TopicPartition, str]:
    """Return the partitions that are assigned to one member and must be revoked from another one."""
    added: dict[TopicPartition, str] = {}
    revoked: set[TopicPartition] = set()
    for member_id, assigned in assignment.items():
        owned, now = set(group.members[member_id].owned), set(assigned)
        added.update((partition, member_id) for partition in assigned if partition not in owned)
        revoked |= owned - now
    return {partition: member_id for partition, member_id in added.items() if partition in revoked}
