"""`kwire cluster HOST:PORT --follow`: what changes in a live cluster, as lines or JSON, and metrics for Prometheus."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

from ...client.address import address
from ...client.live_cluster import LiveCluster
from ...cluster import ClusterState
from ...cluster.activity.activity_event import ActivityEvent
from ...cluster.state_changes import changes_between
from ...errors import CallError
from ...render.cluster.activity_text import activity_event_json, activity_lines
from ...render.cluster.prometheus_text import prometheus_lines
from ..options.security import security_of
from ..options.usage_error import UsageError
from ..terminal.remarks import remark
from ..terminal.terminal_style import style_for

HOST = "127.0.0.1"


def add_follow(parser: argparse.ArgumentParser) -> None:
    """Add the options that follow a live cluster."""
    parser.add_argument("--follow", action="store_true", help="of a live broker: what changes, until Ctrl-C")
    parser.add_argument(
        "--every", type=float, metavar="SECONDS", help="with --follow: between two readings; default: 5"
    )
    parser.add_argument(
        "--listen",
        type=int,
        metavar="PORT",
        help=f"with --follow: metrics for Prometheus on http://{HOST}:PORT/metrics (0: any free port)",
    )


class Following:
    """The states of a cluster, read one after the other.

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


def follow_cluster(options: argparse.Namespace, name: str, stopped: Event | None = None) -> int:
    """Print what changes in a cluster until the command is interrupted, or until `stopped` is set. Returns 0.

    Raises:
        UsageError: --every or --listen is out of range, or the port is in use.
        CallError: the cluster cannot be read at first.
    """
    every = 5.0 if options.every is None else options.every
    if every <= 0:
        raise UsageError("--every takes a positive number of seconds")
    stopped = stopped or _stop_event()
    with LiveCluster(address(name), options.timeout, security_of(options)) as cluster:
        following = Following(cluster)
        with _metrics_server(options.listen, following):
            remark(f"following {name}: {len(following.state.partitions())} partitions, a reading every {every:g} s")
            style = style_for(sys.stdout, options.color)
            while not stopped.wait(every):
                for event in following.read():
                    lines = [json.dumps(activity_event_json(event))] if options.json else activity_lines([event], style)
                    for line in lines:
                        print(line, flush=True)
    return 0


def _stop_event() -> Event:
    """Return an event that the first Ctrl-C or SIGTERM sets."""
    stopped = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    return stopped


@contextmanager
def _metrics_server(port: int | None, following: Following) -> Iterator[None]:
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


def _up_lines(following: Following) -> Iterator[str]:
    yield "# HELP kwire_cluster_readable Whether the last reading of the cluster succeeded."
    yield "# TYPE kwire_cluster_readable gauge"
    yield f"kwire_cluster_readable {int(following.is_read)}"
