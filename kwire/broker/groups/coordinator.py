"""All groups of a served cluster, and their records in `__consumer_offsets`.

The brokers share all groups: if a coordinator stops, the next leader of its partition continues with the same state.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from math import inf

from .. import codes
from ..configs import Settings
from ..controller import Controller
from ..internal_topics import InternalTopic, Producer
from ..metadata_journal import Row
from ..purgatory import Parked, Purgatory
from ..topics import Topic
from .consumer_group import ConsumerGroup, ConsumerMember, TopicPartition
from .group import LEAST_SIZE, Commit, Group, GroupState, Held
from .group_records import Restorer, changes, commit_row, group_rows
from .rebalance import Rebalancing


class Groups:
    """The groups.

    Attributes:
        held: the memory of all groups, in bytes.
        rebalancing: their state machine.

    Args:
        controller: has the topics.
        purgatory: for delayed responses.
        log: `__consumer_offsets`.
        time_ms: returns the time of day, in milliseconds since 1970.
    """

    def __init__(
        self, controller: Controller, purgatory: Purgatory, log: InternalTopic, time_ms: Callable[[], int]
    ) -> None:
        self.settings: Settings = controller.settings
        self._controller, self._purgatory = controller, purgatory
        self._log, self._time_ms = log, time_ms
        self.held: Held = Held(self.settings.most_group_bytes)
        self.rebalancing: Rebalancing = Rebalancing(purgatory, self.settings.initial_rebalance_delay, self.remember)
        self._groups: dict[str, Group] = {}
        self._restore()

    def _restore(self) -> None:
        """Restore groups with members and commits, but without commits for deleted topics."""
        restorer = Restorer(lambda group_id: self._groups.setdefault(group_id, Group(group_id, self.held)), self._find)
        for _, latest in self._log.latest():
            restorer.restore(latest.values, latest.pending)
        for group in self._groups.values():
            group.written = group_rows(group, self._find, self._time_ms())
            if group.consumer is not None:
                group.consumer.recount(self.partition_counts())
                group.state = group.consumer.state
            if group.members or group.consumer is not None:
                self._purgatory.park(Parked(partial(self._begin, group)), 0.0)

    def _begin(self, group: Group, over: bool) -> None:
        """Start the sessions of restored members: time is not known before the first tick."""
        now = self._purgatory.now
        for member in group.members.values():
            self.rebalancing.keep(group, member, now)
        for consumer in list(group.consumer.members.values() if group.consumer is not None else ()):
            self.keep_consumer(group, consumer, now)

    def _find(self, name: str | None, topic_id: bytes) -> Topic | None:
        return self._controller.find(name, topic_id)

    def partition_counts(self) -> dict[str, int]:
        """Return the number of partitions of each topic."""
        return {topic.name: len(topic.partitions) for topic in self._controller.topics.values()}

    def plan(self, group: Group, consumer: ConsumerGroup, *, changed: bool = True) -> None:
        """Make a new target assignment, if members have changed, or the topics that they read."""
        ids = {topic.name: topic.topic_id for topic in self._controller.topics.values()}
        consumer.plan(self.partition_counts(), ids=ids, changed=changed)
        group.generation = consumer.epoch

    def remember(self, group: Group) -> None:
        """Write the changes of a group and its members."""
        rows = group_rows(group, self._find, self._time_ms())
        self._log.write(group.group_id, changes(group.written, rows))
        group.written = rows

    def _commit_rows(self, group: Group, commits: Mapping[TopicPartition, Commit | None]) -> list[Row]:
        now = self._time_ms()
        return [commit_row(group.group_id, *place, commit, now) for place, commit in commits.items()]

    def commit(self, group: Group, commits: Mapping[TopicPartition, Commit]) -> int:
        """Store commits of a group; returns an error code."""
        code = self._log.write(group.group_id, self._commit_rows(group, commits))
        for place, commit in commits.items() if code == codes.NONE else ():
            group.commits.put(*place, commit)
        return code

    def delete_commits(self, group: Group, places: Iterable[TopicPartition]) -> None:
        """Delete commits of a group."""
        deleted = [place for place in places if group.commits.remove(*place)]
        self._log.write(group.group_id, self._commit_rows(group, dict.fromkeys(deleted)))

    def commit_pending(self, group: Group, producer: Producer, commits: Mapping[TopicPartition, Commit]) -> int:
        """Store commits that take effect when a transaction is committed; returns an error code."""
        code = self._log.write(group.group_id, self._commit_rows(group, commits), producer)
        for place, commit in commits.items() if code == codes.NONE else ():
            group.add_pending(producer.id, *place, commit)
        return code

    def log_place(self, group_id: str) -> TopicPartition:
        """Return the partition of `__consumer_offsets` that has a group."""
        return self._log.name, self._log.index_of(group_id)

    def end_transaction(self, producer_id: int, index: int, *, is_commit: bool) -> None:
        """Store the pending commits of a transaction, or forget them, when its marker is in a partition of the log."""
        for group in self._groups.values():
            if producer_id in group.pending_commits and self._log.index_of(group.group_id) == index:
                for place, commit in group.end_pending(producer_id).items():
                    if is_commit:
                        group.commits.put(*place, commit)

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
        self.plan(group, consumer)
        group.state = consumer.state
        self.remember(group)

    def delete(self, group: Group) -> None:
        """Delete a group without members."""
        del self._groups[group.group_id]
        self.rebalancing.rest(group)
        if group.consumer is not None and group.consumer.timer is not None:
            self._purgatory.forget(group.consumer.timer)
        for member_id in list(group.pending):
            group.expect_no_longer(member_id)
        places = [(topic, index) for topic, indexes in group.commits.topics() for index in indexes]
        rows = self._commit_rows(group, dict.fromkeys(places)) + changes(group.written, {})
        if rows:
            self._log.write(group.group_id, rows)
        group.written = {}
        group.commits.clear()
        group.state = GroupState.DEAD
        self.held.take(-group.size)
