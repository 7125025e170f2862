"""The observations of a cluster in dumps, logs, znodes and captures of ZooKeeper, in order of time, and the model
that they give.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ...capture.logs.log_batch import LogRecord
from ...capture.znode_files import read_znodes
from ...cluster import ClusterModel, ClusterState, LoggedRecord, Observation, observed
from ...cluster.events.metadata_log import message_in
from ...cluster.refused_requests import Seen, judged
from ...errors import DumpError
from ...protocol import Request, Response, Result
from ...protocol.frames.stream_faults import NotKafka
from ...zookeeper import ZooKeeperConnection, ZooKeeperSessions
from ..filters.time_span import TimeSpan
from ..input.dump_decoder import DumpDecoder
from ..input.dumps import dumps_in
from ..input.files import files_of
from ..input.fraction_read import part_read
from ..input.log_entries import LogEntry, open_batches
from ..options.inputs import title_of
from ..options.usage_error import UsageError
from ..terminal.progress import with_progress
from ..terminal.remarks import remark


def is_address(name: str) -> bool:
    """Whether a name is HOST:PORT and no file has that name."""
    return re.fullmatch(r"[^\s/]*:\d+", name) is not None and not Path(name).exists()


def state_of(options: argparse.Namespace) -> ClusterState:
    """Return a cluster's state at the end of the dumps; raises DumpError if they contain no cluster data."""
    return model_of(options).state()


def model_of(
    options: argparse.Namespace, at: str | None = None, on_result: Callable[[Result], object] | None = None
) -> ClusterModel:
    """Return a model of the cluster in the dumps.

    Args:
        options: the options, which name the dumps.
        at: the last moment to include: a time, a frame number, or the offset of a log.
        on_result: takes each decoded frame, also later ones.

    Raises:
        DumpError: the dumps contain no cluster data.
        UsageError: `at` has another form.
    """
    return model_from(in_order_of_time(found_in(options, on_result)), at, title_of(options))


def model_from(observations: Iterable[NumberedObservation], at: str | None, title: str) -> ClusterModel:
    """Build a model of what was found up to a moment; raises the exceptions of `model_of`."""
    is_before = limit_of(at)
    model = ClusterModel()
    seen = (observation.seen for observation in observations if is_before(observation))
    taken = [model.take(observation, is_refused) for observation, is_refused in judged(seen)]
    if not any(taken):
        hint = "it takes Metadata, UpdateMetadata, LeaderAndIsr, DescribeTopicPartitions and other messages, a log or "
        hint += "snapshot of __cluster_metadata, znodes as JSON, and captures of ZooKeeper"
        when = "" if at is None else f" before {at}"
        raise DumpError(f"no message describes a cluster{when}", file=title, hint=hint)
    return model


def events_in(options: argparse.Namespace) -> Iterator[Seen]:
    """Yield the cluster data in the dumps, in order."""
    return (observation.seen for observation in in_order_of_time(found_in(options)))


class NumberedObservation(NamedTuple):
    """A piece of cluster data, with its frame number, or its offset in a log."""

    seen: Seen
    number: int | None
    time: float | None  # the frame's time: a znode may have been written long before it is read


def limit_of(at: str | None) -> Callable[[NumberedObservation], bool]:
    """Return a function that tells whether data was found at a moment or earlier."""
    if at is None:
        return lambda observation: True
    if at.isdigit():
        last = int(at)
        return lambda observation: observation.number is None or observation.number <= last
    try:
        span = TimeSpan(None, at)
    except UsageError as error:
        raise UsageError(str(error).replace("--to", "--at, --from, --to", 1)) from None
    return lambda observation: span.covers(observation.seen.time, observation.number or 0)


def in_order_of_time(observations: Iterable[NumberedObservation]) -> Iterator[NumberedObservation]:
    """Sort by time if all items have one: files may overlap in time, and the records of a log have their own times."""
    items = list(observations)
    if any(item.time is None for item in items):
        return iter(items)
    return iter(sorted(items, key=lambda item: item.time or 0.0))


def found_in(
    options: argparse.Namespace, on_result: Callable[[Result], object] | None = None
) -> Iterator[NumberedObservation]:
    """Yield the data in the dumps that a model takes, file by file; `on_result` takes each decoded frame."""
    others, znodes = znodes_in(options)
    yield from znodes
    if others is None:
        return
    reading = DumpDecoder(others, sealed=False)  # a model keeps no secrets, and masked records could not be parsed
    sessions = ZooKeeperSessions()
    for dump in dumps_in(others, logs=True, zookeeper=True):
        connections: dict[int | None, ZooKeeperConnection] = {}
        read: Iterator[Result | LogEntry] = open_batches(reading.items(dump), sealed=False)
        for item in with_progress(read, partial(part_read, others)):
            if on_result is not None and isinstance(item, Request | Response):
                on_result(item)
            yield from observations_in(item, connections, sessions)


def znodes_in(options: argparse.Namespace) -> tuple[argparse.Namespace | None, list[NumberedObservation]]:
    """Read the files of znodes; return the options with the other files, or None if there are none, and the znodes."""
    given = [file for file, _ in files_of(options.files, options.recursive)]
    of_znodes = {file: tree for file in given if file != "-" and (tree := read_znodes(file)) is not None}
    observations: list[NumberedObservation] = []
    for file, znodes in of_znodes.items():
        remark(f"{file}: read as znodes")
        observations += [NumberedObservation(znode, None, znode.time) for znode in znodes]
    others = argparse.Namespace(**{**vars(options), "files": [file for file in given if file not in of_znodes]})
    is_all = bool(of_znodes) and not others.files and options.hex is None
    return None if is_all else others, observations


def observations_in(
    item: Result | LogEntry, connections: dict[int | None, ZooKeeperConnection], sessions: ZooKeeperSessions
) -> Iterator[NumberedObservation]:
    """Yield the cluster data in one item of a dump.

    Args:
        item: a decoded frame, or an entry of a log.
        connections: the connections to ZooKeeper of this dump, by number; new ones are added.
        sessions: the sessions with ZooKeeper, of all dumps.
    """
    if isinstance(item, LogRecord):
        message = message_in(item.message)
        if message is not None:
            record, header = item.record, item.batch.header
            time = record.timestamp / 1000 if record.timestamp >= 0 else None
            epoch = header.partition_leader_epoch or 0
            yield NumberedObservation(
                LoggedRecord(record.offset, epoch, time, message, item.batch.file), record.offset, time
            )
        return
    frame = getattr(item, "frame", None)
    if frame is None:
        return
    source = frame.source
    if isinstance(frame.fault, NotKafka):
        connection = connections.setdefault(source.connection, ZooKeeperConnection(sessions))
        for observation in connection.packet(source.direction == "request", frame.data, source.time):
            yield NumberedObservation(observation._replace(file=source.file or ""), source.frame, source.time)
    else:
        seen: Observation | None = observed(item)  # type: ignore[arg-type]
        if seen is not None:
            yield NumberedObservation(seen, source.frame, source.time)
