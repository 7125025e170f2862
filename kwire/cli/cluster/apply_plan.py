"""Executes a plan on a live cluster, prints its progress, or cancels it."""

from __future__ import annotations

import argparse
import time

from ...client.apply_plan import Progress, apply_plan, cancel_plan, progress_of, under_way
from ...client.live_cluster import LiveCluster
from ...client.replication_throttle import ReplicationThrottle
from ...cluster.plan.reassignment_json import Plan
from ...render.escaping import escape
from ...render.value_text import count_text
from ..options.security import security_of
from ..options.usage_error import UsageError
from ..terminal.remarks import remark
from .disks import apply_log_dirs, follow_log_dirs, log_dirs_in_plan, prefer_log_dirs
from .placement_files import read_plan
from .placement_input import PlacementInput

PAUSE = 1.0  # seconds between two polls of a reassignment


def apply_to_cluster(options: argparse.Namespace, situation: PlacementInput, plan: Plan) -> bool:
    """Execute a plan, and print its progress. Return whether all of it is carried out."""
    assert situation.address is not None
    with LiveCluster(situation.address, options.timeout, security_of(options)) as cluster:
        if not options.plan and under_way(cluster):
            raise UsageError(
                "partitions are being reassigned: let it end, or go on with that plan by --plan FILE --apply"
            )
        log_dirs = log_dirs_in_plan(options.plan) if options.plan else {}
        prefer_log_dirs(cluster, log_dirs)
        done = apply_plan(cluster, plan, _wait, batch=options.batch, throttle=options.throttle, notify=remark)
        remark(f"carried out: {_progress(done)}")
        return not log_dirs or apply_log_dirs(options, cluster, log_dirs)


def _wait(progress: Progress) -> None:
    remark(_progress(progress))
    time.sleep(PAUSE)


def _progress(progress: Progress) -> str:
    text = f"{len(progress.done)} done, {len(progress.moving)} under way, {len(progress.waiting)} to come"
    if progress.down:
        text += f"; waits for broker {', '.join(map(str, sorted(progress.down)))}, which is down"
    return text


def follow_plan(options: argparse.Namespace, situation: PlacementInput) -> int:
    """Print the progress of a plan, or cancel it.

    Returns:
        1 if the plan is not complete, or another replica leads where the first one could; 0 otherwise.
    """
    plan = read_plan(options.plan)
    assert situation.address is not None
    log_dirs = log_dirs_in_plan(options.plan)
    with LiveCluster(situation.address, options.timeout, security_of(options)) as cluster:
        is_there = follow_log_dirs(options, cluster, log_dirs) if log_dirs else True
        if options.cancel:
            print(f"cancelled: {count_text(len(cancel_plan(cluster, plan)), 'partition')}")
            _end_throttle(cluster, plan)
            return 0
        progress = progress_of(cluster, plan)
        lists = {
            "under way": progress.moving,
            "not as planned": progress.waiting,
            "not led by its first replica: --apply elects it": progress.misled,
        }
        for name, keys in lists.items():
            for topic, index in keys:
                print(escape(f"{topic}-{index}  {name}"))
        print(_progress(progress))
        if progress.is_complete:
            _end_throttle(cluster, plan)
        return 0 if progress.is_complete and not progress.misled and is_there else 1


def _end_throttle(cluster: LiveCluster, plan: Plan) -> None:
    if refusal := ReplicationThrottle(cluster, plan, remark).remove():
        remark(f"throttles could not be removed: {refusal}")
