"""Kafka's server.properties: the broker's id, listeners, directories and rack, and the configs of its cluster."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...broker.configs import definitions_of
from ...broker.configs.effects import FIELDS, OF_ONE_BROKER
from ...broker.settings_configs import check_broker_config, describe_unknown, list_without_effect
from ...errors import DumpError, excerpt
from ...errors.refused import InvalidConfig
from ..options.usage_error import UsageError
from ..terminal.remarks import remark
from .java_properties import parse_properties


class BrokerProperties(NamedTuple):
    """A broker of a server.properties: its row as in JSON of a cluster, and its configs."""

    row: dict[str, Any]
    configs: dict[str, str]


def read_properties(file: str) -> BrokerProperties:
    """Read the configuration of a broker from Kafka's server.properties.

    Raises:
        DumpError: the id is missing, an address is invalid, or a config has an invalid value.
        OSError: it cannot be read.
    """
    properties = parse_properties(Path(file).read_text("utf-8", "replace"))
    node_id = properties.get("broker.id", properties.get("node.id", ""))
    if not re.fullmatch(r"\d{1,9}", node_id):
        raise DumpError("it has no broker.id", file=file, hint="write broker.id=1")
    paths = properties.get("log.dirs", properties.get("log.dir", ""))
    row: dict[str, Any] = {"id": int(node_id), "rack": properties.get("broker.rack") or None}
    row["logDirs"] = [path.strip() for path in paths.split(",") if path.strip()]
    protocols = _protocols(properties)
    if advertised := _listener(properties.get("advertised.listeners", ""), protocols, file):
        row["advertised"] = advertised["host"], advertised["port"]
    row |= _listener(properties.get("listeners", ""), protocols, file)
    for name, value in properties.items():
        _check_value(name, value, file)
    return BrokerProperties(row, properties)


def _check_value(name: str, value: str, file: str) -> None:
    try:
        check_broker_config(name, value, definitions_of("broker", None))
    except InvalidConfig as error:
        raise DumpError(error.problem, file=file, hint=error.hint) from None


def _protocols(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the security protocols of listeners that have another name; those of controllers are left out."""
    protocols = {name: name for name in ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")}
    for entry in filter(None, properties.get("listener.security.protocol.map", "").split(",")):
        name, _, protocol = entry.partition(":")
        protocols[name.strip().upper()] = protocol.strip().upper()
    for name in properties.get("controller.listener.names", "").split(","):
        protocols.pop(name.strip().upper(), None)
    return protocols


def _listener(text: str, protocols: Mapping[str, str], file: str) -> dict[str, Any]:
    """Return the first listener without TLS and SASL; an empty host means the loopback address."""
    for listener in filter(None, text.split(",")):
        match = re.fullmatch(r"\s*([\w.-]+)://(?:\[(.*)\]|([^:]*)):(\d{1,5})\s*", listener)
        if match and protocols.get(match[1].upper()) == "PLAINTEXT":
            return {"host": match[2] or match[3] or "localhost", "port": int(match[4])}
    if text:
        raise DumpError(f"none of its listeners is PLAINTEXT: {excerpt(text)}", file=file)
    return {}


def shared_configs(brokers: Sequence[BrokerProperties], files: Sequence[str]) -> dict[str, str]:
    """Return the configs of a cluster from those of its brokers; say on stderr which ones differ where they must
    not."""
    shared = dict(brokers[0].configs) if brokers else {}
    for broker, file in zip(brokers, files, strict=True):
        for name in FIELDS:
            if broker.configs.get(name) != shared.get(name):
                remark(f"{file}: {name} is not as in {files[0]}, whose value holds for all brokers")
    return {name: value for name, value in shared.items() if name not in OF_ONE_BROKER}


def set_configs(texts: Sequence[str]) -> dict[str, str]:
    """Return the configs of options `--set KEY=VALUE`; raises UsageError for invalid ones."""
    configs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name:
            raise UsageError(f"--set takes KEY=VALUE, not {excerpt(text)}")
        if name in OF_ONE_BROKER:
            raise UsageError(f"--set {name}: each broker has its own; write it into a file for --config or --cluster")
        try:
            check_broker_config(name, value, definitions_of("broker", None))
        except InvalidConfig as error:
            raise UsageError(f"--set {name}: {error}") from None
        configs[name] = value.strip()
    return configs


def remark_without_effect(configs: Mapping[str, str], release: str | None) -> None:
    """Say on stderr which configs have no effect, in one line, and which ones Kafka does not have, in another."""
    idle, unknown = list_without_effect(configs, release)
    idle = [name for name in idle if name not in OF_ONE_BROKER]
    if idle:
        remark(f"no effect here: {', '.join(idle)}")
    if unknown:
        guesses = [f"{name} ({guess})" if (guess := describe_unknown(name)) else name for name in unknown]
        remark(f"Kafka has no broker config {', '.join(guesses)}")
