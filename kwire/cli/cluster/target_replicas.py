"""The target replicas of a plan: repaired, balanced, generated anew, or with another replication factor."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import replace

from ...cluster import Broker, generate_assignment
from ...cluster.java.random import Random
from ...cluster.placement.create_replica_assignment import place_replicas
from ...cluster.placement.multi_level import Rings, increase_replication_factor
from ...cluster.placement.rack_tree import RackTree
from ...cluster.placement.replica_assignors import assignor_for
from ...cluster.plan.reassignment_json import Plan
from ...cluster.plan.replica_plan import Goals, plan_replicas
from ...errors import DumpError
from ...render.value_text import count_text
from ..options.usage_error import UsageError
from ..terminal.remarks import remark
from .assignor_choice import assignor_name, placement_seed
from .broker_arguments import brokers_named, check_known, ids_in, replacements_in, weights_in
from .missing_brokers import MissingBrokers
from .placement_files import read_plan
from .placement_input import PlacementInput


def target_of(
    options: argparse.Namespace, situation: PlacementInput, left: list[Broker], tree: RackTree, removed: set[int]
) -> Plan:
    """Return the target replicas of the partitions."""
    current = situation.partitions
    if options.plan:
        return _planned(options.plan, current)
    if options.generate:
        return _generate(options, situation, left)
    if options.rf is not None and options.assignor == "multi-level":
        return _raise_factor(options, left, current)
    missing = MissingBrokers(situation.brokers, left, removed)
    replacements = replacements_in(options)
    start = {key: _replace_brokers(replicas, replacements) for key, replicas in current.items()}
    for key, replicas in start.items():
        if replicas != current[key] and not missing.is_even(replicas):
            start[key] = current[key]  # another broker than the new one makes it even
    only = {key for key, replicas in start.items() if not missing.of(replicas)}
    excluded = _excluded_topics(options, current)
    factors = {key: len(replicas) if options.rf is None else options.rf for key, replicas in current.items()}
    goals = Goals(
        options.repair,
        options.balance or bool(options.add),
        options.leaders,
        options.by == "bytes",
        options.by_topic,
        weights_in(options.weights, left),
        frozenset(brokers_named(options.demote, left, "--demote") if options.demote is not None else ()),
    )
    only = {key for key in only if key[0] not in excluded}
    sizes = {} if options.fewest == "replicas" else situation.sizes
    if "bytes" in (options.fewest, options.by) and not sizes:
        raise UsageError("bytes need the sizes of partitions: --sizes FILE, or a live cluster as SOURCE")
    everything = {**situation.others, **start}
    plan = plan_replicas(tree, everything, goals, factors=factors, only=only, sizes=sizes)
    after = {key: list(replicas) for key, replicas in plan.after.items()}
    after |= missing.empty_removed(after, {key for key in start if key[0] not in excluded}, sizes)
    _remark_left(missing, current, {key: after[key] for key in start})
    return {key: after[key] for key in start}


def _planned(file: str, current: Plan) -> Plan:
    """Return the replicas of all partitions after a plan of a file; partitions to create are added to the current."""
    target = read_plan(file)
    for (topic, index), replicas in target.items():
        if not replicas:
            raise DumpError(f"partition {topic}-{index} has no replicas", file=file)
    current.update({key: [] for key in target if key not in current})
    return {**current, **target}


def _remark_left(missing: MissingBrokers, current: Plan, after: Plan) -> None:
    """Say which partitions stay as they are because a broker that holds a replica of them is missing."""
    left = [key for key, replicas in after.items() if replicas == current[key] and missing.of(replicas)]
    if left:
        ids = ", ".join(map(str, sorted({node_id for key in left for node_id in missing.of(after[key])})))
        count = count_text(len(left), "partition")
        remark(
            f"left as they are: {count} with replicas on brokers that are not listed or fenced ({ids}); see --remove"
        )


def _excluded_topics(options: argparse.Namespace, current: Plan) -> set[str]:
    topics: set[str] = set()
    for expression in options.exclude or ():
        try:
            pattern = re.compile(expression)
        except re.error as error:
            raise UsageError(f"--exclude {expression}: {error}") from None
        excluded = {topic for topic, _ in current if pattern.fullmatch(topic)}
        if not excluded:
            remark(f"--exclude {expression}: no topic has such a name")
        topics |= excluded
    return topics


def _replace_brokers(replicas: Sequence[int], replacements: dict[int, int]) -> list[int]:
    """Return replicas with some brokers replaced; a broker that already holds a replica is not added again."""
    return [old if replacements.get(old, old) in replicas else replacements[old] for old in replicas]


def _generate(options: argparse.Namespace, situation: PlacementInput, left: Sequence[Broker]) -> Plan:
    """Compute a new placement of all topics, like kafka-reassign-partitions --generate, or with another assignor."""
    name = assignor_name(options, left)
    topics: dict[str, dict[int, list[int]]] = {}
    for (topic, index), replicas in situation.partitions.items():
        topics.setdefault(topic, {})[index] = replicas
    ids = ids_in(options.broker_list, "--broker-list") or [broker.node_id for broker in left]
    check_known(left, set(ids))
    rng = Random(placement_seed(options))
    if name in ("rack-aware", "simple"):
        proposed = generate_assignment(topics, list(topics), left, ids, rng, name == "rack-aware").proposed
    else:
        chosen = [broker for broker in left if broker.node_id in ids]
        proposed = {
            topic: place_replicas(chosen, len(rows), len(next(iter(rows.values()))), rng, assignor=assignor_for(name))
            for topic, rows in topics.items()
        }
    return {(topic, index): proposed[topic][index] for topic, index in situation.partitions}


def _raise_factor(options: argparse.Namespace, brokers: Sequence[Broker], current: Plan) -> Plan:
    """Add replicas to each partition as KIP-879 does; flat racks count as racks with one level."""
    bare = all(broker.rack is None for broker in brokers)
    pathed = [replace(broker, rack="/" if bare else _path(broker.rack)) for broker in brokers]
    return increase_replication_factor(
        pathed, current, options.rf, rng=Random(placement_seed(options)), rings=Rings.TURNED
    )


def _path(rack: str | None) -> str | None:
    return rack if rack is None or rack.startswith("/") else f"/{rack}"
