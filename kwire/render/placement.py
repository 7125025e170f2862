"""Assignments of replicas with their spread, and plans that change them, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from textwrap import wrap
from typing import Any

from ..cluster.rack_tree import Level, Loss, Node, RackTree, losses_of, spread_of
from ..cluster.replica_plan import ReplicaPlan
from .style import PLAIN, Style, escape, table
from .values import count_text, size_text

PlacedPartition = tuple[str, int]
Placed = Mapping[PlacedPartition, Sequence[int]]
UNBALANCED = 1.5  # how many times the least loaded broker's replicas deserve a warning


def assignment_lines(tree: RackTree, placed: Placed, style: Style = PLAIN) -> Iterator[str]:
    """Yield a line a partition: its brokers, the preferred leader first, and their racks."""
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
    """Yield the spread level by level, warnings, and what is lost with each node.

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
    """Yield a line for each partition that changes: its brokers before and after, and between which replicas move."""
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
    """Return in one line how many partitions change and how much moves.

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
    """Yield the spread of a plan level by level and what is lost with each node, before and after.

    Args:
        trees: of all brokers, including those to be removed, and of those that may hold replicas.
        plan: replicas on other brokers are not counted.
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
    """Return what a plan moves, and the reports of before and after, as plain values for JSON."""
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


def _level_lines(level: Level[PlacedPartition], labels: Mapping[PlacedPartition, str], style: Style) -> Iterator[str]:
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
        text = f"not spread as evenly as can be: {_counted(level.uneven, labels)}"
        yield from (style.paint("warning", line) for line in wrapped(text, style))
    elif not level.is_of_brokers:
        yield "each partition is spread as evenly as can be over this level"


def _warnings(levels: Sequence[Level[PlacedPartition]]) -> Iterator[str]:
    """Say where loads differ much, and what makes them (KAFKA-3438)."""
    for level in levels[:-1]:
        small, large = (pick(level.loads, key=lambda load: load.node.size).node for pick in (min, max))
        if small.size < large.size:
            sizes = f"{large.path} has {count_text(large.size, 'broker')}, {small.path} has {small.size}"
            yield f"warning: level {level.number} is uneven: {sizes}; brokers of small ones hold more replicas"
    least, most = (pick(levels[-1].loads, key=lambda load: load.replicas) for pick in (min, max))
    if most.replicas > least.replicas + 1 and most.replicas >= UNBALANCED * least.replicas:
        times = f", {most.replicas / least.replicas:.1f} times as many" if least.replicas else ""
        held = f"broker {most.node.broker} holds {count_text(most.replicas, 'replica')}"
        yield f"warning: {held}, broker {least.node.broker} {least.replicas}{times}"


def _loss_lines(
    losses: Sequence[Loss[PlacedPartition]], labels: Mapping[PlacedPartition, str], style: Style
) -> Iterator[str]:
    if not losses:
        yield "no partition loses its majority with any one of these"
    for loss in losses:
        found = ("nothing is left of", loss.everything), ("no majority of", loss.majority)
        texts = [f"{what} {_counted(partitions, labels)}" for what, partitions in found if partitions]
        yield from wrapped(f"without {_name(loss.node)} {'; '.join(texts)}", style)


def _name(node: Node) -> str:
    return node.path if node.broker is None else f"broker {node.broker}"


def _counted(partitions: Sequence[PlacedPartition], labels: Mapping[PlacedPartition, str]) -> str:
    """Count partitions and name them; numbers of one topic that follow one another as a range."""
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
    """Return text in lines of the style's width."""
    return wrap(escape(text), style.width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _level_json(level: Level[PlacedPartition]) -> dict[str, Any]:
    loads = [
        _node_json(load.node) | {"brokers": load.node.size, "replicas": load.replicas, "leaders": load.leaders}
        for load in level.loads
    ]
    return {"level": level.number, "nodes": loads, "uneven": _names(level.uneven)}


def _node_json(node: Node) -> dict[str, Any]:
    return {"path": node.path} if node.broker is None else {"broker": node.broker, "path": node.path}


def _names(partitions: Sequence[PlacedPartition]) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": index} for topic, index in partitions]


def _known(tree: RackTree, placed: Placed) -> dict[PlacedPartition, Sequence[int]]:
    """Return the partitions whose brokers are all in a tree."""
    return {key: replicas for key, replicas in placed.items() if all(one in tree.brokers for one in replicas)}


def _level_change(old: Level[PlacedPartition], new: Level[PlacedPartition], style: Style) -> Iterator[str]:
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
        text = f"not spread as evenly as can be: {_counted(after, labels)} ({len(before)} before)"
        yield from (style.paint("warning", line) for line in wrapped(text, style))
    else:
        were = f" ({len(before)} {'was' if len(before) == 1 else 'were'} not)" if before else ""
        yield f"each partition is spread as evenly as can be over this level{were}"


def _loss_change(
    tree: RackTree, before: Sequence[Loss[PlacedPartition]], after: Sequence[Loss[PlacedPartition]], style: Style
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
        yield from table(["without", "nothing is left of", "no majority of"], rows, style, right=2)
    else:
        yield "no partition loses its majority with any one of these, before and after"


def _arrow(before: int, after: int) -> str:
    return str(after) if before == after else f"{before} -> {after}"
