"""What `kwire place` reads: brokers, replicas and sizes of partitions, from JSON, dumps, logs or a live broker."""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

from ..cluster import Broker, ClusterState
from ..errors import CallError, DumpError, UnknownMessage, excerpt
from ..errors.refused import InvalidReplicaAssignment
from ..net.client import Address, address
from ..net.reassignment import LiveCluster, ask_sizes, under_way
from ..render.values import count_text
from .cluster import is_address, state_of
from .inputs import UsageError
from .options import security_of
from .terminal import remark

Plan = dict[tuple[str, int], list[int]]
Sizes = dict[tuple[str, int], int]
MOST = 2**31 - 1
_IDS = ("nodeId", "node_id", "id", "brokerId", "broker_id")
_DIGITS = re.compile("[0-9]{1,10}")
_FORMS = 'write [{"id": 1, "rack": "/DC1/R1"}, ...], {"1": "/DC1/R1", ...}, or what kwire cluster --json writes'
_PLAN = 'write {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}, ...]}'
_SIZES = "it takes what kafka-log-dirs --describe prints"


@dataclass(slots=True)
class Situation:
    """The cluster that is to be looked at or changed.

    `partitions` are those of all topics, or of --topic; `others` those of the topics that are left out.
    """

    brokers: list[Broker]
    partitions: Plan
    others: Plan = field(default_factory=dict)
    sizes: Sizes = field(default_factory=dict)
    address: Address | None = None


def read_situation(options: argparse.Namespace) -> Situation:
    """Read brokers and partitions from where the options say.

    Raises:
        UsageError: options that do not go together.
        DumpError, CallError: a file or a broker has no cluster to tell of.
    """
    found = _situation(options)
    if options.current:
        found.partitions = read_plan(options.current)
    if options.sizes:
        found.sizes = read_sizes(options.sizes)
    topics = {topic for topic, _ in found.partitions}
    if options.topic and options.partitions is None and options.topic not in topics:
        raise UnknownMessage("topic", options.topic, sorted(topics))
    if options.topic:
        found.others = {key: ids for key, ids in found.partitions.items() if key[0] != options.topic}
        found.partitions = {key: ids for key, ids in found.partitions.items() if key[0] == options.topic}
    return found


def _situation(options: argparse.Namespace) -> Situation:
    sources = [one for one in (options.source, options.brokers, *(options.files or [])) if one]
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
        value = _read(file, _FORMS)
        has_partitions = options.source and isinstance(value, dict) and value.get("partitions")
        return Situation(_brokers(value, file), _plan(value, file) if has_partitions else {})
    options.files = options.files or [options.source]
    return _of_state(state_of(options))


def _of_state(state: ClusterState) -> Situation:
    """Take over what is known of a cluster; partitions that are being reassigned count as they will be."""
    partitions = {
        (one.topic, one.index): [each for each in one.replicas if each not in (one.removing or ())]
        for one in state.partitions()
    }
    sizes: Sizes = {}
    for folder in (folder for folders in state.log_dirs.values() for folder in folders.values()):
        for key, size in folder.sizes.items():
            sizes[key] = max(size, sizes.get(key, 0))
    return Situation(list((state.brokers or {}).values()), partitions, sizes=sizes)


def _live(options: argparse.Namespace) -> Situation:
    """Ask a broker, and all brokers for the sizes of their partitions; without all of them, bytes are not known."""
    where = address(options.source)
    with LiveCluster(where, options.timeout, security_of(options)) as cluster:
        state = cluster.state()
        found = _of_state(state)
        found.address = where
        found.partitions.update(_under_way(cluster))
        if not options.sizes and options.fewest != "replicas":
            try:
                found.sizes = ask_sizes(cluster, state)
            except CallError as error:
                remark(f"the sizes of partitions are not known: {error}")
    return found


def _under_way(cluster: LiveCluster) -> Plan:
    try:
        moving = under_way(cluster)
    except CallError:  # before Kafka 2.4
        return {}
    if moving:
        remark(f"taken as they will be: {count_text(len(moving), 'partition')} that are being reassigned")
    return moving


def _is_json(file: str) -> bool:
    """Whether a file is one JSON value in a form of brokers; dumps and logs are read as such."""
    try:
        with Path(file).open("rb") as stream:
            if stream.read(1000).lstrip()[:1] not in (b"[", b"{"):
                return False
        value = json.loads(Path(file).read_text("utf-8"))
    except (ValueError, RecursionError, OSError):  # a dump, a folder, a URI: what reads them says what is wrong
        return False
    if isinstance(value, dict):
        return isinstance(value.get("brokers"), list) or all(map(_DIGITS.fullmatch, value))
    return isinstance(value, list)


