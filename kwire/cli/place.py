"""`kwire place`: replicas of new partitions, more replicas of old ones, or a look at what there is."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import SystemRandom
from typing import Any, TypeGuard

from ..cluster import Broker, ClusterState
from ..cluster.java_compat import Random
from ..cluster.multi_level_placement import Rings, increase_replication_factor
from ..cluster.rack_aware_placement import reassignment_json
from ..cluster.rack_spread import is_even
from ..cluster.rack_tree import RackTree
from ..cluster.replica_assignors import MOST_REPLICAS, assignor_for, place_replicas
from ..errors import DumpError, UnknownMessage, excerpt
from ..errors.refused import InvalidPartitions, InvalidReplicaAssignment
from ..render.cluster import assignment_lines, report_json, report_lines
from ..render.style import escape, json_text
from ..render.values import count_text
from .cluster import state_of
from .inputs import UsageError
from .options import add_colour, add_command, add_profile
from .terminal import remark, style_for

Plan = dict[tuple[str, int], list[int]]
MOST = 2**31 - 1
_IDS = ("nodeId", "node_id", "id", "brokerId", "broker_id")
_DIGITS = re.compile("[0-9]{1,10}")
_FORMS = 'write [{"id": 1, "rack": "/DC1/R1"}, ...], {"1": "/DC1/R1", ...}, or what kwire cluster --json writes'
_PLAN = 'write {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}, ...]}'


def read_brokers(file: str) -> list[Broker]:
    """Read brokers out of a file; `-` is standard input. A rack may be missing or null, and "fenced" may stand there.

    Raises:
        DumpError: it is not JSON of brokers.
        OSError: it cannot be read.
    """
    value = _read(file, _FORMS)
    if isinstance(value, dict):
        value = value["brokers"] if "brokers" in value else [{"id": key, "rack": rack} for key, rack in value.items()]
    if not isinstance(value, list):
        raise DumpError("there is no list of brokers in it", file=file, hint=_FORMS)
    return [_broker(row, file) for row in value]


def read_plan(file: str) -> Plan:
    """Read an assignment out of a file, as kafka-reassign-partitions takes it; `-` is standard input.

    Raises:
        DumpError: it is not JSON of an assignment.
        InvalidReplicaAssignment: a partition has a broker twice.
        OSError: it cannot be read.
    """
    value = _read(file, _PLAN)
    rows = value.get("partitions") if isinstance(value, dict) else None
    if not isinstance(rows, list) or not rows:
        raise DumpError("there are no partitions in it", file=file, hint=_PLAN)
    plan: Plan = {}
    for partition, replicas in (_partition(row, file) for row in rows):
        if partition in plan:
            raise DumpError(f"partition {partition[0]}-{partition[1]} is there twice", file=file)
        plan[partition] = replicas
    return plan


def _read(file: str, hint: str) -> Any:
    try:
        return json.loads(sys.stdin.read() if file == "-" else Path(file).read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise DumpError(f"it is not JSON: {error}", file=file, hint=hint) from None


def _broker(row: Any, file: str) -> Broker:
    if isinstance(row, list):
        row = dict(zip(("id", "rack"), row, strict=False))
    if isinstance(row, dict):
        node_id, rack = next((row[name] for name in _IDS if name in row), None), row.get("rack")
        if isinstance(node_id, str) and _DIGITS.fullmatch(node_id):
            node_id = int(node_id)
        if _is_id(node_id) and isinstance(rack, str | None):
            return Broker(node_id, rack=rack, fenced=row.get("fenced") is True)
    raise DumpError(f"{excerpt(row)} is no broker", file=file, hint=_FORMS)


def _partition(row: Any, file: str) -> tuple[tuple[str, int], list[int]]:
    if isinstance(row, dict):
        topic, index, replicas = row.get("topic"), row.get("partition"), row.get("replicas")
        if isinstance(topic, str) and _is_id(index) and isinstance(replicas, list) and all(map(_is_id, replicas)):
            if len(set(replicas)) < len(replicas):
                label = f"{topic}-{index}"
                raise InvalidReplicaAssignment("broker_twice_in_one_partition", partition=label, replicas=replicas)
            return (topic, index), replicas
    raise DumpError(f"{excerpt(row)} is no partition", file=file, hint=_PLAN)


def _is_id(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST


NEW_TOPIC = "new"  # stands in lines for a topic without a name


ASSIGNORS = (
    "multi-level (KIP-879), rack-aware (KIP-36), rack-aware-safe (the same, without racks if only some brokers have "
    "one), simple, striped (KRaft), or MODULE:FUNCTION; unless given, multi-level if all racks are paths, "
    "else rack-aware"
)


def add_parser(commands: Any, about: str) -> None:
    """Add the command and its options."""
    parser = add_command(
        commands,
        "place",
        about,
        "  kwire place --brokers b.json --partitions 12 --rf 3\n"
        "  kwire place --brokers b.json --partitions 12 --rf 3 --topic t --json > p.json\n"
        "      then: kafka-reassign-partitions --reassignment-json-file p.json --execute\n"
        "  kwire place --brokers b.json --current p.json          how even is it?\n"
        "  kwire place --brokers b.json --current p.json --rf 4   more replicas\n"
        "  kwire place --from dump.bin --topic orders                 as it is in a dump\n"
        '\nb.json: [{"id": 1, "rack": "/DC1/R1"}, ...], {"1": "/DC1/R1", ...}, or what\n'
        "kwire cluster --json writes. p.json: as kafka-reassign-partitions takes it.\n",
        place,
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--brokers", metavar="FILE", help="JSON of brokers and their racks; - is standard input")
    source.add_argument(
        "--from", dest="files", action="append", metavar="DUMP", help="brokers and partitions as a dump tells of them"
    )
    parser.add_argument("--as", dest="named", metavar="API:VERSION", help="for --from: what a response answers")
    add_profile(parser)
    parser.add_argument("--current", metavar="FILE", help="an assignment to look at, or to give more replicas")
    parser.add_argument("--partitions", type=int, metavar="N", help="place so many new partitions")
    parser.add_argument("--rf", type=int, metavar="N", help="replicas of each partition")
    parser.add_argument("--topic", metavar="T", help="the topic to place; of those that are there, this one alone")
    parser.add_argument("--broker-list", metavar="IDS", help="place on these brokers alone, such as 1,2,5")
    parser.add_argument("--assignor", metavar="NAME", help=ASSIGNORS)
    parser.add_argument("--disable-rack-awareness", action="store_true", help="force the simple algorithm")
    parser.add_argument(
        "--seed", type=int, metavar="N", help="of java.util.Random; by chance unless given, and printed"
    )
    parser.add_argument("--report", action="store_true", help="the report alone, without the assignment")
    parser.add_argument(
        "--json", action="store_true", help="JSON for kafka-reassign-partitions; with --report, the report"
    )
    add_colour(parser)
    parser.set_defaults(hex=None, recursive=False, body=False)


def place(options: argparse.Namespace) -> int:
    """Print the assignment and its report. Returns 1 if what there is was looked at, and could be more even."""
    brokers, current = _situation(options)
    if options.partitions is not None:
        if options.current or options.rf is None:
            raise UsageError("--partitions places new ones: it needs --rf, and no --current")
        title, plan = _placed(options, brokers)
    elif options.broker_list or options.assignor:
        raise UsageError("--broker-list and --assignor are for new partitions: add --partitions")
    elif not current:
        raise UsageError("say how many: --partitions and --rf, or --current FILE for an assignment that is there")
    elif not any(current.values()):
        raise DumpError("none of its partitions has replicas", file=options.current or ", ".join(options.files))
    elif options.rf is not None:
        title, plan = _raised(options, brokers, current)
    else:
        title, plan = f"{count_text(len(current), 'partition')} as they are", current
    tree = RackTree(_all_of(brokers, plan), strict=False)
    _show(options, title, tree, plan)
    looked = options.partitions is None and options.rf is None
    return 1 if looked and not all(is_even(tree, replicas) for replicas in plan.values()) else 0


def _situation(options: argparse.Namespace) -> tuple[list[Broker], Plan]:
    """Read brokers and partitions, out of files or out of a dump."""
    if options.brokers == options.current == "-":
        raise UsageError("--brokers and --current cannot both be standard input")
    state = state_of(options) if options.files else ClusterState()
    brokers = read_brokers(options.brokers) if options.brokers else list((state.brokers or {}).values())
    current = {(one.topic, one.index): list(one.replicas) for one in state.partitions()}
    if options.current:
        current = read_plan(options.current)
    topics = {topic for topic, _ in current}
    if options.topic and options.partitions is None and options.topic not in topics:
        raise UnknownMessage("topic", options.topic, sorted(topics))
    if options.topic:
        current = {key: replicas for key, replicas in current.items() if key[0] == options.topic}
    return brokers, current


def _placed(options: argparse.Namespace, brokers: Sequence[Broker]) -> tuple[str, Plan]:
    name = _assignor_name(options, brokers)
    found = place_replicas(
        brokers,
        options.partitions,
        options.rf,
        Random(_seed(options)),
        node_ids=_ids(options.broker_list),
        assignor=assignor_for(name),
    )
    what = f"{count_text(options.partitions, 'partition')} with {count_text(options.rf, 'replica')} each"
    plan = {(options.topic or NEW_TOPIC, index): replicas for index, replicas in found.items()}
    return f"{what}, placed by {name}, seed {options.seed}", plan


def _assignor_name(options: argparse.Namespace, brokers: Sequence[Broker]) -> str:
    if options.disable_rack_awareness:
        return "simple"
    paths = brokers and all(broker.rack and broker.rack.startswith("/") for broker in brokers)
    return str(options.assignor or ("multi-level" if paths else "rack-aware"))


def _raised(options: argparse.Namespace, brokers: Sequence[Broker], current: Plan) -> tuple[str, Plan]:
    """Give each partition more replicas, as KIP-879 does; flat racks are racks of one level."""
    if options.rf * len(current) > MOST_REPLICAS:
        raise InvalidPartitions(
            "too_many_replicas", num_partitions=len(current), replication_factor=options.rf, most=MOST_REPLICAS
        )
    bare = options.disable_rack_awareness or all(broker.rack is None for broker in brokers)
    pathed = [replace(broker, rack="/" if bare else _path(broker.rack)) for broker in brokers]
    plan = increase_replication_factor(pathed, current, options.rf, rng=Random(_seed(options)), rings=Rings.TURNED)
    what = f"{count_text(len(plan), 'partition')} with {count_text(options.rf, 'replica')} each now"
    return f"{what}, seed {options.seed}", plan


def _seed(options: argparse.Namespace) -> int:
    """Return the seed; one that is drawn stays, is printed, and places the same again when it is given."""
    if options.seed is None:
        options.seed = SystemRandom().randrange(2**31)
        if options.json:
            remark(f"placed with --seed {options.seed}")
    return int(options.seed)


def _path(rack: str | None) -> str | None:
    return rack if rack is None or rack.startswith("/") else f"/{rack}"


def _ids(text: str | None) -> list[int]:
    words = text.split(",") if text else []
    if not all(word.strip().isdecimal() and len(word.strip()) < 11 for word in words):
        raise UsageError(f"--broker-list {text}: write ids with commas between, such as 1,2,5")
    return [int(word) for word in words]


def _all_of(brokers: Sequence[Broker], plan: Plan) -> list[Broker]:
    """Return the brokers and those that only hold replicas, which have no rack that is known."""
    known = {broker.node_id for broker in brokers}
    missing = sorted({node_id for replicas in plan.values() for node_id in replicas} - known)
    if missing:
        remark(f"taken without rack: brokers {', '.join(map(str, missing))}, which hold replicas and are not listed")
    return [*brokers, *(Broker(node_id) for node_id in missing)]


def _show(options: argparse.Namespace, title: str, tree: RackTree, plan: Plan) -> None:
    if options.json:
        if not options.report and options.partitions is not None and not options.topic:
            raise UsageError("--json writes a plan for kafka-reassign-partitions, which needs --topic")
        print(json_text(report_json(tree, plan)) if options.report else _reassignment(plan))
        return
    style = style_for(sys.stdout, options.color)
    print(style.paint("title", escape(f"{title}, on {count_text(len(tree.brokers), 'broker')}")))
    if not options.report:
        print()
        for line in assignment_lines(tree, plan, style):
            print(line)
    for line in report_lines(tree, plan, style):
        print(line)


def _reassignment(plan: Plan) -> str:
    """Write the JSON of kafka-reassign-partitions, a partition a line."""
    topics: dict[str, dict[int, list[int]]] = {}
    for (topic, index), replicas in plan.items():
        topics.setdefault(topic, {})[index] = replicas
    whole = reassignment_json(topics)
    rows = ",\n  ".join(map(json.dumps, whole["partitions"]))
    return f'{{"version": {whole["version"]}, "partitions": [\n  {rows}\n]}}'
