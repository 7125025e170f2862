"""`kwire cluster`: brokers, racks and partitions as the messages of a dump tell of them at the end."""

from __future__ import annotations

import argparse
import sys
from itertools import takewhile

from ..cluster import ClusterState, learn
from ..errors import DumpError, UnknownMessage
from ..frames import Request, Response, Result
from ..render.cluster import cluster_json, cluster_lines
from ..render.style import json_text
from .inputs import UsageError, results, title_of
from .progress import with_progress
from .terminal import style_for


def cluster(options: argparse.Namespace) -> int:
    """Print the state after the last frame, or after --at. Returns 0; 2 if nothing in the dump tells of a cluster."""
    if options.at is not None and len(options.files) > 1:
        raise UsageError("--at takes one dump")
    state = ClusterState()
    told = sum(
        learn(state, result.message, result.codec.version)
        for result in takewhile(lambda result: _is_before(result, options.at), with_progress(results(options)))
        if isinstance(result, Request | Response)
    )
    if not told:
        hint = "it takes Metadata, UpdateMetadata, LeaderAndIsr, DescribeCluster or DescribeTopicPartitions messages"
        raise DumpError("no message tells of a cluster", file=title_of(options), hint=hint)
    if options.topic is not None and options.topic not in state.topics:
        raise UnknownMessage("topic", options.topic, sorted(state.topics))
    if options.json:
        print(json_text(cluster_json(state, options.topic)))
        return 0
    for line in cluster_lines(state, options.topic, style_for(sys.stdout, options.color)):
        print(line)
    return 0


def _is_before(result: Result, last: int | None) -> bool:
    frame = result.frame.source.frame
    return last is None or frame is None or frame <= last
