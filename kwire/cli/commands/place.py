"""`kwire place`: places new partitions, computes and executes plans that move replicas, or shows the placement."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from ...client.address import Address
from ...cluster import Broker, broker_metadatas
from ...cluster.placement.rack_spread import is_even
from ...cluster.placement.rack_tree import RackTree
from ...cluster.plan.reassignment_json import Plan, reassignment_json
from ...cluster.plan.replica_plan import ReplicaPlan
from ...errors import DumpError
from ...render.cluster.placement_json import comparison_json, report_json
from ...render.cluster.placement_text import assignment_lines, report_lines, wrapped
from ...render.cluster.plan_text import comparison_lines, plan_lines, plan_summary
from ...render.escaping import json_text
from ...render.value_text import count_text
from ..cluster.apply_plan import apply_to_cluster, follow_plan
from ..cluster.assignor_choice import assignor_name, mode_of
from ..cluster.broker_arguments import check_known, ids_in, replacements_in, with_added
from ..cluster.disks import plan_disks
from ..cluster.new_partitions import NEW_TOPIC, check_count, more_partitions, new_partitions
from ..cluster.placement_files import read_plan
from ..cluster.placement_input import PlacementInput, read_situation
from ..cluster.target_replicas import target_of
from ..options.output import add_colour
from ..options.placement import add_placement
from ..options.security import add_security
from ..options.usage_error import UsageError
from ..terminal.remarks import remark
from ..terminal.terminal_style import style_for

EXAMPLES = """\
  kwire place :9092                            show how balanced the cluster is
  kwire place :9092 --repair                   plan to repair racks
  kwire place :9092 --remove 3 --json > p.json
  kwire place :9092 --plan p.json              show its moves
  kwire place :9092 --plan p.json --apply      execute; again: resume
  kwire place :9092 --disks --apply            balance disks of each broker
  kwire place dump.bin --balance --leaders     balance brokers and leaders
  kwire place b.json --partitions 12 --rf 3 --topic orders
  kwire place --brokers b.json --current p.json --rf 4 --json

