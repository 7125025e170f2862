"""`kwire place`: places new partitions, computes and executes plans that move replicas, or shows the placement."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import Any

from ..client.address import Address
from ..client.apply_plan import Progress, apply_plan, cancel_plan, progress_of, remove_throttle, under_way
from ..client.live_cluster import LiveCluster
from ..cluster import Broker, broker_metadatas
from ..cluster.placement.rack_spread import LevelSpread, RackLoss, is_even, losses_of, spread_of
from ..cluster.placement.rack_tree import RackNode, RackTree
from ..cluster.plan.reassignment_json import Plan, reassignment_json
from ..cluster.plan.replica_plan import ReplicaPlan
from ..errors import DumpError
from ..render.style import PLAIN, Style, escape, json_text, table
from ..render.value_text import count_text, size_text
from .cluster_input import (
    NEW_TOPIC,
    Situation,
    assignor_name,
    check_count,
    check_known,
    ids_in,
    mode_of,
    more_partitions,
    new_partitions,
    read_plan,
    read_situation,
    replacements_in,
    target_of,
    with_added,
)
from .options import UsageError, add_colour, add_command, add_profile, add_security, add_timeout, security_of
from .terminal import remark, style_for

PAUSE = 1.0  # seconds between two polls of a reassignment

ASSIGNORS = (
    "for new partitions: multi-level (KIP-879), rack-aware (KIP-36), rack-aware-safe, simple, striped (KRaft), even "
    "(the least loaded brokers), or MODULE:FUNCTION; default: multi-level if all racks are paths, else rack-aware"
)
EXAMPLES = """\
  kwire place :9092                            show how even it is
  kwire place :9092 --repair                   plan to repair racks
  kwire place :9092 --remove 3 --json > p.json
  kwire place :9092 --plan p.json              show its moves
  kwire place :9092 --plan p.json --apply      execute; again: resume
  kwire place dump.bin --balance --leaders     balance brokers and leaders
  kwire place b.json --partitions 12 --rf 3 --topic orders
  kwire place --brokers b.json --current p.json --rf 4 --json

