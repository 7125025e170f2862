"""Reads the inputs of `kwire cluster` and `kwire place`: dumps, a live broker, and brokers or plans as JSON.

The format of a plan is in `kwire.cluster.plan.replica_plan`. Also parses the arguments of `kwire place` that name
brokers, racks and assignors.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from random import SystemRandom
from typing import Any, NamedTuple

from ..capture.logs.log_batch import LogRecord
from ..capture.znode_files import read_znodes
from ..client.address import Address, address
from ..client.apply_plan import under_way
from ..client.live_cluster import LiveCluster
from ..cluster import (
    Broker,
    ClusterModel,
    ClusterState,
    LoggedRecord,
    Observation,
    RackAwareMode,
    add_partitions,
    assign_multi_level,
    broker_metadatas,
    generate_assignment,
    observed,
)
from ..cluster.events.metadata_log import message_in
from ..cluster.java.random import Random
from ..cluster.placement.create_replica_assignment import MOST_REPLICAS, place_replicas
from ..cluster.placement.multi_level import Rings, increase_replication_factor
from ..cluster.placement.rack_tree import RackTree
from ..cluster.placement.replica_assignors import assignor_for
from ..cluster.plan.reassignment_json import REASSIGNMENT_FORM, Plan, is_id, read_reassignment
from ..cluster.plan.replica_plan import Goals, plan_replicas
from ..cluster.refused_requests import Seen, judged
from ..errors import CallError, DumpError, UnknownMessage, excerpt
from ..errors.refused import InvalidPartitions, InvalidReplicationFactor
from ..protocol import Result
from ..protocol.framing import NotKafka
from ..render.value_text import count_text
from ..zookeeper import ZooKeeperConnection, ZooKeeperSessions
from .filters import Entry, Span, entries
from .inputs_and_output import Reading, dumps_in, files_of, part_read, title_of
from .options import UsageError, security_of
from .terminal import remark, with_progress


def is_address(name: str) -> bool:
    """Whether a name is HOST:PORT and no file has that name."""
    return re.fullmatch(r"[^\s/]*:\d+", name) is not None and not Path(name).exists()


def state_of(options: argparse.Namespace) -> ClusterState:
    """Return a cluster's state at the end of the dumps; raises DumpError if they contain no cluster data."""
    return model_of(options).state()


def model_of(options: argparse.Namespace, at: str | None = None) -> ClusterModel:
    """Return a model of the cluster in the dumps.

    Args:
        options: the options, which name the dumps.
        at: the last moment to include: a time, a frame number, or the offset of a log.

    Raises:
        DumpError: the dumps contain no cluster data.
        UsageError: `at` has another form.
    """
    return model_from(in_order_of_time(found_in(options)), at, title_of(options))


def model_from(found: Iterable[Found], at: str | None, title: str) -> ClusterModel:
    """Build a model of what was found up to a moment; raises the exceptions of `model_of`."""
    is_before = limit_of(at)
    model = ClusterModel()
    seen = (one.seen for one in found if is_before(one))
    taken = [model.take(one, is_refused) for one, is_refused in judged(seen)]
    if not any(taken):
        hint = "it takes Metadata, UpdateMetadata, LeaderAndIsr, DescribeTopicPartitions and other messages, a log or "
        hint += "snapshot of __cluster_metadata, znodes as JSON, and captures of ZooKeeper"
        when = "" if at is None else f" before {at}"
        raise DumpError(f"no message describes a cluster{when}", file=title, hint=hint)
    return model


def events_in(options: argparse.Namespace) -> Iterator[Seen]:
    """Yield the cluster data in the dumps, in order."""
    return (one.seen for one in in_order_of_time(found_in(options)))


class Found(NamedTuple):
    """A piece of cluster data, with its frame number, or its offset in a log."""

    seen: Seen
    number: int | None
    time: float | None  # the frame's time: a znode may have been written long before it is read


def limit_of(at: str | None) -> Callable[[Found], bool]:
    """Return a function that tells whether data was found at a moment or earlier."""
    if at is None:
        return lambda one: True
    if at.isdigit():
        last = int(at)
        return lambda one: one.number is None or one.number <= last
    try:
        span = Span(None, at)
    except UsageError as error:
        raise UsageError(str(error).replace("--to", "--at, --from, --to", 1)) from None
    return lambda one: span.covers(one.seen.time, one.number or 0)


def in_order_of_time(found: Iterable[Found]) -> Iterator[Found]:
    """Sort by time if all items have one: files may overlap in time, and the records of a log have their own times."""
    held = list(found)
    if any(one.time is None for one in held):
        return iter(held)
    return iter(sorted(held, key=lambda one: one.time or 0.0))


