"""`kwire serve`: runs one or more brokers, configured by options, JSON or Kafka's server.properties."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
from collections.abc import Sequence
from contextlib import closing, suppress
from random import Random

from ...broker import Node, ServedCluster, Settings
from ...broker.apis.registry import DRAFTS
from ...broker.server.control import Control
from ...broker.server.control_http import ControlServer
from ...broker.server.file_disk import locked
from ...broker.server.listener_tls import tls_context
from ...broker.server.offline_metrics import MetricsServer
from ...client.address import LOOPBACK, address
from ...client.operator_lines import OperatorLines
from ...cluster.placement.replica_assignors import assignor_for
from ...errors import CallError, excerpt
from ...protocol.sasl.mechanisms import MECHANISMS
from ...render.value_text import count_text
from ..options.usage_error import UsageError
from ..serving.brokers import nodes_for
from ..serving.log_dir_failures import Failure, failures_in
from ..serving.settings import settings_for
from ..terminal.remarks import remark

TOKEN = "KWIRE_CONTROL_TOKEN"
NO_DIRECTORY = "repair a directory, or name others, and start again"


EXAMPLES = """\
  kwire serve                                    one on 127.0.0.1:9092
  kwire serve :19092 --brokers 3                 three, on consecutive ports
  kwire serve --cluster cluster.json             with racks and directories
  kwire serve --config server.properties         configured by Kafka's own file
  kwire serve --data /var/lib/kafka --read-only  a real broker's directory
  kwire serve --sasl-users users --acls --super-user admin
  kwire serve --release 2.8                      only the apis of Kafka 2.8
  kwire serve --hostile drip                     to test that clients survive it

cluster.json: {"brokers": [{"id": 1, "port": 9092, "rack": "/DC1/R1",
"logDirs": ["/data/a", "/data/b"]}, ...]}; only the id is required.
Without directories, everything is kept in memory. With them, topics, records,
groups and transactions survive a restart, and a missing or damaged directory
is detected. Only one process at a time uses a directory; it locks the file
.lock in it. If a damaged log loses records, a line on stderr says which. As in
Kafka, records are flushed to the disk only when flush.messages or flush.ms of
their topic require it; metadata is flushed before it is acknowledged.
For tests and trials: no replication over the network.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("listen", nargs="?", default=":9092", metavar="LISTEN", help="HOST:PORT; default: :9092")
    _add_broker_options(parser)
    _add_topic_options(parser)
    parser.add_argument("--seed", type=int, metavar="N", help="seed of ids and placement; default: random")
    _add_security_options(parser)
    _add_http_options(parser)
    _add_hostile(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="do not log clients")
    parser.add_argument(
        "--json",
        action="store_true",
        help="when the brokers listen, print one line of JSON on stdout: bootstrapServers, control, controlToken and "
        "metrics",
    )
    parser.add_argument("--public", action="store_true", help="allow addresses that other machines can reach")


def _add_broker_options(parser: argparse.ArgumentParser) -> None:
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--brokers", type=int, default=1, metavar="N", help="number of brokers, with ids from 1 on")
    source.add_argument("--cluster", metavar="FILE", help="brokers, with racks and directories, as JSON")
    source.add_argument("--config", action="append", metavar="FILE", help="a server.properties file; one per broker")
    source.add_argument("--data", action="append", metavar="DIR", help="a log directory of one broker")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a config of Kafka's brokers, such as message.max.bytes=2000; stderr names those that have no effect",
    )
    parser.add_argument(
        "--realistic",
        action="store_true",
        help="defaults of Kafka's where tests like others: records kept for 7 days, heartbeats every 5 s, groups "
        "that wait 3 s for members, and first requests that must be repeated",
    )
    parser.add_argument(
        "--chaos",
        type=int,
        metavar="SEED",
        help="answers that are lawful and rare in Kafka, chosen by the seed: moved leaders, loading coordinators, "
        "rebalances, evicted fetch sessions, closed connections",
    )
    parser.add_argument(
        "--read-only",
        action="store_true",
        help="change nothing in log directories, such as those of a real broker: requests that write are refused, and "
        "commits of groups are kept in memory",
    )
    parser.add_argument(
        "--fail-log-dir",
        action="append",
        default=[],
        metavar="ID:DIR[@SECONDS]",
        help="fail this log directory at a time",
    )