SOURCE: a broker's HOST:PORT, a dump, a metadata log, or JSON: what kwire
cluster --json writes, [{"id": 1, "rack": "/DC1/R1"}, ...], {"1": "/DC1/R1"}.
Plans are JSON for kafka-reassign-partitions. Only --apply and --cancel change
anything. Exit code 1: replicas could be spread more evenly, or --verify finds
that the plan is not carried out yet.
"""


def add_parser(commands: Any, about: str) -> None:
    """Add the command and its options."""
    parser = add_command(commands, "place", about, EXAMPLES, place)
    _add_inputs(parser)
    _add_changes(parser)
    _add_rules(parser)
    _add_live(parser)
    parser.add_argument("--report", action="store_true", help="only the report, without partitions")
    parser.add_argument(
        "--json", action="store_true", help="JSON for kafka-reassign-partitions; with --report, the report"
    )
    parser.add_argument(
        "--rollback", metavar="FILE", help="write the current replicas of changed partitions, as a plan"
    )
    add_colour(parser)
    add_security(parser)
    parser.set_defaults(hex=None, recursive=False, body=False)


def _add_inputs(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the cluster")
    group.add_argument("source", nargs="?", metavar="SOURCE", help="see above")
    group.add_argument("--brokers", metavar="FILE", help="JSON of brokers and their racks; - is standard input")
    group.add_argument("--from", dest="files", action="append", metavar="DUMP", help="a dump; may be repeated")
    group.add_argument("--as", dest="named", metavar="API:VERSION", help="for a dump: the api of a response")
    group.add_argument("--current", metavar="FILE", help="partitions and their replicas, instead of those of SOURCE")
    group.add_argument("--sizes", metavar="FILE", help="output of kafka-log-dirs --describe")
    group.add_argument("--topic", metavar="T", help="the topic to place; of existing topics, only this one")
    add_profile(parser)


def _add_changes(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what to change")
    group.add_argument("--partitions", type=int, metavar="N", help="partitions of a new topic, or new total of a topic")
    group.add_argument("--rf", type=int, metavar="N", help="new replication factor")
    group.add_argument("--add", metavar="IDS", help="new brokers, with racks: 7=/DC1/R2,8=/DC2/R1; implies --balance")
    group.add_argument("--remove", metavar="IDS", help="brokers to empty: 3,4")
    group.add_argument("--replace", metavar="OLD=NEW", help="brokers to replace by others: 3=7,4=8")
    group.add_argument("--repair", action="store_true", help="spread partitions over racks, where possible")
    group.add_argument("--balance", action="store_true", help="also balance the number of replicas per broker")
    group.add_argument(
        "--by",
        choices=("replicas", "bytes"),
        default="replicas",
        help="what --balance evens out; default: replicas",
    )
    group.add_argument("--leaders", action="store_true", help="balance preferred leaders and followers")
    group.add_argument(
        "--generate", action="store_true", help="place everything with an assignor, as Kafka's tool does"
    )
    group.add_argument("--plan", metavar="FILE", help="an existing plan")


def _add_rules(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how")
    group.add_argument(
        "--fewest", choices=("bytes", "replicas"), help="what to minimise; default: bytes if sizes are known"
    )
    group.add_argument(
        "--mode",
        choices=("enforced", "safe", "disabled"),
        default="enforced",
        help="racks (KIP-36): required; used if all brokers have one; ignored",
    )
    group.add_argument("--disable-rack-awareness", action="store_true", help="--mode disabled, and --assignor simple")
    group.add_argument("--broker-list", metavar="IDS", help="place new partitions only on these, such as 1,2,5")
    group.add_argument("--assignor", metavar="NAME", help=ASSIGNORS)
    group.add_argument("--seed", type=int, metavar="N", help="seed of java.util.Random; default: random, and printed")


def _add_live(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("on a live cluster, if SOURCE is HOST:PORT")
    group.add_argument("--apply", action="store_true", help="execute the plan, and wait for its end")
    group.add_argument(
        "--verify", action="store_true", help="show the progress of --plan; at its end, remove throttles"
    )
    group.add_argument("--cancel", action="store_true", help="cancel the rest of --plan, and remove throttles")
    group.add_argument("--batch", type=int, default=100, metavar="N", help="partitions at a time; default: 100")
    group.add_argument("--throttle", type=int, metavar="BYTES", help="bytes per second that each broker may copy")
    add_timeout(group, 30, "for each reading of the state, from all brokers together, and for each change")


def place(options: argparse.Namespace) -> int:
    """Print an assignment or a plan and its report, or execute a plan; returns the exit code, see `EXAMPLES`."""
    _check(options)
    found = read_situation(options)
    if options.apply or options.verify or options.cancel:
        _check_live(found.address)
    if options.verify or options.cancel:
        return _follow(options, found)
    if options.partitions is not None:
        return _new_partitions(options, found)
    if not found.partitions:
        what = "it has no partitions; " if found.address or options.files else ""
        raise UsageError(
            f"{what}say how many: --partitions and --rf, or --current FILE for an assignment that is there"
        )
    if not any(found.partitions.values()):
        named = options.current or options.source or ", ".join(options.files)
        raise DumpError("none of its partitions has replicas", file=named)
    changes = "plan generate rf add remove replace repair balance leaders".split()
    if _any_of(options, changes):
        return _change(options, found)
    if options.broker_list or options.assignor:
        raise UsageError("--broker-list and --assignor are for new partitions: add --partitions, or --generate")
    return _look(options, found)


def _check(options: argparse.Namespace) -> None:
    if options.disable_rack_awareness:
        options.mode = "disabled"
    if options.partitions is not None and options.current and not options.topic:
        raise UsageError("--partitions with --current adds partitions to a topic: name it with --topic")
    if (options.verify or options.cancel) and not options.plan:
        raise UsageError("--verify and --cancel need the plan: --plan FILE")
    if sum((options.apply, options.verify, options.cancel)) > 1:
        raise UsageError("--apply, --verify and --cancel: give one of them")
    others = "rf add remove replace repair balance leaders".split()
    if (options.plan or options.generate) and _any_of(options, others):
        raise UsageError("--plan and --generate say where all replicas are to be: give no other change")
    if options.batch < 1 or (options.throttle is not None and options.throttle < 1):
        raise UsageError("--batch and --throttle take numbers from 1 on")


def _any_of(options: argparse.Namespace, names: Sequence[str]) -> bool:
    """Whether any of these options is given; 0 is a value."""
    return any(getattr(options, name) is not None and getattr(options, name) is not False for name in names)


def _check_live(where: Address | None) -> None:
    if where is None:
        raise UsageError("--apply, --verify and --cancel need a live cluster: SOURCE must be HOST:PORT")


def _look(options: argparse.Namespace, found: Situation) -> int:
    """Show the current placement. Returns 1 if it could be more even."""
    plan = found.partitions
    tree = RackTree(_all_of(found.brokers, plan), strict=False)
    _show(options, f"{count_text(len(plan), 'partition')} as they are", tree, plan)
    return 0 if all(is_even(tree, replicas) for replicas in plan.values()) else 1


def _show(options: argparse.Namespace, title: str, tree: RackTree, plan: Plan) -> None:
    if options.json:
        print(json_text(report_json(tree, plan)) if options.report else _reassignment(plan))
        return
    style = style_for(sys.stdout, options.color)
    for line in wrapped(f"{title}, on {count_text(len(tree.brokers), 'broker')}", style):
        print(style.paint("title", line))
    if not options.report:
        print()
        for line in assignment_lines(tree, plan, style):
            print(line)
    for line in report_lines(tree, plan, style):
        print(line)


def _new_partitions(options: argparse.Namespace, found: Situation) -> int:
    """Place the partitions of a new topic, or additional partitions of a topic."""
    if options.json and not options.report and not options.topic:
        raise UsageError("--json writes a plan for kafka-reassign-partitions, which needs --topic")
    existing = found.partitions if options.topic else {}
    if options.rf is None and not existing:
        raise UsageError("--partitions places new ones: it needs --rf")
    if existing and options.rf is not None:
        raise UsageError(f"topic {options.topic} exists: --rf is for new topics, this one keeps its factor")
    name = assignor_name(options, found.brokers)
    placed = more_partitions(options, found, name) if existing else new_partitions(options, found, name)
    plan = {(options.topic or NEW_TOPIC, index): replicas for index, replicas in placed.items()}
    count, replicas = len(plan), len(next(iter(plan.values()), []))
    added = "in addition, " if existing else ""
    title = f"{count_text(count, 'partition')} with {count_text(replicas, 'replica')} each, {added}placed by {name}"
    if options.seed is not None:
        title += f", seed {options.seed}"
    _show(options, title, RackTree(_all_of(found.brokers, plan), strict=False), plan)
    if options.apply:
        _apply(options, found, plan)
    return 0


def _change(options: argparse.Namespace, found: Situation) -> int:
    """Show a plan that changes the current placement, and execute it with --apply."""
    if options.rf is not None:
        check_count(len(found.partitions), options.rf)
    current, brokers = found.partitions, with_added(options, found.brokers or _all_of([], found.partitions))
    removed = {*ids_in(options.remove, "--remove"), *replacements_in(options)}
    brokers += [
        Broker(new, rack=next((one.rack for one in brokers if one.node_id == old), None))
        for old, new in replacements_in(options).items()
        if new not in {one.node_id for one in brokers}
    ]
    check_known(brokers, removed)
    brokers = broker_metadatas(brokers, mode_of(options))
    left = [one for one in brokers if one.node_id not in removed and not one.fenced]
    if not left:
        raise UsageError("no broker is left to hold replicas")
    trees = RackTree(brokers, strict=False), RackTree(left, strict=False)
    after = target_of(options, found, left, trees[1], removed)
    plan = ReplicaPlan(current, after, {} if options.fewest == "replicas" else found.sizes)
    _show_plan(options, trees, plan)
    if options.rollback:
        _write(options.rollback, {key: list(plan.before[key]) for key in plan.changed()})
    if options.apply:
        _apply(options, found, {key: list(plan.after[key]) for key in plan.changed()})
    return 0


def _all_of(brokers: Sequence[Broker], plan: Plan) -> list[Broker]:
    """Return the brokers, including those known only from replicas, whose racks are unknown."""
    known = {broker.node_id for broker in brokers}
    missing = sorted({node_id for replicas in plan.values() for node_id in replicas} - known)
    if missing:
        remark(f"taken without rack: brokers {', '.join(map(str, missing))}, which hold replicas and are not listed")
    return [*brokers, *(Broker(node_id) for node_id in missing)]


def _show_plan(
    options: argparse.Namespace, trees: tuple[RackTree, RackTree], plan: ReplicaPlan[tuple[str, int]]
) -> None:
    if options.json:
        changed = {key: list(plan.after[key]) for key in plan.changed()}
        print(json_text(comparison_json(trees, plan)) if options.report else _reassignment(changed))
        if not options.report:
            remark(plan_summary(plan))
        return
    style = style_for(sys.stdout, options.color)
    for line in wrapped(plan_summary(plan), style):
        print(style.paint("title", line))
    if not options.report and plan.changed():
        print()
        for line in plan_lines(plan, style):
            print(line)
    for line in comparison_lines(trees, plan, style):
        print(line)


def _reassignment(plan: Plan) -> str:
    """Format a plan as the JSON of kafka-reassign-partitions, one line per partition."""
    topics: dict[str, dict[int, list[int]]] = {}
    for (topic, index), replicas in plan.items():
        topics.setdefault(topic, {})[index] = replicas
    whole = reassignment_json(topics)
    rows = ",\n  ".join(map(json.dumps, whole["partitions"]))
    return f'{{"version": {whole["version"]}, "partitions": [{f"{chr(10)}  {rows}{chr(10)}" if rows else ""}]}}'


def _write(file: str, plan: Plan) -> None:
    """Write a plan to a file that must not exist yet."""
    with Path(file).open("x", encoding="utf-8") as stream:
        stream.write(f"{_reassignment(plan)}\n")


def _apply(options: argparse.Namespace, found: Situation, plan: Plan) -> None:
    """Execute a plan, and print its progress."""
    assert found.address is not None
    with LiveCluster(found.address, options.timeout, security_of(options)) as cluster:
        if not options.plan and under_way(cluster):
            raise UsageError(
                "partitions are being reassigned: let it end, or go on with that plan by --plan FILE --apply"
            )
        done = apply_plan(cluster, plan, _wait, batch=options.batch, throttle=options.throttle)
    remark(f"carried out: {_progress(done)}")


def _wait(progress: Progress) -> None:
    remark(_progress(progress))
    time.sleep(PAUSE)


def _progress(progress: Progress) -> str:
    return f"{len(progress.done)} done, {len(progress.moving)} under way, {len(progress.waiting)} to come"


def _follow(options: argparse.Namespace, found: Situation) -> int:
    """Print the progress of a plan, or cancel it. Returns 1 if the plan is not complete."""
    plan = read_plan(options.plan)
    assert found.address is not None
    with LiveCluster(found.address, options.timeout, security_of(options)) as cluster:
        if options.cancel:
            print(f"cancelled: {count_text(len(cancel_plan(cluster, plan)), 'partition')}")
            _end_throttle(cluster, plan)
            return 0
        progress = progress_of(cluster, plan)
        for name, keys in (("under way", progress.moving), ("not as planned", progress.waiting)):
            for topic, index in keys:
                print(escape(f"{topic}-{index}  {name}"))
        print(_progress(progress))
        if progress.is_complete:
            _end_throttle(cluster, plan)
        return 0 if progress.is_complete else 1


def _end_throttle(cluster: LiveCluster, plan: Plan) -> None:
    if refusal := remove_throttle(cluster, plan):
        remark(f"throttles could not be removed: {refusal}")


PlacedPartition = tuple[str, int]
Placed = Mapping[PlacedPartition, Sequence[int]]
UNBALANCED = 1.5  # the ratio to the least loaded broker's replicas at which a warning is printed


def assignment_lines(tree: RackTree, placed: Placed, style: Style = PLAIN) -> Iterator[str]:
    """Yield a line for each partition: its brokers, the preferred leader first, and their racks."""
    labels = _labels(placed)
    racks = {node_id: leaf.path for node_id, leaf in tree.brokers.items()}
    rows = []
    for partition, replicas in placed.items():
        places = " ".join(racks[node_id] for node_id in replicas)
        rows.append([labels[partition], ",".join(map(str, replicas)) or "-", places])
    head = ["partition", "replicas", "racks"]
    bare = len(tree.nodes) == 1
    yield from table(head[:2] if bare else head, [row[:2] if bare else row for row in rows], style)


def report_lines(tree: RackTree, placed: Placed, style: Style = PLAIN) -> Iterator[str]:
    """Yield the spread by level, warnings, and what the failure of each node makes unavailable.

    Args:
        tree: all brokers, also those without replicas.
        placed: the replicas of each partition.
        style: colours, and the width at which lists are wrapped.
    """
    labels = _labels(placed)
    levels = spread_of(tree, placed)
    for level in levels:
        yield ""
        yield from _level_lines(level, labels, style)
    warnings = list(_warnings(levels))
    if warnings:
        yield ""
        yield from (style.paint("warning", line) for text in warnings for line in wrapped(text, style))
    yield ""
    yield from _loss_lines(losses_of(tree, placed), labels, style)


def report_json(tree: RackTree, placed: Placed) -> dict[str, Any]:
    """Return the report as plain values for JSON."""
    return {
        "kwire": 1,
        "levels": [_level_json(level) for level in spread_of(tree, placed)],
        "lost": [
            _node_json(loss.node) | {"majority": _names(loss.majority), "everything": _names(loss.everything)}
            for loss in losses_of(tree, placed)
        ],
    }


def plan_lines(plan: ReplicaPlan[PlacedPartition], style: Style = PLAIN) -> Iterator[str]:
    """Yield a line for each partition that changes: its brokers before and after, and the brokers between which
    replicas move.
    """
    rows = []
    for topic, index in plan.changed():
        before, after = plan.before[topic, index], plan.after[topic, index]
        lists = [",".join(map(str, replicas)) or "-" for replicas in (before, after)]
        gone = [str(one) for one in before if one not in after]
        gained = [str(one) for one in after if one not in before]
        both = f"{','.join(gone) or '-'} -> {','.join(gained) or '-'}" if gone or gained else "order"
        rows.append([f"{topic}-{index}", *lists, both])
    if rows:
        yield from table(["partition", "replicas", "become", "move"], rows, style)


def plan_summary(plan: ReplicaPlan[PlacedPartition]) -> str:
    """Summarise a plan in one line: how many partitions change, and how much data moves.

    >>> before, after = {("t", 0): [1, 2], ("t", 1): [3]}, {("t", 0): [1, 3], ("t", 1): [3]}
    >>> plan_summary(ReplicaPlan(before, after, {("t", 0): 2048}))
    '1 of 2 partitions changes: 1 replica moves, 2.0 KiB; 0 other preferred leaders'
    """
    changed, moves = plan.changed(), plan.moves()
    if not changed:
        return f"{count_text(len(plan.after), 'partition')}, and nothing to change"
    created = sum(not plan.before[key] for key in changed)
    moved = sum(len(ids) for key, ids in moves.items() if plan.before[key])
    size = plan.moved_bytes()
    volume = "" if size is None or not moved else f", {size_text(size)}"
    made = f"{count_text(created, 'partition')} to create, " if created else ""
    change = "changes" if len(changed) == 1 else "change"
    move = "moves" if moved == 1 else "move"
    leaders = count_text(len(plan.new_leaders()), "other preferred leader")
    return (
        f"{made}{len(changed)} of {count_text(len(plan.after), 'partition')} {change}: "
        f"{count_text(moved, 'replica')} {move}{volume}; {leaders}"
    )


def comparison_lines(
    trees: tuple[RackTree, RackTree], plan: ReplicaPlan[PlacedPartition], style: Style = PLAIN
) -> Iterator[str]:
    """Yield the spread of replicas by level, and the effect of each node's failure, before and after a plan.

    Args:
        trees: the tree of all brokers, including those to be removed, and the tree of those that may hold replicas.
        plan: the plan; replicas on other brokers are not counted.
        style: colours, and the width at which lists are wrapped.
    """
    whole, left = trees
    before, after = _known(whole, plan.before), _known(whole, plan.after)
    labels = _labels(plan.after)
    uneven = {level.number: level.uneven for level in spread_of(left, _known(left, plan.after))}
    for old, new in zip(spread_of(whole, before), spread_of(whole, after), strict=True):
        yield ""
        yield from _level_change(old, new, style)
        if not old.is_of_brokers:
            yield from _evenness_change(old.uneven, uneven.get(old.number, []), labels, style)
    yield ""
    yield from _loss_change(whole, losses_of(whole, before), losses_of(whole, after), style)


def comparison_json(trees: tuple[RackTree, RackTree], plan: ReplicaPlan[PlacedPartition]) -> dict[str, Any]:
    """Return a plan's moves, and the reports before and after it, as plain values for JSON."""
    whole, left = trees
    return {
        "kwire": 1,
        "partitions": len(plan.after),
        "changed": len(plan.changed()),
        "replicasMoved": sum(len(ids) for key, ids in plan.moves().items() if plan.before[key]),
        "bytesMoved": plan.moved_bytes(),
        "newPreferredLeaders": len(plan.new_leaders()),
        "before": report_json(whole, _known(whole, plan.before)),
        "after": report_json(left, _known(left, plan.after)),
    }