def found_in(options: argparse.Namespace) -> Iterator[Found]:
    """Yield the data in the dumps that a model takes, file by file."""
    given = [file for file, _ in files_of(options.files, options.recursive)]
    of_znodes = {file: found for file in given if file != "-" and (found := read_znodes(file)) is not None}
    for file, znodes in of_znodes.items():
        remark(f"{file}: read as znodes")
        yield from (Found(one, None, one.time) for one in znodes)
    others = argparse.Namespace(**{**vars(options), "files": [file for file in given if file not in of_znodes]})
    if of_znodes and not others.files and options.hex is None:
        return
    reading = Reading(others, sealed=False)  # a model keeps no secrets, and masked records could not be parsed
    sessions = ZooKeeperSessions()
    for dump in dumps_in(others, logs=True, zookeeper=True):
        connections: dict[int | None, ZooKeeperConnection] = {}
        read: Iterator[Result | Entry] = entries(reading.items(dump), sealed=False)
        for item in with_progress(read, partial(part_read, others)):
            yield from _items(item, connections, sessions)


def _items(
    item: Result | Entry, connections: dict[int | None, ZooKeeperConnection], sessions: ZooKeeperSessions
) -> Iterator[Found]:
    if isinstance(item, LogRecord):
        message = message_in(item.message)
        if message is not None:
            record, header = item.record, item.batch.header
            time = record.timestamp / 1000 if record.timestamp >= 0 else None
            epoch = header.partition_leader_epoch or 0
            yield Found(LoggedRecord(record.offset, epoch, time, message, item.batch.file), record.offset, time)
        return
    frame = getattr(item, "frame", None)
    if frame is None:
        return
    source = frame.source
    if isinstance(frame.fault, NotKafka):
        connection = connections.setdefault(source.connection, ZooKeeperConnection(sessions))
        for one in connection.packet(source.direction == "request", frame.data, source.time):
            yield Found(one._replace(file=source.file or ""), source.frame, source.time)
    else:
        seen: Observation | None = observed(item)  # type: ignore[arg-type]
        if seen is not None:
            yield Found(seen, source.frame, source.time)


Sizes = dict[tuple[str, int], int]
_IDS = ("nodeId", "node_id", "id", "brokerId", "broker_id")
_DIGITS = re.compile("[0-9]{1,10}")
_FORMS = 'write [{"id": 1, "rack": "/DC1/R1"}, ...], {"1": "/DC1/R1", ...}, or what kwire cluster --json writes'
_SIZES = "it takes what kafka-log-dirs --describe prints"
NEW_TOPIC = "new"  # shown in place of a missing topic name
EVEN = "even"


@dataclass(slots=True)
class Situation:
    """The cluster to inspect or change.

    `partitions` holds the partitions of all topics, or of --topic; `others` holds the partitions of the other topics.
    """

    brokers: list[Broker]
    partitions: Plan
    others: Plan = field(default_factory=dict)
    sizes: Sizes = field(default_factory=dict)
    address: Address | None = None


def read_situation(options: argparse.Namespace) -> Situation:
    """Read brokers and partitions from the files or the broker that the options name.

    Raises:
        UsageError: the options contradict each other.
        DumpError, CallError: a file or a broker has no cluster data.
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
        return Situation(_brokers(value, file), read_reassignment(value, file) if has_partitions else {})
    options.files = options.files or [options.source]
    return _of_state(state_of(options))


def _of_state(state: ClusterState) -> Situation:
    """Convert a cluster's state; a partition that is being reassigned has its target replicas."""
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
    """Ask a broker for the cluster; if a live broker does not tell the sizes of its partitions, none is known."""
    where = address(options.source)
    with LiveCluster(where, options.timeout, security_of(options)) as cluster:
        state = cluster.state()
        found = _of_state(state)
        found.address = where
        found.partitions.update(_under_way(cluster))
    live = [broker.node_id for broker in (state.brokers or {}).values() if not broker.fenced]
    silent = [node_id for node_id in live if node_id not in state.log_dirs]
    if silent:
        found.sizes = {}
        if not options.sizes and options.fewest != "replicas":
            brokers = f"broker {silent[0]}" if len(silent) == 1 else f"{len(silent)} of {len(live)} brokers"
            remark(f"the sizes of partitions are not known: {brokers} did not list log directories")
    return found


def _under_way(cluster: LiveCluster) -> Plan:
    try:
        moving = under_way(cluster)
    except CallError:  # before Kafka 2.4
        return {}
    if moving:
        remark(f"planned as if complete: {count_text(len(moving), 'partition')} that are being reassigned")
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
        return isinstance(value.get("brokers"), list) or all(map(_DIGITS.fullmatch, value))
    return isinstance(value, list)


