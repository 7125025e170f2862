"""`kwire assign`: which partitions the assignors of clients and brokers assign to the members of a group, by release,
and whether the group's leader would rebalance after a change of racks (KIP-881).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import wrap
from typing import Any
from uuid import UUID

import msgspec

from ..cluster.assignors import (
    ASSIGNORS,
    STICKY,
    Member,
    MemberData,
    MetadataSnapshot,
    ReplicaRack,
    algorithm_for,
    assign,
    has_assignor,
    knows_racks,
    leader_rebalances,
    share_in_rack,
)
from ..cluster.assignors.members import Assignment, TopicPartition
from ..cluster.assignors.releases import NEWEST
from ..cluster.consumer_groups.group import Rebalance
from ..cluster.consumer_groups.tracker import GroupTracker
from ..errors import DumpError, UnknownMessage
from ..render.style import escape, json_text, table
from ..render.value_text import count_text
from .inputs_and_output import results
from .options import UsageError, add_command, add_inputs

CHANGED_IN = ("2.4", "2.8", "3.0", "3.4", "3.5", "3.5.2", "3.7.1")  # the results of a client's assignor
WIDTH, LEAST_WIDTH = 80, 24  # of lines, and of the column of partitions
MOST_BYTES = 1 << 26  # of a description in JSON
EVERY = "all"
SERVER_SIDE = ("uniform", "server-range")


def add_parser(commands: Any, about: str) -> None:
    """Add the command and its options."""
    parser = add_command(
        commands,
        "assign",
        about,
        "  kwire assign dump.pcap --group app          recompute its last rebalance\n"
        "  kwire assign group.json --assignor all      what each assignor gives\n"
        "  kwire assign group.json --release 3.4 --release 3.5\n"
        "  kwire assign group.json --rack 2=b          if broker 2 moved to rack b\n"
        "\nA description in JSON: topics with the brokers of each partition's replicas,\n"
        "racks of brokers, members:\n"
        '  {"assignor": "range", "brokers": {"1": "a", "2": "b"},\n'
        '   "topics": {"orders": [[1], [2]]},\n'
        '   "members": [{"id": "c1", "topics": ["orders"], "rack": "a"}]}\n',
        assign_command,
    )
    add_inputs(parser)
    parser.add_argument("--group", metavar="ID", help="the group to read from a capture with several")
    parser.add_argument("--generation", type=int, metavar="N", help="the rebalance of a capture; default: the last")
    parser.add_argument(
        "--assignor", action="append", metavar="NAME", help=f"{', '.join(ASSIGNORS)}; {EVERY}: those of the release"
    )
    parser.add_argument(
        "--release",
        action="append",
        metavar="R",
        help="Kafka release of the leader or broker; default: the captured leader's, or newest",
    )
    parser.add_argument("--rack", action="append", metavar="NODE=RACK", help="assume that this broker is in that rack")
    parser.add_argument("--json", action="store_true", help="as one JSON object")


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
            topic: {number: [one.rack for one in replicas] for number, replicas in enumerate(partitions)}
            for topic, partitions in self.snapshot.topics.items()
        }


def assign_command(options: argparse.Namespace) -> int:
    """Print assignments. Returns 0; 1 if the assignment of a capture's leader differs from the first computed one."""
    question = _question(options)
    changed = _with_racks(question, _racks_of(options.rack or ()))
    answers = [*_answers(options, question)]
    differs = question.sent is not None and not options.assignor and not same(answers[0]["members"], question.sent)
    if options.json:
        print(json_text(_json(options, question, changed, answers)))
        return int(differs)
    lines = [question.title]
    for answer in answers:
        lines += ["", *_lines(question, answer)]
    if changed is not None:
        for release in _releases(options, question):
            lines += ["", *_change_lines(question, changed, answers[0]["assignor"], release)]
    print(escape("\n".join(lines)))
    sys.stdout.flush()
    return int(differs)


def _question(options: argparse.Namespace) -> Question:
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
    return _of_rebalance(groups, options)


