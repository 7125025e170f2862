"""`kwire cluster`: brokers, racks and partitions, from messages, from a metadata log, or from a live broker."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

from ..cluster import ClusterState, learn
from ..cluster.consumer_groups import ConsumerGroups
from ..codecs import Codec
from ..errors import DumpError, UnknownMessage
from ..internal import ControlRecord, FramedRecord
from ..logs import LogBatch, LogBytes, LogRecord
from ..net.admin import ask_cluster
from ..net.client import BrokerConnection, address
from ..protocol import Request, Response, Result
from ..render.cluster import cluster_json, cluster_lines
from ..render.consumer_groups import group_json, group_lines
from ..render.style import json_text
from .inputs import UsageError, items, results, title_of
from .log_entries import Entry, entries
from .options import add_colour, add_command, add_inputs
from .terminal import style_for, with_progress


def add_parser(commands: Any, about: str) -> None:
    """Add the command and its options."""
    parser = add_command(
        commands,
        "cluster",
        about,
        "  kwire cluster localhost:9092          what a live broker says now\n"
        "  kwire cluster dump.bin                what is known at its end\n"
        "  kwire cluster dump.bin --at 120       what was known after frame 120\n"
        "  kwire cluster __cluster_metadata-0/00000000000000000000.log\n"
        "  kwire cluster reply.bin --as Metadata:12 --topic orders --json\n",
        cluster,
    )
    add_inputs(parser)
    parser.add_argument("--timeout", type=float, default=10.0, metavar="SECONDS", help="for a broker; 10 unless given")
    parser.add_argument("--topic", metavar="T", help="this topic alone")
    parser.add_argument("--at", type=int, metavar="FRAME", help="after this frame, or offset of a log, not at the end")
    parser.add_argument(
        "--groups", action="store_true", help="consumer groups: members, racks, lag, reads across racks"
    )
    parser.add_argument("--group", metavar="ID", help="this consumer group alone")
    parser.add_argument("--json", action="store_true", help="as one JSON object")
    add_colour(parser)


def cluster(options: argparse.Namespace) -> int:
    """Print the state after the last frame, or after --at. Returns 0; 2 if nothing in the dump tells of a cluster."""
    if options.at is not None and len(options.files) > 1:
        raise UsageError("--at takes one dump")
    if options.groups or options.group is not None:
        return _groups(options)
    where = [name for name in options.files if is_address(name)]
    state = _asked(options, where) if where else state_of(options, options.at)
    if options.topic is not None and options.topic not in state.topics:
        raise UnknownMessage("topic", options.topic, sorted(state.topics))
    if options.json:
        print(json_text(cluster_json(state, options.topic)))
        return 0
    for line in cluster_lines(state, options.topic, style_for(sys.stdout, options.color)):
        print(line)
    return 0


def _groups(options: argparse.Namespace) -> int:
    """Print the consumer groups that the frames tell of."""
    groups, read = ConsumerGroups(), with_progress(results(options))
    for result in takewhile(lambda item: _is_before(item, options.at), read):
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


def is_address(name: str) -> bool:
    """Whether it is HOST:PORT, and no file is called so."""
    return re.fullmatch(r"[^\s/]*:\d+", name) is not None and not Path(name).exists()


def _asked(options: argparse.Namespace, where: list[str]) -> ClusterState:
    of_dumps = (options.at, options.named, options.hex, options.log_of)
    if len(options.files) > 1 or options.body or any(option is not None for option in of_dumps):
        raise UsageError(f"{where[0]} is a live broker: ask one, without files and without options for files")
    with BrokerConnection(address(where[0]), timeout=options.timeout) as broker:
        return ask_cluster(broker)


def state_of(options: argparse.Namespace, last: int | None = None) -> ClusterState:
    """Learn what the dumps tell of a cluster, up to a frame or an offset if one is given.

    Raises:
        DumpError: nothing in them does.
    """
    state = ClusterState()
    read: Iterator[Result | Entry] = entries(items(options))
    told = sum(
        learn(state, *said)
        for item in takewhile(lambda item: _is_before(item, last), with_progress(read))
        for said in _said(item)
    )
    if not told:
        hint = "it takes Metadata, UpdateMetadata, LeaderAndIsr, DescribeCluster or DescribeTopicPartitions messages, "
        hint += "or a log or snapshot of __cluster_metadata"
        raise DumpError("no message tells of a cluster", file=title_of(options), hint=hint)
    return state


def _said(item: Result | Entry) -> Iterator[tuple[Any, Codec | int]]:
    """Yield the message that may tell of the cluster, with its codec or its version."""
    if isinstance(item, Request | Response):
        yield item.message, item.codec
    elif isinstance(item, LogRecord) and isinstance(item.message, FramedRecord | ControlRecord):
        value = item.message.value
        if value is not None and value.message is not None:
            yield value.message, value.version or 0


def _is_before(item: Result | Entry, last: int | None) -> bool:
    """Whether a frame, or an offset of a log, comes before a number, or is it."""
    if isinstance(item, LogRecord):
        return last is None or item.record.offset <= last
    if isinstance(item, LogBytes | LogBatch):
        return True
    frame = item.frame.source.frame
    return last is None or frame is None or frame <= last