def read_sizes(file: str) -> Sizes:
    """Read the sizes of partitions from the output of kafka-log-dirs --describe; the size is the largest replica's.

    Raises:
        DumpError: the file is not such output.
        OSError: the file cannot be read.
    """
    text = sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    try:
        brokers = json.loads(text[text.find("{") :])["brokers"]  # after the tool's own status lines
        rows = [row for broker in brokers for folder in broker["logDirs"] for row in folder["partitions"]]
        named = [(row["partition"], row["size"], row.get("isFuture", False)) for row in rows]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise DumpError("it has no sizes of partitions", file=file, hint=_SIZES) from None
    sizes: Sizes = {}
    for name, size, is_future in named:
        topic, _, index = str(name).rpartition("-")
        if not topic or not _DIGITS.fullmatch(index) or not isinstance(size, int) or size < 0:
            raise DumpError(f"{excerpt(name)} is not a partition with a size", file=file, hint=_SIZES)
        if not is_future:
            sizes[topic, int(index)] = max(size, sizes.get((topic, int(index)), 0))
    return sizes


def read_brokers(file: str) -> list[Broker]:
    """Read brokers from a JSON file; `-` is standard input. A rack may be missing or null; "fenced" is optional.

    Raises:
        DumpError: the file is not JSON that describes brokers.
        OSError: the file cannot be read.
    """
    return _brokers(_read(file, _FORMS), file)


def _brokers(value: Any, file: str) -> list[Broker]:
    if isinstance(value, dict):
        value = value["brokers"] if "brokers" in value else [{"id": key, "rack": rack} for key, rack in value.items()]
    if not isinstance(value, list):
        raise DumpError("there is no list of brokers in it", file=file, hint=_FORMS)
    return [_broker(row, file) for row in value]


def read_plan(file: str) -> Plan:
    """Read an assignment from a file in the format of kafka-reassign-partitions; `-` is standard input.

    Raises:
        DumpError: the file is not JSON of an assignment.
        InvalidReplicaAssignment: a partition lists a broker twice.
        OSError: the file cannot be read.
    """
    return read_reassignment(_read(file, REASSIGNMENT_FORM), file)


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
        if is_id(node_id) and isinstance(rack, str | None):
            return Broker(node_id, rack=rack, fenced=row.get("fenced") is True)
    raise DumpError(f"{excerpt(row)} is not a broker", file=file, hint=_FORMS)


def new_partitions(options: argparse.Namespace, found: Situation, name: str) -> dict[int, list[int]]:
    """Place the partitions of a new topic with an assignor; `even` chooses the brokers with the fewest replicas."""
    ids = ids_in(options.broker_list, "--broker-list")
    if name == EVEN:
        return _even(options, found, options.rf, ids)
    seeded = Random(_seed(options))
    brokers = found.brokers
    return place_replicas(brokers, options.partitions, options.rf, seeded, node_ids=ids, assignor=assignor_for(name))


def more_partitions(options: argparse.Namespace, found: Situation, name: str) -> dict[int, list[int]]:
    """Place additional partitions of a topic, as the assignor would have continued."""
    existing = {index: ids for (_, index), ids in found.partitions.items()}
    factor = len(existing.get(0, next(iter(existing.values()))))
    ids = ids_in(options.broker_list, "--broker-list")
    live = _eligible(found, ids)
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


def _eligible(found: Situation, ids: Sequence[int]) -> list[Broker]:
    """Return the brokers that may take replicas; if ids are given, only brokers with these ids."""
    return [broker for broker in found.brokers if not broker.fenced and (not ids or broker.node_id in ids)]


def _even(options: argparse.Namespace, found: Situation, factor: int, ids: Sequence[int]) -> dict[int, list[int]]:
    """Place new partitions on the brokers that hold the fewest replicas."""
    check_count(options.partitions, factor)
    live = _eligible(found, ids)
    tree = RackTree(broker_metadatas(live, mode_of(options)), strict=False)
    topic = options.topic or NEW_TOPIC
    there = sum(key[0] == topic for key in found.partitions)
    new: Plan = {(topic, index): [] for index in range(there, options.partitions)}
    plan = plan_replicas(
        tree, {**found.others, **found.partitions, **new}, factors=dict.fromkeys(new, factor), only=new
    )
    return {index: list(plan.after[topic, index]) for _, index in new}


def check_count(partitions: int, factor: int) -> None:
    """Raise an error for a factor below 1, and for a number of replicas so large that it is probably a mistake."""
    if factor <= 0:
        raise InvalidReplicationFactor("replication_factor_not_positive", replication_factor=factor)
    if partitions * factor > MOST_REPLICAS:
        figures = {"num_partitions": partitions, "replication_factor": factor, "most": MOST_REPLICAS}
        raise InvalidPartitions("too_many_replicas", **figures)


