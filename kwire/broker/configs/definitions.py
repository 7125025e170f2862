"""The definitions of Kafka's configs, from `schemas/configs.json`: facts of the classes of three releases."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...runtime.caches import once
from ...schema.data_files import SCHEMAS
from ...schema.releases import releases
from ...values import ConfigType

BROKER, TOPIC, GROUP, CLIENT_METRICS = KINDS = ("broker", "topic", "group", "clientMetrics")
# Without a release, short segments may be set: tests of compaction and retention need them (Kafka 4: 1 MiB).
RELAXED = {"segment.bytes": "[14,...]", "log.segment.bytes": "[14,...]"}


class Definition(NamedTuple):
    """A config in one release.

    Attributes:
        name: its name.
        type: its type, of `ConfigType`.
        default: its default value; None for none.
        valid: the valid values, in the words of Kafka's validators; empty if every value of the type is valid.
        dynamic: whether it can be altered at run time: `cluster` for all brokers or one, `broker` for one only, or "".
        synonyms: of a topic config, the broker configs with its default, and the factor to its unit.
        is_internal: whether Kafka hides it from clients.
        about: what it does.
    """

    name: str
    type: int
    default: str | None
    valid: str
    dynamic: str
    synonyms: Mapping[str, int]
    is_internal: bool
    about: str


@once
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads((SCHEMAS / "configs.json").read_bytes())
    return table


@once
def definitions_of(kind: str, release: str | None) -> Mapping[str, Definition]:
    """Return the configs of a kind of resource in a release, by name.

    Args:
        kind: `broker`, `topic`, `group` or `clientMetrics`.
        release: the release; None for the newest one. Of other releases than those in the table, the one before
            counts, or the
            next one if that has the same first number.
    """
    table = _table()
    known: list[str] = table["releases"]
    nearest = known[-1] if release is None else _find_nearest(known, release)
    definitions = {}
    for name, row in table[kind].items():
        if nearest in row.get("in", known):
            facts = row | row.get("older", {}).get(nearest, {})
            valid = facts.get("valid") or ""
            definitions[name] = Definition(
                name,
                ConfigType(facts["type"]),
                facts["default"],
                RELAXED.get(name, valid) if release is None else valid,
                facts.get("dynamic") or "",
                facts.get("synonyms") or {},
                bool(facts.get("internal")),
                row["about"],
            )
    return definitions


def _find_nearest(known: list[str], release: str) -> str:
    names = releases().names
    index = names.index(releases().find(release))
    before = [name for name in known if names.index(releases().find(name)) <= index]
    same = [name for name in known if name.partition(".")[0] == release.partition(".")[0]]
    nearest = before[-1] if before else known[0]
    return nearest if nearest in same or not same else same[0]
