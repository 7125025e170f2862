"""What places which replicas for `kwire place`: assignors new partitions, plans those that are there."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import replace
from random import SystemRandom

from ..cluster import Broker, RackAwareMode, add_partitions, assign_multi_level, broker_metadatas, generate_assignment
from ..cluster.java_compat import Random
from ..cluster.multi_level_placement import Rings, increase_replication_factor
from ..cluster.rack_tree import RackTree
from ..cluster.replica_assignors import MOST_REPLICAS, assignor_for, place_replicas
from ..cluster.replica_plan import Goals, plan_replicas
from ..errors import UnknownMessage
from ..errors.refused import InvalidPartitions
from ..render.values import count_text
from .inputs import UsageError
from .placement_input import Plan, Situation, read_plan
from .terminal import remark

NEW_TOPIC = "new"  # stands in lines for a topic without a name
EVEN = "even"


def new_partitions(options: argparse.Namespace, found: Situation, name: str) -> dict[int, list[int]]:
    """Place the partitions of a new topic by an assignor; `even` takes the brokers with the fewest replicas."""
    ids = ids_in(options.broker_list, "--broker-list")
    if name == EVEN:
        return _even(options, found, options.rf, ids)
    seeded = Random(_seed(options))
    brokers = found.brokers
    return place_replicas(brokers, options.partitions, options.rf, seeded, node_ids=ids, assignor=assignor_for(name))


def more_partitions(options: argparse.Namespace, found: Situation, name: str) -> dict[int, list[int]]:
    """Place the partitions that a topic gets in addition, as the assignor would have gone on."""
    existing = {index: ids for (_, index), ids in found.partitions.items()}
    factor = len(existing.get(0, next(iter(existing.values()))))
    ids = ids_in(options.broker_list, "--broker-list")
    live = [broker for broker in found.brokers if not broker.fenced and (not ids or broker.node_id in ids)]
    if options.partitions <= len(existing):
        facts = {"existing": len(existing), "num_partitions": options.partitions}
        raise InvalidPartitions("partition_count_not_increased", **facts)
    check_count(options.partitions, factor)
    if name == EVEN:
        return _even(options, found, factor, ids)
    if name in ("rack-aware", "rack-aware-safe", "simple"):
        mode = {"rack-aware-safe": RackAwareMode.SAFE, "simple": RackAwareMode.DISABLED}.get(name, mode_of(options))
        return add_partitions(existing, broker_metadatas(live, mode), options.partitions)
    rng, count = Random(_seed(options)), options.partitions - len(existing)
    if name == "multi-level":
        return assign_multi_level(live, count, factor, rng=rng, rings=Rings.TURNED, existing=existing)
    placed = place_replicas(live, count, factor, rng, assignor=assignor_for(name))
    return {len(existing) + index: replicas for index, replicas in placed.items()}


def _even(options: argparse.Namespace, found: Situation, factor: int, ids: Sequence[int]) -> dict[int, list[int]]:
    """Place new partitions on the brokers that hold the fewest replicas."""
    check_count(options.partitions, factor)
    live = [broker for broker in found.brokers if not broker.fenced and (not ids or broker.node_id in ids)]
    tree = RackTree(broker_metadatas(live, mode_of(options)), strict=False)
    topic = options.topic or NEW_TOPIC
    there = sum(key[0] == topic for key in found.partitions)
    new: Plan = {(topic, index): [] for index in range(there, options.partitions)}
    plan = plan_replicas(
        tree, {**found.others, **found.partitions, **new}, factors=dict.fromkeys(new, factor), only=new
    )
    return {index: list(plan.after[topic, index]) for _, index in new}


def check_count(partitions: int, factor: int) -> None:
    """Refuse so many replicas that a slip is likelier than a wish."""
    if partitions * factor > MOST_REPLICAS:
        figures = {"num_partitions": partitions, "replication_factor": factor, "most": MOST_REPLICAS}
        raise InvalidPartitions("too_many_replicas", **figures)


def assignor_name(options: argparse.Namespace, brokers: Sequence[Broker]) -> str:
    """Return the assignor that is named, or the one that fits the racks of the brokers."""
    if options.mode == "disabled" and options.assignor != EVEN:
        return "simple"
    paths = brokers and all(broker.rack and broker.rack.startswith("/") for broker in brokers)
    flat = "rack-aware-safe" if options.mode == "safe" else "rack-aware"
    return str(options.assignor or ("multi-level" if paths else flat))


def mode_of(options: argparse.Namespace) -> RackAwareMode:
    """Return what --mode names."""
    return RackAwareMode[options.mode.upper()]


def target_of(
    options: argparse.Namespace, found: Situation, left: list[Broker], tree: RackTree, removed: set[int]
) -> Plan:
    """Return the replicas that partitions are to have."""
    current = found.partitions
    if options.plan:
        target = read_plan(options.plan)
        current.update({key: [] for key in target if key not in current})
        return {**current, **target}
    if options.generate:
        return _generated(options, found, left)
    if options.rf is not None and options.assignor == "multi-level":
        return _raised(options, left, current)
    renamed = replacements_in(options)
    start = {key: _renamed(replicas, renamed) for key, replicas in current.items()}
    gone = {one for replicas in start.values() for one in replicas} - tree.brokers.keys() - removed
    only = {key for key, replicas in start.items() if not gone.intersection(replicas)}
    if gone:
        ids = ", ".join(map(str, sorted(gone)))
        count = count_text(len(start) - len(only), "partition")
        remark(
            f"left as they are: {count} with replicas on brokers that are not listed or fenced ({ids}); see --remove"
        )
    factors = {key: options.rf or len(replicas) for key, replicas in current.items()}
    goals = Goals(options.repair, options.balance or bool(options.add), options.leaders, options.by == "bytes")
    sizes = {} if options.fewest == "replicas" else found.sizes
    if "bytes" in (options.fewest, options.by) and not sizes:
        raise UsageError("bytes need the sizes of partitions: --sizes FILE, or a live cluster as SOURCE")
    everything = {**found.others, **start}
    plan = plan_replicas(tree, everything, goals, factors=factors, only=only, sizes=sizes)
    return {key: list(plan.after[key]) for key in start}


def _renamed(replicas: Sequence[int], renamed: dict[int, int]) -> list[int]:
    """Return replicas with other brokers in the place of some; those that are there already stay where they are."""
    return [one if renamed.get(one, one) in replicas else renamed[one] for one in replicas]


def _generated(options: argparse.Namespace, found: Situation, left: Sequence[Broker]) -> Plan:
    """Place all topics anew: as kafka-reassign-partitions --generate, or by another assignor."""
    name = assignor_name(options, left)
    topics: dict[str, dict[int, list[int]]] = {}
    for (topic, index), replicas in found.partitions.items():
        topics.setdefault(topic, {})[index] = replicas
    ids = ids_in(options.broker_list, "--broker-list") or [one.node_id for one in left]
    check_known(left, set(ids))
    rng = Random(_seed(options))
    if name in ("rack-aware", "simple"):
        proposed = generate_assignment(topics, list(topics), left, ids, rng, name == "rack-aware").proposed
    else:
        chosen = [one for one in left if one.node_id in ids]
        proposed = {
            topic: place_replicas(chosen, len(rows), len(next(iter(rows.values()))), rng, assignor=assignor_for(name))
            for topic, rows in topics.items()
        }
    return {(topic, index): proposed[topic][index] for topic, index in found.partitions}


def _raised(options: argparse.Namespace, brokers: Sequence[Broker], current: Plan) -> Plan:
    """Give each partition more replicas as KIP-879 does; flat racks are racks of one level."""
    bare = all(broker.rack is None for broker in brokers)
    pathed = [replace(broker, rack="/" if bare else _path(broker.rack)) for broker in brokers]
    return increase_replication_factor(pathed, current, options.rf, rng=Random(_seed(options)), rings=Rings.TURNED)


def _path(rack: str | None) -> str | None:
    return rack if rack is None or rack.startswith("/") else f"/{rack}"


def _seed(options: argparse.Namespace) -> int:
    """Return the seed; one that is drawn stays, is printed, and places the same again when it is given."""
    if options.seed is None:
        options.seed = SystemRandom().randrange(2**31)
        if options.json or options.generate or (options.rf is not None and options.partitions is None):
            remark(f"placed with --seed {options.seed}")
    return int(options.seed)


def ids_in(text: str | None, option: str) -> list[int]:
    """Read ids with commas between them; none where there is no text. Raises UsageError."""
    words = text.split(",") if text else []
    if not all(re.fullmatch(r"\s*[0-9]{1,10}\s*", word) for word in words):
        raise UsageError(f"{option} {text}: write ids with commas between, such as 1,2,5")
    return [int(word) for word in words]


def replacements_in(options: argparse.Namespace) -> dict[int, int]:
    """Read --replace: the new broker of each old one. Raises UsageError."""
    pairs = [word.partition("=")[::2] for word in options.replace.split(",")] if options.replace else []
    if not all(re.fullmatch("[0-9]{1,10}", one.strip()) for pair in pairs for one in pair):
        raise UsageError(f"--replace {options.replace}: write OLD=NEW, such as 3=7, with commas between")
    return {int(old): int(new) for old, new in pairs}


def with_added(options: argparse.Namespace, brokers: Sequence[Broker]) -> list[Broker]:
    """Return the brokers and those that are new; one that is there already may be named too."""
    found = {broker.node_id: broker for broker in brokers}
    for word in options.add.split(",") if options.add else ():
        node_id, equals, rack = word.strip().partition("=")
        if not re.fullmatch("[0-9]{1,10}", node_id) or (equals and not rack):
            raise UsageError(f"--add {options.add}: write ids and racks, such as 7=/DC1/R2, with commas between")
        known = found.get(int(node_id), Broker(int(node_id)))
        found[int(node_id)] = replace(known, rack=rack) if rack else known
    return list(found.values())


def check_known(brokers: Sequence[Broker], ids: set[int]) -> None:
    """Raise UnknownMessage where an id is that of no broker."""
    known = sorted(broker.node_id for broker in brokers)
    for one in sorted(ids):
        if one not in known:
            raise UnknownMessage("broker", str(one), [str(each) for each in known])