def assignor_name(options: argparse.Namespace, brokers: Sequence[Broker]) -> str:
    """Return the assignor that the options name, or else the one that suits the brokers' racks."""
    if options.mode == "disabled" and options.assignor != EVEN:
        return "simple"
    paths = brokers and all(broker.rack and broker.rack.startswith("/") for broker in brokers)
    flat = "rack-aware-safe" if options.mode == "safe" else "rack-aware"
    return str(options.assignor or ("multi-level" if paths else flat))


def mode_of(options: argparse.Namespace) -> RackAwareMode:
    """Return the mode that --mode names."""
    return RackAwareMode[options.mode.upper()]


def target_of(
    options: argparse.Namespace, found: Situation, left: list[Broker], tree: RackTree, removed: set[int]
) -> Plan:
    """Return the target replicas of the partitions."""
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
    factors = {key: len(replicas) if options.rf is None else options.rf for key, replicas in current.items()}
    goals = Goals(options.repair, options.balance or bool(options.add), options.leaders, options.by == "bytes")
    sizes = {} if options.fewest == "replicas" else found.sizes
    if "bytes" in (options.fewest, options.by) and not sizes:
        raise UsageError("bytes need the sizes of partitions: --sizes FILE, or a live cluster as SOURCE")
    everything = {**found.others, **start}
    plan = plan_replicas(tree, everything, goals, factors=factors, only=only, sizes=sizes)
    return {key: list(plan.after[key]) for key in start}


def _renamed(replicas: Sequence[int], renamed: dict[int, int]) -> list[int]:
    """Return replicas with some brokers replaced; a broker that already holds a replica is not added again."""
    return [one if renamed.get(one, one) in replicas else renamed[one] for one in replicas]


def _generated(options: argparse.Namespace, found: Situation, left: Sequence[Broker]) -> Plan:
    """Compute a new placement of all topics, like kafka-reassign-partitions --generate, or with another assignor."""
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
    """Add replicas to each partition as KIP-879 does; flat racks count as racks with one level."""
    bare = all(broker.rack is None for broker in brokers)
    pathed = [replace(broker, rack="/" if bare else _path(broker.rack)) for broker in brokers]
    return increase_replication_factor(pathed, current, options.rf, rng=Random(_seed(options)), rings=Rings.TURNED)


def _path(rack: str | None) -> str | None:
    return rack if rack is None or rack.startswith("/") else f"/{rack}"


def _seed(options: argparse.Namespace) -> int:
    """Return the seed. If none is given, one is drawn, stored in the options and printed, to repeat the placement."""
    if options.seed is None:
        options.seed = SystemRandom().randrange(2**31)
        if options.json or options.generate or (options.rf is not None and options.partitions is None):
            remark(f"placed with --seed {options.seed}")
    return int(options.seed)


def ids_in(text: str | None, option: str) -> list[int]:
    """Parse ids separated by commas; return an empty list for a missing text. Raises UsageError."""
    words = text.split(",") if text else []
    if not all(re.fullmatch(r"\s*[0-9]{1,10}\s*", word) for word in words):
        raise UsageError(f"{option} {text}: write ids separated by commas, such as 1,2,5")
    return [int(word) for word in words]


def replacements_in(options: argparse.Namespace) -> dict[int, int]:
    """Parse --replace; return the new broker of each old one. Raises UsageError."""
    pairs = [word.partition("=")[::2] for word in options.replace.split(",")] if options.replace else []
    if not all(re.fullmatch("[0-9]{1,10}", one.strip()) for pair in pairs for one in pair):
        raise UsageError(f"--replace {options.replace}: write OLD=NEW, such as 3=7, separated by commas")
    return {int(old): int(new) for old, new in pairs}


def with_added(options: argparse.Namespace, brokers: Sequence[Broker]) -> list[Broker]:
    """Return the brokers, including those of --add, which may name existing ones."""
    found = {broker.node_id: broker for broker in brokers}
    for word in options.add.split(",") if options.add else ():
        node_id, equals, rack = word.strip().partition("=")
        if not re.fullmatch("[0-9]{1,10}", node_id) or (equals and not rack):
            raise UsageError(f"--add {options.add}: write ids and racks, such as 7=/DC1/R2, separated by commas")
        known = found.get(int(node_id), Broker(int(node_id)))
        found[int(node_id)] = replace(known, rack=rack) if rack else known
    return list(found.values())


def check_known(brokers: Sequence[Broker], ids: set[int]) -> None:
    """Raise UnknownMessage if no broker has one of the ids."""
    known = sorted(broker.node_id for broker in brokers)
    for one in sorted(ids):
        if one not in known:
            raise UnknownMessage("broker", str(one), [str(each) for each in known])
