"""`kwire assign`: which partitions the assignors of clients and brokers assign to the members of a group, by release,
and whether the group's leader would rebalance after a change of racks (KIP-881).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from textwrap import wrap
from typing import Any

from ...cluster.assignors import (
    ASSIGNORS,
    STICKY,
    MetadataSnapshot,
    ReplicaRack,
    algorithm_for,
    assign,
    has_assignor,
    knows_racks,
    leader_rebalances,
    share_in_rack,
)
from ...cluster.assignors.members import Assignment, TopicPartition
from ...render.escaping import escape, json_text
from ...render.table import table
from ..cluster.assignor_input import EVERY, Question, read_question
from ..options.inputs import add_inputs
from ..options.usage_error import UsageError

CHANGED_IN = ("2.4", "2.8", "3.0", "3.4", "3.5", "3.5.2", "3.7.1")  # the results of a client's assignor
WIDTH, LEAST_WIDTH = 80, 24  # of lines, and of the column of partitions
SERVER_SIDE = ("uniform", "server-range")


EXAMPLES = """\
  kwire assign dump.pcap --group app          recompute its last rebalance
  kwire assign group.json --assignor all      what each assignor gives
  kwire assign group.json --release 3.4 --release 3.5
  kwire assign group.json --rack 2=b          if broker 2 moved to rack b

A description in JSON: topics with the brokers of each partition's replicas,
racks of brokers, members:
  {"assignor": "range", "brokers": {"1": "a", "2": "b"},
   "topics": {"orders": [[1], [2]]},
   "members": [{"id": "c1", "topics": ["orders"], "rack": "a"}]}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
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


def run(options: argparse.Namespace) -> int:
    """Print assignments. Returns 0; 1 if the assignment of a capture's leader differs from the first computed one."""
    question = read_question(options)
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
    nodes = {replica.node_id for topic in question.snapshot.topics.values() for part in topic for replica in part}
    unknown = sorted(racks.keys() - nodes)
    if unknown:
        raise UsageError(f"--rack {unknown[0]}=...: no partition has a replica on broker {unknown[0]}")

    def move(replica: ReplicaRack) -> ReplicaRack:
        return replica._replace(rack=racks.get(replica.node_id, replica.rack))

    topics = {
        topic: [[*map(move, replicas)] for replicas in partitions]
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
            members = assign(name, question.topics, question.members, release=release, ids=question.ids)
            yield {"assignor": name, "release": release, **_count_in_rack(question, members)}


def _count_in_rack(question: Question, members: Assignment) -> dict[str, Any]:
    near, every = share_in_rack(question.topics, question.members, members)
    return {"inRack": near, "withRack": every, "members": members}


def _lines(question: Question, answer: dict[str, Any]) -> Iterator[str]:
    assignment: Assignment = answer["members"]
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
    names = [[name, given[name].rack or "-"] for name in sorted(assignment)]
    width = WIDTH - sum(max(map(len, column)) + 2 for column in zip(["member", "rack"], *names, strict=True))
    rows = []
    for name, rack in names:
        texts = wrap(" ".join(_texts(assignment[name])), max(width, LEAST_WIDTH), break_on_hyphens=False) or ["-"]
        rows += [[name, rack, texts[0]], *(["", "", text] for text in texts[1:])]
    yield from table(["member", "rack", "partitions"], rows)
    if question.sent is not None and answer["assignor"] == question.assignor:
        if same(assignment, question.sent):
            yield "the leader sent the same assignment"
            return
        yield _other(assignment, question.sent)
        others = [candidate for candidate in CHANGED_IN if _gives(question, candidate, question.sent)]
        if others:
            yield f"which is what release {others[-1]} gives: try --release {others[-1]}"


def _gives(question: Question, release: str, sent: Assignment) -> bool:
    if question.assignor not in ASSIGNORS or not has_assignor(release, question.assignor):
        return False
    return same(assign(question.assignor, question.topics, question.members, release=release), sent)


def _other(computed: Assignment, sent: Assignment) -> str:
    names = [name for name in sorted(sent) if set(computed.get(name, ())) != set(sent[name])]
    texts = (f"{name}: {' '.join(_texts(sent[name])) or 'nothing'}" for name in names)
    return "the leader sent another assignment: " + "; ".join(texts)


def same(computed: Assignment, sent: Assignment) -> bool:
    """Whether two assignments give each member the same partitions, in any order."""
    return computed.keys() == sent.keys() and all(set(computed[name]) == set(sent[name]) for name in sent)


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
        members = assign(assignor, changed.topics, changed.members, release=release)
        yield from _lines(changed, {"assignor": assignor, "release": release, **_count_in_rack(changed, members)})


def _json(
    options: argparse.Namespace, question: Question, changed: Question | None, answers: list[dict[str, Any]]
) -> dict[str, Any]:
    def plain(assignment: Assignment) -> dict[str, list[str]]:
        return {name: _texts(assignment[name]) for name in sorted(assignment)}

    members: dict[str, Any] = {
        "assignments": [{**answer, "members": plain(answer["members"])} for answer in answers],
        "sent": None if question.sent is None else plain(question.sent),
    }
    if changed is not None:
        releases = _releases(options, question)
        members["rebalances"] = {release: _rebalances(question, changed, release) for release in releases}
    return members
