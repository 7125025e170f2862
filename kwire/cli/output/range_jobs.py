"""Divides large captures among the processes of --jobs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from secrets import token_hex
from typing import Any

from ...capture.dump import Dump
from ...capture.files import local_path
from ...capture.ranges.frame_consumer import FrameConsumer
from ...runtime.worker_pool import PoolResult, PoolTask, WorkerPool

LEAST_RANGE, MOST_RANGE = 1 << 20, 8 << 20  # bytes
RANGES_PER_JOB = 8  # so that all processes end at about the same time
NOT_SENT = "run", "position"  # values of the options that do not pickle


def is_worth_dividing(dump: Dump, jobs: int) -> bool:
    """Whether several processes read a dump: a large capture on this machine that is not compressed."""
    if jobs == 1 or dump.divide is None:
        return False
    path = local_path(dump.file)
    return path is not None and path.is_file() and path.stat().st_size >= 2 * LEAST_RANGE


def run_jobs(
    dump: Dump, consumer: FrameConsumer, options: argparse.Namespace, function: Callable[..., Any]
) -> Iterator[PoolResult]:
    """Yield the results of a function for all ranges of a capture, in order.

    Args:
        dump: the capture.
        consumer: finds the states of the ranges.
        options: the options of the command, with `jobs`.
        function: called in a worker with options, range and a file to write to.
    """
    assert dump.divide is not None
    sent = argparse.Namespace(**{name: value for name, value in vars(options).items() if name not in NOT_SENT})
    sent.run_id = token_hex(8)  # what ranges of a process share is not shared with those of another run
    size = min(MOST_RANGE, max(LEAST_RANGE, Path(dump.file).stat().st_size // (options.jobs * RANGES_PER_JOB)))
    with WorkerPool(options.jobs) as workers:
        for result in workers.run(PoolTask(function, (sent, part)) for part in dump.divide(consumer, size)):
            yield result
            result.path.unlink()
