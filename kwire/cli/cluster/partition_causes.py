"""`kwire cluster --why`: what led to the state of a partition."""

from __future__ import annotations

import argparse
import sys

from ...cluster import ClusterModel
from ...cluster.partition_causes import explain_partition
from ...errors import UnknownMessage
from ...render.cluster.partition_causes_view import explanation_json, explanation_lines
from ...render.escaping import json_text
from ..options.usage_error import UsageError
from ..terminal.terminal_style import style_for


def explain(options: argparse.Namespace, model: ClusterModel) -> int:
    """Print what led to the state of the partition that --why names. Returns 0.

    Raises:
        UsageError: it is not written as TOPIC-PARTITION.
        UnknownMessage: there is no such partition.
    """
    topic, _, index = options.why.rpartition("-")
    if not topic or not index.isdecimal():
        raise UsageError(f"--why {options.why}: write TOPIC-PARTITION, such as orders-3")
    state = model.state()
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
