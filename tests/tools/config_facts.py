"""Writes `schemas/configs.json`: the configs of Kafka's brokers, topics, groups and client metrics, per release.

`python -m tests.tools.config_facts` asks the classes of each release (`tests/interop/Configs.java`), and keeps the
sentences that describe configs. It needs Java and the jars that `tests/interop/kafka.py` downloads.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.interop.kafka import java

RELEASES = ("3.9.1", "4.1.0", "4.4.0")
ROOT = Path(__file__).parents[2]
FILE = ROOT / "schemas/configs.json"
KINDS = ("broker", "topic", "group", "clientMetrics")
Facts = dict[str, Any]


def ask_release(release: str) -> Facts:
    """Return what the classes of a release say of configs."""
    facts: Facts = json.loads(java(release, str(ROOT / "tests/interop/Configs.java")))
    return facts


def merge_releases(facts: dict[str, Facts], before: Facts) -> Facts:
    """Return the table of all releases: each config as in the newest release, with what older ones had instead."""
    table: Facts = {"releases": list(facts)}
    for kind in KINDS:
        names = sorted(set().union(*(told[kind] for told in facts.values())))
        table[kind] = {name: _merge_config(kind, name, facts, before) for name in names}
    return table


def _merge_config(kind: str, name: str, facts: dict[str, Facts], before: Facts) -> Facts:
    rows = {release: _row(kind, name, told) for release, told in facts.items() if name in told[kind]}
    newest = list(rows.values())[-1]
    row: Facts = {"about": before.get(kind, {}).get(name, {}).get("about", ""), **newest}
    if len(rows) < len(facts):
        row["in"] = list(rows)
    older = {release: _differences(told, newest) for release, told in rows.items() if told != newest}
    return {**row, "older": older} if older else row


def _row(kind: str, name: str, told: Facts) -> Facts:
    """Return the facts of a config in one release; usual ones are left out."""
    facts = told[kind][name]
    row: Facts = {"type": facts["type"], "default": facts["default"]}
    if facts["valid"]:
        row["valid"] = facts["valid"]
    if facts["internal"]:
        row["internal"] = True
    if kind == "broker" and name in told["dynamic"]["all"]:
        row["dynamic"] = "broker" if name in told["dynamic"]["perBroker"] else "cluster"
    if kind == "topic" and name in told["topicSynonyms"]:
        row["synonyms"] = {synonym: int(factor) for synonym, factor in told["topicSynonyms"][name]}
    return row


def _differences(row: Facts, newest: Facts) -> Facts:
    return {key: row.get(key) for key in {**newest, **row} if row.get(key) != newest.get(key)}


def format_table(table: Facts) -> str:
    """Return the table as JSON with one line for each config."""
    lines = [f'"releases":{json.dumps(table["releases"])}']
    for kind in KINDS:
        rows = ",\n".join(
            f"{json.dumps(name)}:{json.dumps(row, separators=(',', ':'))}" for name, row in table[kind].items()
        )
        lines.append(f'"{kind}":{{\n{rows}\n}}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    known = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    FILE.write_text(
        format_table(merge_releases({release: ask_release(release) for release in RELEASES}, known)), "utf-8"
    )