SOURCE: a broker's HOST:PORT, a dump, a metadata log, or JSON: what kwire
cluster --json writes, [{"id": 1, "rack": "/DC1/R1"}, ...], {"1": "/DC1/R1"}.
Plans are JSON for kafka-reassign-partitions. Only --apply and --cancel change
anything. Exit code 1: replicas could be spread more evenly, a broker or a
directory is not emptied, or the plan is not carried out yet.
"""


MOST_NAMES = 10  # partitions that a remark names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_placement(parser)
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


def run(options: argparse.Namespace) -> int:
    """Print an assignment or a plan and its report, or execute a plan; returns the exit code, see `EXAMPLES`."""
    _check(options)
    situation = read_situation(options)
    if options.apply or options.verify or options.cancel:
        _check_live(situation.address)
    if options.verify or options.cancel:
        return follow_plan(options, situation)
    if options.disks or options.leave_disk is not None:
        return plan_disks(options, situation)
    if options.partitions is not None:
        return _new_partitions(options, situation)
    _check_partitions(options, situation)
    changes = "plan generate rf add remove replace repair balance by_topic leaders demote".split()
    if _any_of(options, changes):
        return _change(options, situation)
    return _look(options, situation)


def _check_partitions(options: argparse.Namespace, situation: PlacementInput) -> None:
    """Raise an error if there is no partition, or none with replicas."""
    named = options.current or options.source or ", ".join(options.files or ())
    if not situation.partitions:
        what = f"{named} has no partitions; " if situation.address or options.files else ""
        raise UsageError(
            f"{what}say how many: --partitions and --rf, or --current FILE for an assignment that is there"
        )
    if not any(situation.partitions.values()):
        raise DumpError("none of its partitions has replicas", file=named)


def _check_look(options: argparse.Namespace) -> None:
    """Raise UsageError for options that say how to change something, if nothing is to change."""
    if options.weights is not None or options.exclude:
        raise UsageError("--weights and --exclude are for plans: add what to change, such as --balance")
    if options.apply or options.rollback:
        raise UsageError("--apply and --rollback are for plans: add --plan FILE, or what to change, such as --repair")
    if options.broker_list or options.assignor:
        raise UsageError("--broker-list and --assignor are for new partitions: add --partitions, or --generate")


def _check(options: argparse.Namespace) -> None:
    if options.disable_rack_awareness:
        options.mode = "disabled"
    if options.partitions is not None and options.current and not options.topic:
        raise UsageError("--partitions with --current adds partitions to a topic: name it with --topic")
    if (options.verify or options.cancel) and not options.plan:
        raise UsageError("--verify and --cancel need the plan: --plan FILE")
    if sum((options.apply, options.verify, options.cancel)) > 1:
        raise UsageError("--apply, --verify and --cancel: give one of them")
    others = "rf add remove replace repair balance by_topic leaders demote".split()
    if (options.plan or options.generate) and _any_of(options, others):
        raise UsageError("--plan and --generate say where all replicas are to be: give no other change")
    _check_disks(options)
    _check_numbers(options)


def _check_numbers(options: argparse.Namespace) -> None:
    """Raise UsageError for a limit that nothing can keep, and for a measure of nothing."""
    if options.by == "bytes" and not (options.balance or options.by_topic or options.add is not None):
        raise UsageError("--by bytes says what --balance evens out: add --balance")
    if options.batch < 1 or (options.batch_bytes is not None and options.batch_bytes < 1):
        raise UsageError("--batch and --batch-bytes take numbers from 1 on")
    if options.throttle is not None and options.throttle < 1:
        raise UsageError("--throttle takes a number from 1 on")


def _check_disks(options: argparse.Namespace) -> None:
    """Raise UsageError if options about log directories meet others."""
    is_within = options.disks or options.leave_disk is not None
    others = "partitions plan generate rf add remove replace repair balance by_topic leaders demote".split()
    if is_within and (_any_of(options, others) or options.weights is not None or options.exclude or options.rollback):
        raise UsageError("--disks and --leave-disk move replicas within brokers: give no other change")
    if options.batch_bytes is not None and not (is_within or options.plan):
        raise UsageError("--batch-bytes is for log directories: --disks, --leave-disk, or a --plan with log_dirs")


def _any_of(options: argparse.Namespace, names: Sequence[str]) -> bool:
    """Whether any of these options is given; 0 is a value."""
    return any(getattr(options, name) is not None and getattr(options, name) is not False for name in names)


def _check_live(where: Address | None) -> None:
    if where is None:
        raise UsageError("--apply, --verify and --cancel need a live cluster: SOURCE must be HOST:PORT")


def _look(options: argparse.Namespace, situation: PlacementInput) -> int:
    """Show the current placement. Returns 1 if it could be more even."""
    _check_look(options)
    plan = situation.partitions
    tree = RackTree(_all_of(situation.brokers, plan), strict=False)
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


def _new_partitions(options: argparse.Namespace, situation: PlacementInput) -> int:
    """Place the partitions of a new topic, or additional partitions of a topic."""
    if options.json and not options.report and not options.topic:
        raise UsageError("--json writes a plan for kafka-reassign-partitions, which needs --topic")
    existing = situation.partitions if options.topic else {}
    if options.rf is None and not existing:
        raise UsageError("--partitions places new ones: it needs --rf")
    if existing and options.rf is not None:
        raise UsageError(f"topic {options.topic} exists: --rf is for new topics, this one keeps its factor")
    name = assignor_name(options, situation.brokers)
    placed = more_partitions(options, situation, name) if existing else new_partitions(options, situation, name)
    plan = {(options.topic or NEW_TOPIC, index): replicas for index, replicas in placed.items()}
    count, replicas = len(plan), len(next(iter(plan.values()), []))
    added = "in addition, " if existing else ""
    title = f"{count_text(count, 'partition')} with {count_text(replicas, 'replica')} each, {added}placed by {name}"
    if options.seed is not None:
        title += f", seed {options.seed}"
    _show(options, title, RackTree(_all_of(situation.brokers, plan), strict=False), plan)
    if options.apply:
        return 0 if apply_to_cluster(options, situation, plan) else 1
    return 0


def _change(options: argparse.Namespace, situation: PlacementInput) -> int:
    """Show a plan that changes the current placement, and execute it with --apply."""
    if options.rf is not None:
        check_count(len(situation.partitions), options.rf)
    current, brokers = situation.partitions, with_added(options, situation.brokers or _all_of([], situation.partitions))
    removed = {*ids_in(options.remove, "--remove"), *replacements_in(options)}
    brokers += [
        Broker(new, rack=next((broker.rack for broker in brokers if broker.node_id == old), None))
        for old, new in replacements_in(options).items()
        if new not in {broker.node_id for broker in brokers}
    ]
    check_known(brokers, removed)
    for old, new in replacements_in(options).items():
        if situation.brokers and new not in {broker.node_id for broker in situation.brokers}:
            remark(f"broker {new} is not in the cluster yet: planned for the rack of broker {old}")
    brokers = broker_metadatas(brokers, mode_of(options))
    left = [broker for broker in brokers if broker.node_id not in removed and not broker.fenced]
    if not left:
        raise UsageError("no broker is left to hold replicas")
    trees = RackTree(brokers, strict=False), RackTree(left, strict=False)
    after = target_of(options, situation, left, trees[1], removed)
    plan = ReplicaPlan(current, after, {} if options.fewest == "replicas" else situation.sizes)
    _show_plan(options, trees, plan)
    _remark_offline_directories(situation, plan)
    _remark_unknown(options, situation, plan)
    is_done = _remark_not_emptied(plan, removed)
    if options.rollback:
        _write(options.rollback, {key: list(plan.before[key]) for key in plan.changed()})
    if options.apply:
        target = {key: list(plan.after[key]) for key in _partitions_to_apply(options, plan)}
        is_done &= apply_to_cluster(options, situation, target)
    return 0 if is_done else 1


def _remark_unknown(options: argparse.Namespace, situation: PlacementInput, plan: ReplicaPlan[tuple[str, int]]) -> None:
    """Say which brokers a plan of a file gives replicas, though the cluster does not list them."""
    listed = {broker.node_id for broker in situation.brokers}
    receivers = {node_id for node_ids in plan.moves().values() for node_id in node_ids}
    for node_id in sorted(receivers - listed) if options.plan and listed else ():
        remark(f"broker {node_id} gets replicas, and is not in the cluster: it is down, or the plan is wrong")


def _remark_not_emptied(plan: ReplicaPlan[tuple[str, int]], removed: set[int]) -> bool:
    """Name the replicas that brokers of --remove and --replace keep. Return whether there are none."""
    for node_id in sorted(removed):
        kept = [f"{topic}-{index}" for (topic, index), replicas in plan.after.items() if node_id in replicas]
        if kept:
            names = ", ".join(kept[:MOST_NAMES]) + (", ..." if len(kept) > MOST_NAMES else "")
            remark(
                f"broker {node_id} is not empty after this plan: it keeps {count_text(len(kept), 'replica')}: {names}"
            )
    return not any(removed.intersection(replicas) for replicas in plan.after.values())


def _remark_offline_directories(situation: PlacementInput, plan: ReplicaPlan[tuple[str, int]]) -> None:
    """Say which brokers may refuse a replica that the plan gives them.

    A replica that was in a directory when it failed stays a HostedPartition.Offline, which
    ReplicaManager.getOrCreatePartition does not create again before the broker is restarted.
    """
    receivers = {node_id for node_ids in plan.moves().values() for node_id in node_ids}
    for node_id in sorted(receivers):
        if any(log_dir.error_code for log_dir in situation.log_dirs.get(node_id, {}).values()):
            remark(
                f"broker {node_id} has an offline log directory: until it is restarted, it does not take back the "
                "replicas that it had there"
            )


def _partitions_to_apply(options: argparse.Namespace, plan: ReplicaPlan[tuple[str, int]]) -> Iterable[tuple[str, int]]:
    """Return the partitions that --apply works on: also those with the right replicas whose leader may be another."""
    if options.plan:
        return read_plan(options.plan)
    return plan.after if options.leaders or options.demote is not None else plan.changed()


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
