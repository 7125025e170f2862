"""Reads Kafka's server.properties: the broker's id, listeners, directories and rack, and settings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...broker import Settings
from ...broker.groups.group_migration import POLICIES
from ...errors import DumpError, excerpt

# Numbers of a server.properties that are settings: the field, and the divisor that converts to its unit.
_NUMBERS = {
    "offsets.retention.minutes": ("offsets_retention_minutes", 1),
    "group.min.session.timeout.ms": ("min_session_timeout", 1000),
    "group.max.session.timeout.ms": ("max_session_timeout", 1000),
}


def selects_by_rack(file: str) -> bool:
    """Return whether a server.properties has Kafka's rack-aware replica selector; raises DumpError for any other
    selector.
    """
    name = _properties(file).get("replica.selector.class", "")
    if name and not name.endswith("RackAwareReplicaSelector"):
        problem = f"there is no replica selector {excerpt(name)}"
        raise DumpError(problem, file=file, hint="take RackAwareReplicaSelector")
    return bool(name)


def numbers_in(files: Sequence[str]) -> dict[str, Any]:
    """Return the numeric settings of server.properties files; raises DumpError for a value that is not above 0."""
    numbers: dict[str, Any] = {}
    for file in files:
        properties = _properties(file)
        for key in properties.keys() & _NUMBERS.keys():
            text, (name, parts) = properties[key], _NUMBERS[key]
            if not re.fullmatch(r"[1-9]\d{0,8}", text):
                unit = key.rpartition(".")[2].replace("ms", "milliseconds")
                raise DumpError(f"{key} is {excerpt(text)}", file=file, hint=f"write {unit}, 1 or more")
            numbers[name] = int(text) if parts == 1 else int(text) / parts
    return numbers


def migration_policy_in(files: Sequence[str]) -> str:
    """Return the group.consumer.migration.policy of brokers; raises DumpError for a policy that Kafka does not have."""
    policy = Settings().migration_policy
    for file in files:
        text = _properties(file).get("group.consumer.migration.policy", policy).lower()
        if text not in POLICIES:
            problem, hint = f"group.consumer.migration.policy is {excerpt(text)}", f"write {', '.join(POLICIES)}"
            raise DumpError(problem, file=file, hint=hint)
        policy = text
    return policy


def _properties(file: str) -> dict[str, str]:
    properties: dict[str, str] = {}
    for line in Path(file).read_text("utf-8", "replace").splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and not key.startswith(("#", "!")):
            properties[key.strip()] = value.strip()
    return properties


def read_properties(file: str) -> dict[str, Any]:
    """Read the configuration of a broker from Kafka's server.properties: broker.id (or node.id), listeners,
    advertised.listeners, log.dirs, broker.rack.

    Raises:
        DumpError: the id is missing, or an address is invalid.
        OSError: it cannot be read.
    """
    properties = _properties(file)
    node_id = properties.get("broker.id", properties.get("node.id", ""))
    if not re.fullmatch(r"\d{1,9}", node_id):
        raise DumpError("it has no broker.id", file=file, hint="write broker.id=1")
    paths = properties.get("log.dirs", properties.get("log.dir", ""))
    row: dict[str, Any] = {"id": int(node_id), "rack": properties.get("broker.rack") or None}
    row["logDirs"] = [path.strip() for path in paths.split(",") if path.strip()]
    if advertised := _listener(properties.get("advertised.listeners", ""), file):
        row["advertised"] = advertised["host"], advertised["port"]
    return row | _listener(properties.get("listeners", ""), file)


def _listener(text: str, file: str) -> dict[str, Any]:
    """Return the first listener without TLS and SASL; an empty host means the loopback address."""
    for listener in filter(None, text.split(",")):
        match = re.fullmatch(r"\s*PLAINTEXT://(?:\[(.*)\]|([^:]*)):(\d{1,5})\s*", listener)
        if match:
            return {"host": match[1] or match[2] or "localhost", "port": int(match[3])}
    if text:
        raise DumpError(f"none of its listeners is PLAINTEXT: {excerpt(text)}", file=file)
    return {}