def _level_lines(
    level: LevelSpread[PlacedPartition], labels: Mapping[PlacedPartition, str], style: Style
) -> Iterator[str]:
    if level.is_of_brokers:
        head = ["broker", "rack", "replicas", "leaders"]
        names = [[str(load.node.broker), load.node.path] for load in level.loads]
    else:
        head = [f"level {level.number}", "brokers", "replicas", "leaders"]
        names = [[load.node.path, str(load.node.size)] for load in level.loads]
    numbers = [[str(load.replicas), str(load.leaders)] for load in level.loads]
    rows = [[*name, *number] for name, number in zip(names, numbers, strict=True)]
    yield from table(head, rows, style, right=2 if level.is_of_brokers else 3)
    if level.uneven:
        text = f"not spread as evenly as possible: {_counted(level.uneven, labels)}"
        yield from (style.paint("warning", line) for line in wrapped(text, style))
    elif not level.is_of_brokers:
        yield "each partition is spread as evenly as possible over this level"


def _warnings(levels: Sequence[LevelSpread[PlacedPartition]]) -> Iterator[str]:
    """Yield warnings where loads differ widely, with the reason (KAFKA-3438)."""
    for level in levels[:-1]:
        small, large = (pick(level.loads, key=lambda load: load.node.size).node for pick in (min, max))
        if small.size < large.size:
            sizes = f"{large.path} has {count_text(large.size, 'broker')}, {small.path} has {small.size}"
            yield f"warning: level {level.number} is uneven: {sizes}; brokers in smaller ones hold more replicas"
    least, most = (pick(levels[-1].loads, key=lambda load: load.replicas) for pick in (min, max))
    if most.replicas > least.replicas + 1 and most.replicas >= UNBALANCED * least.replicas:
        times = f", {most.replicas / least.replicas:.1f} times as many" if least.replicas else ""
        held = f"broker {most.node.broker} holds {count_text(most.replicas, 'replica')}"
        yield f"warning: {held}, broker {least.node.broker} {least.replicas}{times}"


