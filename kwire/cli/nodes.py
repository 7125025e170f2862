"""Brokers to be served: from options, JSON or Kafka's server.properties; and which of their disks shall fail."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..broker import Node
from ..broker.configs import LogDir
from ..broker.storage import Disk, MemoryDisk
from ..errors import DumpError, excerpt
from ..net.client import Address
from ..net.log_dirs import FileDisk
from .inputs import UsageError

LOOPBACK = ("localhost", "127.0.0.1", "::1")
MOST_BROKERS = 1000
_FAILURE = re.compile(r"(\d{1,9}):(.+?)(?:@(\d{1,9}(?:\.\d{1,9})?))?")
_FORM = 'write {"brokers": [{"id": 1, "port": 9092, "rack": "/DC1/R1", "logDirs": ["/data/a"]}, ...]}'


class Failure(NamedTuple):
    """A directory that fails, so many seconds after the start."""

    log_dir: LogDir
    after: float


def nodes_for(options: argparse.Namespace, listen: Address) -> list[Node]:
    """Return the brokers that options ask for.

    Args:
        options: with `cluster`, `config` or `brokers`.
        listen: where the first one listens that does not say it; the next ones have the next ports.

    Raises:
        DumpError: a file is not what it should be.
        UsageError: numbers that cannot be.
        OSError: a file cannot be read.
    """
    if options.cluster:
        rows = _rows(options.cluster)
    elif options.config:
        rows = [read_properties(file) for file in options.config]
    else:
        rows = [{"id": number} for number in range(1, options.brokers + 1)]
    if not 0 < len(rows) <= MOST_BROKERS:
        raise UsageError(f"{len(rows)} brokers cannot be served; at least 1, and up to {MOST_BROKERS}")
    nodes = [_node(row, listen, place) for place, row in enumerate(rows)]
    if len({node.node_id for node in nodes}) < len(nodes):
        raise UsageError("two brokers have the same id")
    return nodes


def _node(row: dict[str, Any], listen: Address, place: int) -> Node:
    host = row.get("host") or listen.host
    port = row.get("port", listen.port + place if listen.port else 0)
    paths = row.get("logDirs", row.get("log_dirs")) or []
    return Node(row["id"], "127.0.0.1" if host == "localhost" else host, port, row.get("rack"), disks=_disks(paths))


def _disks(paths: Sequence[str]) -> list[Disk]:
    return [FileDisk(path) for path in paths] or [MemoryDisk()]


def _rows(file: str) -> list[dict[str, Any]]:
    """Read a cluster's brokers out of JSON."""
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
    raise DumpError(f"{excerpt(given)} is no broker", file=file, hint=_FORM)


def _is_number(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def read_properties(file: str) -> dict[str, Any]:
    """Read a broker out of Kafka's server.properties: broker.id (or node.id), listeners, log.dirs, broker.rack.

    Raises:
        DumpError: there is no id in it, or an address that is none.
        OSError: it cannot be read.
    """
    found: dict[str, str] = {}
    for line in Path(file).read_text("utf-8", "replace").splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and not key.startswith(("#", "!")):
            found[key.strip()] = value.strip()
    node_id = found.get("broker.id", found.get("node.id", ""))
    if not re.fullmatch(r"\d{1,9}", node_id):
        raise DumpError("there is no broker.id in it", file=file, hint="write broker.id=1")
    paths = found.get("log.dirs", found.get("log.dir", ""))
    row: dict[str, Any] = {"id": int(node_id), "rack": found.get("broker.rack") or None}
    row["logDirs"] = [path.strip() for path in paths.split(",") if path.strip()]
    return row | _listener(found.get("listeners", ""), file)


def _listener(text: str, file: str) -> dict[str, Any]:
    """Read the first listener without TLS and SASL; an empty host is this machine alone."""
    for listener in filter(None, text.split(",")):
        match = re.fullmatch(r"\s*PLAINTEXT://(?:\[(.*)\]|([^:]*)):(\d{1,5})\s*", listener)
        if match:
            return {"host": match[1] or match[2] or "localhost", "port": int(match[3])}
    if text:
        raise DumpError(f"none of its listeners is PLAINTEXT: {excerpt(text)}", file=file)
    return {}


def failures_in(texts: Sequence[str], nodes: Sequence[Node]) -> list[Failure]:
    """Read `ID:DIR[@SECONDS]`, each a directory that fails.

    Raises:
        UsageError: it is not written so, or there is no such directory.
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
