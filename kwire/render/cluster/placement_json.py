"""The placement of replicas as JSON: the spread over racks by level, and what each failure takes away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...cluster.placement.rack_spread import LevelSpread, losses_of, spread_of
from ...cluster.placement.rack_tree import RackNode, RackTree
from ...cluster.plan.replica_plan import ReplicaPlan
from .placement_text import Placed, PlacedPartition


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
        "before": report_json(whole, known_partitions(whole, plan.before)),
        "after": report_json(left, known_partitions(left, plan.after)),
    }


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


def known_partitions(tree: RackTree, placed: Placed) -> dict[PlacedPartition, Sequence[int]]:
    """Return the partitions whose brokers are all in a tree."""
    return {key: replicas for key, replicas in placed.items() if all(node_id in tree.brokers for node_id in replicas)}
