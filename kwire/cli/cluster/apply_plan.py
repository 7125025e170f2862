"""Executes a plan on a live cluster, prints its progress, or cancels it."""

from __future__ import annotations

import argparse
import time

from ...client.apply_plan import Progress, apply_plan, cancel_plan, progress_of, remove_throttle, under_way
from ...client.live_cluster import LiveCluster
from ...cluster.plan.reassignment_json import Plan
from ...render.escaping import escape
from ...render.value_text import count_text
from ..options.security import security_of
from ..options.usage_error import UsageError
from ..terminal.remarks import remark
from .placement_files import read_plan
from .placement_input import PlacementInput

PAUSE = 1.0  # seconds between two polls of a reassignment


def apply_to_cluster(options: argparse.Namespace, situation: PlacementInput, plan: Plan) -> None:
    """Execute a plan, and print its progress."""
    assert situation.address is not None
    with LiveCluster(situation.address, options.timeout, security_of(options)) as cluster:
        if not options.plan and under_way(cluster):
            raise UsageError(
                "partitions are being reassigned: let it end, or go on with that plan by --plan FILE --apply"
            )
        done = apply_plan(cluster, plan, _wait, batch=options.batch, throttle=options.throttle)
    remark(f"carried out: {_progress(done)}")


def _wait(progress: Progress) -> None:
    remark(_progress(progress))
    time.sleep(PAUSE)


def _progress(progress: Progress) -> str:
    return f"{len(progress.done)} done, {len(progress.moving)} under way, {len(progress.waiting)} to come"


def follow_plan(options: argparse.Namespace, situation: PlacementInput) -> int:
    """Print the progress of a plan, or cancel it. Returns 1 if the plan is not complete."""
    plan = read_plan(options.plan)
    assert situation.address is not None
    with LiveCluster(situation.address, options.timeout, security_of(options)) as cluster:
        if options.cancel:
            print(f"cancelled: {count_text(len(cancel_plan(cluster, plan)), 'partition')}")
            _end_throttle(cluster, plan)
            return 0
        progress = progress_of(cluster, plan)
        for name, keys in (("under way", progress.moving), ("not as planned", progress.waiting)):
            for topic, index in keys:
                print(escape(f"{topic}-{index}  {name}"))
        print(_progress(progress))
        if progress.is_complete:
            _end_throttle(cluster, plan)
        return 0 if progress.is_complete else 1


def _end_throttle(cluster: LiveCluster, plan: Plan) -> None:
    if refusal := remove_throttle(cluster, plan):
        remark(f"throttles could not be removed: {refusal}")