def _loss_lines(
    losses: Sequence[RackLoss[PlacedPartition]], labels: Mapping[PlacedPartition, str], style: Style
) -> Iterator[str]:
    if not losses:
        yield "no single failure leaves a partition without a majority"
    for loss in losses:
        found = ("no replica of", loss.everything), ("no majority of", loss.majority)
        texts = [f"{what} {_counted(partitions, labels)}" for what, partitions in found if partitions]
        yield from wrapped(f"without {_name(loss.node)} {'; '.join(texts)}", style)


def _name(node: RackNode) -> str:
    return node.path if node.broker is None else f"broker {node.broker}"


def _counted(partitions: Sequence[PlacedPartition], labels: Mapping[PlacedPartition, str]) -> str:
    """Return the number of partitions and their names; consecutive partitions of a topic are shown as a range."""
    names = [labels[partition] for partition in partitions]
    if all(name.isdecimal() for name in names):
        runs = (list(run) for _, run in groupby(sorted(map(int, names)), key=_Run()))
        names = [f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    return f"{count_text(len(partitions), 'partition')}: {', '.join(names)}"


class _Run:
    """Returns equal keys for consecutive numbers."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, number: int) -> int:
        """Return a key that is equal for consecutive numbers."""
        self._count += 1
        return number - self._count


def _labels(placed: Placed) -> dict[PlacedPartition, str]:
    one = len({topic for topic, _ in placed}) == 1
    return {(topic, index): str(index) if one else f"{topic}-{index}" for topic, index in placed}


def wrapped(text: str, style: Style) -> list[str]:
    """Wrap text to the width of the style."""
    return wrap(escape(text), style.width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _level_json(level: LevelSpread[PlacedPartition]) -> dict[str, Any]:
    loads = [
        _node_json(load.node) | {"brokers": load.node.size, "replicas": load.replicas, "leaders": load.leaders}
        for load in level.loads
    ]
    return {"level": level.number, "nodes": loads, "uneven": _names(level.uneven)}


def _node_json(node: RackNode) -> dict[str, Any]:
    return {"path": node.path} if node.broker is None else {"broker": node.broker, "path": node.path}


def _names(partitions: Sequence[PlacedPartition]) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": index} for topic, index in partitions]


def _known(tree: RackTree, placed: Placed) -> dict[PlacedPartition, Sequence[int]]:
    """Return the partitions whose brokers are all in a tree."""
    return {key: replicas for key, replicas in placed.items() if all(one in tree.brokers for one in replicas)}


def _level_change(old: LevelSpread[PlacedPartition], new: LevelSpread[PlacedPartition], style: Style) -> Iterator[str]:
    of_brokers = old.is_of_brokers
    rows = []
    for before, after in zip(old.loads, new.loads, strict=True):
        node = before.node
        name = [str(node.broker), node.path] if of_brokers else [node.path, str(node.size)]
        rows.append([*name, _arrow(before.replicas, after.replicas), _arrow(before.leaders, after.leaders)])
    head = ["broker", "rack"] if of_brokers else [f"level {old.number}", "brokers"]
    yield from table([*head, "replicas", "leaders"], rows, style, right=2 if of_brokers else 3)


def _evenness_change(
    before: Sequence[PlacedPartition],
    after: Sequence[PlacedPartition],
    labels: Mapping[PlacedPartition, str],
    style: Style,
) -> Iterator[str]:
    if after:
        text = f"not spread as evenly as possible: {_counted(after, labels)} ({len(before)} before)"
        yield from (style.paint("warning", line) for line in wrapped(text, style))
    else:
        were = f" ({len(before)} {'was' if len(before) == 1 else 'were'} not)" if before else ""
        yield f"each partition is spread as evenly as possible over this level{were}"


def _loss_change(
    tree: RackTree,
    before: Sequence[RackLoss[PlacedPartition]],
    after: Sequence[RackLoss[PlacedPartition]],
    style: Style,
) -> Iterator[str]:
    olds, news = ({loss.node: loss for loss in losses} for losses in (before, after))
    rows = []
    for node in [*tree.nodes, *(leaf for _, leaf in sorted(tree.brokers.items()))]:
        old, new = olds.get(node), news.get(node)
        if old is None and new is None:
            continue
        pairs = [
            (len(old.everything) if old else 0, len(new.everything) if new else 0),
            (len(old.majority) if old else 0, len(new.majority) if new else 0),
        ]
        rows.append([_name(node), *(_arrow(*pair) for pair in pairs)])
    if rows:
        yield from table(["without", "no replica of", "no majority of"], rows, style, right=2)
    else:
        yield "no single failure leaves a partition without a majority, before and after"


def _arrow(before: int, after: int) -> str:
    return str(after) if before == after else f"{before} -> {after}"
