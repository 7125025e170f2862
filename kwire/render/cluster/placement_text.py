"""The placement of replicas as text: the spread over racks by level, warnings, what each failure takes away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from textwrap import wrap

from ...cluster.placement.rack_spread import LevelSpread, RackLoss, losses_of, spread_of
from ...cluster.placement.rack_tree import RackNode, RackTree
from ..colours import PLAIN, Style
from ..escaping import escape
from ..table import table
from ..value_text import count_text

PlacedPartition = tuple[str, int]
Placed = Mapping[PlacedPartition, Sequence[int]]
UNBALANCED = 1.5  # the ratio to the least loaded broker's replicas at which a warning is printed


def assignment_lines(tree: RackTree, placed: Placed, style: Style = PLAIN) -> Iterator[str]:
    """Yield a line for each partition: its brokers, the preferred leader first, and their racks."""
    labels = partition_labels(placed)
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
    labels = partition_labels(placed)
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
        text = f"not spread as evenly as possible: {counted_partitions(level.uneven, labels)}"
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
    lightest, heaviest = (pick(levels[-1].loads, key=lambda load: load.replicas) for pick in (min, max))
    if heaviest.replicas > lightest.replicas + 1 and heaviest.replicas >= UNBALANCED * lightest.replicas:
        times = f", {heaviest.replicas / lightest.replicas:.1f} times as many" if lightest.replicas else ""
        largest = f"broker {heaviest.node.broker} holds {count_text(heaviest.replicas, 'replica')}"
        yield f"warning: {largest}, broker {lightest.node.broker} {lightest.replicas}{times}"


def _loss_lines(
    losses: Sequence[RackLoss[PlacedPartition]], labels: Mapping[PlacedPartition, str], style: Style
) -> Iterator[str]:
    if not losses:
        yield "no single failure leaves a partition without a majority"
    for loss in losses:
        kinds = ("no replica of", loss.everything), ("no majority of", loss.majority)
        texts = [f"{what} {counted_partitions(partitions, labels)}" for what, partitions in kinds if partitions]
        yield from wrapped(f"without {node_name(loss.node)} {'; '.join(texts)}", style)


def node_name(node: RackNode) -> str:
    """Return the path of a node of the rack tree, or the id of a broker."""
    return node.path if node.broker is None else f"broker {node.broker}"


def counted_partitions(partitions: Sequence[PlacedPartition], labels: Mapping[PlacedPartition, str]) -> str:
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


def partition_labels(placed: Placed) -> dict[PlacedPartition, str]:
    """Return a name for each partition: only its number if there is one topic."""
    is_one_topic = len({topic for topic, _ in placed}) == 1
    return {(topic, index): str(index) if is_one_topic else f"{topic}-{index}" for topic, index in placed}


def wrapped(text: str, style: Style) -> list[str]:
    """Wrap text to the width of the style."""
    return wrap(escape(text), style.width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