def _description(file: str) -> bytes | None:
    """Return the text of a description; None if the file is not a description."""
    if file == "-":
        return None
    try:
        with Path(file).open("rb") as stream:
            text = stream.read(MOST_BYTES)
    except OSError:
        return None  # the file is opened again as a dump, which reports the error
    is_one = text.lstrip()[:1] == b"{" and b'"members"' in text and b'"topics"' in text and b'"kwire"' not in text[:99]
    return text if is_one else None


def _of_description(text: bytes, file: str) -> Question:
    try:
        given = msgspec.json.decode(text, type=_Given)
        members = [*map(_member, given.members)]
    except (msgspec.DecodeError, ValueError) as error:
        hint = "kwire assign --help has an example"
        raise DumpError(f"it does not describe a group: {error}", file=file, hint=hint) from None
    twice = {one.id for one in given.members if sum(other.id == one.id for other in given.members) > 1}
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
    held = MemberData(owned, given.generation) if owned else None  # the sticky assignors' user data
    return Member(given.id, given.topics, given.rack, given.instance, given.generation, owned, held)


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
    found = {name: group.rebalances for name, group in groups.groups.items() if group.rebalances}
    if not found:
        hint = (
            "it takes JoinGroup and SyncGroup of a leader; describe groups of KIP-848 in JSON, for --assignor uniform"
        )
        raise DumpError("no rebalance of a group is in it", file=", ".join(options.files), hint=hint)
    if options.group is None and len(found) > 1:
        raise UsageError(f"choose one with --group: {', '.join(sorted(found))}")
    name = options.group if options.group is not None else next(iter(found))
    if name not in found:
        raise UnknownMessage("group with a rebalance", name, tuple(sorted(found)))
    chosen = [one for one in found[name] if options.generation in (None, one.generation)]
    if not chosen:
        generations = ", ".join(str(one.generation) for one in found[name])
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


def _releases(options: argparse.Namespace, question: Question) -> list[str]:
    return options.release or [question.release]


def _racks_of(texts: Iterable[str]) -> dict[int, str]:
    racks = {}
    for text in texts:
        node, separator, rack = text.partition("=")
        if not separator or not node.isdecimal() or len(node) > 10:
            raise UsageError(f"--rack {text}: write NODE=RACK, such as --rack 2=b")
        racks[int(node)] = rack
    return racks


def _with_racks(question: Question, racks: dict[int, str]) -> Question | None:
    """Return the group with the changed racks of brokers; None if no rack changes."""
    if not racks:
        return None
    nodes = {one.node_id for topic in question.snapshot.topics.values() for part in topic for one in part}
    unknown = sorted(racks.keys() - nodes)
    if unknown:
        raise UsageError(f"--rack {unknown[0]}=...: no partition has a replica on broker {unknown[0]}")
    topics = {
        topic: [[one._replace(rack=racks.get(one.node_id, one.rack)) for one in part] for part in partitions]
        for topic, partitions in question.snapshot.topics.items()
    }
    snapshot = MetadataSnapshot(question.snapshot.version + 1, topics)
    return replace(question, snapshot=snapshot, sent=None)


def _answers(options: argparse.Namespace, question: Question) -> Iterator[dict[str, Any]]:
    names = options.assignor or [question.assignor]
    every = EVERY in names
    for name in ASSIGNORS if every else names:
        for release in _releases(options, question):
            if every and not has_assignor(release, name):
                continue
            found = assign(name, question.topics, question.members, release=release, ids=question.ids)
            yield {"assignor": name, "release": release, **_measured(question, found)}


def _measured(question: Question, found: Assignment) -> dict[str, Any]:
    near, every = share_in_rack(question.topics, question.members, found)
    return {"inRack": near, "withRack": every, "members": found}


