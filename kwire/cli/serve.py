"""`kwire serve`: runs one or more brokers, configured by options, JSON or Kafka's server.properties."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from ..broker import Node, ServedCluster, Settings
from ..broker.apis.registry import DRAFTS
from ..broker.groups.group_migration import POLICIES
from ..broker.log.disk import Disk
from ..broker.log.memory_disk import MemoryDisk
from ..broker.node import LogDir
from ..broker.security.principals import principal
from ..broker.server.control import Control
from ..broker.server.control_http import ControlServer
from ..broker.server.file_disk import FileDisk, ReadOnlyDisk, locked
from ..broker.server.listener_tls import tls_context
from ..broker.server.offline_metrics import MetricsServer
from ..client.address import LOOPBACK, Address, address
from ..client.operator_lines import OperatorLines
from ..cluster.placement.replica_assignors import assignor_for
from ..errors import CallError, DumpError, excerpt
from ..protocol.sasl.mechanisms import MECHANISMS
from ..render.value_text import count_text
from .options import UsageError, add_command, named_release
from .terminal import remark


def _selects_by_rack(file: str) -> bool:
    """Return whether a server.properties has Kafka's rack-aware replica selector; raises DumpError for any other
    selector.
    """
    name = _properties(file).get("replica.selector.class", "")
    if name and not name.endswith("RackAwareReplicaSelector"):
        problem = f"there is no replica selector {excerpt(name)}"
        raise DumpError(problem, file=file, hint="take RackAwareReplicaSelector")
    return bool(name)


# Numbers of a server.properties that are settings: the field, and the divisor that converts to its unit.
_NUMBERS = {
    "offsets.retention.minutes": ("offsets_retention_minutes", 1),
    "group.min.session.timeout.ms": ("min_session_timeout", 1000),
    "group.max.session.timeout.ms": ("max_session_timeout", 1000),
}


def _numbers(files: Sequence[str]) -> dict[str, Any]:
    """Return the numeric settings of server.properties files; raises DumpError for a value that is not above 0."""
    found: dict[str, Any] = {}
    for file in files:
        properties = _properties(file)
        for key in properties.keys() & _NUMBERS.keys():
            text, (name, parts) = properties[key], _NUMBERS[key]
            if not re.fullmatch(r"[1-9]\d{0,8}", text):
                unit = key.rpartition(".")[2].replace("ms", "milliseconds")
                raise DumpError(f"{key} is {excerpt(text)}", file=file, hint=f"write {unit}, 1 or more")
            found[name] = int(text) if parts == 1 else int(text) / parts
    return found


def _migration_policy(files: Sequence[str]) -> str:
    """Return the group.consumer.migration.policy of brokers; raises DumpError for a policy that Kafka does not have."""
    found = Settings().migration_policy
    for file in files:
        text = _properties(file).get("group.consumer.migration.policy", found).lower()
        if text not in POLICIES:
            problem, hint = f"group.consumer.migration.policy is {excerpt(text)}", f"write {', '.join(POLICIES)}"
            raise DumpError(problem, file=file, hint=hint)
        found = text
    return found


def _properties(file: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in Path(file).read_text("utf-8", "replace").splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and not key.startswith(("#", "!")):
            found[key.strip()] = value.strip()
    return found


def read_properties(file: str) -> dict[str, Any]:
    """Read the configuration of a broker from Kafka's server.properties: broker.id (or node.id), listeners,
    advertised.listeners, log.dirs, broker.rack.

    Raises:
        DumpError: the id is missing, or an address is invalid.
        OSError: it cannot be read.
    """
    found = _properties(file)
    node_id = found.get("broker.id", found.get("node.id", ""))
    if not re.fullmatch(r"\d{1,9}", node_id):
        raise DumpError("it has no broker.id", file=file, hint="write broker.id=1")
    paths = found.get("log.dirs", found.get("log.dir", ""))
    row: dict[str, Any] = {"id": int(node_id), "rack": found.get("broker.rack") or None}
    row["logDirs"] = [path.strip() for path in paths.split(",") if path.strip()]
    if advertised := _listener(found.get("advertised.listeners", ""), file):
        row["advertised"] = advertised["host"], advertised["port"]
    return row | _listener(found.get("listeners", ""), file)


def _listener(text: str, file: str) -> dict[str, Any]:
    """Return the first listener without TLS and SASL; an empty host means the loopback address."""
    for listener in filter(None, text.split(",")):
        match = re.fullmatch(r"\s*PLAINTEXT://(?:\[(.*)\]|([^:]*)):(\d{1,5})\s*", listener)
        if match:
            return {"host": match[1] or match[2] or "localhost", "port": int(match[3])}
    if text:
        raise DumpError(f"none of its listeners is PLAINTEXT: {excerpt(text)}", file=file)
    return {}


MOST_BROKERS = 1000
_FAILURE = re.compile(r"(\d{1,9}):(.+?)(?:@(\d{1,9}(?:\.\d{1,9})?))?")
_FORM = 'write {"brokers": [{"id": 1, "port": 9092, "rack": "/DC1/R1", "logDirs": ["/data/a"]}, ...]}'


class Failure(NamedTuple):
    """A directory that fails a number of seconds after the start."""

    log_dir: LogDir
    after: float


def nodes_for(options: argparse.Namespace, listen: Address) -> list[Node]:
    """Return the brokers that options ask for.

    Args:
        options: the options, with `cluster`, `config` or `brokers`.
        listen: the address of the first broker without one; the next such brokers use the following ports.

    Raises:
        DumpError: a file has invalid contents.
        UsageError: a number is out of range.
        OSError: a file cannot be read.
    """
    if options.cluster:
        rows = _rows(options.cluster)
    elif options.config:
        rows = [read_properties(file) for file in options.config]
    elif options.data:
        rows = [{"id": 1, "logDirs": options.data}]
    else:
        rows = [{"id": number} for number in range(1, min(options.brokers, MOST_BROKERS + 1) + 1)]
    if not 0 < len(rows) <= MOST_BROKERS:
        asked = len(rows) if len(rows) <= MOST_BROKERS else max(len(rows), options.brokers)
        raise UsageError(f"{asked} brokers cannot be served; at least 1, and up to {MOST_BROKERS}")
    nodes = [_node(row, listen, place, options.read_only) for place, row in enumerate(rows)]
    if len({node.node_id for node in nodes}) < len(nodes):
        raise UsageError("two brokers have the same id")
    return nodes


def _node(row: dict[str, Any], listen: Address, place: int, is_read_only: bool) -> Node:
    host = row.get("host") or listen.host
    port = row.get("port", listen.port + place if listen.port else 0)
    paths = row.get("logDirs", row.get("log_dirs")) or []
    host = "127.0.0.1" if host == "localhost" else host
    return Node(row["id"], host, port, row.get("rack"), _disks(paths, is_read_only), row.get("advertised"))


def _disks(paths: Sequence[str], is_read_only: bool) -> list[Disk]:
    if is_read_only:
        for path in paths:
            next(Path(path).iterdir(), None)  # raises OSError, which names it
        if not paths:
            raise UsageError("--read-only needs a log directory: name one with --data, --config or --cluster")
    kind = ReadOnlyDisk if is_read_only else FileDisk
    return [kind(path) for path in paths] or [MemoryDisk()]


def _rows(file: str) -> list[dict[str, Any]]:
    """Read a cluster's brokers from a JSON file."""
    try:
        value = json.loads(Path(file).read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise DumpError(f"it is not JSON: {error}", file=file, hint=_FORM) from None
    rows = value.get("brokers") if isinstance(value, dict) else value
    if not isinstance(rows, list):
        raise DumpError("there is no list of brokers in it", file=file, hint=_FORM)
    return [_checked(row, file) for row in rows]


def _checked(given: Any, file: str) -> dict[str, Any]:
    if isinstance(given, dict):
        row: dict[str, Any] = {**given, "id": given.get("id", given.get("nodeId"))}
        paths = row.get("logDirs", row.get("log_dirs")) or []
        is_right = (
            _is_number(row["id"], 2**31 - 1)
            and _is_number(row.get("port", 0), 0xFFFF)
            and isinstance(row.get("host"), str | None)
            and isinstance(row.get("rack"), str | None)
            and isinstance(paths, list)
            and all(isinstance(path, str) and path for path in paths)
        )
        if is_right:
            return row
    raise DumpError(f"{excerpt(given)} is not a broker", file=file, hint=_FORM)


def _is_number(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def failures_in(texts: Sequence[str], nodes: Sequence[Node]) -> list[Failure]:
    """Parse failures of directories, each `ID:DIR[@SECONDS]`.

    Raises:
        UsageError: a text has another form, or there is no such directory.
    """
    known = {(node.node_id, log_dir.path): log_dir for node in nodes for log_dir in node.log_dirs}
    found = []
    for text in texts:
        match = _FAILURE.fullmatch(text)
        if match is None or (int(match[1]), match[2]) not in known:
            names = ", ".join(f"{node_id}:{path}" for node_id, path in list(known)[:5])
            raise UsageError(f"there is no log directory {text!r}; there are: {names}")
        found.append(Failure(known[int(match[1]), match[2]], float(match[3] or 0)))
    return found


def add_parser(commands: Any, about: str) -> None:
    """Add the command and its options."""
    parser = add_command(
        commands,
        "serve",
        about,
        "  kwire serve                                    one on 127.0.0.1:9092\n"
        "  kwire serve :19092 --brokers 3                 three, on consecutive ports\n"
        "  kwire serve --cluster cluster.json             with racks and directories\n"
        "  kwire serve --config server.properties         configured by Kafka's own file\n"
        "  kwire serve --data /var/lib/kafka --read-only  a real broker's directory\n"
        "  kwire serve --sasl-users users --acls --super-user admin\n"
        "  kwire serve --release 2.8                      only the apis of Kafka 2.8\n"
        "  kwire serve --hostile drip                     to test that clients survive it\n"
        '\ncluster.json: {"brokers": [{"id": 1, "port": 9092, "rack": "/DC1/R1",\n'
        '"logDirs": ["/data/a", "/data/b"]}, ...]}; only the id is required.\n'
        "Without directories, everything is kept in memory. With them, topics, records,\n"
        "groups and transactions survive a restart, and a missing or damaged directory\n"
        "is detected. Only one process at a time uses a directory; it locks the file\n"
        ".lock in it. If a damaged log loses records, a line on stderr says which. As in\n"
        "Kafka, records are flushed to the disk only when flush.messages or flush.ms of\n"
        "their topic require it; metadata is flushed before it is acknowledged.\n"
        "For tests and trials: no replication over the network.\n",
        serve,
    )
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


TOKEN = "KWIRE_CONTROL_TOKEN"


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


def users_in(file: str) -> dict[str, str]:
    """Read users and passwords: one NAME:PASSWORD per line; skip empty lines and lines that begin with #.

    Raises:
        DumpError: a line has no name or no password, or repeats a user. The message contains no password.
        OSError: it cannot be read.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(Path(file).read_text("utf-8").splitlines(), 1):
        name, _, password = line.partition(":")
        if not line.strip() or line.startswith("#"):
            continue
        if not name.strip() or not password or name in found:
            problem = f"line {number} repeats a user" if name in found else f"line {number} is not a user"
            raise DumpError(problem, file=file, hint="write NAME:PASSWORD, each user once")
        found[name] = password
    if not found:
        raise DumpError("it has no user", file=file, hint="write one NAME:PASSWORD per line")
    return found


def _security(options: argparse.Namespace) -> dict[str, Any]:
    """Return the security settings; raises UsageError, DumpError or OSError if they are invalid."""
    if not options.sasl_users and (options.sasl_mechanisms or options.max_reauth):
        raise UsageError("without --sasl-users clients do not authenticate")
    if not options.tls_cert and (options.tls_key or options.tls_client_ca):
        raise UsageError("without --tls-cert there is no TLS")
    if not options.acls and (options.super_user or options.allow_without_acls):
        raise UsageError("without --acls every user may do everything")
    if not 0 <= options.max_reauth < float("inf"):
        raise UsageError("--max-reauth takes seconds")
    mechanisms = tuple((options.sasl_mechanisms or ",".join(MECHANISMS)).upper().split(","))
    if unknown := [one for one in mechanisms if one not in MECHANISMS]:
        raise UsageError(f"there is no mechanism {excerpt(unknown[0])}; there are {', '.join(MECHANISMS)}")
    return {
        "passwords": users_in(options.sasl_users) if options.sasl_users else {},
        "sasl_mechanisms": mechanisms if options.sasl_users else (),
        "max_reauth": options.max_reauth,
        "tls": bool(options.tls_cert),
        "authorizer": options.acls,
        "super_users": tuple(map(principal, options.super_user)),
        "allow_without_acls": options.allow_without_acls,
    }


def _add_topic_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--partitions", type=int, default=1, metavar="N", help="default number of partitions")
    parser.add_argument("--replication-factor", type=int, default=1, metavar="N", help="default replication factor")
    parser.add_argument(
        "--assignor",
        metavar="NAME",
        help="assignor that places replicas, as for kwire place; default: rack-aware, or with --profile KIP-879 "
        "multi-level, which needs a rack such as /DC1/R1 for each broker",
    )
    parser.add_argument(
        "--retention-bytes", type=int, default=-1, metavar="N", help="retention per partition; default: -1, unlimited"
    )
    parser.add_argument("--release", metavar="X.Y", help="serve only the apis and versions that this Kafka release had")
    parser.add_argument(
        "--profile", choices=tuple(DRAFTS), help="serve a draft: TopicMetadata v1 (KIP-36), CreateReplicaAssignment"
    )
    parser.add_argument("--rack-aware-fetch", action="store_true", help="send consumers to a replica in their rack")
    parser.add_argument("--no-auto-create", action="store_true", help="disable automatic topic creation")


def serve(options: argparse.Namespace) -> int:
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
    assignor_for(settings.replica_assignor)
    failures = failures_in(options.fail_log_dir, nodes)
    tls = tls_context(options.tls_cert, options.tls_key, options.tls_client_ca) if options.tls_cert else None
    log_dirs = [log_dir for node in nodes for log_dir in node.log_dirs]
    with locked(log_dirs), closing(OperatorLines(_quiet if options.quiet else remark)) as notes:
        cluster = _recovered(nodes, settings, Random(options.seed))
        control = Control.of(cluster, notes, options.control is not None, tls)
        made = control.serving
        _keep_freed_memory()
        try:
            asyncio.run(_serve(control, failures, options))
        finally:
            remark(f"{count_text(made.requests, 'request')} of {count_text(made.connections, 'connection')}")
    return 0


def _print_hostile_kinds() -> int:
    from ..testing.hostile import BROKER_KINDS
    from .hostile import print_kinds

    print_kinds(BROKER_KINDS.values(), "client")
    return 0


def _serve_hostile(options: argparse.Namespace, nodes: Sequence[Node]) -> int:
    from .hostile import serve_hostile  # sound brokers have no need of its memory

    if options.data or options.config or options.read_only or options.fail_log_dir or options.sasl_users:
        raise UsageError("--hostile keeps everything in memory and has no security: give only LISTEN and --brokers")
    return serve_hostile(options, nodes)


def _recovered(nodes: Sequence[Node], settings: Settings, rng: Random) -> ServedCluster:
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


def settings_for(options: argparse.Namespace) -> Settings:
    """Return the settings from the options; raises UsageError, DumpError or OSError for invalid ones."""
    most = Settings().most_partitions
    if not 1 <= options.partitions <= most or options.replication_factor < 1:
        raise UsageError(f"a topic has at least one partition with one replica, and up to {most} partitions")
    if options.retention_bytes < -1:
        raise UsageError("--retention-bytes takes a number of bytes, or -1 for unlimited")
    return Settings(
        auto_create_topics=not options.no_auto_create,
        read_only=options.read_only,
        rack_aware_fetch=options.rack_aware_fetch or any(map(_selects_by_rack, options.config or ())),
        num_partitions=options.partitions,
        default_replication_factor=options.replication_factor,
        retention_bytes=options.retention_bytes,
        migration_policy=_migration_policy(options.config or ()),
        replica_assignor=options.assignor or ("multi-level" if options.profile == "KIP-879" else "rack-aware"),
        profile=options.profile,
        release=options.release and named_release(options.release).name,
        **_numbers(options.config or ()),
        **_security(options),
    )


def _http_servers(control: Control, options: argparse.Namespace) -> dict[str, ControlServer | MetricsServer]:
    """Start the HTTP servers that the options name."""
    started: dict[str, ControlServer | MetricsServer] = {}
    if options.control is not None:
        started["control"] = ControlServer(control, options.control, os.environ.get(TOKEN, ""))
    if options.metrics is not None:
        started["metrics"] = MetricsServer(control.serving.cluster, options.metrics)
    return started


NO_DIRECTORY = "repair a directory, or name others, and start again"


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
