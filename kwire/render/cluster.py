"""The state of a cluster, and assignments of replicas with their spread, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from textwrap import wrap
from typing import Any

from ..cluster import Broker, ClusterState, Partition
from ..cluster.rack_spread import KIP_36, KIP_879, Level, Loss, RackRule, losses_of, spread_of
from ..cluster.rack_tree import Node, RackTree
from ..codecs.json import uuid_text
from .style import PLAIN, Style, escape, table
from .values import count_text


def cluster_lines(state: ClusterState, topic: str | None = None, style: Style = PLAIN) -> Iterator[str]:
    """Yield the lines: the cluster, its brokers by rack, its partitions, and what is wrong with them.

    Args:
        state: what is known.
        topic: show this topic alone.
        style: colours.
    """
    partitions = state.partitions(topic)
    rule = RackRule(state.brokers or {})
    known = "" if state.brokers is None else f"{count_text(len(state.brokers), 'broker')}, "
    topics = len({partition.topic for partition in partitions})
    counts = f"{known}{count_text(topics, 'topic')}, {count_text(len(partitions), 'partition')}"
    controller = f"controller {state.controller_id}, " if state.controller_id >= 0 else ""
    yield style.paint("title", escape(f"cluster {state.cluster_id or '(no id)'}: {controller}{counts}"))
    for rack, brokers in state.by_rack().items():
        yield escape("no rack" if rack is None else f"rack {rack}")
        for broker in brokers:
            yield escape(f"  broker {broker.node_id}  {_address(broker)}{'  fenced' if broker.fenced else ''}")
    if partitions:
        yield ""
        rows = [_row(state, partition, rule) for partition in partitions]
        yield from table(["topic", "partition", "leader", "replicas", "isr", "offline", "state"], rows, style)
    yield ""
    yield from _findings(state, partitions, rule, style)


def cluster_json(state: ClusterState, topic: str | None = None) -> dict[str, Any]:
    """Return the state as plain values for JSON.

    `rackViolation` is null if no racks are known, `rackRule` if no rule is violated (see `RackRule`).
    """
    rule = RackRule(state.brokers or {})
    return {
        "kwire": 1,
        "clusterId": state.cluster_id,
        "controllerId": state.controller_id,
        "brokers": [_broker_json(one) for one in (state.brokers or {}).values()],
        "partitions": [_partition_json(one, state, rule) for one in state.partitions(topic)],
    }


def _broker_json(broker: Broker) -> dict[str, Any]:
    return {
        "nodeId": broker.node_id,
        "host": broker.host,
        "port": broker.port,
        "rack": broker.rack,
        "fenced": broker.fenced,
        **({"logDirs": [uuid_text(dir_id) for dir_id in broker.log_dirs]} if broker.log_dirs else {}),
    }


def _partition_json(partition: Partition, state: ClusterState, rule: RackRule) -> dict[str, Any]:
    directories = partition.directories
    return {
        "topic": partition.topic,
        "partition": partition.index,
        "leader": partition.leader,
        "leaderEpoch": partition.leader_epoch,
        "replicas": partition.replicas,
        "isr": partition.isr,
        "offlineReplicas": state.offline(partition),
        **({} if directories is None else {"directories": [uuid_text(dir_id) for dir_id in directories]}),
        "underReplicated": partition.is_under_replicated,
        "racks": [rule.racks.get(node_id) for node_id in partition.replicas],
        "rackViolation": rule.is_violated(partition.replicas),
        "rackRule": rule.broken_by(partition.replicas),
    }


def troubles(partition: Partition) -> list[str]:
    """Say what is wrong with a partition, besides its offline replicas."""
    found = [] if partition.has_leader else ["no leader"]
    if partition.is_under_replicated:
        found.append("under-replicated")
    if partition.has_leader and partition.leader != partition.preferred:
        found.append("leader not preferred")
    return found


def _row(state: ClusterState, partition: Partition, rule: RackRule) -> list[str]:
    leader = str(partition.leader) if partition.has_leader else "none"
    nodes = (partition.replicas, partition.isr, state.offline(partition))
    lists = [",".join(map(str, one)) or "-" for one in nodes]
    found = troubles(partition)
    if broken := rule.broken_by(partition.replicas):
        what = "racks" if broken == KIP_36 else "rack levels"
        found.append(f"{what} {' '.join(rule.racks.get(node_id, '?') for node_id in partition.replicas)}")
    return [partition.topic, str(partition.index), leader, *lists, ", ".join(found) or "ok"]


def _findings(state: ClusterState, partitions: list[Partition], rule: RackRule, style: Style) -> Iterator[str]:
    kinds = [
        ("without leader", [one for one in partitions if not one.has_leader]),
        ("with offline replicas", [one for one in partitions if state.offline(one)]),
        ("under-replicated", [one for one in partitions if one.is_under_replicated]),
    ]
    if rule.racks:
        broken = {key: [one for one in partitions if rule.broken_by(one.replicas) == key] for key in (KIP_36, KIP_879)}
        kinds.append(("with rack violations", broken[KIP_36]))
        if broken[KIP_879]:
            kinds.append(("uneven over rack levels (KIP-879, not a rule of Kafka)", broken[KIP_879]))
    for what, found in kinds:
        names = ", ".join(f"{one.topic}-{one.index}" for one in found)
        text = escape(f"{what}: {len(found)}" + (f": {names}" if found else ""))
        yield style.paint("warning", text) if found else text
    if partitions:
        yield "Replicas are in the order of the wire: the first is the preferred leader."


def _address(broker: Broker) -> str:
    host = f"[{broker.host}]" if ":" in broker.host else broker.host
    return f"{host}:{broker.port}"


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
    """Yield the spread level by level, warnings, and what is lost with what.

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
        yield from (style.paint("warning", line) for text in warnings for line in _wrapped(text, style))
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
        yield from (style.paint("warning", line) for line in _wrapped(text, style))
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
        name = loss.node.path if loss.node.broker is None else f"broker {loss.node.broker}"
        found = ("nothing is left of", loss.everything), ("no majority of", loss.majority)
        texts = [f"{what} {_counted(partitions, labels)}" for what, partitions in found if partitions]
        yield from _wrapped(f"without {name} {'; '.join(texts)}", style)


def _counted(partitions: Sequence[PlacedPartition], labels: Mapping[PlacedPartition, str]) -> str:
    """Count partitions and name them; numbers of one topic that follow one another as a range."""
    names = [labels[partition] for partition in partitions]
    if all(name.isdecimal() for name in names):
        runs = (list(run) for _, run in groupby(sorted(map(int, names)), key=_Run()))
        names = [f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    return f"{count_text(len(partitions), 'partition')}: {', '.join(names)}"


class _Run:
    """Gives numbers that follow one another the same key."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, number: int) -> int:
        """Return what is the same for the next number, one place later."""
        self._count += 1
        return number - self._count


def _labels(placed: Placed) -> dict[PlacedPartition, str]:
    one = len({topic for topic, _ in placed}) == 1
    return {(topic, index): str(index) if one else f"{topic}-{index}" for topic, index in placed}


def _wrapped(text: str, style: Style) -> list[str]:
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
