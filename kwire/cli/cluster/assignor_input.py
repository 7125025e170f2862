"""The input of `kwire assign`: a group from its description in JSON, or from a rebalance in a capture."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import msgspec

from ...cluster.assignors import ASSIGNORS, Member, MemberData, MetadataSnapshot, ReplicaRack, has_assignor
from ...cluster.assignors.members import Assignment, TopicPartition
from ...cluster.assignors.releases import NEWEST
from ...cluster.consumer_groups.group import Rebalance
from ...cluster.consumer_groups.tracker import GroupTracker
from ...errors import DumpError, UnknownMessage
from ...render.value_text import count_text
from ..input.dump_decoder import results
from ..options.usage_error import UsageError

MOST_BYTES = 1 << 26  # of a description in JSON
PEEKED = 1 << 13  # bytes of standard input by which a description is recognised
EVERY = "all"


class _Member(msgspec.Struct, forbid_unknown_fields=True):
    """A member in the description of a group."""

    id: str
    topics: list[str]
    rack: str | None = None
    instance: str | None = None
    generation: int = -1
    owned: list[str] = []


class _Given(msgspec.Struct, forbid_unknown_fields=True):
    """The description of a group. A topic is a number of partitions, or the node ids of each partition's replicas."""

    topics: dict[str, int | list[list[int]]]
    members: list[_Member]
    brokers: dict[int, str | None] = {}
    ids: dict[str, UUID] = {}
    assignor: str = EVERY
    leader: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """The input of an assignor; `sent` is the assignment that the captured leader sent; `release` is the leader's
    release, if known.
    """

    title: str
    assignor: str
    leader: str | None
    members: list[Member]
    snapshot: MetadataSnapshot
    sent: Assignment | None = None
    ids: dict[str, bytes] | None = None
    release: str = NEWEST

    @property
    def topics(self) -> dict[str, dict[int, list[str | None]]]:
        """The topics, each partition with the racks of its replicas."""
        return {
            topic: {number: [replica.rack for replica in replicas] for number, replicas in enumerate(partitions)}
            for topic, partitions in self.snapshot.topics.items()
        }


def read_question(options: argparse.Namespace) -> Question:
    """Read a group from its description or from a capture."""
    if len(options.files) == 1 and options.hex is None:
        text = _description(options.files[0])
        if text is not None:
            if options.group or options.generation is not None:
                raise UsageError("--group and --generation choose a rebalance of a capture; this is a description")
            return _of_description(text, options.files[0])
    groups = GroupTracker()
    for result in results(options):
        groups.apply(result)
    groups.identity.check()
    return _of_rebalance(groups, options)


def _description(file: str) -> bytes | None:
    """Return the text of a description; None if the file is not a description."""
    if file == "-":
        stream = sys.stdin.buffer
        return stream.read(MOST_BYTES) if _is_description(stream.peek(PEEKED)) else None  # type: ignore[union-attr]
    try:
        with Path(file).open("rb") as stream:
            text = stream.read(MOST_BYTES)
    except OSError:
        return None  # the file is opened again as a dump, which reports the error
    return text if _is_description(text) else None


def _is_description(text: bytes) -> bool:
    """Whether a file that begins so is the description of a group, and not JSON lines of frames or a request log."""
    names = b'"members"', b'"topics"'
    return text.lstrip()[:1] == b"{" and any(name in text for name in names) and b'"kwire"' not in text[:99]


def _of_description(text: bytes, file: str) -> Question:
    try:
        given = msgspec.json.decode(text, type=_Given)
        members = [*map(_member, given.members)]
    except (msgspec.DecodeError, ValueError) as error:
        hint = "kwire assign --help has an example"
        raise DumpError(f"it does not describe a group: {error}", file=file, hint=hint) from None
    twice = {member.id for member in given.members if sum(other.id == member.id for other in given.members) > 1}
    if twice or not members:
        problem = f"members occur twice: {', '.join(sorted(twice))}" if twice else "there are no members"
        raise DumpError(problem, file=file, hint="each member has an id of its own")
    topics = {topic: _replicas(partitions, given.brokers) for topic, partitions in given.topics.items()}
    title = f"{count_text(len(members), 'member')}, {count_text(len(topics), 'topic')}"
    without = sorted(topics.keys() - given.ids.keys()) if given.ids else []
    if without:
        raise DumpError(f"topic {without[0]} has no id", file=file, hint="give the ids of all topics, or none")
    ids = {topic: given.ids[topic].bytes for topic in topics} if given.ids else None
    return Question(title, given.assignor, given.leader, members, MetadataSnapshot(1, topics), None, ids)


def _member(given: _Member) -> Member:
    owned = [*map(_partition, given.owned)]
    user_data = MemberData(owned, given.generation) if owned else None  # the sticky assignors' user data
    return Member(given.id, given.topics, given.rack, given.instance, given.generation, owned, user_data)


def _replicas(partitions: int | list[list[int]], brokers: dict[int, str | None]) -> list[list[ReplicaRack]]:
    if isinstance(partitions, int):
        if not 0 <= partitions <= 1_000_000:
            raise DumpError(f"{partitions} partitions of a topic", hint="the number must be 0 to 1000000")
        return [[] for _ in range(partitions)]
    return [[_replica(node, brokers) for node in nodes] for nodes in partitions]


def _replica(node: int, brokers: dict[int, str | None]) -> ReplicaRack:
    return ReplicaRack(node, brokers[node]) if node in brokers else ReplicaRack(node, online=False)


def _partition(text: str) -> TopicPartition:
    topic, _, number = text.rpartition("-")
    if not topic or not number.isdecimal():
        raise ValueError(f"{text!r} is not a partition; write TOPIC-NUMBER")
    return topic, int(number)


def _of_rebalance(groups: GroupTracker, options: argparse.Namespace) -> Question:
    rebalances = {name: group.rebalances for name, group in groups.groups.items() if group.rebalances}
    if not rebalances:
        hint = (
            "it takes JoinGroup and SyncGroup of a leader; describe groups of KIP-848 in JSON, for --assignor uniform"
        )
        raise DumpError("no rebalance of a group is in it", file=", ".join(options.files), hint=hint)
    if options.group is None and len(rebalances) > 1:
        raise UsageError(f"choose one with --group: {', '.join(sorted(rebalances))}")
    name = options.group if options.group is not None else next(iter(rebalances))
    if name not in rebalances:
        raise UnknownMessage("group with a rebalance", name, tuple(sorted(rebalances)))
    chosen = [rebalance for rebalance in rebalances[name] if options.generation in (None, rebalance.generation)]
    if not chosen:
        generations = ", ".join(str(rebalance.generation) for rebalance in rebalances[name])
        raise UsageError(f"--generation {options.generation}: group {name} has {generations}")
    return _of(name, chosen[-1])


def _of(name: str, rebalance: Rebalance) -> Question:
    members = count_text(len(rebalance.members), "member")
    title = f"group {name}, generation {rebalance.generation}, {rebalance.assignor}, {members}"
    sent = None
    if rebalance.assigned is not None:
        sent = {member_id: [*partitions] for member_id, partitions in rebalance.assigned.items()}
    release = rebalance.release
    if release is None or rebalance.assignor not in ASSIGNORS or not has_assignor(release, rebalance.assignor):
        release = NEWEST
    who = rebalance.assignor, rebalance.leader, rebalance.members, rebalance.snapshot
    return Question(title, *who, sent, release=release)