def _add_hostile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--hostile",
        metavar="KIND[:API]",
        help="break the protocol in a way that clients must survive, for all apis or one: drip, many-brokers:Metadata; "
        "--hostile list describes all kinds",
    )


def _port(text: str) -> int:
    """Return a port from its text; raises ArgumentTypeError for a number that is none."""
    if not (text.isascii() and text.isdecimal() and int(text) < 1 << 16):
        raise argparse.ArgumentTypeError(f"{excerpt(text)} is no port; write 0 to 65535")
    return int(text)


def _add_http_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--control",
        type=_port,
        metavar="PORT",
        help="control faults, brokers, disks and the clock over HTTP on 127.0.0.1:PORT (0: any free port); "
        "GET / lists the operations. They need the header Authorization: Bearer TOKEN, because other users of the "
        f"machine can connect. The token is random, and printed; {TOKEN} in the environment sets it",
    )
    parser.add_argument(
        "--metrics",
        type=_port,
        metavar="PORT",
        help="serve KIP-112's metrics for Prometheus on http://127.0.0.1:PORT/metrics (0: any free port)",
    )


def _add_security_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("security, all off by default")
    group.add_argument(
        "--sasl-users",
        metavar="FILE",
        help="clients must authenticate; FILE has NAME:PASSWORD on each line (it is a file because other users of the "
        "machine can see command lines)",
    )
    group.add_argument(
        "--sasl-mechanisms",
        metavar="LIST",
        help=f"mechanisms that clients may choose; default: {','.join(MECHANISMS)}",
    )
    group.add_argument(
        "--max-reauth",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="clients must authenticate again after this time",
    )
    group.add_argument("--tls-cert", metavar="FILE", help="clients must use TLS; certificate of the brokers (PEM)")
    group.add_argument("--tls-key", metavar="FILE", help="its private key, unless it is in the same file")
    group.add_argument(
        "--tls-client-ca",
        metavar="FILE",
        help="clients need a certificate signed by one of these authorities; its subject is the principal",
    )
    group.add_argument("--acls", action="store_true", help="enforce ACLs, as Kafka's StandardAuthorizer does")
    group.add_argument(
        "--super-user",
        action="append",
        default=[],
        metavar="NAME",
        help="a user, or a principal such as User:CN=admin, that may do everything",
    )
    group.add_argument(
        "--allow-without-acls", action="store_true", help="allow all clients to use resources without ACLs"
    )


def _add_topic_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--partitions", type=int, metavar="N", help="default number of partitions: 1")
    parser.add_argument("--replication-factor", type=int, metavar="N", help="default replication factor: 1")
    parser.add_argument(
        "--assignor",
        metavar="NAME",
        help="assignor that places replicas, as for kwire place; default: rack-aware, or with --profile KIP-879 "
        "multi-level, which needs a rack such as /DC1/R1 for each broker",
    )
    parser.add_argument(
        "--retention-bytes", type=int, metavar="N", help="retention per partition; default: -1, unlimited"
    )
    parser.add_argument("--release", metavar="X.Y", help="serve only the apis and versions that this Kafka release had")
    parser.add_argument(
        "--profile", choices=tuple(DRAFTS), help="serve a draft: TopicMetadata v1 (KIP-36), CreateReplicaAssignment"
    )
    parser.add_argument("--rack-aware-fetch", action="store_true", help="send consumers to a replica in their rack")
    parser.add_argument("--no-auto-create", action="store_true", help="disable automatic topic creation")


