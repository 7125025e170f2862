"""Kafka's server.properties: broker id, listeners, log directories and rack of a broker to be served."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ..errors import DumpError, excerpt


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
