"""Places the partitions of a new topic, or additional partitions of a topic, with the assignor that is named."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ...cluster import Broker, RackAwareMode, add_partitions, assign_multi_level, broker_metadatas
from ...cluster.java.random import Random
from ...cluster.placement.create_replica_assignment import MOST_REPLICAS, place_replicas
from ...cluster.placement.multi_level import Rings
from ...cluster.placement.rack_tree import RackTree
from ...cluster.placement.replica_assignors import assignor_for
from ...cluster.plan.reassignment_json import Plan
from ...cluster.plan.replica_plan import plan_replicas
from ...errors.refused import InvalidPartitions, InvalidReplicationFactor
from .assignor_choice import EVEN, mode_of, placement_seed
from .broker_arguments import ids_in
from .placement_input import PlacementInput

NEW_TOPIC = "new"  # shown in place of a missing topic name


def new_partitions(options: argparse.Namespace, situation: PlacementInput, name: str) -> dict[int, list[int]]:
    """Place the partitions of a new topic with an assignor; `even` chooses the brokers with the fewest replicas."""
    ids = ids_in(options.broker_list, "--broker-list")
    if name == EVEN:
        return _even(options, situation, options.rf, ids)
    seeded = Random(placement_seed(options))
    brokers = situation.brokers
    return place_replicas(brokers, options.partitions, options.rf, seeded, node_ids=ids, assignor=assignor_for(name))


def more_partitions(options: argparse.Namespace, situation: PlacementInput, name: str) -> dict[int, list[int]]:
    """Place additional partitions of a topic, as the assignor would have continued."""
    existing = {index: ids for (_, index), ids in situation.partitions.items()}
    factor = len(existing.get(0, next(iter(existing.values()))))
    ids = ids_in(options.broker_list, "--broker-list")
    live = _eligible(situation, ids)
    if options.partitions <= len(existing):
        facts = {"existing": len(existing), "num_partitions": options.partitions}
        raise InvalidPartitions("partition_count_not_increased", **facts)
    check_count(options.partitions, factor)
    if name == EVEN:
        return _even(options, situation, factor, ids)
    if name in ("rack-aware", "rack-aware-safe", "simple"):
        mode = {"rack-aware-safe": RackAwareMode.SAFE, "simple": RackAwareMode.DISABLED}.get(name, mode_of(options))
        return add_partitions(existing, broker_metadatas(live, mode), options.partitions)
    rng, count = Random(placement_seed(options)), options.partitions - len(existing)
    if name == "multi-level":
        return assign_multi_level(live, count, factor, rng=rng, rings=Rings.TURNED, existing=existing)
    placed = place_replicas(live, count, factor, rng, assignor=assignor_for(name))
    return {len(existing) + index: replicas for index, replicas in placed.items()}


def _eligible(situation: PlacementInput, ids: Sequence[int]) -> list[Broker]:
    """Return the brokers that may take replicas; if ids are given, only brokers with these ids."""
    return [broker for broker in situation.brokers if not broker.fenced and (not ids or broker.node_id in ids)]


def _even(
    options: argparse.Namespace, situation: PlacementInput, factor: int, ids: Sequence[int]
) -> dict[int, list[int]]:
    """Place new partitions on the brokers that hold the fewest replicas."""
    check_count(options.partitions, factor)
    live = _eligible(situation, ids)
    tree = RackTree(broker_metadatas(live, mode_of(options)), strict=False)
    topic = options.topic or NEW_TOPIC
    there = sum(key[0] == topic for key in situation.partitions)
    new: Plan = {(topic, index): [] for index in range(there, options.partitions)}
    plan = plan_replicas(
        tree, {**situation.others, **situation.partitions, **new}, factors=dict.fromkeys(new, factor), only=new
    )
    return {index: list(plan.after[topic, index]) for _, index in new}


def check_count(partitions: int, factor: int) -> None:
    """Raise an error for a factor below 1, and for a number of replicas so large that it is probably a mistake."""
    if factor <= 0:
        raise InvalidReplicationFactor("replication_factor_not_positive", replication_factor=factor)
    if partitions * factor > MOST_REPLICAS:
        figures = {"num_partitions": partitions, "replication_factor": factor, "most": MOST_REPLICAS}
        raise InvalidPartitions("too_many_replicas", **figures)
