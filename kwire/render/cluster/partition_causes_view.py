"""Why a partition is as it is, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from ...cluster.partition_causes import Cause, Explanation
from ..colours import PLAIN, Style
from ..escaping import escape


def explanation_lines(explanation: Explanation, style: Style = PLAIN) -> Iterator[str]:
    """Yield the lines of an explanation: the state, what happened since the partition was well, what it waits for."""
    partition = explanation.partition
    leader = str(partition.leader) if partition.has_leader else "none"
    lists = f"replicas {_nodes(partition.replicas)}, ISR {_nodes(partition.isr)}, offline {_nodes(explanation.offline)}"
    yield style.paint("title", escape(f"{partition.topic}-{partition.index}: leader {leader}, {lists}"))
    for cause in explanation.causes:
        source = f"  [{cause.source}]" if cause.source else ""
        yield escape(f"  {_time_text(cause)}  {cause.text}{source}")
    for reason in explanation.reasons:
        yield style.paint("warning", escape(reason))
    if not explanation.reasons:
        yield "nothing is wrong with it"


def explanation_json(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation as plain values for JSON; unknown times are null."""
    partition = explanation.partition
    return {
        "kwire": 1,
        "topic": partition.topic,
        "partition": partition.index,
        "leader": partition.leader,
        "replicas": partition.replicas,
        "isr": partition.isr,
        "offlineReplicas": explanation.offline,
        "causes": [{**asdict(cause), "time": cause.time or None} for cause in explanation.causes],
        "reasons": explanation.reasons,
    }


def _time_text(cause: Cause) -> str:
    if not cause.time:
        return "-"
    return datetime.fromtimestamp(cause.time, UTC).isoformat(timespec="milliseconds")[:-6]


def _nodes(nodes: tuple[int, ...]) -> str:
    return ",".join(map(str, nodes)) or "-"
