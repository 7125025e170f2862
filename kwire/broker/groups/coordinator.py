"""All groups of a served cluster, their coordinators, and their journal.

The brokers share all groups: if a coordinator stops, the next broker continues with the same state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

from ... import messages
from ...cluster.java_compat import string_hash
from ...internal import coordinator_record, decode_group_record, encode_record
from ...records import Record
from ..configs import Settings
from ..controller import Controller
from ..metadata_journal import Journals, Row
from ..purgatory import Parked, Purgatory
from .consumer_group import ConsumerGroup, ConsumerMember
from .group import LEAST_SIZE, Commit, Group, GroupState, Held
from .rebalance import Rebalancing

VALUE_VERSION = 4  # version of OffsetCommitValue: the first with the topic id (KIP-848)


@dataclass(slots=True)
class KnownGroup:
    """The restored state of one group; `commits` are by topic and partition."""

    generation: int = 0
    protocol_type: str | None = None
    commits: dict[tuple[str, int], Commit] = field(default_factory=dict)


@dataclass(slots=True)
class KnownGroups:
    """The state of groups restored from a journal, by group id.

    >>> known, commit = KnownGroups(), Commit(5, 0, "m", bytes(16))
    >>> for number, (key, value) in enumerate([commit_row("g", "t", 1, commit), commit_row("g", "t", 2, None)]):
    ...     known.learn(Record(number, 0, key, value))
    >>> known.groups["g"].commits
    {('t', 1): Commit(offset=5, leader_epoch=0, metadata='m', \
topic_id=b'\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00')}
    """

    groups: dict[str, KnownGroup] = field(default_factory=dict)

    def learn(self, record: Record) -> None:
        """Apply a record; raises DecodeError if it is invalid. Records of other types are ignored."""
        found = decode_group_record(record.key or b"", record.value)
        key: Any = found.key.message
        value: Any = found.value.message if found.value is not None else None
        if found.value is not None and value is None:
            return  # of an unknown version
        if found.key.name == "OffsetCommitKey":
            self._learn_commit(self.groups.setdefault(key.group, KnownGroup()), (key.topic, key.partition), value)
        elif found.key.name == "GroupMetadataKey":
            self._learn_generation(key.group, value)

    def _learn_generation(self, group_id: str, value: Any) -> None:
        if value is None:
            self.groups.pop(group_id, None)
        else:
            group = self.groups.setdefault(group_id, KnownGroup())
            group.generation, group.protocol_type = value.generation, value.protocol_type or None

    def _learn_commit(self, group: KnownGroup, place: tuple[str, int], value: Any) -> None:
        if value is None:
            group.commits.pop(place, None)
        else:
            group.commits[place] = commit_of(value)


def commit_of(value: Any) -> Commit:
    """Return the commit that an OffsetCommitValue holds."""
    return Commit(value.offset, value.leader_epoch, value.metadata, value.topic_id)


def commit_row(group_id: str, topic: str, index: int, commit: Commit | None) -> Row:
    """Return the record of a commit for a partition; its value is None if the commit is deleted."""
    key = messages.OffsetCommitKey(group=group_id, topic=topic, partition=index)
    if commit is None:
        return encode_record(coordinator_record(key))
    value = messages.OffsetCommitValue(
        offset=commit.offset,
        leader_epoch=commit.leader_epoch,
        metadata=commit.metadata,
        commit_timestamp=-1,  # wall-clock time is not available here
        topic_id=commit.topic_id,
    )
    return encode_record(coordinator_record(key, value, VALUE_VERSION))


def group_row(group: Group) -> Row:
    """Return the record of a group's generation."""
    value = messages.GroupMetadataValue(
        protocol_type=group.protocol_type or "", generation=group.generation, protocol=None, leader=None, members=()
    )
    return encode_record(coordinator_record(messages.GroupMetadataKey(group=group.group_id), value, VALUE_VERSION))


