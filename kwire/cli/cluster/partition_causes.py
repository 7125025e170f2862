"""`kwire cluster --why`: what led to the state of a partition."""

from __future__ import annotations

import argparse
import sys

from ...cluster import ClusterModel
from ...cluster.partition_causes import explain_partition
from ...cluster.state import ClusterState
from ...errors import UnknownMessage
from ...render.cluster.cluster_text import deleted_text
from ...render.cluster.partition_causes_view import explanation_json, explanation_lines
from ...render.escaping import json_text
from ..options.usage_error import UsageError
from ..terminal.terminal_style import style_for


def refuse_deleted(state: ClusterState, topic: str) -> None:
    """Raise UsageError for a topic that was deleted."""
    deleted = state.deleted_topics.get(topic)
    if deleted is not None:
        raise UsageError(f"topic {topic} was deleted{deleted_text(deleted)}; --at shows the state at a time before")


def explain(options: argparse.Namespace, model: ClusterModel) -> int:
    """Print what led to the state of the partition that --why names. Returns 0.

    Raises:
        UsageError: it is not written as TOPIC-PARTITION, or its topic was deleted.
        UnknownMessage: there is no such partition.
    """
    topic, _, index = options.why.rpartition("-")
    if not topic or not index.isdecimal():
        raise UsageError(f"--why {options.why}: write TOPIC-PARTITION, such as orders-3")
    state = model.state()
    refuse_deleted(state, topic)
    if int(index) not in state.topics.get(topic, {}):
        known = [f"{partition.topic}-{partition.index}" for partition in state.partitions()]
        raise UnknownMessage("partition", options.why, known)
    explanation = explain_partition(model, state, (topic, int(index)))
    if options.json:
        print(json_text(explanation_json(explanation)))
        return 0
    for line in explanation_lines(explanation, style_for(sys.stdout, options.color)):
        print(line)
    return 0
