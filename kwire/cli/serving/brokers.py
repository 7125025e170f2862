"""The brokers to serve, from options, from JSON of a cluster, or from server.properties."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...broker import Node
from ...broker.log.disk import Disk
from ...broker.log.memory_disk import MemoryDisk
from ...broker.server.file_disk import FileDisk, ReadOnlyDisk
from ...client.address import Address
from ...errors import DumpError, excerpt
from ..options.usage_error import UsageError
from .server_properties import read_properties

MOST_BROKERS = 1000
_FORM = 'write {"brokers": [{"id": 1, "port": 9092, "rack": "/DC1/R1", "logDirs": ["/data/a"]}, ...]}'


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
        rows = [_parse_row(file) for file in options.config]
    elif options.data:
        rows = [{"id": 1, "logDirs": options.data}]
    else:
        rows = [{"id": number} for number in range(1, min(options.brokers, MOST_BROKERS + 1) + 1)]
    if not 0 < len(rows) <= MOST_BROKERS:
        count = len(rows) if len(rows) <= MOST_BROKERS else max(len(rows), options.brokers)
        raise UsageError(f"{count} brokers cannot be served; at least 1, and up to {MOST_BROKERS}")
    nodes = [_node(row, listen, index, options.read_only) for index, row in enumerate(rows)]
    if len({node.node_id for node in nodes}) < len(nodes):
        raise UsageError("two brokers have the same id")
    return nodes


def _parse_row(file: str) -> dict[str, Any]:
    broker = read_properties(file)
    return {**broker.row, "configs": broker.configs}


def _node(row: dict[str, Any], listen: Address, index: int, is_read_only: bool) -> Node:
    host = row.get("host") or listen.host
    port = row.get("port", listen.port + index if listen.port else 0)
    paths = row.get("logDirs", row.get("log_dirs")) or []
    host = "127.0.0.1" if host == "localhost" else host
    disks = _disks(paths, is_read_only)
    return Node(row["id"], host, port, row.get("rack"), disks, row.get("advertised"), row.get("configs", {}))


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
    return [_broker_row(row, file) for row in rows]


def _broker_row(given: Any, file: str) -> dict[str, Any]:
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


def _is_number(value: Any, highest: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= highest
