"""What is remembered of groups over a restart: generations and committed offsets, as records of `__consumer_offsets`.

Members are not: they join again, and their group goes on with the next generation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ... import messages
from ...embedded import coordinator_record, decode_group_record, encode_record
from ...records import Record
from ..journal import Row
from .commits import Commit
from .group import Group

VALUE_VERSION = 4  # of OffsetCommitValue: the first with the id of the topic (KIP-848)


@dataclass(slots=True)
class KnownGroup:
    """What is known of one group; `commits` are by topic and partition."""

    generation: int = 0
    protocol_type: str | None = None
    commits: dict[tuple[str, int], Commit] = field(default_factory=dict)


@dataclass(slots=True)
class KnownGroups:
    """What a journal tells of groups, by their ids.

    >>> known, commit = KnownGroups(), Commit(5, 0, "m", bytes(16))
    >>> for number, (key, value) in enumerate([commit_row("g", "t", 1, commit), commit_row("g", "t", 2, None)]):
    ...     known.learn(Record(number, 0, key, value))
    >>> known.groups["g"].commits
    {('t', 1): Commit(offset=5, leader_epoch=0, metadata='m', \
topic_id=b'\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00')}
    """

    groups: dict[str, KnownGroup] = field(default_factory=dict)

    def learn(self, record: Record) -> None:
        """Take in a record; raises DecodeError if it is none. Records of other kinds are left out."""
        found = decode_group_record(record.key or b"", record.value)
        key: Any = found.key.message
        value: Any = found.value.message if found.value is not None else None
        if found.value is not None and value is None:
            return  # of a version that is not known
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
            group.commits[place] = Commit(value.offset, value.leader_epoch, value.metadata, value.topic_id)


def commit_row(group_id: str, topic: str, index: int, commit: Commit | None) -> Row:
    """Write what a group has committed for a partition; None if that is no more."""
    key = messages.OffsetCommitKey(group=group_id, topic=topic, partition=index)
    if commit is None:
        return encode_record(coordinator_record(key))
    value = messages.OffsetCommitValue(
        offset=commit.offset,
        leader_epoch=commit.leader_epoch,
        metadata=commit.metadata,
        commit_timestamp=-1,  # the time of day is not known here
        topic_id=commit.topic_id,
    )
    return encode_record(coordinator_record(key, value, VALUE_VERSION))


def group_row(group: Group) -> Row:
    """Write the generation of a group."""
    value = messages.GroupMetadataValue(
        protocol_type=group.protocol_type or "", generation=group.generation, protocol=None, leader=None, members=()
    )
    return encode_record(coordinator_record(messages.GroupMetadataKey(group=group.group_id), value, VALUE_VERSION))


def all_rows(group: Group) -> Iterator[Row]:
    """Write all that is remembered of a group."""
    if group.generation:
        yield group_row(group)
    for topic, indexes in group.commits.topics():
        for index in indexes:
            yield commit_row(group.group_id, topic, index, group.commits.last(topic, index))


def removal_rows(group: Group) -> Iterator[Row]:
    """Write that a group is no more."""
    for topic, indexes in group.commits.topics():
        for index in indexes:
            yield commit_row(group.group_id, topic, index, None)
    yield removal_row(group.group_id)


def removal_row(group_id: str) -> Row:
    """Write that a group has no generation."""
    return encode_record(coordinator_record(messages.GroupMetadataKey(group=group_id)))