def all_rows(group: Group) -> Iterator[Row]:
    """Return all records of a group."""
    if group.generation:
        yield group_row(group)
    for topic, indexes in group.commits.topics():
        for index in indexes:
            yield commit_row(group.group_id, topic, index, group.commits.last(topic, index))


def removal_rows(group: Group) -> Iterator[Row]:
    """Return the records that delete a group."""
    for topic, indexes in group.commits.topics():
        for index in indexes:
            yield commit_row(group.group_id, topic, index, None)
    yield removal_row(group.group_id)


def removal_row(group_id: str) -> Row:
    """Return the record that deletes a group's generation."""
    return encode_record(coordinator_record(messages.GroupMetadataKey(group=group_id)))


MOST_JOURNAL = 16 << 20  # bytes appended to a journal before it is rewritten


class Groups:
    """The groups.

    Attributes:
        held: the memory of all groups, in bytes.
        rebalancing: their state machine.

    Args:
        controller: has the log directories, each with a journal of all groups, and the topics.
        purgatory: for delayed responses.
    """

    def __init__(self, controller: Controller, purgatory: Purgatory) -> None:
        self.settings: Settings = controller.settings
        self._controller, self._purgatory = controller, purgatory
        self.held: Held = Held(self.settings.most_group_bytes)
        self.rebalancing: Rebalancing = Rebalancing(
            purgatory, self.settings.initial_rebalance_delay, self.remember_generation
        )
        self._groups: dict[str, Group] = {}
        self._journals: Journals[KnownGroups] = Journals("groups", controller.guarded)
        self._rewritten = 0  # bytes
        self._restore(controller)

    def _restore(self, controller: Controller) -> None:
        """Restore groups from the journals, without commits for deleted topics."""
        found = self._journals.open(controller.log_dirs(), KnownGroups, controller.notes.append)
        for group_id, known in found[0][1].groups.items() if found else ():
            group = Group(group_id, self.held, generation=known.generation, protocol_type=known.protocol_type)
            for (topic, index), commit in known.commits.items():
                if controller.find(None, commit.topic_id) is not None:
                    group.commits.put(topic, index, commit)
            self._groups[group_id] = group
        self._rewrite()

    def _rewrite(self) -> None:
        rows = [row for group in self._groups.values() for row in all_rows(group)]
        # at least one record, so that older journals are recognised as such
        self._journals.rewrite(rows or [removal_row("")])
        self._rewritten = self._journals.size

    def _remember(self, rows: Iterable[Row]) -> None:
        if self._journals.is_open:
            self._journals.write(list(rows))
            if self._journals.size > 2 * self._rewritten + MOST_JOURNAL:
                self._rewrite()

    def remember_generation(self, group: Group) -> None:
        """Journal the generation of a group."""
        self._remember([group_row(group)])

    def remember_commits(self, group: Group, places: Iterable[tuple[str, int]]) -> None:
        """Journal the commits of a group, by topic and partition."""
        self._remember(commit_row(group.group_id, *place, group.commits.last(*place)) for place in places)

    def restore_commits(self, group_id: str, commits: Mapping[tuple[str, int], Commit]) -> None:
        """Keep commits of a transaction that was decided before a restart."""
        if (group := self.found_or_made(group_id)) is not None:
            for place, commit in commits.items():
                group.commits.put(*place, commit)
            self.remember_commits(group, commits)

    def pending(
        self, producer_id: int, group_ids: Iterable[str]
    ) -> Iterator[tuple[Group, dict[tuple[str, int], Commit]]]:
        """Give the commits that wait for the end of a producer's transaction."""
        for group in filter(None, map(self.find, group_ids)):
            if commits := group.pending_commits.get(producer_id):
                yield group, commits

    def end_transaction(self, producer_id: int, group_ids: Iterable[str], *, is_commit: bool) -> None:
        """Keep the commits of a producer's transaction, or forget them."""
        for group, commits in list(self.pending(producer_id, group_ids)):
            del group.pending_commits[producer_id]
            self.held.take(-sum(commit.size for commit in commits.values()))
            if is_commit:
                for place, commit in commits.items():
                    group.commits.put(*place, commit)
                self.remember_commits(group, commits)

    def find(self, group_id: str) -> Group | None:
        """Return a group; None if it does not exist."""
        return self._groups.get(group_id)

    def all(self) -> list[Group]:
        """Return all groups."""
        return list(self._groups.values())

    def found_or_made(self, group_id: str) -> Group | None:
        """Return a group, creating it if necessary; None if the limit is reached."""
        group = self._groups.get(group_id)
        if group is None and self._has_room_for_group(group_id):
            group = self._groups[group_id] = Group(group_id, self.held)
        return group

    def _has_room_for_group(self, group_id: str) -> bool:
        if len(self._groups) >= self.settings.most_groups:
            for group in [group for group in self._groups.values() if group.is_unused]:
                self.delete(group)
        return len(self._groups) < self.settings.most_groups and self.held.has_room(LEAST_SIZE + len(group_id))

    def has_room_for_member(self, group: Group, size: int) -> bool:
        """Return whether a group may have another member of this size in bytes."""
        return len(group.members) + len(group.pending) < self.settings.most_group_members and self.held.has_room(size)

    def prolong(self, member_ids: Collection[str], seconds: float) -> None:
        """Extend the session deadlines of members."""
        for group in self._groups.values():
            for member in group.members.values():
                if member.member_id in member_ids:
                    member.deadline += seconds
            for consumer in group.consumer.members.values() if group.consumer is not None else ():
                if consumer.member_id in member_ids:
                    consumer.deadline += seconds
                    consumer.revokes_until += seconds

    def keep_consumer(self, group: Group, member: ConsumerMember, now: float) -> None:
        """Note that a member of a group whose broker assigns is alive."""
        assert group.consumer is not None
        member.deadline = now + self.settings.consumer_session_timeout
        group.state = group.consumer.state
        self._wake_consumers(group, group.consumer)

    def _wake_consumers(self, group: Group, consumer: ConsumerGroup) -> None:
        """Look after members when the first one's time is over, if not before."""
        deadline = consumer.next_deadline()
        if deadline >= consumer.wakes:
            return
        if consumer.timer is not None:
            self._purgatory.forget(consumer.timer)
        consumer.wakes, consumer.timer = deadline, Parked(lambda over: self._expire_consumers(group, consumer))
        self._purgatory.park(consumer.timer, deadline)

    def _expire_consumers(self, group: Group, consumer: ConsumerGroup) -> None:
        consumer.timer, consumer.wakes = None, inf
        for member in consumer.expired(self._purgatory.now):
            self.remove_consumer(group, member)
        self._wake_consumers(group, consumer)

    def remove_consumer(self, group: Group, member: ConsumerMember) -> None:
        """Remove a member of a group whose broker assigns; the others get what it had."""
        assert group.consumer is not None
        consumer = group.consumer
        consumer.members.pop(member.member_id, None)
        self.held.take(-member.size)
        consumer.plan({topic.name: len(topic.partitions) for topic in self._controller.topics.values()})
        group.generation, group.state = consumer.epoch, consumer.state
        self.remember_generation(group)

    def delete(self, group: Group) -> None:
        """Delete a group without members."""
        del self._groups[group.group_id]
        self.rebalancing.rest(group)
        if group.consumer is not None and group.consumer.timer is not None:
            self._purgatory.forget(group.consumer.timer)
        for member_id in list(group.pending):
            group.expect_no_longer(member_id)
        if group.generation or group.commits:
            self._remember(removal_rows(group))
        group.commits.clear()
        group.state = GroupState.DEAD
        self.held.take(-group.size)


def coordinator_of(group_id: str, controller: Controller) -> int | None:
    """Return the id of the broker that coordinates a group; None if none is alive.

    Args:
        group_id: its Java hash selects the broker, as in Kafka.
        controller: has the live brokers.
    """
    nodes = [node for _, node in sorted(controller.nodes.items())]
    start = abs(string_hash(group_id)) % len(nodes)
    return next((node.node_id for node in nodes[start:] + nodes[:start] if node.is_alive), None)
