"""A plan that moves replicas, as text: the moves, a summary, and the spread before and after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...cluster.placement.rack_spread import LevelSpread, RackLoss, losses_of, spread_of
from ...cluster.placement.rack_tree import RackTree
from ...cluster.plan.replica_plan import ReplicaPlan
from ..colours import PLAIN, Style
from ..table import table
from ..value_text import count_text, size_text
from .placement_json import known_partitions
from .placement_text import PlacedPartition, counted_partitions, node_name, partition_labels, wrapped


def plan_lines(plan: ReplicaPlan[PlacedPartition], style: Style = PLAIN) -> Iterator[str]:
    """Yield a line for each partition that changes: its brokers before and after, and the brokers between which
    replicas move.
    """
    rows = []
    for topic, index in plan.changed():
        before, after = plan.before[topic, index], plan.after[topic, index]
        lists = [",".join(map(str, replicas)) or "-" for replicas in (before, after)]
        gone = [str(node_id) for node_id in before if node_id not in after]
        gained = [str(node_id) for node_id in after if node_id not in before]
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
    before, after = known_partitions(whole, plan.before), known_partitions(whole, plan.after)
    labels = partition_labels(plan.after)
    uneven = {level.number: level.uneven for level in spread_of(left, known_partitions(left, plan.after))}
    for old, new in zip(spread_of(whole, before), spread_of(whole, after), strict=True):
        yield ""
        yield from _level_change(old, new, style)
        if not old.is_of_brokers:
            yield from _evenness_change(old.uneven, uneven.get(old.number, []), labels, style)
    yield ""
    yield from _loss_change(whole, losses_of(whole, before), losses_of(whole, after), style)


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
        text = f"not spread as evenly as possible: {counted_partitions(after, labels)} ({len(before)} before)"
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
        rows.append([node_name(node), *(_arrow(*pair) for pair in pairs)])
    if rows:
        yield from table(["without", "no replica of", "no majority of"], rows, style, right=2)
    else:
        yield "no single failure leaves a partition without a majority, before and after"


def _arrow(before: int, after: int) -> str:
    return str(after) if before == after else f"{before} -> {after}"
