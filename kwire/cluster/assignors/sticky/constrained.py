"""The constrained algorithm, for members that all subscribe to the same topics.

Each member gets the same number of partitions, or one more. Ports AbstractStickyAssignor.ConstrainedAssignmentBuilder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from ....errors.refused import CannotAssign
from ...java.hash_order import STRINGS, hash_order_of, utf16
from ..members import Assignment, GroupSubscription, Member, MemberData, TopicPartition
from ..releases import AssignorRules
from .claims import Claims
from .group_racks import GroupRacks
from .topic_sets import not_among, numbers_of
from .waiting import WaitingMembers

Plan = tuple[Assignment, dict[TopicPartition, str]]
Past = Callable[[Member], MemberData]


def assign_constrained(
    assignor: str, group: GroupSubscription, claims: Claims, racks: GroupRacks, rules: AssignorRules
) -> Plan:
    """Assign all partitions with the constrained algorithm.

    Returns:
        The assignment, and the new owners of partitions that another member must revoke first.

    Raises:
        CannotAssign: members keep partitions that do not exist, so that the shares are inconsistent.
    """
    return _Constrained(assignor, group, claims, racks, rules).plan()


class _Constrained:
    def __init__(
        self, assignor: str, group: GroupSubscription, claims: Claims, racks: GroupRacks, rules: AssignorRules
    ) -> None:
        self.assignor = assignor
        self.group = group
        self.claims = claims
        self.racks = racks
        self.rules = rules
        self.least, self.full_left = divmod(sum(map(len, group.topics.values())), len(group.members))
        self.most = self.least + (self.full_left > 0)
        self.names = sorted(group.topics, key=utf16)
        self.ranks = {name: rank for rank, name in enumerate(self.names)}
        self.assignment = group.nothing()
        self.kept: dict[str, list[int]] = {name: [] for name in self.names}
        self.let_go: dict[TopicPartition, str] = {}
        self.transferring: dict[TopicPartition, str] = {}
        self.below: list[str] = []  # members with fewer than `least` partitions
        self.at_least: list[str] = []  # members with `least` partitions that may get one more

    def plan(self) -> Plan:
        """Compute the assignment, in the steps of ConstrainedAssignmentBuilder.build.

        1. Members keep what they own, up to their share (assignOwnedPartitions).
        2. Partitions go to members in their racks (assignRackAwareRoundRobin, KIP-881).
        3. The others go to members in turn (assignRoundRobin).
        4. Members without their share are an error.
        """
        self._keep()
        unassigned = self.racks.hardest_first(self._list_unassigned())
        of_members = self.racks.of_members
        below = WaitingMembers(sorted(self.below, key=utf16), of_members)
        at_least = WaitingMembers(sorted(self.at_least, key=utf16), of_members)
        if of_members:
            unassigned = self._fill_by_rack(unassigned, below, at_least)
        self._fill(unassigned, below, at_least)
        self._check(below)
        # Kafka copies its map, possibly with another capacity, and iterates over the copy.
        copy = hash_order_of(self.assignment, STRINGS).copy()
        return self.group.answer({member_id: self.assignment[member_id] for member_id in copy}), self.transferring

    def _keep(self) -> None:
        """Let members keep their partitions up to their share, and record who may get more."""
        for member_id in self.claims.owned:
            owned = self._list_keepable(member_id)
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

    def _list_keepable(self, member_id: str) -> list[TopicPartition]:
        owned = list(self.claims.owned[member_id])
        if self.racks.of_members:
            elsewhere = {partition for partition in owned if self.racks.mismatch(member_id, partition)}
            if self.rules.revoked_from_another:
                self.let_go.update(dict.fromkeys(elsewhere, member_id))
            owned = [partition for partition in owned if partition not in elsewhere]
        if self.rules.keeps_lowest_partitions:
            ranks = self.ranks
            owned.sort(key=lambda partition: partition[1] * len(ranks) + ranks[partition[0]])
        contested = self.claims.contested
        return [partition for partition in owned if partition not in contested] if contested else owned

    def _fill_up(self, at_least: WaitingMembers | list[str]) -> None:
        """Record that a member has `most` partitions; once enough members have, members with `least` get no more."""
        self.full_left -= 1
        if self.full_left == 0:
            at_least.clear()

    def _list_unassigned(self) -> list[TopicPartition]:
        """Return the unassigned partitions by topic and number. Kafka counts from 0 if any partition is kept."""
        topics = self.group.topics
        if not any(self.kept.values()):
            return [(topic, number) for topic in self.names for number in topics[topic]]
        return not_among(self.kept, {topic: range(len(topics[topic])) for topic in self.names})

    def _fill_by_rack(
        self, partitions: Iterable[TopicPartition], below: WaitingMembers, at_least: WaitingMembers
    ) -> list[TopicPartition]:
        """Assign partitions to members in their racks; return the others."""
        unmatched = []
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
                    unmatched.append(partition)
                    continue
                self._give_to_at_least(member_id, at_least)
            self._give(partition, member_id)
        return unmatched

    def _give_to_below(self, member_id: str, below: WaitingMembers, at_least: WaitingMembers) -> None:
        count = len(self.assignment[member_id]) + 1
        if count >= self.least:
            below.remove(member_id)
            if count < self.most and (self.full_left or not self.rules.counts_full_members):
                at_least.add(member_id)

    def _give_to_at_least(self, member_id: str, at_least: WaitingMembers) -> None:
        if len(self.assignment[member_id]) + 1 == self.most:
            at_least.remove(member_id)
            if self.rules.counts_full_members:
                self._fill_up(at_least)

    def _fill(self, partitions: Sequence[TopicPartition], below: WaitingMembers, at_least: WaitingMembers) -> None:
        """Assign partitions to members in turn: first to members below `least`, then one more to each."""
        turns = iter(list(below))
        for position, partition in enumerate(partitions):
            member_id = next(turns, None)
            if member_id is None:
                if not below and not at_least:
                    remaining = len(partitions) - position
                    raise CannotAssign("more_partitions_left_than_room_for", assignor=self.assignor, count=remaining)
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

    def _check(self, below: WaitingMembers) -> None:
        """Raise an error, as Kafka does, if members have less than their share."""
        counts = Counter(len(self.assignment[member_id]) for member_id in below)
        if below and (self.full_left or counts.keys() != {self.least}):
            raise CannotAssign("members_without_their_share", assignor=self.assignor, count=len(below))
