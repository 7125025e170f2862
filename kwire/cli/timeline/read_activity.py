"""Reads all inputs once, and collects what happened: in the cluster, in groups, between clients and brokers."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from math import inf

from ...capture.dump import Dump
from ...cluster import ClusterModel
from ...cluster.activity.activity_event import BROKER, ActivityEvent, ActivityLog, subject
from ...cluster.activity.cluster_events import FramePlace, cluster_events
from ...cluster.activity.group_events import GroupEvents
from ...cluster.activity.request_events import RequestEvents
from ...cluster.activity.retries import NO_RESPONSE, SentRequest
from ...cluster.refused_requests import judged
from ...protocol import Request, Response, Result, Undecodable
from ...protocol.frames.captured_frame import SECOND, CapturedBatch, Endpoints, count_frames
from ...protocol.headers.apis import Call
from ...protocol.headers.header import Header
from ...zookeeper import ZooKeeperConnection, ZooKeeperSessions
from ..cluster.observations import NumberedObservation, in_order_of_time, observations_in, znodes_in
from ..input.dump_decoder import DumpDecoder
from ..input.fraction_read import part_read
from ..input.log_entries import LogEntry, open_batches
from ..input.merged_inputs import TimedBatches, captured_time, groups_in, item_time, read_groups
from ..terminal.progress import with_progress
from .connection_events import ConnectionEvents
from .light_frames import LightFrames


class ActivityReader:
    """Reads inputs, and collects events."""

    def __init__(self) -> None:
        self._log = ActivityLog()
        self._requests = RequestEvents(self._log)
        self._groups = GroupEvents(self._log)
        self._connections = ConnectionEvents()
        self._observations: list[NumberedObservation] = []
        self._sessions = ZooKeeperSessions()

    def read_inputs(self, options: argparse.Namespace) -> list[ActivityEvent]:
        """Return the events of all inputs that options name."""
        others, znodes = znodes_in(options)
        self._observations.extend(znodes)
        if others is not None:
            self._read_dumps(others)
        return self._events()

    def read_results(self, results: Iterable[Result]) -> list[ActivityEvent]:
        """Return the events that decoded frames show; what packets show besides is not among them."""
        self._observations.extend(self._observe(iter(results), {}))
        return self._events()

    def _events(self) -> list[ActivityEvent]:
        """Return all events in order of time; those without a time stay where they were found."""
        events = [*self._log.events, *self._cluster_events(), *self._connections.events()]
        return _in_order(events)

    def _read_dumps(self, options: argparse.Namespace) -> None:
        reading = DumpDecoder(options, sealed=False)  # as for the model of a cluster; events name no secrets
        read = partial(self._read_dump, reading=reading, part=partial(part_read, options))
        groups = groups_in(options, logs=True, zookeeper=True)
        self._observations.extend(read_groups(groups, lambda dump: read(dump).take(inf), read))
        self._connections.read()

    def _read_dump(
        self, dump: Dump, reading: DumpDecoder, part: partial[float | None]
    ) -> TimedBatches[NumberedObservation]:
        """Return the cluster data of a dump; taking it also collects the other events."""
        zookeeper: dict[int | None, ZooKeeperConnection] = {}
        if dump.captured is None or reading.named is not None:
            items: Iterator[Result | LogEntry] = with_progress(open_batches(reading.items(dump), sealed=False), part)

            def take_items(batch: list[Result | LogEntry]) -> Iterator[NumberedObservation]:
                return self._observe(batch, zookeeper)

            return TimedBatches(([item] for item in items), item_time, take_items)
        file = dump.file

        def sent(call: Call, ends: Endpoints, correlation_id: int, frame: int, time: float | None) -> None:
            self._requests.send(_make_sent_request(call, ends, file, correlation_id, frame, time))

        frames = LightFrames(reading.decoder(), file, sent, partial(self._lose, file))

        def take_frames(batch: CapturedBatch) -> Iterator[NumberedObservation]:
            return self._observe(frames.results(batch), zookeeper)

        return TimedBatches(with_progress(dump.captured, part, weight=count_frames), captured_time, take_frames)

    def _observe(
        self, items: Iterable[Result | LogEntry], zookeeper: dict[int | None, ZooKeeperConnection]
    ) -> Iterator[NumberedObservation]:
        """Collect what items show about clients and groups, and yield what they show about the cluster."""
        for item in items:
            if isinstance(item, Request | Response | Undecodable):
                self._add(item)
            yield from observations_in(item, zookeeper, self._sessions)

    def _add(self, result: Result) -> None:
        self._requests.add(result)
        self._groups.add(result)
        self._connections.add(result)

    def _lose(self, file: str, in_flight: Sequence[Header], ends: Endpoints) -> None:
        """Note the end of a connection, and its requests that were not answered."""
        self._groups.forget(file, ends.connection)
        for header in in_flight:
            if header.call is not None:
                time = None if header.time is None else header.time / SECOND
                request = _make_sent_request(header.call, ends, file, header.correlation_id, header.frame, time)
                self._requests.fail(request, NO_RESPONSE, time)
        self._requests.retries.close((file, ends.connection))

    def _cluster_events(self) -> Iterator[ActivityEvent]:
        model = ClusterModel()
        shown: dict[int, FramePlace] = {}
        in_order = list(in_order_of_time(iter(self._observations)))
        places = {id(item.seen): FramePlace(getattr(item.seen, "file", ""), item.number) for item in in_order}
        for observation, is_refused in judged(item.seen for item in in_order):
            model.take(observation, is_refused)
            shown[model.count] = places[id(observation)]
        at_time = {item.seen.time: places[id(item.seen)] for item in reversed(in_order)}
        yield from cluster_events(model, shown, at_time)
        self._name_brokers(model)

    def _name_brokers(self, model: ClusterModel) -> None:
        """Add the node ids of brokers that events know by their address."""
        for event in (*self._log.events, *self._connections.found):
            for name in [name for name in event.subjects if name.startswith(f"{BROKER}:")]:
                node = model.brokers.at(name.removeprefix(f"{BROKER}:"))
                event.subjects |= frozenset(subject(BROKER, node))


def _make_sent_request(
    call: Call, ends: Endpoints, file: str, correlation_id: int | None, frame: int | None, time: float | None
) -> SentRequest:
    connection = file, ends.connection
    api, client = call.api.name or "", call.client_id
    return SentRequest(api, client, ends.client_ip, ends.broker, connection, correlation_id, frame, time)


def _in_order(events: list[ActivityEvent]) -> list[ActivityEvent]:
    """Sort events by time; one without a time stays after the event that was found before it."""
    keys: list[tuple[float, int]] = []
    latest = 0.0
    for event in events:
        latest = latest if event.time is None else event.time
        keys.append((latest, event.frame or 0))
    return [event for _, event in sorted(zip(keys, events, strict=True), key=lambda pair: pair[0])]
