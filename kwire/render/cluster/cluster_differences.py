"""The differences between two states of a cluster, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...cluster import ClusterState
from ..colours import PLAIN, Style
from ..escaping import escape
from .cluster_json import cluster_json
from .cluster_text import deleted_text, settings_as_text


def cluster_difference_lines(before: ClusterState, after: ClusterState, style: Style = PLAIN) -> Iterator[str]:
    """Yield a line for each broker, partition and setting that differs between two states."""
    differences = cluster_difference_json(before, after)
    for kind, changes in differences.items():
        if not isinstance(changes, dict):
            continue
        for name, change in changes.items():
            topic = name.rpartition("-")[0] if kind == "partition" and change["after"] is None else ""
            deleted = after.deleted_topics.get(topic)
            when = "" if deleted is None else f", deleted{deleted_text(deleted)}"
            yield escape(f"{kind} {name}: {_change_text(change)}{when}")
    if not any(differences[kind] for kind in differences if kind != "kwire"):
        yield "nothing differs"


def _change_text(change: dict[str, Any]) -> str:
    """Return what has changed; for a JSON object, only the members that have."""
    old, new = change["before"], change["after"]
    if old is None:
        return "new"
    if new is None:
        return "gone"
    if not isinstance(old, dict):
        return f"{old} -> {new}"
    texts = {name: (_value_text(old.get(name)), _value_text(new.get(name))) for name in dict.fromkeys((*old, *new))}
    return ", ".join(f"{name} {was} -> {now}" for name, (was, now) in texts.items() if was != now)


def _value_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value)) or "-"
    return "-" if value is None else str(value)


def cluster_difference_json(before: ClusterState, after: ClusterState) -> dict[str, Any]:
    """Return the differences between two states: by kind and name, the values before and after; null for a missing
    value.
    """
    old, new = _by_name(before), _by_name(after)
    differences: dict[str, Any] = {"kwire": 1}
    for kind in new:
        names = sorted({*old[kind], *new[kind]})
        pairs = {name: {"before": old[kind].get(name), "after": new[kind].get(name)} for name in names}
        differences[kind] = {name: pair for name, pair in pairs.items() if pair["before"] != pair["after"]}
    return differences


def _by_name(state: ClusterState) -> dict[str, dict[str, Any]]:
    whole = cluster_json(state)
    for entry in whole["partitions"]:  # which follow from the racks of brokers
        for name in ("racks", "rackViolation", "rackRule"):
            del entry[name]
    return {
        "cluster": {"controller": state.controller_id},
        "broker": {str(entry["nodeId"]): entry for entry in whole["brokers"]},
        "partition": {f"{entry['topic']}-{entry['partition']}": entry for entry in whole["partitions"]},
        **settings_as_text(state),
    }
