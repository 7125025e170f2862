"""`kwire cluster --follow`: what changes in a live cluster or a growing file, as lines or JSON, and metrics."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Protocol

from ...client.address import address
from ...client.live_cluster import LiveCluster
from ...cluster import ClusterModel, ClusterState
from ...cluster.activity.activity_event import ActivityEvent
from ...cluster.state_changes import changes_between
from ...errors import CallError
from ...render.cluster.activity_text import activity_event_json, activity_lines
from ...render.cluster.prometheus_text import prometheus_lines
from ...render.value_text import count_text
from ..options.security import security_of
from ..options.usage_error import UsageError
from ..terminal.remarks import remark
from ..terminal.terminal_style import style_for
from .observations import found_in, is_address

HOST = "127.0.0.1"
AT_ONCE = 0.2  # seconds


def add_follow(parser: argparse.ArgumentParser) -> None:
    """Add the options that follow a live cluster."""
    parser.add_argument("--follow", action="store_true", help="what changes, live or as FILE grows, until Ctrl-C")
    parser.add_argument(
        "--every", type=float, metavar="SECONDS", help="with --follow: between two readings; default: 5"
    )
    parser.add_argument(
        "--listen",
        type=int,
        metavar="PORT",
        help=f"with --follow: metrics for Prometheus on http://{HOST}:PORT/metrics (0: any free port)",
    )


class Followed(Protocol):
    """A cluster whose states are read one after the other.

    Attributes:
        state: the newest state.
        is_read: whether the newest reading succeeded.
    """

    state: ClusterState
    is_read: bool

    def read(self) -> Iterator[ActivityEvent]:
        """Read the next state; yield what changed."""


class Following(Followed):
    """The states of a live cluster.

    Args:
        cluster: the cluster to read.
    """

    def __init__(self, cluster: LiveCluster) -> None:
        self.state: ClusterState = cluster.state()
        self.is_read: bool = True
        self._cluster = cluster

    def read(self) -> Iterator[ActivityEvent]:
        """Read the next state; yield what changed. That it cannot be read, and can again, is an event too."""
        before = self.state
        try:
            self.state = self._cluster.state()
        except CallError as error:
            if self.is_read:
                yield ActivityEvent("error", f"the cluster cannot be read: {error}", time.time())
            self.is_read = False
            return
        if not self.is_read:
            yield ActivityEvent("broker", "the cluster can be read again", time.time())
        self.is_read = True
        yield from changes_between(before, self.state, time.time())


class FollowedDump(Followed):
    """The states that a growing capture or log describes; a thread reads it until `stopped` is set.

    Args:
        options: the options, which name the file.
        stopped: ends the thread, after what is on disk.
    """

    def __init__(self, options: argparse.Namespace, stopped: Event) -> None:
        self.state: ClusterState = ClusterState()
        self.is_read: bool = True
        self._options = argparse.Namespace(**{**vars(options), "stopped": stopped})
        self._model = ClusterModel()
        self._lock = Lock()
        self._now: float | None = None  # the time of the newest data
        self._failure: BaseException | None = None
        self._thread = Thread(target=self._read_all, name="kwire follow", daemon=True)
        self._thread.start()
        self._thread.join(AT_ONCE)  # a file that cannot be read is reported now, not after the first pause
        if self._failure is not None:
            raise self._failure

    def _read_all(self) -> None:
        try:
            for observation in found_in(self._options):
                with self._lock:
                    self._model.take(observation.seen)
                    self._now = observation.time or self._now
        except BaseException as error:
            self._failure = error

    def read(self) -> Iterator[ActivityEvent]:
        """Yield what the data that was read since the last time has changed; raise what ended the thread."""
        before = self.state
        with self._lock:
            self.state, now = self._model.state(), self._now
        yield from changes_between(before, self.state, now)
        if self._failure is not None:
            raise self._failure

    def finish(self) -> Iterator[ActivityEvent]:
        """Wait for the end of what is on disk; yield what it has changed."""
        self._thread.join()
        yield from self.read()


def follow_cluster(options: argparse.Namespace, name: str, stopped: Event | None = None) -> int:
    """Print what changes in a cluster until the command is interrupted, or until `stopped` is set. Returns 0.

    Raises:
        UsageError: --every or --listen is out of range, or the port is in use.
        CallError: the cluster cannot be read at first.
        DumpError: the file cannot be read.
    """
    every = 5.0 if options.every is None else options.every
    if every <= 0:
        raise UsageError("--every takes a positive number of seconds")
    stopped = stopped or _stop_event()
    if not is_address(name):
        dump = FollowedDump(options, stopped)
        _follow(options, dump, name, every, stopped)
        _print_events(options, dump.finish())
        return 0
    with LiveCluster(address(name), options.timeout, security_of(options)) as cluster:
        _follow(options, Following(cluster), name, every, stopped)
    return 0


def _follow(options: argparse.Namespace, following: Followed, name: str, every: float, stopped: Event) -> None:
    with _metrics_server(options.listen, following):
        count = count_text(len(following.state.partitions()), "partition")
        remark(f"following {name}: {count}, a reading every {every:g} s")
        while not stopped.wait(every):
            _print_events(options, following.read())


def _print_events(options: argparse.Namespace, events: Iterator[ActivityEvent]) -> None:
    as_json = (json.dumps(activity_event_json(event)) for event in events)
    for line in as_json if options.json else activity_lines(list(events), style_for(sys.stdout, options.color)):
        print(line, flush=True)


def _stop_event() -> Event:
    """Return an event that the first Ctrl-C or SIGTERM sets."""
    stopped = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    return stopped


@contextmanager
def _metrics_server(port: int | None, following: Followed) -> Iterator[None]:
    """Serve the metrics of the newest state on loopback."""
    if port is None:
        yield
        return

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            lines = [*prometheus_lines(following.state), *_up_lines(following)]
            body = "".join(f"{line}\n" for line in lines).encode()
            self.send_response(200 if self.path == "/metrics" else 404)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.end_headers()
            self.wfile.write(body if self.path == "/metrics" else b"see /metrics\n")

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing: a scrape every few seconds is no news."""

    try:
        server = ThreadingHTTPServer((HOST, port), Handler)
    except (OSError, OverflowError) as error:
        raise UsageError(f"--listen {port}: {error}") from None
    thread = Thread(target=server.serve_forever, name="kwire metrics", daemon=True)
    thread.start()
    remark(f"metrics: http://{HOST}:{server.server_port}/metrics")
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _up_lines(following: Followed) -> Iterator[str]:
    yield "# HELP kwire_cluster_readable Whether the last reading of the cluster succeeded."
    yield "# TYPE kwire_cluster_readable gauge"
    yield f"kwire_cluster_readable {int(following.is_read)}"