def _lines(question: Question, answer: dict[str, Any]) -> Iterator[str]:
    found: Assignment = answer["members"]
    release = answer["release"]
    racks = "" if knows_racks(release) else ", without racks (KIP-881 is in 3.5)"
    if answer["assignor"] in SERVER_SIDE:
        racks = ", without racks (KIP-848)"
    algorithm = ""
    if answer["assignor"] in STICKY:
        algorithm = f", {algorithm_for(question.topics, question.members, release)} algorithm"
    yield f"{answer['assignor']}, release {release}{algorithm}{racks}"
    if answer["withRack"]:
        yield f"{answer['inRack']} of {answer['withRack']} partitions have a replica in their member's rack"
    given = {member.member_id: member for member in question.members}
    names = [[name, given[name].rack or "-"] for name in sorted(found)]
    width = WIDTH - sum(max(map(len, column)) + 2 for column in zip(["member", "rack"], *names, strict=True))
    rows = []
    for name, rack in names:
        texts = wrap(" ".join(_texts(found[name])), max(width, LEAST_WIDTH), break_on_hyphens=False) or ["-"]
        rows += [[name, rack, texts[0]], *(["", "", text] for text in texts[1:])]
    yield from table(["member", "rack", "partitions"], rows)
    if question.sent is not None and answer["assignor"] == question.assignor:
        yield "the leader sent the same assignment" if same(found, question.sent) else _other(found, question.sent)
        others = [one for one in CHANGED_IN if not same(found, question.sent) and _gives(question, one, question.sent)]
        if others:
            yield f"which is what release {others[-1]} gives: try --release {others[-1]}"


def _gives(question: Question, release: str, sent: Assignment) -> bool:
    if question.assignor not in ASSIGNORS or not has_assignor(release, question.assignor):
        return False
    return same(assign(question.assignor, question.topics, question.members, release=release), sent)


def _other(found: Assignment, sent: Assignment) -> str:
    names = [name for name in sorted(sent) if set(found.get(name, ())) != set(sent[name])]
    texts = (f"{name}: {' '.join(_texts(sent[name])) or 'nothing'}" for name in names)
    return "the leader sent another assignment: " + "; ".join(texts)


def same(found: Assignment, sent: Assignment) -> bool:
    """Whether two assignments give each member the same partitions, in any order."""
    return {name: set(one) for name, one in found.items()} == {name: set(one) for name, one in sent.items()}


def _texts(partitions: Iterable[TopicPartition]) -> list[str]:
    return [f"{topic}-{number}" for topic, number in partitions]


def _leader_rack(question: Question) -> str | None:
    by_id = {member.member_id: member for member in question.members}
    leader = by_id.get(question.leader or "") or question.members[0]
    return leader.rack


def _rebalances(question: Question, changed: Question, release: str) -> bool:
    subscribed = {topic for member in question.members for topic in member.topics}
    rack = _leader_rack(question)
    return leader_rebalances(subscribed, question.snapshot, changed.snapshot, client_rack=rack, release=release)


def _change_lines(question: Question, changed: Question, assignor: str, release: str) -> Iterator[str]:
    asks = _rebalances(question, changed, release)
    rack = _leader_rack(question) or "none"
    answer = "requests a rebalance" if asks else "requests no rebalance"
    yield f"with the racks of --rack, a leader (release {release}, client.rack {rack}) {answer}"
    if asks:
        found = assign(assignor, changed.topics, changed.members, release=release)
        yield from _lines(changed, {"assignor": assignor, "release": release, **_measured(changed, found)})


def _json(
    options: argparse.Namespace, question: Question, changed: Question | None, answers: list[dict[str, Any]]
) -> dict[str, Any]:
    def plain(found: Assignment) -> dict[str, list[str]]:
        return {name: _texts(found[name]) for name in sorted(found)}

    members: dict[str, Any] = {
        "assignments": [{**one, "members": plain(one["members"])} for one in answers],
        "sent": None if question.sent is None else plain(question.sent),
    }
    if changed is not None:
        releases = _releases(options, question)
        members["rebalances"] = {release: _rebalances(question, changed, release) for release in releases}
    return members
