"""`kwire cluster`: brokers, racks, partitions and settings, from messages, a metadata log, znodes, or a live broker."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from ..cluster import ClusterModel, ClusterState, LoggedRecord, Observation, observed
from ..cluster.consumer_groups import ConsumerGroups
from ..cluster.metadata_log import message_in
from ..cluster.model import SEPARATOR, Seen, judged
from ..cluster.state import Partition, Settings
from ..errors import DumpError, UnknownMessage
from ..input.open import read_znodes
from ..logs import LogRecord
from ..net.admin import ask_model
from ..net.client import BrokerConnection, address
from ..protocol import Result
from ..protocol.framing import NotKafka
from ..render.cluster import (
    cluster_json,
    cluster_lines,
    difference_json,
    difference_lines,
    group_json,
    group_lines,
    metric_lines,
)
from ..render.style import json_text
from ..zookeeper import ZooKeeperConnection, ZooKeeperSessions
from .filters import Entry, Span, entries
from .inputs import Reading, UsageError, dumps_in, files_of, part_read, results, title_of
from .options import add_colour, add_command, add_inputs, add_security, security_of
from .terminal import remark, style_for, with_progress


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser], about: str) -> None:
    """Add the command and its options."""
    parser = add_command(
        commands,
        "cluster",
        about,
        "  kwire cluster localhost:9092          what a live broker says now\n"
        "  kwire cluster dump.pcap               what is known at its end\n"
        "  kwire cluster dump.bin --at 120       what was known after frame 120\n"
        "  kwire cluster dump.pcap --from 06:27:00 --to 06:29:00   what changed\n"
        "  kwire cluster dump.pcap --metrics     offline replicas over time\n"
        "  kwire cluster __cluster_metadata-0/00000000000000000000.log --offline\n"
        "  kwire cluster znodes.json zookeeper.pcap   a ZooKeeper-era cluster\n",
        cluster,
    )
    add_inputs(parser)
    parser.add_argument(
        "--timeout", type=float, default=10.0, metavar="SECONDS", help="timeout of broker requests; default: 10"
    )
    parser.add_argument("--topic", metavar="T", help="only this topic")
    parser.add_argument("--at", metavar="WHEN", help="the state at a time, or after a frame or offset")
    parser.add_argument("--from", dest="since", metavar="TIME", help="with --to: shows what changed from then")
    parser.add_argument("--to", dest="until", metavar="TIME", help="the end of --from")
    for name, (about_it, _) in FILTERS.items():
        parser.add_argument(f"--{name}", action="store_true", help=about_it)
    parser.add_argument(
        "--metrics",
        action="store_true",
        help="only KIP-112's metrics of brokers: offline replicas and directories",
    )
    parser.add_argument(
        "--groups", action="store_true", help="consumer groups: members, racks, lag, reads across racks"
    )
    parser.add_argument("--group", metavar="ID", help="only this consumer group")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_colour(parser)
    add_security(parser)


# option -> its help, and which partitions are shown
FILTERS: dict[str, tuple[str, Callable[[ClusterState, Partition], bool]]] = {
    "unavailable": ("partitions without a live leader", lambda state, one: _is_unavailable(state, one)),
    "under-replicated": ("partitions with replicas out of sync", lambda _, one: one.is_under_replicated),
    "offline": ("partitions with offline replicas", lambda state, one: bool(state.offline(one))),
    "under-min-isr": (
        "partitions below min.insync.replicas",
        lambda state, one: len(one.isr) < state.min_isr(one.topic),
    ),
}


def _is_unavailable(state: ClusterState, one: Partition) -> bool:
    return not one.has_leader or one.leader in state.offline(one)


def cluster(options: argparse.Namespace) -> int:
    """Print the state at the end, or at --at; or what differs, or metrics. Returns 0."""
    if options.at is not None and options.at.isdigit() and len(options.files) > 1:
        raise UsageError("--at takes one dump, where it is a frame or an offset; give a time for several")
    if (options.since is None) != (options.until is None):
        raise UsageError("--from and --to go together: two moments to compare")
    _check_together(options)
    security_of(options, is_live=any(map(is_address, options.files)))
    if options.groups or options.group is not None:
        return _groups(options)
    for line in _differences(options) if options.since is not None else _lines(options):
        print(line)
    return 0


def _check_together(options: argparse.Namespace) -> None:
    """Refuse options of which one would be ignored."""
    groups = options.groups or options.group is not None
    given = {
        "--groups": groups,
        "--metrics": options.metrics,
        "--from": options.since is not None,
        **{f"--{name}": getattr(options, name.replace("-", "_")) for name in FILTERS},
    }
    names = [name for name, is_given in given.items() if is_given]
    if len(names) > 1 and (groups or options.metrics):
        raise UsageError(f"{names[0]} and {names[1]} ask for different things: give one of them")
    if options.since is not None and options.at is not None:
        raise UsageError("--at is one moment, --from and --to are two: give one or the other")
    live = next((name for name in options.files if is_address(name)), None)
    if live is not None and (groups or options.since is not None):
        raise UsageError(f"{live} is a live broker: --groups, --from and --to read captures, logs and znodes")


def _differences(options: argparse.Namespace) -> Iterable[str]:
    found = list(_in_time(_found(options)))
    moments = options.since, options.until
    is_before, is_until = map(_limit, moments)
    if any(is_before(one) and not is_until(one) for one in found):
        raise UsageError(f"--from {options.since} is later than --to {options.until}")
    before, after = (_of_topic(_built(found, at, title_of(options)).state(), options) for at in moments)
    if options.json:
        return [json_text(difference_json(before, after))]
    return difference_lines(before, after, style_for(sys.stdout, options.color))


def _lines(options: argparse.Namespace) -> Iterable[str]:
    model = _model(options)
    state, tables = _of_topic(model.state(), options), model.tables()
    if not any(map(is_address, options.files)):
        for note in sorted({note for one in tables.sources for note in (one.note or "").split(SEPARATOR) if note}):
            remark(note)
    if options.json:
        return [json_text(cluster_json(state, tables))]
    style = style_for(sys.stdout, options.color)
    return metric_lines(tables, style) if options.metrics else cluster_lines(state, style, tables)


def _groups(options: argparse.Namespace) -> int:
    """Print the consumer groups that the frames tell of."""
    groups, read = ConsumerGroups(), with_progress(results(options), partial(part_read, options))
    for result in takewhile(_limit_of_frames(options.at), read):
        groups.see(result)
    known = sorted(name for name, group in groups.groups.items() if group.is_known)
    if not known:
        hint = (
            "it takes JoinGroup, SyncGroup, ConsumerGroupHeartbeat, OffsetCommit, OffsetFetch or what describes groups"
        )
        raise DumpError("no message tells of a consumer group", file=title_of(options), hint=hint)
    if options.group is not None and options.group not in known:
        raise UnknownMessage("consumer group", options.group, known)
    if options.json:
        print(json_text(group_json(groups, options.group)))
        return 0
    for line in group_lines(groups, options.group, style_for(sys.stdout, options.color)):
        print(line)
    return 0


def _limit_of_frames(at: str | None) -> Callable[[Result], bool]:
    """Return what says whether a frame comes before a moment, or at it."""
    if at is not None and at.isdigit():
        last = int(at)
        return lambda item: item.frame.source.frame is None or item.frame.source.frame <= last
    return Span(None, at)


def _of_topic(state: ClusterState, options: argparse.Namespace) -> ClusterState:
    """Leave in a state what --topic and the filters ask for."""
    if options.topic is not None and options.topic not in state.topics:
        raise UnknownMessage("topic", options.topic, sorted(state.topics))
    tests = [test for name, (_, test) in FILTERS.items() if getattr(options, name.replace("-", "_"))]
    for one in state.partitions():
        if options.topic not in (None, one.topic) or not all(test(state, one) for test in tests):
            state.drop(one.topic, one.index)
    if options.topic is not None or tests:  # what else a cluster has is not asked for
        configs = {key: found for key, found in state.settings.configs.items() if key == ("topic", options.topic)}
        state.settings, state.log_dirs = Settings(configs), {}
    return state


def _model(options: argparse.Namespace) -> ClusterModel:
    where = [name for name in options.files if is_address(name)]
    if not where:
        return model_of(options, options.at)
    of_dumps = (options.at, options.named, options.hex, options.log_of)
    if len(options.files) > 1 or options.body or any(option is not None for option in of_dumps):
        raise UsageError(f"{where[0]} is a live broker: ask one, without files and without options for files")
    with BrokerConnection(address(where[0]), timeout=options.timeout, security=security_of(options)) as broker:
        return ask_model(broker)


def is_address(name: str) -> bool:
    """Whether it is HOST:PORT, and no file is called so."""
    return re.fullmatch(r"[^\s/]*:\d+", name) is not None and not Path(name).exists()


def state_of(options: argparse.Namespace) -> ClusterState:
    """Return what the dumps say of a cluster at their end; raises DumpError if nothing in them does."""
    return model_of(options).state()


def model_of(options: argparse.Namespace, at: str | None = None) -> ClusterModel:
    """Return what the dumps say of a cluster.

    Args:
        options: with the dumps.
        at: until when: a time, or a frame or an offset of a log.

    Raises:
        DumpError: nothing in them says something of a cluster.
        UsageError: `at` is none of these.
    """
    return _built(_in_time(_found(options)), at, title_of(options))


def _built(found: Iterable[_Found], at: str | None, title: str) -> ClusterModel:
    """Build a model of what was seen until a moment; raises as `model_of`."""
    is_before = _limit(at)
    model = ClusterModel()
    seen = (one.seen for one in found if is_before(one))
    taken = [model.take(one, is_refused) for one, is_refused in judged(seen)]
    if not any(taken):
        hint = "it takes Metadata, UpdateMetadata, LeaderAndIsr, DescribeTopicPartitions and other messages, a log or "
        hint += "snapshot of __cluster_metadata, znodes as JSON, and captures of ZooKeeper"
        when = "" if at is None else f" before {at}"
        raise DumpError(f"no message tells of a cluster{when}", file=title, hint=hint)
    return model


def events_in(options: argparse.Namespace) -> Iterator[Seen]:
    """Yield what the dumps contain about a cluster, in order."""
    return (one.seen for one in _in_time(_found(options)))


class _Found(NamedTuple):
    """What was seen, and the number of its frame, or its offset in a log."""

    seen: Seen
    number: int | None
    time: float | None  # of its frame: a znode that is read may have been written long before


def _limit(at: str | None) -> Callable[[_Found], bool]:
    """Return what says whether something was seen before a moment, or at it."""
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


def _in_time(found: Iterable[_Found]) -> Iterator[_Found]:
    """Sort by time where all have one: files lie beside each other, and records of a log have times of their own."""
    held = list(found)
    if any(one.time is None for one in held):
        return iter(held)
    return iter(sorted(held, key=lambda one: one.time or 0.0))


def _found(options: argparse.Namespace) -> Iterator[_Found]:
    """Yield what the dumps hold that a model takes, file by file."""
    given = [file for file, _ in files_of(options.files, options.recursive)]
    of_znodes = {file: found for file in given if file != "-" and (found := read_znodes(file)) is not None}
    for file, znodes in of_znodes.items():
        remark(f"{file}: read as znodes")
        yield from (_Found(one, None, one.time) for one in znodes)
    others = argparse.Namespace(**{**vars(options), "files": [file for file in given if file not in of_znodes]})
    if of_znodes and not others.files and options.hex is None:
        return
    reading = Reading(others, sealed=False)  # a model keeps no secrets, and masked records could not be read
    sessions = ZooKeeperSessions()
    for dump in dumps_in(others, logs=True, zookeeper=True):
        connections: dict[int | None, ZooKeeperConnection] = {}
        read: Iterator[Result | Entry] = entries(reading.items(dump), sealed=False)
        for item in with_progress(read, partial(part_read, others)):
            yield from _items(item, connections, sessions)


def _items(
    item: Result | Entry, connections: dict[int | None, ZooKeeperConnection], sessions: ZooKeeperSessions
) -> Iterator[_Found]:
    if isinstance(item, LogRecord):
        message = message_in(item.message)
        if message is not None:
            record, header = item.record, item.batch.header
            time = record.timestamp / 1000 if record.timestamp >= 0 else None
            epoch = header.partition_leader_epoch or 0
            yield _Found(LoggedRecord(record.offset, epoch, time, message, item.batch.file), record.offset, time)
        return
    frame = getattr(item, "frame", None)
    if frame is None:
        return
    source = frame.source
    if isinstance(frame.fault, NotKafka):
        connection = connections.setdefault(source.connection, ZooKeeperConnection(sessions))
        for one in connection.packet(source.direction == "request", frame.data, source.time):
            yield _Found(one._replace(file=source.file or ""), source.frame, source.time)
    else:
        seen: Observation | None = observed(item)  # type: ignore[arg-type]
        if seen is not None:
            yield _Found(seen, source.frame, source.time)
