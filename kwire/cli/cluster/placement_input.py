"""The placement that `kwire place` shows or changes: brokers and replicas from dumps, from JSON or from a live
broker.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, field
from pathlib import Path

from ...client.address import Address, address
from ...client.apply_plan import under_way
from ...client.live_cluster import LiveCluster
from ...cluster import Broker, ClusterState, LogDir
from ...cluster.plan.reassignment_json import Plan, read_reassignment
from ...errors import CallError, UnknownMessage
from ...render.value_text import count_text
from ..options.security import security_of
from ..options.usage_error import UsageError
from ..terminal.remarks import remark
from .observations import is_address, state_of
from .placement_files import (
    DIGITS,
    FORMS,
    Sizes,
    brokers_in,
    log_dirs_in,
    read_json,
    read_plan,
    read_sizes,
    sizes_of,
)


@dataclass(slots=True)
class PlacementInput:
    """The cluster to inspect or change.

    `partitions` holds the partitions of all topics, or of --topic; `others` holds the partitions of the other topics.
    """

    brokers: list[Broker]
    partitions: Plan
    others: Plan = field(default_factory=dict)
    sizes: Sizes = field(default_factory=dict)
    address: Address | None = None
    log_dirs: dict[int, dict[str, LogDir]] = field(default_factory=dict)


def read_situation(options: argparse.Namespace) -> PlacementInput:
    """Read brokers and partitions from the files or the broker that the options name.

    Raises:
        UsageError: the options contradict each other.
        DumpError, CallError: a file or a broker has no cluster data.
    """
    situation = _situation(options)
    if options.current:
        situation.partitions = read_plan(options.current)
    if options.sizes:
        situation.sizes = read_sizes(options.sizes)
    topics = {topic for topic, _ in situation.partitions}
    if options.topic and options.partitions is None and options.topic not in topics:
        raise UnknownMessage("topic", options.topic, sorted(topics))
    if options.topic:
        situation.others = {key: ids for key, ids in situation.partitions.items() if key[0] != options.topic}
        situation.partitions = {key: ids for key, ids in situation.partitions.items() if key[0] == options.topic}
    return situation


def _situation(options: argparse.Namespace) -> PlacementInput:
    sources = [source for source in (options.source, options.brokers, *(options.files or [])) if source]
    if not sources:
        raise UsageError("the following arguments are required: SOURCE, --brokers FILE or --from DUMP")
    if (options.source and len(sources) > 1) or (options.brokers and options.files):
        raise UsageError("SOURCE, --brokers and --from: give one of them")
    if sources.count("-") + (options.current == "-") > 1:
        raise UsageError("--brokers and --current cannot both be standard input")
    if options.source and is_address(options.source):
        return _live(options)
    security_of(options, is_live=False)
    if options.brokers or options.source == "-" or (options.source and _is_json(options.source)):
        file = options.brokers or options.source
        value = read_json(file, FORMS)
        has_partitions = options.source and isinstance(value, dict) and value.get("partitions")
        situation = PlacementInput(brokers_in(value, file), read_reassignment(value, file) if has_partitions else {})
        situation.log_dirs = log_dirs_in(value, file)
        situation.sizes = sizes_of(situation.log_dirs)
        return situation
    options.files = options.files or [options.source]
    return _of_state(state_of(options))


def _of_state(state: ClusterState) -> PlacementInput:
    """Convert a cluster's state; a partition that is being reassigned has its target replicas."""
    partitions: Plan = {}
    for partition in state.partitions():
        removing = partition.removing or ()
        partitions[partition.topic, partition.index] = [
            node_id for node_id in partition.replicas if node_id not in removing
        ]
    sizes = sizes_of(state.log_dirs)
    return PlacementInput(list((state.brokers or {}).values()), partitions, sizes=sizes, log_dirs=state.log_dirs)


def _live(options: argparse.Namespace) -> PlacementInput:
    """Ask a broker for the cluster; if a live broker does not tell the sizes of its partitions, none is known."""
    where = address(options.source)
    with LiveCluster(where, options.timeout, security_of(options)) as cluster:
        state = cluster.state()
        situation = _of_state(state)
        situation.address = where
        situation.partitions.update(_under_way(cluster))
    live = [broker.node_id for broker in (state.brokers or {}).values() if not broker.fenced]
    silent = [node_id for node_id in live if node_id not in state.log_dirs]
    if silent:
        situation.sizes = {}
        if not options.sizes and options.fewest != "replicas":
            brokers = f"broker {silent[0]}" if len(silent) == 1 else f"{len(silent)} of {len(live)} brokers"
            remark(f"the sizes of partitions are not known: {brokers} did not list log directories")
    return situation


def _under_way(cluster: LiveCluster) -> Plan:
    try:
        moving = under_way(cluster)
    except CallError:  # before Kafka 2.4
        return {}
    if moving:
        remark(f"planned as if complete: the reassignment of {count_text(len(moving), 'partition')}")
    return moving


def _is_json(file: str) -> bool:
    """Whether a file is one JSON value that describes brokers, and not a dump or a log."""
    try:
        with Path(file).open("rb") as stream:
            if stream.read(1000).lstrip()[:1] not in (b"[", b"{"):
                return False
        value = json.loads(Path(file).read_text("utf-8"))
    except (ValueError, RecursionError, OSError):  # a dump, a folder, or a URI: opening it reports the error
        return False
    if isinstance(value, dict):
        return "brokers" in value or all(map(DIGITS.fullmatch, value))
    return isinstance(value, list)