def run(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    if options.hostile == "list":
        return _print_hostile_kinds()
    nodes = nodes_for(options, address(options.listen))
    for node in nodes:
        if node.host not in LOOPBACK and not options.public:
            raise UsageError(f"{node.host}:{node.port} can be reached from other machines: use --public to allow this")
    if options.hostile:
        return _serve_hostile(options, nodes)
    settings = settings_for(options)
    assignor_for(settings.replica_assignor)  # refuses an unknown one before a directory is locked
    failures = failures_in(options.fail_log_dir, nodes)
    tls = tls_context(options.tls_cert, options.tls_key, options.tls_client_ca) if options.tls_cert else None
    log_dirs = [log_dir for node in nodes for log_dir in node.log_dirs]
    with locked(log_dirs), closing(OperatorLines(_quiet if options.quiet else remark)) as notes:
        cluster = _recover(nodes, settings, Random(options.seed))
        control = Control.of(cluster, notes, options.control is not None, tls)
        serving = control.serving
        _keep_freed_memory()
        try:
            asyncio.run(_serve(control, failures, options))
        finally:
            remark(f"{count_text(serving.requests, 'request')} of {count_text(serving.connections, 'connection')}")
    return 0


def _print_hostile_kinds() -> int:
    from ...testing.hostile import BROKER_KINDS
    from ..hostile import print_kinds

    print_kinds(BROKER_KINDS.values(), "client")
    return 0


def _serve_hostile(options: argparse.Namespace, nodes: Sequence[Node]) -> int:
    from ..hostile import serve_hostile  # sound brokers have no need of its memory

    if options.data or options.config or options.read_only or options.fail_log_dir or options.sasl_users:
        raise UsageError("--hostile keeps everything in memory and has no security: give only LISTEN and --brokers")
    return serve_hostile(options, nodes)


def _recover(nodes: Sequence[Node], settings: Settings, rng: Random) -> ServedCluster:
    """Start a cluster with the data in its directories. Data loss is printed even with --quiet."""
    cluster = ServedCluster(nodes, settings, rng)
    for note in cluster.notes:
        remark(note)
    cluster.notes.clear()
    return cluster


def _keep_freed_memory() -> None:
    """Let the C library keep freed blocks of some MB for the next requests and responses.

    glibc returns large free blocks to the system, whose pages are then mapped and cleared again at the next allocation.
    Without that, encoding a Fetch response of 1 MB takes 0.07 ms instead of 0.8 ms, and `kwire serve` takes a fifth
    less processor time for consumers. Freeing one large block raises glibc's thresholds: it then keeps blocks up to
    this size (mallopt(3): M_MMAP_THRESHOLD). The pages of this block are never written, so they take no memory.
    """
    bytes(31 << 20)  # below DEFAULT_MMAP_THRESHOLD_MAX, 32 MB


def _quiet(text: str) -> None:
    """Print nothing."""


def _http_servers(control: Control, options: argparse.Namespace) -> dict[str, ControlServer | MetricsServer]:
    """Start the HTTP servers that the options name."""
    started: dict[str, ControlServer | MetricsServer] = {}
    if options.control is not None:
        started["control"] = ControlServer(control, options.control, os.environ.get(TOKEN, ""))
    if options.metrics is not None:
        started["metrics"] = MetricsServer(control.serving.cluster, options.metrics)
    return started


async def _serve(control: Control, failures: Sequence[Failure], options: argparse.Namespace) -> None:
    made = control.serving
    places = await made.start()
    remark(f"listening on {', '.join(map(str, places))}; Ctrl-C ends")
    servers = _http_servers(control, options)
    urls: dict[str, str] = {}
    for name, server in servers.items():
        urls[name] = server.url
        words = f"{name} on {server.url}"
        if isinstance(server, ControlServer):
            urls["controlToken"] = server.token
            words += f", token {server.token}"
        remark(words)
    if options.json:
        print(json.dumps({"bootstrapServers": ",".join(map(str, places)), **urls}), flush=True)
    loop, running = asyncio.get_running_loop(), asyncio.ensure_future(made.run())
    halted = asyncio.ensure_future(made.halted.wait())
    with suppress(NotImplementedError):  # on Windows
        loop.add_signal_handler(signal.SIGTERM, running.cancel)
    for failure in failures:
        loop.call_later(failure.after, made.fail, failure.log_dir)
    try:
        await asyncio.wait([running, halted], return_when=asyncio.FIRST_COMPLETED)
        if made.halted.is_set():  # LogManager.handleLogDirFailure: Kafka halts with exit code 1
            raise CallError(str(places[0]), "all log directories have failed, and no broker is left", NO_DIRECTORY)
        if not running.cancelled():
            running.result()
    finally:
        halted.cancel()
        running.cancel()
        for server in servers.values():
            server.close()
        await made.stop()
