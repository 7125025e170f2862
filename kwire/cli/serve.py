"""`kwire serve`: a broker, or several, made with kwire."""

from __future__ import annotations

import argparse
import asyncio
import signal
from collections.abc import Sequence
from contextlib import closing, suppress
from random import Random

from ..broker import Node, ServedCluster, Settings
from ..cluster.replica_assignors import assignor_for
from ..net.client import address
from ..net.limits import Notes
from ..net.log_dirs import locked
from ..net.server import Serving
from ..render.values import count_text
from .inputs import UsageError
from .nodes import LOOPBACK, Failure, failures_in, nodes_for
from .terminal import remark


def serve(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    nodes = nodes_for(options, address(options.listen))
    for node in nodes:
        if node.host not in LOOPBACK and not options.public:
            raise UsageError(f"{node.host}:{node.port} can be reached from other machines: use --public to allow this")
    settings = _settings(options)
    assignor_for(settings.replica_assignor)
    failures = failures_in(options.fail_log_dir, nodes)
    log_dirs = [log_dir for node in nodes for log_dir in node.log_dirs]
    with locked(log_dirs), closing(Notes(_quiet if options.quiet else remark)) as notes:
        made = Serving(_recovered(nodes, settings, Random(options.seed)), notes)
        try:
            asyncio.run(_serve(made, failures))
        finally:
            remark(f"{count_text(made.requests, 'request')} of {count_text(made.connections, 'connection')}")
    return 0


def _recovered(nodes: Sequence[Node], settings: Settings, rng: Random) -> ServedCluster:
    """Start a cluster with what its directories hold. What is lost by it is printed with --quiet too."""
    cluster = ServedCluster(nodes, settings, rng)
    for note in cluster.notes:
        remark(note)
    cluster.notes.clear()
    return cluster


def _quiet(text: str) -> None:
    """Print nothing."""


def _settings(options: argparse.Namespace) -> Settings:
    if options.partitions < 1 or options.replication_factor < 1:
        raise UsageError("a topic has at least one partition with one replica")
    kip_879 = options.profile == "KIP-879"
    return Settings(
        num_partitions=options.partitions,
        default_replication_factor=options.replication_factor,
        retention_bytes=options.retention_bytes,
        replica_assignor=options.assignor or ("multi-level" if kip_879 else "rack-aware"),
        kip_879=kip_879,
    )


async def _serve(made: Serving, failures: Sequence[Failure]) -> None:
    places = await made.start()
    remark(f"listening on {', '.join(map(str, places))}; Ctrl-C ends")
    loop, running = asyncio.get_running_loop(), asyncio.ensure_future(made.run())
    with suppress(NotImplementedError):  # on Windows
        loop.add_signal_handler(signal.SIGTERM, running.cancel)
    for failure in failures:
        loop.call_later(failure.after, made.fail, failure.log_dir)
    try:
        await asyncio.wait([running])
        if not running.cancelled():
            running.result()
    finally:
        running.cancel()
        await made.stop()