def read_sizes(file: str) -> Sizes:
    """Read the sizes of partitions out of what kafka-log-dirs --describe prints; the largest replica counts.

    Raises:
        DumpError: it is something else.
        OSError: it cannot be read.
    """
    text = sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    try:
        brokers = json.loads(text[text.find("{") :])["brokers"]  # behind what the tool says of itself
        rows = [row for broker in brokers for folder in broker["logDirs"] for row in folder["partitions"]]
        named = [(row["partition"], row["size"], row.get("isFuture", False)) for row in rows]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise DumpError("there are no sizes of partitions in it", file=file, hint=_SIZES) from None
    sizes: Sizes = {}
    for name, size, is_future in named:
        topic, _, index = str(name).rpartition("-")
        if not topic or not _DIGITS.fullmatch(index) or not isinstance(size, int) or size < 0:
            raise DumpError(f"{excerpt(name)} is no partition with a size", file=file, hint=_SIZES)
        if not is_future:
            sizes[topic, int(index)] = max(size, sizes.get((topic, int(index)), 0))
    return sizes


def read_brokers(file: str) -> list[Broker]:
    """Read brokers out of a file; `-` is standard input. A rack may be missing or null, and "fenced" may stand there.

    Raises:
        DumpError: it is not JSON of brokers.
        OSError: it cannot be read.
    """
    return _brokers(_read(file, _FORMS), file)


def _brokers(value: Any, file: str) -> list[Broker]:
    if isinstance(value, dict):
        value = value["brokers"] if "brokers" in value else [{"id": key, "rack": rack} for key, rack in value.items()]
    if not isinstance(value, list):
        raise DumpError("there is no list of brokers in it", file=file, hint=_FORMS)
    return [_broker(row, file) for row in value]


def read_plan(file: str) -> Plan:
    """Read an assignment out of a file, as kafka-reassign-partitions takes it; `-` is standard input.

    Raises:
        DumpError: it is not JSON of an assignment.
        InvalidReplicaAssignment: a partition has a broker twice.
        OSError: it cannot be read.
    """
    return _plan(_read(file, _PLAN), file)


def _plan(value: Any, file: str) -> Plan:
    rows = value.get("partitions") if isinstance(value, dict) else None
    if not isinstance(rows, list) or not rows:
        raise DumpError("there are no partitions in it", file=file, hint=_PLAN)
    plan: Plan = {}
    for partition, replicas in (_partition(row, file) for row in rows):
        if partition in plan:
            raise DumpError(f"partition {partition[0]}-{partition[1]} is there twice", file=file)
        plan[partition] = replicas
    return plan


def _read(file: str, hint: str) -> Any:
    try:
        return json.loads(sys.stdin.read() if file == "-" else Path(file).read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise DumpError(f"it is not JSON: {error}", file=file, hint=hint) from None


def _broker(row: Any, file: str) -> Broker:
    if isinstance(row, list):
        row = dict(zip(("id", "rack"), row, strict=False))
    if isinstance(row, dict):
        node_id, rack = next((row[name] for name in _IDS if name in row), None), row.get("rack")
        if isinstance(node_id, str) and _DIGITS.fullmatch(node_id):
            node_id = int(node_id)
        if _is_id(node_id) and isinstance(rack, str | None):
            return Broker(node_id, rack=rack, fenced=row.get("fenced") is True)
    raise DumpError(f"{excerpt(row)} is no broker", file=file, hint=_FORMS)


def _partition(row: Any, file: str) -> tuple[tuple[str, int], list[int]]:
    if isinstance(row, dict):
        topic, index, replicas = row.get("topic"), row.get("partition"), row.get("replicas")
        if isinstance(topic, str) and _is_id(index) and isinstance(replicas, list) and all(map(_is_id, replicas)):
            if len(set(replicas)) < len(replicas):
                label = f"{topic}-{index}"
                raise InvalidReplicaAssignment("broker_twice_in_one_partition", partition=label, replicas=replicas)
            return (topic, index), replicas
    raise DumpError(f"{excerpt(row)} is no partition", file=file, hint=_PLAN)


def _is_id(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST
